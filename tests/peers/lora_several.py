"""Writes engine/lora/testdata/several: what a small Llama says with several of PEFT's adapters.

usage: python tests/peers/lora_several.py        (needs torch, transformers, peft, safetensors)

The base is that of decoder_lora.py.

  a, b, c                 adapters as PEFT saves them, of unlike ranks, targets and kinds of scale
  expected.safetensors    ids; logits of each adapter, of several that are on, of scaled ones, of none, and of a batch whose
                          rows name their adapters
"""
import os
import shutil

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

TESTDATA = os.path.join(os.path.dirname(__file__), "../../engine/lora/testdata")
OUT = os.path.join(TESTDATA, "several")


def main():
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=10000.0,
        tie_word_embeddings=True))
    model.load_state_dict(load_file(os.path.join(TESTDATA, "peft", "base.safetensors")), strict=False)
    configs = {
        "a": LoraConfig(r=4, lora_alpha=6, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM"),
        "b": LoraConfig(r=2, lora_alpha=3, use_rslora=True, target_modules=["q_proj", "k_proj", "up_proj"], task_type="CAUSAL_LM"),
        "c": LoraConfig(r=8, lora_alpha=8, target_modules=["v_proj", "gate_proj"], task_type="CAUSAL_LM"),
    }
    model = get_peft_model(model, configs["a"], adapter_name="a")
    for name in "bc":
        model.add_adapter(name, configs[name])
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_B" in name:
                p.copy_(0.3 * torch.randn_like(p))
    model.eval()
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    model.save_pretrained(OUT)
    os.remove(os.path.join(OUT, "README.md"))
    for name in configs:
        os.remove(os.path.join(OUT, name, "README.md")) if os.path.exists(os.path.join(OUT, name, "README.md")) else None

    ids = torch.randint(0, 64, (5, 6))
    out = {"ids": ids}
    with torch.no_grad():
        for active in ("a", "b", "c", "ab", "abc"):
            model.base_model.set_adapter(list(active))
            out[active] = model(input_ids=ids).logits
        layers = [m for m in model.modules() if hasattr(m, "set_scale")]
        model.base_model.set_adapter(["a", "b"])
        for m in layers:
            for name, factor in (("a", 0.5), ("b", -2)):
                if name in m.scaling:
                    m.set_scale(name, factor)
        out["a half, b minus twice"] = model(input_ids=ids).logits
        for m in layers:
            for name in ("a", "b"):
                if name in m.scaling:
                    m.set_scale(name, 1)
        with model.disable_adapter():
            out["none"] = model(input_ids=ids).logits
        out["rows"] = model(input_ids=ids, adapter_names=["b", "__base__", "a", "c", "b"]).logits
    save_file({n: t.contiguous() for n, t in out.items()}, os.path.join(OUT, "expected.safetensors"))


if __name__ == "__main__":
    main()
