"""Writes engine/llm/testdata/families: small random decoders of each family, and what transformers computes with them.

usage: python tests/peers/decoder_families.py [NAME…]        (needs torch, transformers, safetensors; NAME: only that one)

Each folder is what save_pretrained writes, and expected.safetensors:

  ids       two texts of 20 tokens
  logits    of all tokens, in f32
  rounded   the same of the model in bf16, for the first of a family
  greedy    the 12 tokens that follow the first 5 of the first text, each the best one
"""
import os
import shutil
import sys
import warnings

import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

OUT = os.path.join(os.path.dirname(__file__), "../../engine/llm/testdata/families")
VOCAB = 48
SMALL = dict(vocab_size=VOCAB, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=32, initializer_range=0.4, pad_token_id=None,
             bos_token_id=None, eos_token_id=None, attn_implementation="eager")


def llama3(original, factor=8.0):
    return {"rope_type": "llama3", "rope_theta": 500000.0, "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": original}


MODELS = {
    "llama-2": ("Llama", dict(num_key_value_heads=4, tie_word_embeddings=False)),
    "llama-3": ("Llama", dict(rope_parameters=llama3(8), tie_word_embeddings=True, num_hidden_layers=3)),
    "llama-bias": ("Llama", dict(attention_bias=True, mlp_bias=True, head_dim=6, rms_norm_eps=1e-5,
                                 rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0})),
    "llama-dynamic": ("Llama", dict(max_position_embeddings=12, rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0})),
    "llama-yarn": ("Llama", dict(rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 8})),
    "mistral": ("Mistral", dict(sliding_window=7)),
    "mistral-wide": ("Mistral", dict(head_dim=8, sliding_window=None, num_key_value_heads=1)),
    "mistral-tied": ("Mistral", dict(sliding_window=30, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
    "qwen2-window": ("Qwen2", dict(use_sliding_window=True, sliding_window=6, max_window_layers=1, num_hidden_layers=3)),
    "qwen2-yarn": ("Qwen2", dict(num_key_value_heads=4, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 8, "truncate": False})),
    "qwen3": ("Qwen3", dict(head_dim=8, tie_word_embeddings=True)),
    "qwen3-bias": ("Qwen3", dict(head_dim=6, attention_bias=True)),
    "qwen3-window": ("Qwen3", dict(head_dim=4, use_sliding_window=True, sliding_window=5, max_window_layers=1, num_hidden_layers=3)),
    "gemma2": ("Gemma2", dict(head_dim=8, sliding_window=6, query_pre_attn_scalar=8, tie_word_embeddings=True,
                              attn_logit_softcapping=5.0, final_logit_softcapping=3.0)),
    "gemma2-plain": ("Gemma2", dict(head_dim=4, sliding_window=64, query_pre_attn_scalar=16, attn_logit_softcapping=None,
                                    final_logit_softcapping=None, tie_word_embeddings=True, num_hidden_layers=3)),
    "gemma2-one": ("Gemma2", dict(head_dim=6, num_key_value_heads=1, sliding_window=3, query_pre_attn_scalar=6, num_hidden_layers=1,
                                  tie_word_embeddings=True)),
    "gemma3": ("Gemma3Text", dict(head_dim=8, sliding_window=6, query_pre_attn_scalar=8, num_hidden_layers=7, tie_word_embeddings=True)),
    "gemma3-types": ("Gemma3Text", dict(head_dim=4, sliding_window=4, query_pre_attn_scalar=4, num_hidden_layers=3, tie_word_embeddings=True,
                                        layer_types=["full_attention", "sliding_attention", "full_attention"])),
    "gemma3-scaled": ("Gemma3Text", dict(head_dim=8, sliding_window=5, query_pre_attn_scalar=16, num_hidden_layers=2, tie_word_embeddings=True,
                                         layer_types=["sliding_attention", "full_attention"], rope_parameters={
                                             "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                                             "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})),
    "phi3": ("Phi3", dict()),
    "phi3-window": ("Phi3", dict(sliding_window=7, num_key_value_heads=4, tie_word_embeddings=True)),
    "phi3-long": ("Phi3", dict(hidden_size=32, max_position_embeddings=32, original_max_position_embeddings=12, rope_parameters={
        "rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75,
        "short_factor": [1.0, 1.1, 1.3], "long_factor": [1.5, 2.0, 3.0]})),
}


def make(name, kind, changes):
    torch.manual_seed(sum(map(ord, name)))
    config = getattr(transformers, kind + "Config")(**{**SMALL, **changes})
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():  # so that norms and biases matter
        for key, p in model.named_parameters():
            if "norm" in key or "bias" in key:
                p.add_(0.2 * torch.randn_like(p))
    folder = os.path.join(OUT, name)
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "generation_config.json"))
    ids = torch.randint(0, VOCAB, (2, 20))
    with torch.no_grad():
        expected = {"ids": ids, "logits": model(ids).logits}
        greedy = ids[:1, :5]
        for _ in range(12):  # without a cache, so that nothing but the model decides
            greedy = torch.cat([greedy, model(greedy).logits[:, -1:].argmax(-1)], 1)
        expected["greedy"] = greedy[0, 5:]
        if "-" not in name or name == "llama-2":
            expected["rounded"] = model.bfloat16()(ids).logits.float()
    save_file({k: v.contiguous() for k, v in expected.items()}, os.path.join(folder, "expected.safetensors"))


def main():
    warnings.filterwarnings("ignore")
    for name in sys.argv[1:] or MODELS:
        shutil.rmtree(os.path.join(OUT, name), ignore_errors=True)
        make(name, *MODELS[name])


if __name__ == "__main__":
    main()
