"""Writes engine/lora/testdata/bf16: losses of 200 LoRA steps of a small Llama whose weights are bf16, as PyTorch
computes them in f32 and under autocast to bf16.

usage: python tests/peers/decoder_bf16.py        (after decoder_lora.py; needs torch, transformers, peft, safetensors)

The model and the adapter at the beginning are those of engine/lora/testdata/peft.

  expected.safetensors   ids and targets [4 batches, 2 rows, 12 tokens], which take turns; the losses of autocast, of
                         f32, and of autocast with the adapter's first factor changed by its rounding to bf16
"""
import os

import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

DATA = os.path.join(os.path.dirname(__file__), "../../engine/lora/testdata")
STEPS = 200


def model_of(dtype, disturbed):
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=True))
    base = load_file(os.path.join(DATA, "peft/base.safetensors"))
    # Matrices are stored in bf16. So is what is computed in f32 with them: the base of both is the same.
    base = {n: w.bfloat16().to(dtype) if w.dim() == 2 else w for n, w in base.items()}
    model.load_state_dict(base, strict=False, assign=True)
    model.tie_weights()
    model = PeftModel.from_pretrained(model, os.path.join(DATA, "peft"), is_trainable=True)
    for n, p in model.named_parameters():
        if p.requires_grad:
            assert p.dtype == torch.float32, n
            if disturbed and "lora_A" in n:
                p.data = p.data.bfloat16().float()
    return model


def train(ids, targets, autocast, disturbed=False):
    model = model_of(torch.bfloat16 if autocast else torch.float32, disturbed)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=0.003, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            logits = model(input_ids=ids[step % len(ids)]).logits
        loss = torch.nn.functional.cross_entropy(logits.float().reshape(-1, 64), targets[step % len(ids)].reshape(-1), ignore_index=-100)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def main():
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    ids = torch.randint(0, 64, (4, 2, 12))
    targets = torch.randint(0, 64, (4, 2, 12))
    targets[0, 0, :3] = -100
    expected = {"ids": ids, "targets": targets, "autocast": train(ids, targets, True), "f32": train(ids, targets, False),
                "disturbed": train(ids, targets, True, True)}
    for n in ("autocast", "f32", "disturbed"):
        print(n, expected[n][::20].tolist())
    d = (expected["autocast"] - expected["f32"]).abs()
    print("f32 beside autocast", (d / expected["f32"]).max(), (expected["disturbed"] / expected["autocast"] - 1).abs().max())
    os.makedirs(os.path.join(DATA, "bf16"), exist_ok=True)
    save_file(expected, os.path.join(DATA, "bf16/expected.safetensors"))


if __name__ == "__main__":
    main()
