"""Writes repl/mcs/testdata/tasks.json: rows of tasks, and what lm-evaluation-harness says of them.

usage: python tests/peers/eval_tasks.py [MODEL ROWS [URL]]       (needs lm_eval[api], torch, transformers)

The model is that of engine/llm/testdata/families/llama-3 with a tokenizer of 48 words, the rows are drawn; every other
answer and completion is what transformers says, so that some are right. With a folder and a file of rows it prints
numbers instead; with an address, too, those of `mcs serve` there (local-completions).
"""
import json
import os
import shutil
import sys
import tempfile

import lm_eval
import numpy as np
from transformers import AutoModelForCausalLM, AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "../../engine/llm/testdata/families/llama-3")
OUT = os.path.join(HERE, "../../repl/mcs/testdata/tasks.json")
METRICS = {"choices": ["acc", "acc_norm"], "completion": ["acc", "perplexity"], "answer": ["exact_match"],
           "text": ["word_perplexity", "byte_perplexity", "bits_per_byte"]}


WORDS = ["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(3, 48)]
FILES = {
    "tokenizer.json": json.dumps({"model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(WORDS)}, "unk_token": "<unk>"}, "pre_tokenizer": {"type": "WhitespaceSplit"}, "added_tokens": []}),
    "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}),
}


def drawn(folder):
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    random = np.random.default_rng(0)
    words = lambda low, high: " ".join(f"w{i}" for i in random.integers(3, 48, random.integers(low, high)))

    def said(prompt, new):
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        return tokenizer.decode(model.generate(ids, do_sample=False, max_new_tokens=new)[0, ids.shape[1]:], skip_special_tokens=True).strip()

    own = {name: [] for name in ["choices", "alone", "completions", "answers", "texts"]}
    for n in range(12):
        own["choices"].append({"prompt": words(2, 40), "choices": [words(1, 6) for _ in range(4)], "answer": int(random.integers(0, 4))})
        own["alone"].append({"prompt": "", "choices": [words(1, 6) for _ in range(2)], "answer": int(random.integers(0, 2))})
        prompt = words(2, 40)
        own["completions"].append({"prompt": prompt, "completion": said(prompt, 3) if n % 2 else words(1, 3)})
        prompt = words(2, 26) + [" ", ""][n % 2]  # with the answer no longer than the context of 32
        own["answers"].append({"prompt": prompt, "answer": said(prompt, 5) if n % 3 else words(5, 6), "tokens": 5})
    own["texts"] = [{"text": words(*n)} for n in [(1, 2), (5, 9), (200, 300), (20, 30)]]
    return own


def kind(row):
    return next(k for k in METRICS if k in row)


def config(name, list, folder):
    path = os.path.join(folder, name + ".jsonl")
    with open(path, "w") as f:
        for row in list:
            f.write(json.dumps(row) + "\n")
    c = {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": path}}, "test_split": "test", "num_fewshot": 0,
         "metric_list": [{"metric": m} for m in METRICS[kind(list[0])]]}
    return c | {
        "choices": {"output_type": "multiple_choice", "doc_to_text": "{{prompt}}", "doc_to_choice": "{{choices}}", "doc_to_target": "answer"},
        "completion": {"output_type": "loglikelihood", "doc_to_text": "{{prompt}}", "doc_to_target": "{{' ' + completion}}"},
        "answer": {"output_type": "generate_until", "doc_to_text": "{{prompt}}", "doc_to_target": "{{answer}}",
                   "generation_kwargs": {"until": ["\n"], "max_gen_toks": list[0].get("tokens", 32), "do_sample": False},
                   "filter_list": [{"name": "own", "filter": [{"function": "remove_whitespace"}, {"function": "take_first"}]}]},
        "text": {"output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}"},
    }[kind(list[0])]


def evaluate(own, about):
    with tempfile.TemporaryDirectory() as folder:
        got = lm_eval.simple_evaluate(tasks=[config(name, list, folder) for name, list in own.items()], batch_size=1, log_samples=False, **about)
    results = {}
    for name, list in own.items():
        results[name] = {}
        for key, x in got["results"][name].items():
            metric = key.split(",")[0]
            if metric in METRICS[kind(list[0])]:
                error = next((v for k, v in got["results"][name].items() if k.startswith(metric + "_stderr")), "N/A")
                results[name][metric] = [x, None if error == "N/A" else error]
    return results


def main():
    hf = lambda folder: {"model": "hf", "model_args": {"pretrained": folder, "dtype": "float32"}, "device": "cpu"}
    if len(sys.argv) > 1:
        own = {}
        for line in open(sys.argv[2]):
            own.setdefault(json.loads(line)["task"], []).append(json.loads(line))
        about = hf(sys.argv[1])
        if len(sys.argv) > 3:
            about = {"model": "local-completions", "model_args": {"model": os.path.basename(sys.argv[1]), "base_url": sys.argv[3] + "/v1/completions", "tokenizer": sys.argv[1]}}
        print(json.dumps(evaluate(own, about), indent=1))
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        for name, text in FILES.items():
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        own = drawn(folder)
        results = evaluate(own, hf(folder))
    with open(OUT, "w") as f:
        json.dump({"files": FILES, "rows": own, "results": results}, f, ensure_ascii=False)
        f.write("\n")


if __name__ == "__main__":
    main()
