"""Writes engine/llm/testdata/sampling.json: what transformers makes of scores before it draws a token.

usage: python tests/peers/sampling.py        (needs torch, transformers, and engine/llm/testdata/families)

  draws      scores of the next token, prompt, tokens made so far, settings, and the probability of each token after
             transformers' processors in the order of its generate(). Presence and frequency penalties are not in
             transformers: they are subtracted as vLLM and OpenAI say, before the temperature
  penalised  greedy tokens of generate() with a repetition penalty, for some of the families
"""
import json
import os

import torch
from transformers import AutoModelForCausalLM
from transformers.generation import logits_process as lp

DATA = os.path.join(os.path.dirname(__file__), "../../engine/llm/testdata")
SETTINGS = [
    dict(temperature=1.0), dict(temperature=0.6), dict(temperature=1.0, top_k=5), dict(temperature=1.0, top_p=0.7),
    dict(temperature=1.0, min_p=0.1), dict(temperature=1.7, min_p=0.3), dict(temperature=1.0, repetition=1.3),
    dict(temperature=1.0, repetition=0.8), dict(temperature=1.0, presence=0.7), dict(temperature=1.0, frequency=0.4),
    dict(temperature=0.9, presence=-0.5, frequency=0.3, repetition=1.1),
    dict(temperature=0.8, top_k=12, top_p=0.9, min_p=0.05, repetition=1.2, presence=0.2, frequency=0.1),
]


def probabilities(scores, prompt, made, s):
    ids, x = torch.tensor([prompt + made]), scores[None].clone()
    if "repetition" in s:
        x = lp.RepetitionPenaltyLogitsProcessor(s["repetition"])(ids, x)
    for i in set(made):
        x[0, i] -= s.get("presence", 0) + s.get("frequency", 0) * made.count(i)
    x = lp.TemperatureLogitsWarper(s["temperature"])(ids, x)
    if "top_k" in s:
        x = lp.TopKLogitsWarper(s["top_k"])(ids, x)
    if "top_p" in s:
        x = lp.TopPLogitsWarper(s["top_p"])(ids, x)
    if "min_p" in s:
        x = lp.MinPLogitsWarper(s["min_p"])(ids, x)
    return x.softmax(-1)[0]


def main():
    torch.manual_seed(5)
    draws = []
    for s in SETTINGS:
        for _ in range(4):
            scores = torch.randn(32) * 2.5
            prompt, made = torch.randint(0, 32, (6,)).tolist(), torch.randint(0, 32, (9,)).tolist()
            p = probabilities(scores, prompt, made, s)
            draws.append(dict(settings=s, scores=[round(v, 7) for v in scores.tolist()], prompt=prompt, made=made,
                              probabilities=[round(v, 7) for v in p.tolist()]))
    penalised = {}
    for name in ["llama-2", "mistral", "qwen2", "qwen3", "gemma2", "phi3"]:
        model = AutoModelForCausalLM.from_pretrained(os.path.join(DATA, "families", name), attn_implementation="eager").float().eval()
        ids = torch.tensor([[7, 3, 20, 11, 5]])
        out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=20, repetition_penalty=1.3,
                             pad_token_id=0)
        penalised[name] = out[0].tolist()
    with open(os.path.join(DATA, "sampling.json"), "w") as f:
        json.dump(dict(draws=draws, penalised=penalised), f)


if __name__ == "__main__":
    main()
