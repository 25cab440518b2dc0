"""Writes engine/llm/testdata/families: small random decoders of each family, and what transformers computes with them.

usage: python tests/peers/decoder_families.py [NAME…]        (needs torch, transformers, safetensors; NAME: only that one)

Each folder is what save_pretrained writes, and expected.safetensors:

  ids       two texts of 20 tokens, or one of 150, which are several parts of a scan
  logits    of all tokens, in f32
  rounded   the same of the model in bf16, for the first of a family
  balance   the loss of its routers, of models with experts
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


def llama4(beta, mscale=1.0):
    return {"rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 4, "beta_fast": 32.0, "beta_slow": 1.0,
            "mscale": mscale, "mscale_all_dim": 1.0, "llama_4_scaling_beta": beta}


MOE = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12)
DEEP = dict(n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=12, n_shared_experts=1)
LFM = dict(num_hidden_layers=3, block_auto_adjust_ff_dim=False)
LFM_MOE = dict(num_hidden_layers=3, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=12)
HY3 = dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=12, head_dim=8)
MINIMAX = dict(num_local_experts=6, num_experts_per_tok=3, head_dim=8)
LOCAL, FULL, LINEAR = "sliding_attention", "full_attention", "linear_attention"
PART = {"rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.25}
DELTA = dict(head_dim=8, num_hidden_layers=3, layer_types=[LINEAR, FULL, LINEAR], linear_num_key_heads=2, linear_num_value_heads=4,
             linear_key_head_dim=6, linear_value_head_dim=4, rope_parameters=PART,
             initializer_range=0.1)  # keys of length 1 make wilder weights lose 1e-4 to the last bit of a weight
STATE = dict(mamba_n_heads=4, mamba_d_head=8, mamba_d_state=6, mamba_d_conv=4, mamba_expand=2, num_hidden_layers=3)
FALCON = STATE | dict(mamba_d_ssm=32, ssm_multipliers=[0.5, 1.5, 0.7, 1.2, 0.8], ssm_in_multiplier=1.25, ssm_out_multiplier=0.6, key_multiplier=0.4, attention_in_multiplier=1.5,
                      attention_out_multiplier=0.9, mlp_multipliers=[0.8, 1.3], lm_head_multiplier=0.5, embedding_multiplier=3.0)
MAMBA = dict(num_heads=4, head_dim=8, state_size=6, n_groups=1, num_hidden_layers=3)
BESIDE = STATE | dict(num_local_experts=6, num_experts_per_tok=3, shared_intermediate_size=20, intermediate_size=10, attention_multiplier=0.3)
NEMOTRON = dict(layers_block_type=[LINEAR, "mlp", FULL, "mlp", LINEAR], num_hidden_layers=None, head_dim=8, mamba_num_heads=4, mamba_head_dim=8, ssm_state_size=6, n_groups=1)
ERNIE = dict(moe_num_experts=6, moe_k=3, moe_intermediate_size=12)
OSS = {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
       "original_max_position_embeddings": 8}
LATENT = dict(num_key_value_heads=4, q_lora_rank=10, kv_lora_rank=12, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=6)
EXAONE_MOE = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12, num_shared_experts=1)
DEEP_YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 0.707, "mscale_all_dim": 0.707,
             "original_max_position_embeddings": 8}
GEMMA4 = dict(head_dim=8, global_head_dim=16, num_hidden_layers=4, sliding_window=5, layer_types=[LOCAL, FULL, LOCAL, FULL], hidden_size_per_layer_input=0,
              tie_word_embeddings=True)
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
    "gemma4": ("Gemma4Text", GEMMA4 | dict(hidden_size_per_layer_input=6, vocab_size_per_layer_input=VOCAB, num_kv_shared_layers=2, use_double_wide_mlp=True)),
    "gemma4-same": ("Gemma4Text", GEMMA4 | dict(attention_k_eq_v=True, num_global_key_value_heads=1, final_logit_softcapping=3.0)),
    "gemma4-experts": ("Gemma4Text", GEMMA4 | dict(enable_moe_block=True, num_experts=6, top_k_experts=2, moe_intermediate_size=12, attention_k_eq_v=True,
                                                   num_global_key_value_heads=4)),
    "gemma4-lent": ("Gemma4Text", GEMMA4 | dict(num_kv_shared_layers=3, num_hidden_layers=6, layer_types=[LOCAL, LOCAL, FULL] * 2, global_head_dim=8,
                                                hidden_size_per_layer_input=4, vocab_size_per_layer_input=VOCAB, tie_word_embeddings=False, rope_parameters={
                                                    "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1e4, "factor": 2.0},
                                                    "sliding_attention": {"rope_type": "default", "rope_theta": 1e3}})),
    "gemma4-bias": ("Gemma4Text", GEMMA4 | dict(attention_bias=True, sliding_window=64, global_head_dim=12, num_key_value_heads=1)),
    "gemma4_unified": ("Gemma4UnifiedText", GEMMA4 | dict(attention_k_eq_v=True, num_global_key_value_heads=1, final_logit_softcapping=5.0)),
    "gemma4_unified-lent": ("Gemma4UnifiedText", GEMMA4 | dict(num_kv_shared_layers=2, use_double_wide_mlp=True, num_hidden_layers=4)),
    "gemma4_unified-default": ("Gemma4UnifiedText", GEMMA4 | dict(layer_types=None, num_hidden_layers=7, rope_parameters=None, sliding_window=6)),
    "phi3": ("Phi3", dict()),
    "phi3-window": ("Phi3", dict(sliding_window=7, num_key_value_heads=4, tie_word_embeddings=True)),
    "phi3-long": ("Phi3", dict(hidden_size=32, max_position_embeddings=32, original_max_position_embeddings=12, rope_parameters={
        "rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75,
        "short_factor": [1.0, 1.1, 1.3], "long_factor": [1.5, 2.0, 3.0]})),
    "gemma": ("Gemma", dict(head_dim=8, num_key_value_heads=1)),
    "gemma-wide": ("Gemma", dict(hidden_size=24, head_dim=4, num_key_value_heads=4, num_hidden_layers=3)),
    "gemma-bias": ("Gemma", dict(attention_bias=True, head_dim=6, tie_word_embeddings=False)),
    "ministral": ("Ministral", dict(head_dim=4, sliding_window=7, layer_types=[LOCAL, FULL])),
    "ministral-all": ("Ministral", dict(sliding_window=6, head_dim=8, tie_word_embeddings=True)),
    "ministral-wide": ("Ministral", dict(head_dim=6, sliding_window=64, num_key_value_heads=1)),
    "ministral3": ("Ministral3", dict(head_dim=8, rope_parameters=llama4(0.1))),
    "ministral3-window": ("Ministral3", dict(head_dim=4, sliding_window=6, tie_word_embeddings=True, rope_parameters=llama4(0.5))),
    "ministral3-strong": ("Ministral3", dict(head_dim=16, num_hidden_layers=3, rope_parameters=llama4(0.2, mscale=0.7))),
    "seed_oss": ("SeedOss", dict(head_dim=8)),
    "seed_oss-bias": ("SeedOss", dict(head_dim=4, attention_out_bias=True, mlp_bias=True)),
    "seed_oss-plain": ("SeedOss", dict(head_dim=6, attention_bias=False, tie_word_embeddings=True)),
    "cwm": ("Cwm", dict(bos_token_id=0, head_dim=8, sliding_window=5, rope_parameters=llama3(8))),
    "cwm-types": ("Cwm", dict(bos_token_id=0, head_dim=4, sliding_window=6, layer_types=[LOCAL, FULL, LOCAL], num_hidden_layers=3, tie_word_embeddings=True)),
    "cwm-full": ("Cwm", dict(bos_token_id=0, head_dim=6, layer_types=[FULL, FULL], rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
    "smollm3": ("SmolLM3", dict(num_hidden_layers=5)),
    "smollm3-window": ("SmolLM3", dict(use_sliding_window=True, sliding_window=5, no_rope_layers=[0, 1, 0], num_hidden_layers=3)),
    "smollm3-bias": ("SmolLM3", dict(no_rope_layers=[1, 0], attention_bias=True, mlp_bias=True, tie_word_embeddings=False)),
    "qwen2_moe": ("Qwen2Moe", MOE | dict(shared_expert_intermediate_size=20)),
    "qwen2_moe-dense": ("Qwen2Moe", MOE | dict(shared_expert_intermediate_size=8, num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[3])),
    "qwen2_moe-window": ("Qwen2Moe", MOE | dict(shared_expert_intermediate_size=12, use_sliding_window=True, sliding_window=5, max_window_layers=2,
                                                num_hidden_layers=3, norm_topk_prob=True)),
    "qwen2_moe-plain": ("Qwen2Moe", MOE | dict(shared_expert_intermediate_size=16, qkv_bias=False, num_experts_per_tok=1, tie_word_embeddings=True)),
    "qwen2_moe-all": ("Qwen2Moe", MOE | dict(shared_expert_intermediate_size=4, num_experts_per_tok=6, hidden_act="gelu", moe_intermediate_size=5)),
    "qwen3_moe": ("Qwen3Moe", MOE | dict(head_dim=8, norm_topk_prob=True, num_experts_per_tok=5)),
    "qwen3_moe-dense": ("Qwen3Moe", MOE | dict(num_hidden_layers=4, mlp_only_layers=[0, 2], num_experts=3, num_experts_per_tok=1)),
    "qwen3_moe-window": ("Qwen3Moe", MOE | dict(use_sliding_window=True, sliding_window=6, attention_bias=True, tie_word_embeddings=True)),
    "qwen3_moe-many": ("Qwen3Moe", MOE | dict(num_experts=40, num_experts_per_tok=7, moe_intermediate_size=3, norm_topk_prob=True, num_key_value_heads=1)),
    "qwen3_moe-yarn": ("Qwen3Moe", MOE | dict(num_experts_per_tok=3, head_dim=4, num_key_value_heads=4, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 8})),
    "mixtral": ("Mixtral", dict(num_local_experts=4)),
    "mixtral-window": ("Mixtral", dict(num_local_experts=5, num_experts_per_tok=3, sliding_window=6, num_key_value_heads=1)),
    "mixtral-one": ("Mixtral", dict(num_local_experts=8, num_experts_per_tok=1, tie_word_embeddings=True, head_dim=8)),
    "mixtral-deep": ("Mixtral", dict(num_local_experts=3, num_hidden_layers=4, rms_norm_eps=1e-6, intermediate_size=7)),
    "mixtral-gelu": ("Mixtral", dict(num_local_experts=2, hidden_act="gelu", num_key_value_heads=4,
                                     rope_parameters={"rope_type": "default", "rope_theta": 1e4})),
    "olmoe": ("Olmoe", dict(num_experts=8, num_experts_per_tok=4, num_key_value_heads=4)),
    "olmoe-normed": ("Olmoe", dict(num_experts=5, num_experts_per_tok=2, norm_topk_prob=True, num_key_value_heads=4)),
    "olmoe-bias": ("Olmoe", dict(num_experts=4, num_experts_per_tok=2, attention_bias=True, tie_word_embeddings=True, num_key_value_heads=1)),
    "olmoe-one": ("Olmoe", dict(num_experts=16, num_experts_per_tok=1, intermediate_size=5, num_hidden_layers=3)),
    "olmoe-linear": ("Olmoe", dict(num_experts=6, num_experts_per_tok=6, rope_parameters={"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0})),
    "granitemoe": ("GraniteMoe", dict(num_local_experts=6, num_experts_per_tok=5, residual_multiplier=0.5, attention_multiplier=0.3, logits_scaling=4.0)),
    "granitemoe-bias": ("GraniteMoe", dict(num_local_experts=4, attention_bias=True, embedding_multiplier=3.0, tie_word_embeddings=True)),
    "granitemoe-one": ("GraniteMoe", dict(num_local_experts=9, num_experts_per_tok=1, intermediate_size=7, num_key_value_heads=1)),
    "granitemoe-deep": ("GraniteMoe", dict(num_local_experts=3, num_hidden_layers=4, attention_multiplier=0.125, residual_multiplier=0.22)),
    "granitemoe-gelu": ("GraniteMoe", dict(num_local_experts=5, num_experts_per_tok=3, hidden_act="gelu", num_key_value_heads=4)),
    "glm4_moe": ("Glm4Moe", DEEP | dict(head_dim=8, use_qk_norm=True, attention_bias=True, num_experts_per_tok=5, routed_scaling_factor=1.5)),
    "glm4_moe-groups": ("Glm4Moe", DEEP | dict(head_dim=8, n_routed_experts=12, n_group=4, topk_group=2, num_experts_per_tok=3, n_shared_experts=2)),
    "glm4_moe-dense": ("Glm4Moe", DEEP | dict(head_dim=8, num_hidden_layers=4, first_k_dense_replace=2, norm_topk_prob=False, tie_word_embeddings=True)),
    "glm4_moe-all": ("Glm4Moe", DEEP | dict(head_dim=16, first_k_dense_replace=0, num_experts_per_tok=1, num_key_value_heads=1)),
    "glm4_moe-whole": ("Glm4Moe", DEEP | dict(head_dim=8, n_routed_experts=5, rope_parameters={
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.0})),
    "dots1": ("Dots1", DEEP | dict(num_experts_per_tok=5, head_dim=8, norm_topk_prob=True, routed_scaling_factor=2.5)),
    "dots1-window": ("Dots1", DEEP | dict(sliding_window=6, max_window_layers=1, num_hidden_layers=3, n_shared_experts=2)),
    "dots1-groups": ("Dots1", DEEP | dict(n_routed_experts=8, n_group=2, topk_group=1, head_dim=8, attention_bias=True)),
    "dots1-dense": ("Dots1", DEEP | dict(first_k_dense_replace=1, num_key_value_heads=1, sliding_window=None, tie_word_embeddings=True)),
    "dots1-one": ("Dots1", DEEP | dict(num_experts_per_tok=1, n_routed_experts=3, moe_intermediate_size=5)),
    "flex_olmo": ("FlexOlmo", dict(num_experts=6, num_experts_per_tok=5)),
    "flex_olmo-normed": ("FlexOlmo", dict(num_experts=4, num_experts_per_tok=2, norm_topk_prob=True, num_key_value_heads=4)),
    "flex_olmo-bias": ("FlexOlmo", dict(num_experts=7, num_experts_per_tok=1, attention_bias=True, num_key_value_heads=1)),
    "flex_olmo-tied": ("FlexOlmo", dict(num_experts=3, num_experts_per_tok=3, tie_word_embeddings=True, num_hidden_layers=3)),
    "flex_olmo-small": ("FlexOlmo", dict(num_experts=12, num_experts_per_tok=4, intermediate_size=5, hidden_act="gelu")),
    "gpt_oss": ("GptOss", dict(head_dim=8, num_local_experts=6, sliding_window=6, rope_parameters=OSS)),
    "gpt_oss-plain": ("GptOss", dict(head_dim=4, num_local_experts=5, num_experts_per_tok=1, attention_bias=False, sliding_window=64, layer_types=[FULL, FULL],
                                     rope_parameters={"rope_type": "default", "rope_theta": 1e4}, tie_word_embeddings=True)),
    "gpt_oss-limit": ("GptOss", dict(head_dim=8, num_local_experts=4, num_experts_per_tok=4, swiglu_limit=0.7, num_key_value_heads=1, num_hidden_layers=3,
                                     sliding_window=5, rope_parameters=OSS)),
    "gpt_oss-types": ("GptOss", dict(head_dim=6, num_local_experts=8, num_experts_per_tok=3, layer_types=[FULL, LOCAL, LOCAL], num_hidden_layers=3, sliding_window=4,
                                     intermediate_size=7, num_key_value_heads=4, rope_parameters=OSS)),
    "gpt_oss-narrow": ("GptOss", dict(head_dim=16, num_local_experts=3, num_experts_per_tok=2, sliding_window=1, intermediate_size=16, rope_parameters=OSS)),
    "deepseek_v2": ("DeepseekV2", DEEP | LATENT | dict(num_experts_per_tok=3, n_shared_experts=2, first_k_dense_replace=1, num_hidden_layers=3)),
    "deepseek_v2-lite": ("DeepseekV2", DEEP | LATENT | dict(q_lora_rank=None, rope_parameters=DEEP_YARN, routed_scaling_factor=2.0, num_hidden_layers=3)),
    "deepseek_v2-groups": ("DeepseekV2", DEEP | LATENT | dict(n_routed_experts=12, topk_method="group_limited_greedy", n_group=4, topk_group=2, num_experts_per_tok=4,
                                                              v_head_dim=10, qk_nope_head_dim=4)),
    "deepseek_v2-bias": ("DeepseekV2", DEEP | LATENT | dict(attention_bias=True, mlp_bias=True, first_k_dense_replace=1, tie_word_embeddings=True, rms_norm_eps=1e-4)),
    "deepseek_v2-dense": ("DeepseekV2", DEEP | LATENT | dict(first_k_dense_replace=2, num_hidden_layers=3, hidden_act="gelu", num_experts_per_tok=1, v_head_dim=2)),
    "deepseek_v3": ("DeepseekV3", DEEP | LATENT | dict(first_k_dense_replace=1, n_group=1, topk_group=1, num_experts_per_tok=5)),
    "deepseek_v3-yarn": ("DeepseekV3", DEEP | LATENT | dict(first_k_dense_replace=1, n_routed_experts=12, n_group=4, topk_group=2, num_experts_per_tok=3, rope_parameters=DEEP_YARN | {"mscale": 1.0, "mscale_all_dim": 1.0})),
    "deepseek_v3-halves": ("DeepseekV3", DEEP | LATENT | dict(first_k_dense_replace=0, n_group=2, topk_group=1, rope_interleave=False, norm_topk_prob=False,
                                                              routed_scaling_factor=1.5, tie_word_embeddings=True)),
    "deepseek_v3-bias": ("DeepseekV3", DEEP | LATENT | dict(attention_bias=True, q_lora_rank=None, n_group=1, topk_group=1, first_k_dense_replace=1, qk_nope_head_dim=12, v_head_dim=5)),
    "deepseek_v3-dense": ("DeepseekV3", DEEP | LATENT | dict(first_k_dense_replace=3, num_hidden_layers=4, n_group=3, topk_group=2, n_shared_experts=2, rms_norm_eps=1e-5,
                                                             num_experts_per_tok=4)),
    "hunyuan_v1_moe": ("HunYuanMoEV1", dict(head_dim=8, num_experts=6, moe_topk=5)),
    "hunyuan_v1_moe-list": ("HunYuanMoEV1", dict(head_dim=8, num_experts=4, moe_topk=[2, 2, 2], num_hidden_layers=3, num_key_value_heads=1)),
    "hunyuan_v1_moe-bias": ("HunYuanMoEV1", dict(head_dim=6, num_experts=5, moe_topk=3, attention_bias=True, tie_word_embeddings=True)),
    "hunyuan_v1_moe-alpha": ("HunYuanMoEV1", dict(head_dim=8, num_experts=3, rope_parameters={
        "rope_type": "dynamic", "rope_theta": 1e4, "alpha": 1000.0, "factor": 1.0})),
    "hunyuan_v1_moe-all": ("HunYuanMoEV1", dict(head_dim=4, num_experts=4, moe_topk=4, hidden_act="gelu", intermediate_size=7, num_key_value_heads=4)),
    "olmo2": ("Olmo2", dict()),
    "olmo2-grouped": ("Olmo2", dict(num_key_value_heads=1, tie_word_embeddings=True, num_hidden_layers=3)),
    "olmo2-bias": ("Olmo2", dict(num_key_value_heads=4, attention_bias=True, rope_parameters={"rope_type": "default", "rope_theta": 5e5})),
    "olmo3": ("Olmo3", dict(sliding_window=6, num_hidden_layers=4)),
    "olmo3-yarn": ("Olmo3", dict(sliding_window=5, layer_types=[LOCAL, FULL], rope_parameters={
        "sliding_attention": {"rope_type": "default", "rope_theta": 5e5},
        "full_attention": {"rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0, "original_max_position_embeddings": 8,
                           "attention_factor": 1.2, "beta_fast": 32.0, "beta_slow": 1.0}})),
    "olmo3-full": ("Olmo3", dict(layer_types=[FULL, FULL], num_key_value_heads=1, tie_word_embeddings=True)),
    "granite": ("Granite", dict(embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22, attention_multiplier=0.3)),
    "granite-bias": ("Granite", dict(attention_bias=True, mlp_bias=True, residual_multiplier=0.5, tie_word_embeddings=True)),
    "granite-deep": ("Granite", dict(embedding_multiplier=3.0, attention_multiplier=0.125, num_hidden_layers=4, num_key_value_heads=1)),
    "exaone4": ("Exaone4", dict(sliding_window=5, num_hidden_layers=4)),
    "exaone4-full": ("Exaone4", dict(sliding_window=None, layer_types=[FULL, FULL], tie_word_embeddings=True, rope_parameters=llama3(8, 16.0))),
    "exaone4-types": ("Exaone4", dict(sliding_window=7, layer_types=[FULL, LOCAL], num_key_value_heads=4)),
    "cohere2": ("Cohere2", dict(sliding_window=5, num_hidden_layers=4)),
    "cohere2-bias": ("Cohere2", dict(sliding_window=64, attention_bias=True, logit_scale=0.25, tie_word_embeddings=False)),
    "cohere2-types": ("Cohere2", dict(sliding_window=6, layer_types=[FULL, LOCAL], num_key_value_heads=1, logit_scale=1.0)),
    "cohere": ("Cohere", dict()),
    "cohere-bias": ("Cohere", dict(attention_bias=True, logit_scale=0.5, tie_word_embeddings=False)),
    "cohere-shared": ("Cohere", dict(num_key_value_heads=1, num_hidden_layers=3, rope_parameters={"rope_type": "default", "rope_theta": 8e6})),
    "glm": ("Glm", dict(head_dim=8)),
    "glm-plain": ("Glm", dict(head_dim=8, attention_bias=False, tie_word_embeddings=True,
                              rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.0})),
    "glm-quarter": ("Glm", dict(head_dim=8, rms_norm_eps=1e-5, num_key_value_heads=1, num_hidden_layers=3,
                                rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25})),
    "glm-narrow": ("Glm", dict(head_dim=4)),
    "glm4": ("Glm4", dict(head_dim=8)),
    "glm4-plain": ("Glm4", dict(head_dim=4, attention_bias=False, num_hidden_layers=3, num_key_value_heads=1)),
    "glm4-tied": ("Glm4", dict(head_dim=8, tie_word_embeddings=True,
                               rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.75})),
    "phi": ("Phi", dict(num_key_value_heads=4, intermediate_size=64)),
    "phi-norms": ("Phi", dict(qk_layernorm=True, num_hidden_layers=3)),
    "phi-wide": ("Phi", dict(hidden_size=32, num_key_value_heads=1, hidden_act="gelu",
                             rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.75})),
    "starcoder2": ("Starcoder2", dict()),
    "starcoder2-window": ("Starcoder2", dict(sliding_window=6, tie_word_embeddings=False, num_hidden_layers=3)),
    "starcoder2-plain": ("Starcoder2", dict(use_bias=False, num_key_value_heads=1, hidden_act="gelu")),
    "nemotron": ("Nemotron", dict(head_dim=8)),
    "nemotron-bias": ("Nemotron", dict(head_dim=4, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "nemotron-whole": ("Nemotron", dict(head_dim=8, num_key_value_heads=4, num_hidden_layers=3,
                                        rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.0})),
    "hunyuan_v1_dense": ("HunYuanDenseV1", dict(head_dim=8, rope_parameters={
        "rope_type": "dynamic", "rope_theta": 1e4, "alpha": 1000.0, "factor": 1.0})),
    "hunyuan_v1_dense-plain": ("HunYuanDenseV1", dict(head_dim=4, tie_word_embeddings=True)),
    "hunyuan_v1_dense-bias": ("HunYuanDenseV1", dict(head_dim=6, attention_bias=True, num_hidden_layers=3, num_key_value_heads=1)),
    "hyperclovax": ("HyperCLOVAX", dict(embedding_multiplier=10.0, logits_scaling=0.125, residual_multiplier=0.3, attention_multiplier=0.2)),
    "hyperclovax-plain": ("HyperCLOVAX", dict(head_dim=8, tie_word_embeddings=True, num_hidden_layers=3, num_key_value_heads=1)),
    "hyperclovax-bias": ("HyperCLOVAX", dict(attention_bias=True, mlp_bias=True, logits_scaling=4.0)),
    "iquestcoder": ("IQuestCoder", dict(head_dim=8)),
    "iquestcoder-bias": ("IQuestCoder", dict(head_dim=4, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "iquestcoder-yarn": ("IQuestCoder", dict(head_dim=6, num_hidden_layers=3, num_key_value_heads=1, rope_parameters={
        "rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0, "original_max_position_embeddings": 8})),
    "helium": ("Helium", dict(head_dim=4)),
    "helium-bias": ("Helium", dict(head_dim=4, attention_bias=True, mlp_bias=True, num_key_value_heads=4)),
    "helium-tied": ("Helium", dict(head_dim=4, tie_word_embeddings=True, num_hidden_layers=3, num_key_value_heads=1)),
    "arcee": ("Arcee", dict(head_dim=8)),
    "arcee-bias": ("Arcee", dict(head_dim=4, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "arcee-yarn": ("Arcee", dict(head_dim=8, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 8})),
    "ernie4_5": ("Ernie4_5", dict(head_dim=8)),
    "ernie4_5-bias": ("Ernie4_5", dict(head_dim=4, use_bias=True, tie_word_embeddings=False)),
    "ernie4_5-shared": ("Ernie4_5", dict(head_dim=6, num_key_value_heads=1, num_hidden_layers=3)),
    "stablelm": ("StableLm", dict(hidden_size=32)),
    "stablelm-bias": ("StableLm", dict(use_qkv_bias=True, hidden_size=32, num_hidden_layers=3,
                                       rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.75})),
    "stablelm-parallel": ("StableLm", dict(use_parallel_residual=True, hidden_size=32, tie_word_embeddings=True)),
    "stablelm-norms": ("StableLm", dict(qk_layernorm=True, hidden_size=32)),
    "stablelm-normed": ("StableLm", dict(qk_layernorm=True, use_parallel_residual=True, use_qkv_bias=True, hidden_size=64, num_key_value_heads=1, layer_norm_eps=1e-4)),
    "apertus": ("Apertus", dict(rope_parameters=llama3(8))),
    "apertus-bias": ("Apertus", dict(attention_bias=True, head_dim=6, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
    "apertus-default": ("Apertus", dict(head_dim=8, num_hidden_layers=3, num_key_value_heads=4)),
    "apertus-silu": ("Apertus", dict(hidden_act="silu", num_key_value_heads=1, rope_parameters={"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0})),
    "apertus-deep": ("Apertus", dict(num_hidden_layers=4, rms_norm_eps=1e-6, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 8})),
    "jais2": ("Jais2", dict(head_dim=8)),
    "jais2-plain": ("Jais2", dict(head_dim=4, attention_bias=False, mlp_bias=False, tie_word_embeddings=True)),
    "jais2-deep": ("Jais2", dict(head_dim=6, num_hidden_layers=4, num_key_value_heads=4)),
    "vaultgemma": ("VaultGemma", dict(head_dim=8, sliding_window=6, query_pre_attn_scalar=8, attn_logit_softcapping=5.0, final_logit_softcapping=3.0)),
    "vaultgemma-plain": ("VaultGemma", dict(head_dim=4, sliding_window=64, query_pre_attn_scalar=16, attn_logit_softcapping=None,
                                            final_logit_softcapping=None, num_hidden_layers=3)),
    "lfm2": ("Lfm2", LFM | dict(layer_types=["conv", FULL, "conv"])),
    "lfm2-bias": ("Lfm2", LFM | dict(conv_bias=True, conv_L_cache=4, layer_types=[FULL, "conv", "conv", FULL], num_hidden_layers=4,
                                     num_key_value_heads=1, tie_word_embeddings=False)),
    "lfm2-wide": ("Lfm2", LFM | dict(layer_types=["conv", FULL, "conv"], intermediate_size=50, block_auto_adjust_ff_dim=True, block_multiple_of=16,
                                     block_ffn_dim_multiplier=1.3, conv_L_cache=2)),
    "lfm2-last": ("Lfm2", LFM | dict(full_attn_idxs=[2], num_key_value_heads=4)),
    "lfm2-attention": ("Lfm2", LFM | dict(full_attn_idxs=[0, 1], num_hidden_layers=2, head_dim=6, norm_eps=1e-6)),
    "lfm2_moe": ("Lfm2Moe", LFM_MOE | dict(layer_types=["conv", FULL, "conv"], num_dense_layers=1, num_experts_per_tok=6)),
    "lfm2_moe-all": ("Lfm2Moe", LFM_MOE | dict(layer_types=[FULL, "conv", FULL], num_dense_layers=0, num_experts_per_tok=1, num_key_value_heads=1, tie_word_embeddings=False)),
    "lfm2_moe-plain": ("Lfm2Moe", LFM_MOE | dict(layer_types=["conv", "conv", FULL], num_dense_layers=2, use_expert_bias=False, routed_scaling_factor=2.5, conv_bias=True)),
    "lfm2_moe-sum": ("Lfm2Moe", LFM_MOE | dict(layer_types=["conv", FULL, FULL, "conv"], num_hidden_layers=4, num_dense_layers=1, norm_topk_prob=False, conv_L_cache=4)),
    "lfm2_moe-many": ("Lfm2Moe", LFM_MOE | dict(layer_types=[FULL, "conv", "conv"], num_experts=24, num_experts_per_tok=7, moe_intermediate_size=3, num_dense_layers=1)),
    "hy_v3": ("HYV3", HY3 | dict(num_hidden_layers=3, num_experts_per_tok=6)),
    "hy_v3-all": ("HYV3", HY3 | dict(mlp_layer_types=["sparse", "sparse"], num_key_value_heads=1, router_scaling_factor=1.0)),
    "hy_v3-some": ("HYV3", HY3 | dict(num_hidden_layers=4, mlp_layer_types=["dense", "sparse", "dense", "sparse"], num_shared_experts=2, tie_word_embeddings=True)),
    "hy_v3-bias": ("HYV3", HY3 | dict(num_hidden_layers=2, attention_bias=True, num_experts_per_tok=1, enable_moe_fp32_combine=False)),
    "hy_v3-many": ("HYV3", HY3 | dict(num_experts=24, num_experts_per_tok=7, moe_intermediate_size=5, num_hidden_layers=3, head_dim=6,
                                      rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
    "minimax_m2": ("MiniMaxM2", MINIMAX),
    "minimax_m2-part": ("MiniMaxM2", MINIMAX | dict(rotary_dim=4, num_key_value_heads=1)),
    "minimax_m2-half": ("MiniMaxM2", MINIMAX | dict(head_dim=12, rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}, num_experts_per_tok=1)),
    "minimax_m2-deep": ("MiniMaxM2", MINIMAX | dict(num_hidden_layers=4, num_local_experts=3, intermediate_size=7, tie_word_embeddings=True)),
    "minimax_m2-many": ("MiniMaxM2", MINIMAX | dict(num_local_experts=24, num_experts_per_tok=7, intermediate_size=5, num_key_value_heads=4, hidden_act="gelu")),
    "qwen3_next": ("Qwen3Next", DELTA | MOE | dict(shared_expert_intermediate_size=20, num_experts_per_tok=5)),
    "qwen3_next-dense": ("Qwen3Next", DELTA | MOE | dict(shared_expert_intermediate_size=8, mlp_only_layers=[1], norm_topk_prob=False,
                                                         linear_num_value_heads=2, linear_value_head_dim=5, attention_bias=True)),
    "qwen3_next-types": ("Qwen3Next", DELTA | MOE | dict(shared_expert_intermediate_size=12, decoder_sparse_step=2, num_hidden_layers=4,
                                                         layer_types=[FULL, LINEAR, LINEAR, FULL], linear_conv_kernel_dim=2, tie_word_embeddings=True)),
    "qwen3_next-wide": ("Qwen3Next", DELTA | MOE | dict(shared_expert_intermediate_size=4, linear_num_key_heads=1, linear_num_value_heads=3,
                                                        linear_key_head_dim=12, rope_parameters=PART | {"partial_rotary_factor": 1.0})),
    "qwen3_next-gelu": ("Qwen3Next", DELTA | MOE | dict(shared_expert_intermediate_size=16, hidden_act="gelu", num_key_value_heads=1, head_dim=16,
                                                        num_hidden_layers=5, layer_types=None, moe_intermediate_size=5)),
    "qwen3_5_text": ("Qwen3_5Text", DELTA),
    "qwen3_5_text-types": ("Qwen3_5Text", DELTA | dict(layer_types=[FULL, LINEAR], num_hidden_layers=2, linear_num_value_heads=2, attention_bias=True,
                                                       rope_parameters=PART | {"mrope_section": [1, 0, 0], "mrope_interleaved": True})),
    "qwen3_5_text-wide": ("Qwen3_5Text", DELTA | dict(linear_key_head_dim=3, linear_num_key_heads=3, linear_num_value_heads=6, tie_word_embeddings=True,
                                                      linear_conv_kernel_dim=3, num_key_value_heads=4)),
    "qwen3_5_text-deep": ("Qwen3_5Text", DELTA | dict(num_hidden_layers=5, layer_types=None, head_dim=16, hidden_act="gelu_pytorch_tanh")),
    "qwen3_5_moe_text": ("Qwen3_5MoeText", DELTA | MOE | dict(shared_expert_intermediate_size=12, num_experts_per_tok=6, moe_intermediate_size=5,
                                                              layer_types=[FULL, LINEAR, LINEAR])),
    "qwen3_5_moe_text-some": ("Qwen3_5MoeText", DELTA | MOE | dict(shared_expert_intermediate_size=20)),
    "qwen3_5_moe_text-one": ("Qwen3_5MoeText", DELTA | MOE | dict(shared_expert_intermediate_size=4, num_experts_per_tok=1, tie_word_embeddings=True,
                                                                  linear_num_value_heads=2)),
    "mamba2": ("Mamba2", MAMBA),
    "mamba2-groups": ("Mamba2", MAMBA | dict(n_groups=2, conv_kernel=3, use_bias=True, time_step_limit=[0.3, 0.9], tie_word_embeddings=True)),
    "mamba2-wide": ("Mamba2", MAMBA | dict(num_heads=3, head_dim=16, expand=3, n_groups=3, state_size=12, use_conv_bias=False, layer_norm_epsilon=1e-4)),
    "mamba2-one": ("Mamba2", MAMBA | dict(num_heads=1, head_dim=16, expand=1, num_hidden_layers=1, conv_kernel=2, hidden_act="gelu")),
    "mamba2-long": ("Mamba2", MAMBA | dict(num_hidden_layers=2, n_groups=4, residual_in_fp32=False)),
    "falcon_h1": ("FalconH1", FALCON),
    "falcon_h1-norm": ("FalconH1", FALCON | dict(mamba_rms_norm=True, mamba_norm_before_gate=False, mamba_n_groups=2, mlp_bias=True, tie_word_embeddings=True)),
    "falcon_h1-first": ("FalconH1", FALCON | dict(mamba_rms_norm=True, mamba_n_groups=4, head_dim=8, num_key_value_heads=1, mamba_conv_bias=False, projectors_bias=True)),
    "falcon_h1-bias": ("FalconH1", FALCON | dict(mamba_d_ssm=None, mamba_d_head="auto", attention_bias=True, mamba_proj_bias=True, time_step_limit=[0.1, 0.8], num_hidden_layers=2)),
    "falcon_h1-long": ("FalconH1", FALCON | dict(mamba_d_ssm=24, mamba_d_head=12, mamba_n_heads=2, mamba_d_state=16, max_position_embeddings=256,
                                                 rope_parameters={"rope_type": "default", "rope_theta": 1e11})),
    "bamba": ("Bamba", STATE | dict(attn_layer_indices=[1])),
    "bamba-groups": ("Bamba", STATE | dict(attn_layer_indices=[0, 2], mamba_n_groups=2, mamba_proj_bias=True, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "bamba-long": ("Bamba", STATE | dict(attn_layer_indices=[2], mamba_conv_bias=False, num_key_value_heads=4, mamba_d_conv=2, time_step_limit=[0.2, 2.0])),
    "granitemoehybrid": ("GraniteMoeHybrid", BESIDE | dict(layer_types=["mamba", "attention", "mamba"], residual_multiplier=0.5, logits_scaling=4.0)),
    "granitemoehybrid-rope": ("GraniteMoeHybrid", BESIDE | dict(layer_types=[FULL, LINEAR, LINEAR], position_embedding_type="rope", embedding_multiplier=3.0, mamba_n_groups=2,
                                                                num_experts_per_tok=1, tie_word_embeddings=True)),
    "granitemoehybrid-dense": ("GraniteMoeHybrid", BESIDE | dict(layer_types=[LINEAR, FULL, LINEAR], num_local_experts=0, num_experts_per_tok=0, mamba_proj_bias=True,
                                                                 attention_bias=True, residual_multiplier=0.22)),
    "granitemoehybrid-states": ("GraniteMoeHybrid", BESIDE | dict(num_hidden_layers=2, num_local_experts=3, mamba_d_conv=3, mamba_conv_bias=False, time_step_limit=[0.1, 1.0],
                                                                  use_cache=False)),
    "granitemoehybrid-long": ("GraniteMoeHybrid", BESIDE | dict(layer_types=[LINEAR, LINEAR, FULL], mamba_n_heads=2, mamba_d_head=16, num_key_value_heads=1, hidden_act="gelu")),
    "granitemoeshared": ("GraniteMoeShared", dict(num_local_experts=6, num_experts_per_tok=5, shared_intermediate_size=20, residual_multiplier=0.5, attention_multiplier=0.3)),
    "granitemoeshared-bias": ("GraniteMoeShared", dict(num_local_experts=4, attention_bias=True, shared_intermediate_size=8, embedding_multiplier=3.0, tie_word_embeddings=True,
                                                       attention_multiplier=0.5)),
    "granitemoeshared-one": ("GraniteMoeShared", dict(num_local_experts=9, num_experts_per_tok=1, intermediate_size=7, num_key_value_heads=1, shared_intermediate_size=30,
                                                      attention_multiplier=0.2)),
    "granitemoeshared-deep": ("GraniteMoeShared", dict(num_local_experts=3, num_hidden_layers=4, attention_multiplier=0.125, logits_scaling=3.0, shared_intermediate_size=16)),
    "granitemoeshared-gelu": ("GraniteMoeShared", dict(num_local_experts=5, num_experts_per_tok=3, hidden_act="gelu", num_key_value_heads=4, attention_multiplier=0.25,
                                                       shared_intermediate_size=12)),
    "nemotron_h": ("NemotronH", NEMOTRON),
    "nemotron_h-groups": ("NemotronH", NEMOTRON | dict(layers_block_type=["mlp", LINEAR, FULL, LINEAR], n_groups=2, use_bias=True, mlp_bias=True,
                                                       time_step_min=0.4, conv_kernel=2)),
    "nemotron_h-long": ("NemotronH", NEMOTRON | dict(layers_block_type=[LINEAR, "mlp", LINEAR, FULL], mamba_num_heads=3, mamba_head_dim=6, use_conv_bias=False)),
    "nemotron_h-mlp": ("NemotronH", NEMOTRON | dict(layers_block_type=[FULL, "mlp", LINEAR, "mlp"], head_dim=4, num_key_value_heads=1, mlp_hidden_act="gelu", ssm_state_size=12)),
    "nemotron_h-gelu": ("NemotronH", NEMOTRON | dict(layers_block_type=[LINEAR, FULL, "mlp"], mamba_head_dim=16, n_groups=4, layer_norm_epsilon=1e-4, mamba_hidden_act="gelu")),
    "nemotron_h-experts": ("NemotronH", NEMOTRON | DEEP | dict(layers_block_type=[LINEAR, "moe", FULL, LINEAR, "moe"], moe_shared_expert_intermediate_size=20,
                                                                num_experts_per_tok=3, routed_scaling_factor=2.5)),
    "nemotron_h-narrow": ("NemotronH", NEMOTRON | DEEP | dict(layers_block_type=["moe", LINEAR, "moe", FULL], moe_shared_expert_intermediate_size=8, moe_latent_size=6,
                                                              n_group=3, topk_group=2, norm_topk_prob=False, mlp_bias=True)),
    "ernie4_5_moe": ("Ernie4_5_Moe", ERNIE | dict(num_hidden_layers=3, moe_k=6)),
    "ernie4_5_moe-some": ("Ernie4_5_Moe", ERNIE | dict(num_hidden_layers=5, moe_layer_start_index=1, moe_layer_end_index=3, moe_layer_interval=2, use_bias=True, tie_word_embeddings=False,
                                                   moe_k=1)),
    "ernie4_5_moe-all": ("Ernie4_5_Moe", ERNIE | dict(moe_layer_start_index=0, moe_num_shared_experts=1, tie_word_embeddings=False, moe_k=5, num_key_value_heads=1)),
    "ernie4_5_moe-wide": ("Ernie4_5_Moe", ERNIE | dict(num_hidden_layers=4, moe_layer_end_index=2, head_dim=8, moe_num_experts=12, moe_intermediate_size=5)),
    "ernie4_5_moe-gelu": ("Ernie4_5_Moe", ERNIE | dict(hidden_act="gelu", moe_num_experts=3, moe_k=2, num_key_value_heads=4)),
    "internlm3": ("InternLM3", dict(head_dim=8)),
    "internlm3-bias": ("InternLM3", dict(head_dim=4, qkv_bias=True, bias=True, num_key_value_heads=1, tie_word_embeddings=True)),
    "internlm3-linear": ("InternLM3", dict(head_dim=8, num_hidden_layers=3, rope_parameters={"rope_type": "linear", "rope_theta": 5e6, "factor": 6.0})),
    "cohere-norms": ("Cohere", dict(use_qk_norm=True, num_key_value_heads=1)),
    "cohere-normed": ("Cohere", dict(use_qk_norm=True, num_hidden_layers=3, attention_bias=True, layer_norm_eps=1e-4)),
    "qwen3_5_text-long": ("Qwen3_5Text", DELTA | dict(linear_num_key_heads=1, linear_num_value_heads=3, max_position_embeddings=256)),
    "youtu": ("Youtu", LATENT),
    "youtu-plain": ("Youtu", LATENT | dict(q_lora_rank=None, tie_word_embeddings=False, rope_interleave=False, num_hidden_layers=3)),
    "youtu-yarn": ("Youtu", LATENT | dict(rope_parameters=DEEP_YARN, kv_lora_rank=6, v_head_dim=8, attention_bias=True)),
    "minicpm3": ("MiniCPM3", LATENT | dict(v_head_dim=None, max_position_embeddings=256, rope_parameters={
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 256, "short_factor": [1.0, 1.1], "long_factor": [1.2, 1.7]})),
    "minicpm3-plain": ("MiniCPM3", LATENT | dict(q_lora_rank=None, tie_word_embeddings=False, scale_emb=1, scale_depth=None, dim_model_base=None, num_hidden_layers=3)),
    "minicpm3-scaled": ("MiniCPM3", LATENT | dict(attention_bias=True, mlp_bias=True, scale_emb=2, dim_model_base=8, kv_lora_rank=6, rope_parameters={
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 16, "short_factor": [1.0, 1.3], "long_factor": [1.5, 2.0]})),
    "glm4_moe_lite": ("Glm4MoeLite", LATENT | DEEP | dict(num_experts_per_tok=6)),
    "glm4_moe_lite-kinds": ("Glm4MoeLite", LATENT | DEEP | dict(num_hidden_layers=4, mlp_layer_types=["sparse", "dense", "sparse", "dense"], q_lora_rank=None, n_group=3, topk_group=2)),
    "glm4_moe_lite-all": ("Glm4MoeLite", LATENT | DEEP | dict(mlp_layer_types=["sparse", "sparse"], num_experts_per_tok=4, n_shared_experts=2, norm_topk_prob=False,
                                                              rope_parameters=DEEP_YARN)),
    "mellum": ("Mellum", MOE | dict(head_dim=8, num_hidden_layers=3, sliding_window=5, layer_types=[LOCAL, FULL, LOCAL], rope_parameters={
        kind: {"rope_type": "default", "rope_theta": 5e5} for kind in (FULL, LOCAL)})),
    "mellum-dense": ("Mellum", MOE | dict(head_dim=6, mlp_layer_types=["dense", "sparse"], norm_topk_prob=False, tie_word_embeddings=True)),
    "mellum-yarn": ("Mellum", MOE | dict(head_dim=8, num_hidden_layers=4, sliding_window=3, layer_types=[LOCAL, LOCAL, LOCAL, FULL], attention_bias=True, rope_parameters={
        FULL: {"rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0, "original_max_position_embeddings": 8, "beta_fast": 32.0, "beta_slow": 1.0},
        LOCAL: {"rope_type": "default", "rope_theta": 1e4}})),
    "solar_open": ("SolarOpen", DEEP | dict(head_dim=8)),
    "solar_open-bias": ("SolarOpen", DEEP | dict(head_dim=6, attention_bias=True, norm_topk_prob=False, routed_scaling_factor=1.5, num_experts_per_tok=4)),
    "solar_open-groups": ("SolarOpen", DEEP | dict(head_dim=4, num_hidden_layers=3, n_group=3, topk_group=1, n_shared_experts=2, tie_word_embeddings=True,
                                                  rope_parameters={"rope_type": "yarn", "rope_theta": 1e6, "factor": 2.0, "original_max_position_embeddings": 16})),
    "phimoe": ("Phimoe", dict(num_local_experts=2, router_jitter_noise=1e-9)),  # bf16 chooses others of more, or which are near
    "phimoe-six": ("Phimoe", dict(num_local_experts=6, router_jitter_noise=0.3)),
    "phimoe-bias": ("Phimoe", dict(num_local_experts=4, attention_bias=True, lm_head_bias=True, num_hidden_layers=3)),
    "phimoe-window": ("Phimoe", dict(num_local_experts=8, sliding_window=5, num_key_value_heads=1, router_jitter_noise=0.1, tie_word_embeddings=True)),
    "phimoe-wild": ("Phimoe", dict(num_local_experts=3, router_jitter_noise=0.8, hidden_act="gelu", rms_norm_eps=1e-3)),
    "phimoe-narrow": ("Phimoe", dict(num_local_experts=16, intermediate_size=7, router_jitter_noise=0.5, num_key_value_heads=4)),
    "phimoe-scaled": ("Phimoe", dict(num_local_experts=2, router_jitter_noise=1e-9, max_position_embeddings=128, rope_parameters={  # transformers divides by short_factor only
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 100, "short_factor": [1.0, 1.3], "long_factor": [1.5, 2.0],
        "short_mscale": 1.25, "long_mscale": 1.25})),
    "granite_swa": ("GraniteSWA", dict(num_hidden_layers=4, sliding_window=5, layer_rope_theta=[0, 1e4, 1e4, 1e4], attention_multiplier=0.1, residual_multiplier=0.5, logits_scaling=4.0)),
    "granite_swa-rates": ("GraniteSWA", dict(num_hidden_layers=3, sliding_window=3, layer_types=[LOCAL, FULL, LOCAL], layer_rope_theta=[1e4, 5e5, 0], residual_multiplier=0.5,
                                             attention_multiplier=0.5, tie_word_embeddings=False, attention_bias=True, mlp_bias=True)),
    "granite_swa-full": ("GraniteSWA", dict(layer_types=[FULL, FULL], embedding_multiplier=3.0, attention_multiplier=0.25, num_key_value_heads=1)),
    "granitemoe_swa": ("GraniteMoeSWA", dict(num_hidden_layers=4, num_local_experts=6, num_experts_per_tok=3, shared_intermediate_size=20, sliding_window=5,
                                             layer_rope_theta=[0, 1e4, 1e4, 1e4], attention_multiplier=0.3)),
    "granitemoe_swa-alone": ("GraniteMoeSWA", dict(num_local_experts=4, sliding_window=4, attention_multiplier=0.5, logits_scaling=3.0, tie_word_embeddings=True)),
    "granitemoe_swa-bias": ("GraniteMoeSWA", dict(num_local_experts=5, num_experts_per_tok=1, shared_intermediate_size=8, attention_bias=True, residual_multiplier=0.5,
                                                  attention_multiplier=0.2, layer_types=[LOCAL, FULL], sliding_window=3, layer_rope_theta=[2e4, 1e6])),
    "exaone": ("Exaone", {}),
    "exaone-3": ("Exaone", dict(rope_parameters=llama3(8), num_hidden_layers=3, num_key_value_heads=1)),
    "exaone-tied": ("Exaone", dict(tie_word_embeddings=True, hidden_act="gelu", layer_norm_epsilon=1e-3)),
    "olmo": ("Olmo", {}),
    "olmo-clip": ("Olmo", dict(clip_qkv=0.7, num_hidden_layers=3, num_key_value_heads=1)),
    "olmo-bias": ("Olmo", dict(attention_bias=True, tie_word_embeddings=True, num_key_value_heads=4, rope_parameters={"rope_type": "linear", "rope_theta": 5e5, "factor": 4.0})),
    "gpt2": ("GPT2", {}),
    "gpt2-untied": ("GPT2", dict(tie_word_embeddings=False, n_inner=20, num_hidden_layers=3, activation_function="gelu", scale_attn_weights=False)),
    "gpt2-relu": ("GPT2", dict(num_attention_heads=2, activation_function="relu", layer_norm_epsilon=1e-3, reorder_and_upcast_attn=True)),
    "gpt_bigcode": ("GPTBigCode", {}),
    "gpt_bigcode-heads": ("GPTBigCode", dict(multi_query=False, n_inner=20, num_hidden_layers=3, tie_word_embeddings=False)),
    "gpt_bigcode-two": ("GPTBigCode", dict(num_attention_heads=2, activation_function="gelu", scale_attn_weights=False)),
    "gpt_neo": ("GPTNeo", dict(attention_types=[[["global", "local"], 1]], window_size=5, intermediate_size=None)),
    "gpt_neo-types": ("GPTNeo", dict(num_hidden_layers=3, attention_types=[[["local"], 2], [["global"], 1]], window_size=3, tie_word_embeddings=False)),
    "gpt_neo-global": ("GPTNeo", dict(attention_types=[[["global"], 2]], num_attention_heads=2, activation_function="relu")),
    "gptj": ("GPTJ", dict(rotary_dim=2)),
    "gptj-all": ("GPTJ", dict(rotary_dim=8, n_inner=20, num_attention_heads=2, num_hidden_layers=3, activation_function="gelu")),
    "gptj-part": ("GPTJ", dict(rotary_dim=4, num_attention_heads=2, layer_norm_epsilon=1e-3)),
    "gpt_neox": ("GPTNeoX", dict(rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5})),
    "gpt_neox-after": ("GPTNeoX", dict(use_parallel_residual=False, num_hidden_layers=3, rope_parameters={"rope_type": "default", "rope_theta": 1e5, "partial_rotary_factor": 1.0})),
    "gpt_neox-plain": ("GPTNeoX", dict(attention_bias=False, num_attention_heads=2, tie_word_embeddings=True, hidden_act="gelu_new",
                                       rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "partial_rotary_factor": 0.25, "factor": 2.0})),
    "falcon": ("Falcon", {}),
    "falcon-new": ("Falcon", dict(new_decoder_architecture=True, num_kv_heads=2, num_hidden_layers=3, ffn_hidden_size=20)),
    "falcon-norms": ("Falcon", dict(new_decoder_architecture=True, num_kv_heads=2)),
    "falcon-bias": ("Falcon", dict(bias=True, multi_query=False, parallel_attn=False, tie_word_embeddings=False, layer_norm_epsilon=1e-3)),
    "falcon-one": ("Falcon", dict(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1, rope_parameters={"rope_type": "linear", "rope_theta": 5e5, "factor": 4.0})),
    "exaone_moe": ("ExaoneMoe", EXAONE_MOE | dict(num_hidden_layers=3, num_experts_per_tok=5, sliding_window=5, sliding_window_pattern=2)),
    "exaone_moe-types": ("ExaoneMoe", EXAONE_MOE | dict(num_hidden_layers=3, sliding_window=4, layer_types=[FULL, LOCAL, FULL], mlp_layer_types=["sparse", "dense", "sparse"],
                                                        n_group=3, topk_group=2, num_shared_experts=2, norm_topk_prob=False)),
    "exaone_moe-all": ("ExaoneMoe", EXAONE_MOE | dict(first_k_dense_replace=0, num_experts_per_tok=5, routed_scaling_factor=1.0, tie_word_embeddings=True, head_dim=8)),
    "vaultgemma-types": ("VaultGemma", dict(head_dim=6, sliding_window=4, query_pre_attn_scalar=6, layer_types=[FULL, LOCAL],
                                            num_key_value_heads=1)),
}


def small(name, kind, changes):
    """The random model of a row of MODELS."""
    torch.manual_seed(sum(map(ord, name)))
    known = {k: v for k, v in SMALL.items() if kind != "SolarOpen" or k != "intermediate_size"}
    config = getattr(transformers, kind + "Config")(**{**known, **changes})
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager").float().eval()
    with torch.no_grad():  # so that norms and biases matter
        for key, p in model.named_parameters():
            if "norm" in key or "bias" in key or "sinks" in key or "A_log" in key or "alpha_" in key or "scale" in key or key.endswith(".D"):
                p.add_(0.2 * torch.randn_like(p))
            if "q_norm" in key and kind.startswith("Gemma4"):
                p.div_(4)  # scores are not divided by √head_dim, and sharp ones lose much in bf16
        for key, b in model.named_buffers():
            if "correction" in key or "layer_scalar" in key or "expert_bias" in key:
                b.add_(0.2 * torch.randn_like(b))
    return model


def make(name, kind, changes):
    model = small(name, kind, changes)
    folder = os.path.join(OUT, name)
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "generation_config.json"))
    ids = torch.randint(0, VOCAB, (1, 150) if name.endswith("-long") and kind != "Phi3" else (2, 20))
    with torch.no_grad():
        expected = {"ids": ids, "logits": model(ids).logits}
        if kind in ("Qwen2Moe", "Qwen3Moe", "Mixtral", "Olmoe", "FlexOlmo", "GraniteMoe", "GraniteMoeShared", "GraniteMoeSWA", "Mellum", "Phimoe", "GptOss"):
            expected["balance"] = model(ids, output_router_logits=True).aux_loss.reshape(1)
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
