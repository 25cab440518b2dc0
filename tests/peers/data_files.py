"""Writes engine/data/testdata: datasets as Python writes them, and the tokens that TRL and transformers make of them.

    python tests/peers/data_files.py          (pyarrow, datasets, transformers, trl)

tokens.json holds records with the ids and labels of their sequences: by return_assistant_tokens_mask for templates
that mark what the assistant says, by the difference of prefixes for others, and TRL's common_prefix_length for prompts
and completions. tokenizer.json is that of the cases. records.* are the same four kinds of records in each format.
"""
import json
import os
import shutil

import datasets
import pyarrow as pa
import transformers
import trl.chat_template_utils as templates
from transformers import PreTrainedTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "engine", "data", "testdata")
SOURCE = os.path.join(HERE, "..", "..", "engine", "tokenizer", "testdata", "qwen.json")
MARKS = ["<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<start_of_turn>", "<end_of_turn>", "<|user|>", "<|assistant|>", "<|system|>", "<think>", "</think>", "<tool_call>", "</tool_call>"]

TOOL = {"type": "function", "function": {"name": "add", "description": "adds", "parameters": {"type": "object", "properties": {"b": {"type": "number"}, "a": {"type": "number"}}, "required": ["b", "a"]}}}
CHATS = [
    {"messages": [{"role": "user", "content": "What is a tensor?"}, {"role": "assistant", "content": "An array of numbers with axes."}]},
    {"messages": [{"role": "user", "content": "Größer als 3 und kleiner als 5?"}, {"role": "assistant", "content": "4 🙂"}, {"role": "user", "content": "And twice that?"}, {"role": "assistant", "content": "8.\n\nOr:  eight"}]},
    {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": " leading and trailing "}, {"role": "assistant", "content": " as it is \n"}]},
    {"messages": [{"role": "user", "content": "only asked"}, {"role": "assistant", "content": ""}, {"role": "user", "content": "again"}, {"role": "assistant", "content": "x"}]},
    {"messages": [{"role": "user", "content": "2+3?"}, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"b": 3, "a": 2}}}]}, {"role": "tool", "content": "5"}, {"role": "assistant", "content": "It is 5."}], "tools": [TOOL]},
]
COMPLETIONS = [
    {"prompt": "The capital of France is", "completion": " Paris."},
    {"prompt": "a = 12", "completion": "34 # merges across the border"},
    {"prompt": "", "completion": "without a prompt"},
    {"prompt": "Zeile eins\n", "completion": "\n\tZeile drei"},
    {"prompt": [{"role": "user", "content": "What is 2+2?"}], "completion": [{"role": "assistant", "content": "4"}]},
    {"prompt": [{"role": "system", "content": "Count."}, {"role": "user", "content": "one"}], "completion": [{"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}, {"role": "assistant", "content": "four"}]},
]
PREFERENCES = [
    {"prompt": "Sky is", "chosen": " blue", "rejected": " green"},
    {"chosen": "Q: name a colour A: red", "rejected": "Q: name a colour A: rope"},
    {"prompt": [{"role": "user", "content": "Hello"}], "chosen": [{"role": "assistant", "content": "Hello! What can I do?"}], "rejected": [{"role": "assistant", "content": "Go away."}]},
    {"chosen": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}], "rejected": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "3"}]},
]
TEXTS = [{"text": "One line of text."}, {"text": "Größer, 日本語, 🙂\n\nand  two   blanks\t"}, {"text": "x"}]


def tokenizer():
    t = PreTrainedTokenizerFast(tokenizer_file=SOURCE)
    t.add_special_tokens({"additional_special_tokens": MARKS, "eos_token": "</s>", "bos_token": "<s>"})
    return t


