"""Writes engine/llm/testdata/mxfp4: a small gpt-oss whose experts are codes of MXFP4, and what transformers computes with it.

usage: python tests/peers/decoder_mxfp4.py        (needs torch, transformers, safetensors)

The folder has the tensors of those that OpenAI published: blocks and scales of all experts of a layer. expected.safetensors has ids, and the
logits in f32 of the model that transformers expands.
"""
import json
import os
import shutil

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, GptOssConfig, GptOssForCausalLM, Mxfp4Config

OUT = os.path.join(os.path.dirname(__file__), "../../engine/llm/testdata/mxfp4")


def main():
    torch.manual_seed(3)
    shutil.rmtree(OUT, ignore_errors=True)
    config = GptOssConfig(vocab_size=48, hidden_size=64, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                          num_local_experts=3, num_experts_per_tok=2, sliding_window=6, max_position_embeddings=32, initializer_range=0.2)
    GptOssForCausalLM(config).bfloat16().save_pretrained(OUT)
    os.remove(os.path.join(OUT, "generation_config.json"))
    path = os.path.join(OUT, "model.safetensors")
    tensors = load_file(path)
    for name in [n for n in tensors if n.endswith("experts.gate_up_proj") or n.endswith("experts.down_proj")]:
        experts, width, out = tensors.pop(name).shape
        tensors[name + "_blocks"] = torch.randint(0, 256, (experts, out, width // 32, 16), dtype=torch.uint8)
        tensors[name + "_scales"] = torch.randint(121, 126, (experts, out, width // 32), dtype=torch.uint8)
    save_file(tensors, path, metadata={"format": "pt"})
    with open(os.path.join(OUT, "config.json")) as f:
        settings = json.load(f)
    settings["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": [
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}
    with open(os.path.join(OUT, "config.json"), "w") as f:
        json.dump(settings, f, indent=2)
    model = AutoModelForCausalLM.from_pretrained(OUT, quantization_config=Mxfp4Config(dequantize=True), attn_implementation="eager",
                                                 experts_implementation="eager").float().eval()
    ids = torch.randint(0, 48, (2, 12))
    with torch.no_grad():
        save_file({"ids": ids, "logits": model(ids).logits.contiguous()}, os.path.join(OUT, "expected.safetensors"))


if __name__ == "__main__":
    main()
