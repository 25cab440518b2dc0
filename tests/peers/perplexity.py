"""Writes repl/mcs/testdata/perplexity.json: losses of a text in windows, as transformers computes them.

usage: python tests/peers/perplexity.py        (needs torch, transformers)

The model is engine/llm/testdata/chat. Windows are those of transformers' page on the perplexity of models of fixed length:
labels that an earlier window has counted are −100. The page weighs the mean of a window by the labels that were set less
one; here it is weighed by those that are left once transformers has moved them by one, so that each token counts once.
"""
import json
import os
import warnings

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

HERE = os.path.dirname(__file__)
MODEL = os.path.join(HERE, "../../engine/llm/testdata/chat")
OUT = os.path.join(HERE, "../../repl/mcs/testdata/perplexity.json")
TEXT = "the quick brown fox jumps over the lazy dog, où 日本 🙂, and next\n" * 9 + "a language model says what comes next"
WINDOWS = [(256, 128), (64, 16), (64, 64), (50, 50), (7, 3), (2, 1), (2, 2)]


def main():
    warnings.filterwarnings("ignore")
    tokenizer, model = AutoTokenizer.from_pretrained(MODEL), AutoModelForCausalLM.from_pretrained(MODEL, attn_implementation="eager").float().eval()
    ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    cases = []
    for window, stride in WINDOWS:
        total, count, before = 0.0, 0, 0
        for begin in range(0, ids.shape[1], stride):
            end = min(begin + window, ids.shape[1])
            inputs = ids[:, begin:end]
            labels = inputs.clone()
            labels[:, : before - end] = -100
            n = (labels[:, 1:] != -100).sum().item()
            if n:
                with torch.no_grad():
                    total += model(inputs, labels=labels).loss.double().item() * n
                count += n
            before = end
            if end == ids.shape[1]:
                break
        cases.append(dict(window=window, stride=stride, loss=total / count, tokens=count))
    with open(OUT, "w") as f:
        json.dump(dict(text=TEXT, bytes=len(TEXT.encode()), length=ids.shape[1], cases=cases), f, indent=1)
        f.write("\n")
    print(json.dumps(cases, indent=1))


if __name__ == "__main__":
    main()
