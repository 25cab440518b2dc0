"""Writes engine/llm/testdata/wrapped: small models of pictures or sound around a model of text, and what transformers computes for texts.

usage: python tests/peers/decoder_wrapped.py [NAME…]         (needs torch, transformers, safetensors, pillow)

Each folder is what save_pretrained writes, of whose encoders only two tensors are kept, and expected.safetensors as decoder_families.py
writes it. "-flat" is a config.json as Qwen 2 VL was first written, without text_config.
"""
import json
import os
import shutil
import sys
import warnings

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForImageTextToText, AutoModelForMultimodalLM

OUT = os.path.join(os.path.dirname(__file__), "../../engine/llm/testdata/wrapped")
TEXT = dict(vocab_size=48, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=32, initializer_range=0.4, pad_token_id=None, bos_token_id=None, eos_token_id=None)
ENCODER = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4, depth=1, num_heads=2,
               embed_dim=16, out_hidden_size=16, encoder_layers=1, encoder_ffn_dim=16, encoder_attention_heads=2, d_model=16, num_mel_bins=8,
               num_position_embeddings=16, fullatt_block_indexes=[0], deepstack_visual_indexes=[0], head_dim=8)
TURNS = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 0, 1]}
DELTA = dict(head_dim=8, layer_types=["linear_attention", "full_attention"], linear_num_key_heads=2, linear_num_value_heads=4,
             linear_key_head_dim=6, linear_value_head_dim=4, initializer_range=0.1,
             rope_parameters={"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 0, 0], "mrope_interleaved": True,
                              "partial_rotary_factor": 0.25})
GLM = dict(head_dim=4, rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 0, 0], "partial_rotary_factor": 0.5})
MODELS = {
    "gemma3": dict(head_dim=8, sliding_window=6, layer_types=["sliding_attention", "full_attention"]),
    "gemma4": dict(head_dim=8, global_head_dim=16, sliding_window=6, num_hidden_layers=4, layer_types=["sliding_attention", "full_attention"] * 2, initializer_range=0.2,
                   pad_token_id=0, hidden_size_per_layer_input=4, vocab_size_per_layer_input=48, num_kv_shared_layers=2, use_double_wide_mlp=True),
    "mistral3": dict(head_dim=8, model_type="ministral3", rope_parameters={
        "rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 4, "beta_fast": 32.0, "beta_slow": 1.0,
        "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}),
    "qwen2_vl-flat": dict(rope_parameters=TURNS),
    "qwen2_5_vl": dict(rope_parameters=TURNS),
    "qwen3_vl": dict(head_dim=8),
    "qwen3_vl_moe": dict(head_dim=8, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12),
    "lfm2_vl": dict(num_hidden_layers=3, block_auto_adjust_ff_dim=False, layer_types=["conv", "full_attention", "conv"]),
    "qwen3_5": DELTA,
    "qwen3_5_moe": DELTA | dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=8),
    "llava": dict(),
    "idefics3": dict(),
    "qwen2_audio": dict(),
    "glm4v": GLM,
    "glm46v": GLM | dict(num_hidden_layers=3),
    "glm4v_moe": GLM | dict(n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=12, n_shared_experts=1),
    "kimi_k25": dict(num_key_value_heads=4, q_lora_rank=10, kv_lora_rank=12, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=6, n_routed_experts=6, num_experts_per_tok=2,
                     moe_intermediate_size=12, n_shared_experts=1, n_group=1, topk_group=1, first_k_dense_replace=1),
    "minicpmv4_6": DELTA,
    "qianfan_ocr": dict(head_dim=8),
    "pp_chart2table": dict(),
    "paddleocr_vl": dict(head_dim=4, rope_parameters={"rope_type": "default", "rope_theta": 5e5, "mrope_section": [1, 1, 0]}),
}


def make(name, changes):
    torch.manual_seed(sum(map(ord, name)))
    kind = name.split("-")[0]
    default = AutoConfig.for_model(kind)
    inner = {}
    for key, settings in default.to_dict().items():
        if key == "vision_config" and settings is None:  # Gemma 4, which may have no encoder
            settings = default.sub_configs[key]().to_dict()
        if key.endswith("_config") and key != "text_config" and settings:
            inner[key] = {k: v for k, v in ENCODER.items() if k in settings} | {"model_type": settings["model_type"]}
    config = type(default)(text_config={**TEXT, "model_type": default.text_config.model_type, **changes}, **inner)
    config.text_config._attn_implementation = "eager"
    auto = AutoModelForMultimodalLM if kind == "qwen2_audio" else AutoModelForImageTextToText
    model = auto.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "norm" in key or "bias" in key:
                p.add_(0.2 * torch.randn_like(p))
    folder = os.path.join(OUT, name)
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "generation_config.json"))
    ids = torch.randint(8, 48, (2, 20))  # none that means a picture
    with torch.no_grad():
        save_file({"ids": ids, "logits": model(input_ids=ids).logits.contiguous()}, os.path.join(folder, "expected.safetensors"))
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    text = ("language_model.", "model.language_model.", "model.text_model.", "lm_head.", "model.embed_tokens.", "model.layers.", "model.norm.")
    encoders = sorted((key for key in tensors if not key.startswith(text)), key=lambda key: tensors[key].numel())
    tensors = {k: v for k, v in tensors.items() if k not in encoders[2:]}
    # As folders of the hub have them, where save_pretrained takes layers of text for those of the encoder.
    tensors = {k.replace("language_model.model.blocks.", "language_model.model.layers.").replace("language_model.model.encoder.", "language_model.model."): v for k, v in tensors.items()}
    if name == "qwen3_vl_moe":  # as folders of the hub have it
        tensors = {k: v.transpose(1, 2).contiguous() if ".experts." in k else v for k, v in tensors.items()}
    save_file(tensors, path, metadata={"format": "pt"})
    if name.endswith("-flat"):
        path = os.path.join(folder, "config.json")
        with open(path) as f:
            flat = json.load(f)
        text = flat.pop("text_config")
        flat = {**text, **flat, "rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section": [1, 0, 1]}}
        flat.pop("rope_parameters")
        with open(path, "w") as f:
            json.dump(flat, f, indent=2)


def main():
    warnings.filterwarnings("ignore")
    for name in sys.argv[1:] or MODELS:
        shutil.rmtree(os.path.join(OUT, name), ignore_errors=True)
        make(name, MODELS[name])


if __name__ == "__main__":
    main()