def common(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def render(t, template, messages, tools, **more):
    return t.apply_chat_template(messages, chat_template=template, tools=tools, tokenize=True, return_dict=True, **more)


def chat_case(t, template, record):
    """ids and labels of a chat."""
    messages, tools = record["messages"], record.get("tools")
    if "{% generation" in template or "{%- generation" in template:
        out = render(t, template, messages, tools, return_assistant_tokens_mask=True)
        ids, mask = out["input_ids"], out["assistant_masks"]
    else:
        ids = render(t, template, messages, tools)["input_ids"]
        mask = [0] * len(ids)
        for i, m in enumerate(messages):
            if m["role"] != "assistant":
                continue
            begin = messages[i - 1]["role"] != "assistant"
            before = render(t, template, messages[:i], tools, add_generation_prompt=begin)["input_ids"]
            after = render(t, template, messages[: i + 1], tools)["input_ids"]
            if ids[: len(after)] != after or after[: len(before)] != before:
                continue
            mask[len(before) : len(after)] = [1] * (len(after) - len(before))
    return ids, [i if m else -100 for i, m in zip(ids, mask)]


def answer_case(t, template, prompt, answer):
    """ids and labels of a completion, as in trl's SFTTrainer."""
    if isinstance(answer, str):
        before, ids = t(prompt)["input_ids"], t(prompt + answer + ("" if answer.endswith(t.eos_token) else t.eos_token))["input_ids"]
    else:
        before = render(t, template, prompt, None, add_generation_prompt=True)["input_ids"]
        ids = render(t, template, prompt + answer, None)["input_ids"]
    n = common(before, ids)
    return ids, [-100] * n + ids[n:]


def split_prompt(chosen, rejected):
    """The prompt that both begin with, as trl's extract_prompt finds it."""
    for n in range(min(len(chosen), len(rejected))):
        if chosen[n] != rejected[n]:
            if isinstance(chosen, str) and chosen[n - 1] == " ":
                n -= 1
            break
    return chosen[:n], chosen[n:], rejected[n:]


def named_templates():
    names = ["llama3", "llama3_training", "qwen2_5", "qwen2_5_training", "qwen3", "qwen3_training", "gemma", "gemma_training", "phi3", "phi3_training"]
    return {n: getattr(templates, n + "_chat_template") for n in names}


def token_cases(t):
    cases, all_templates = [], named_templates()
    add = lambda template, record, *sequences: cases.append({"template": template, "record": record, "sequences": [{"ids": i, "labels": l} for i, l in sequences]})
    for name, template in all_templates.items():
        for record in CHATS:
            try:
                add(name, record, chat_case(t, template, record))
            except Exception as e:
                print(name, "refuses", record["messages"][0]["content"], "-", type(e).__name__, e)
        for record in COMPLETIONS[4:]:
            try:
                add(name, record, answer_case(t, template, record["prompt"], record["completion"]))
            except Exception as e:
                print(name, "refuses", record["prompt"][0]["content"], "-", type(e).__name__, e)
    for record in COMPLETIONS[:4]:
        add("", record, answer_case(t, None, record["prompt"], record["completion"]))
    for record in TEXTS:
        ids = t(record["text"] + t.eos_token)["input_ids"]
        add("", record, (ids, ids))
    for record in PREFERENCES:
        prompt, chosen, rejected = (record["prompt"], record["chosen"], record["rejected"]) if "prompt" in record else split_prompt(record["chosen"], record["rejected"])
        template = all_templates["qwen2_5"]
        add("qwen2_5", record, answer_case(t, template, prompt, chosen), answer_case(t, template, prompt, rejected))
    return {"transformers": transformers.__version__, "templates": all_templates, "cases": cases}


def write_formats():
    """The chats as each format has them, with what else a dataset's folder holds."""
    folder = os.path.join(OUT, "hub")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "data"))
    rows = [{"messages": c["messages"], "id": i} for i, c in enumerate(CHATS)]
    d = datasets.Dataset.from_list(rows)
    half = len(rows) // 2
    d.select(range(half)).to_parquet(os.path.join(folder, "data", "train-00000-of-00002.parquet"))
    d.select(range(half, len(rows))).to_parquet(os.path.join(folder, "data", "train-00001-of-00002.parquet"))
    d.select([1]).to_json(os.path.join(folder, "data", "validation.jsonl"))
    d.select([0]).to_json(os.path.join(folder, "data", "test.json"), lines=False)
    with open(os.path.join(folder, "README.md"), "w") as f:
        f.write("A dataset's card.\n")
    table = datasets.Dataset.from_list([r for r in COMPLETIONS if isinstance(r["prompt"], str)] + [{"prompt": 'commas, "quotes"\nand lines', "completion": " yes"}])
    table.to_csv(os.path.join(OUT, "completions.csv"))
    table.to_json(os.path.join(OUT, "completions.jsonl.gz"), compression="gzip")
    table.to_json(os.path.join(OUT, "completions.json"), lines=False, indent=1)
    table.to_parquet(os.path.join(OUT, "completions.parquet"))
    with pa.ipc.new_stream(os.path.join(OUT, "completions.arrow"), table.data.table.schema) as w:
        w.write_table(table.data.table)
    with open(os.path.join(OUT, "records.json"), "w") as f:
        json.dump({"chats": CHATS, "completions": table.to_list()}, f, ensure_ascii=False, indent=1)


def write_saved():
    """The chats as save_to_disk writes them; calls whose arguments are of different types, which are kept as JSON."""
    folder = os.path.join(OUT, "saved")
    shutil.rmtree(folder, ignore_errors=True)
    call = lambda arguments: {"messages": [{"role": "user", "content": "Do it."}, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": arguments}}]}]}
    mixed = [call({"a": 1}), call({"b": [1, "x", None]}), call("as a text"), call({"a": {"c": 1.5}})]
    with open(os.path.join(OUT, "mixed.jsonl"), "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in mixed)
    d = datasets.Dataset.from_list([{"messages": c["messages"], "id": i} for i, c in enumerate(CHATS)])
    mixed = datasets.Dataset.from_list(mixed, on_mixed_types="use_json")
    datasets.DatasetDict({"train": d, "calls": mixed, "test": d.select([0])}).save_to_disk(folder, num_shards={"train": 2, "calls": 1, "test": 1})
    mixed.to_parquet(os.path.join(OUT, "mixed.parquet"))


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    t = tokenizer()
    t.backend_tokenizer.save(os.path.join(OUT, "tokenizer.json"))
    with open(os.path.join(OUT, "tokens.json"), "w") as f:
        json.dump(token_cases(t), f, ensure_ascii=False, separators=(",", ":"))
    write_formats()
    write_saved()
