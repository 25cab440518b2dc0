"""Writes engine/lora/testdata/peft: a small Llama with a LoRA adapter, as transformers and PEFT compute them.

usage: python tests/peers/decoder_lora.py        (needs torch, transformers, peft, safetensors)

  base.safetensors            the weights, under transformers' names, [out in]
  adapter_model.safetensors   the adapter and
  adapter_config.json         its configuration, as PEFT saves them
  expected.safetensors        ids and targets; logits, loss and gradients with the adapter; logits of the merged model;
                              losses, gradient norms and adapter of three steps of AdamW with clipping
"""
import os
import shutil

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

OUT = os.path.join(os.path.dirname(__file__), "../../engine/lora/testdata/peft")


def main():
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=10000.0,
        tie_word_embeddings=True, initializer_range=0.3))
    with torch.no_grad():  # so that the norms' weights matter
        for name, p in model.named_parameters():
            if "norm" in name:
                p.add_(0.2 * torch.randn_like(p))
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    base = {n: p.detach().clone() for n, p in model.named_parameters()}
    save_file(base, os.path.join(OUT, "base.safetensors"))

    model = get_peft_model(model, LoraConfig(r=4, lora_alpha=6, target_modules="all-linear", task_type="CAUSAL_LM"))
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_B" in name:
                p.copy_(0.1 * torch.randn_like(p))
    model.save_pretrained(OUT)
    os.remove(os.path.join(OUT, "README.md"))

    ids = torch.randint(0, 64, (2, 12))
    targets = torch.randint(0, 64, (2, 12))
    targets[0, :3] = -100
    expected = {"ids": ids, "targets": targets}

    def loss_of(m):
        logits = m(input_ids=ids).logits
        return logits, torch.nn.functional.cross_entropy(logits.reshape(-1, 64), targets.reshape(-1), ignore_index=-100)

    logits, loss = loss_of(model)
    loss.backward()
    expected["logits"], expected["loss"] = logits.detach(), loss.detach()
    adapter = {n: p for n, p in model.named_parameters() if p.requires_grad}
    for n, p in adapter.items():
        expected["grad." + saved(n)] = p.grad.clone()

    optimizer = torch.optim.AdamW(adapter.values(), lr=0.01, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    losses, norms = [], []
    for _ in range(3):
        optimizer.zero_grad()
        _, loss = loss_of(model)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(adapter.values(), 0.5))
        optimizer.step()
        losses.append(loss.detach())
    expected["losses"], expected["norms"] = torch.stack(losses), torch.stack(norms).detach()
    for n, p in adapter.items():
        expected["trained." + saved(n)] = p.detach().clone()
    expected["merged"] = loss_of(model.merge_and_unload())[0].detach()
    save_file({n: t.contiguous() for n, t in expected.items()}, os.path.join(OUT, "expected.safetensors"))


def saved(name):
    """The name under which PEFT saves a parameter."""
    return name.replace(".default", "")


if __name__ == "__main__":
    main()
