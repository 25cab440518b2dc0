"""Tokens a second of QLoRA by bitsandbytes with PEFT, in all layers and with random weights: what train.mcs does with bits=4.

usage: python tests/peers/qlora.py SHAPE TEXTS LENGTH STEPS     (needs torch transformers peft bitsandbytes)

Codes are nf4 with a scale in f32 for 64 weights, and the arithmetic is bf16, as on mcs's side.
"""
import sys
import time

import torch
import transformers
from peft import LoraConfig, get_peft_model
import bitsandbytes as bnb

SHAPES = {
    "0.5B": dict(vocab_size=151936, num_hidden_layers=24, hidden_size=896, num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864, tie_word_embeddings=True),
    "7B": dict(vocab_size=152064, num_hidden_layers=28, hidden_size=3584, num_attention_heads=28, num_key_value_heads=4, intermediate_size=18944, tie_word_embeddings=False),
    "32B": dict(vocab_size=152064, num_hidden_layers=64, hidden_size=5120, num_attention_heads=40, num_key_value_heads=8, intermediate_size=27648, tie_word_embeddings=False),
}
shape, texts, length, steps = sys.argv[1], *map(int, sys.argv[2:5])
with torch.device("meta"):
    model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(max_position_embeddings=32768, attn_implementation="sdpa", **SHAPES[shape])).to(torch.bfloat16)
for name, layer in list(model.named_modules()):
    for child, linear in list(layer.named_children()):
        if isinstance(linear, torch.nn.Linear) and child != "lm_head":
            code = bnb.nn.Linear4bit(linear.in_features, linear.out_features, bias=linear.bias is not None, compute_dtype=torch.bfloat16, compress_statistics=False, quant_type="nf4", device="meta")
            weight = torch.empty(linear.out_features, linear.in_features, dtype=torch.bfloat16, device="cuda").normal_(0, 0.02)
            code.weight = bnb.nn.Params4bit(weight.cpu(), requires_grad=False, quant_type="nf4", compress_statistics=False).cuda()
            if linear.bias is not None:
                code.bias = torch.nn.Parameter(torch.zeros(linear.out_features, dtype=torch.bfloat16, device="cuda"))
            setattr(layer, child, code)
for name, p in list(model.named_parameters()):
    if p.is_meta:
        module, _, leaf = name.rpartition(".")
        with torch.no_grad():
            value = torch.empty(p.shape, dtype=p.dtype, device="cuda")
            value.fill_(1) if "norm" in name else value.normal_(0, 0.02)
        setattr(model.get_submodule(module), leaf, torch.nn.Parameter(value))
model.model.rotary_emb = type(model.model.rotary_emb)(model.config).cuda()
model.tie_weights()
model.is_loaded_in_4bit = True
for p in model.parameters():
    p.requires_grad_(False)
model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
kinds = {type(m).__module__ + "." + type(m).__name__ for m in model.modules() if "lora" in type(m).__module__ and "Linear" in type(m).__name__}
print("layers:", kinds, flush=True)
model.train()
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(params, lr=1e-4, fused=True)
ids = torch.randint(0, 1000, (texts, length), device="cuda")


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss


for _ in range(3):
    step()
torch.cuda.synchronize()
torch.cuda.reset_peak_memory_stats()
best = 1e9
for _ in range(3):
    began = time.time()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    best = min(best, time.time() - began)
print(f"bitsandbytes {shape} {texts}x{length}: {texts * length * steps / best:.0f} tokens/s, {1e3 * best / steps:.1f} ms a step, {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB at most", flush=True)
