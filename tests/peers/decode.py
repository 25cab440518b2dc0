"""Tokens a second of texts that grow together, by transformers' generate in bf16 with random weights: what decode.mcs does.

usage: python tests/peers/decode.py SHAPE TEXTS [STEPS [PROMPT [DEVICE]]]     (needs torch transformers)
"""
import sys
import time

import torch
import transformers

SHAPES = {
    "tiny": dict(vocab_size=1000, num_hidden_layers=2, hidden_size=64, num_attention_heads=2, num_key_value_heads=1, intermediate_size=128),
    "0.5B": dict(vocab_size=151936, num_hidden_layers=24, hidden_size=896, num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864),
    "1.5B": dict(vocab_size=151936, num_hidden_layers=28, hidden_size=1536, num_attention_heads=12, num_key_value_heads=2, intermediate_size=8960),
    "7B": dict(vocab_size=152064, num_hidden_layers=28, hidden_size=3584, num_attention_heads=28, num_key_value_heads=4, intermediate_size=18944),
}
shape, texts = sys.argv[1], int(sys.argv[2])
steps, prompt, device = int((sys.argv[3:] + ["256"])[0]), int((sys.argv[4:] + ["128"])[0]), (sys.argv[5:] + ["cuda"])[0]
torch.set_default_dtype(torch.bfloat16)
with torch.device(device):
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(max_position_embeddings=32768, tie_word_embeddings=True, attn_implementation="sdpa", **SHAPES[shape])).eval()
    ids = torch.zeros(texts, prompt, dtype=torch.long)


@torch.inference_mode()
def generate(tokens):
    if device == "cuda":
        torch.cuda.synchronize()
    begun = time.perf_counter()
    model.generate(ids, attention_mask=torch.ones_like(ids), min_new_tokens=tokens, max_new_tokens=tokens, do_sample=False, pad_token_id=0)
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begun


generate(2)
one, all_ = min(generate(1) for _ in range(3)), min(generate(1 + steps) for _ in range(2))
print(f"{shape}, {texts} texts: {texts * steps / (all_ - one):.0f} tokens/s, prompts and first tokens {1e3 * one:.2f} ms, {texts * prompt / one:.0f} tokens/s", flush=True)
