"""Writes engine/lora/testdata/variants: adapters of all kinds, as PEFT makes and saves them.

usage: python tests/peers/lora_variants.py        (needs torch, transformers, peft, safetensors)
       python tests/peers/lora_variants.py add BASE-NAME…    writes only these, beside those that there are
       python tests/peers/lora_variants.py load FOLDER    loads what mcs wrote there, and compares

  BASE/                       a small Qwen2 (its matrix of outputs is its own, or "tied"), or Qwen3-MoE ("mixed"), gpt-oss ("oss"), DeepSeek V3 ("latent"), LFM 2, Qwen 3 Next, Mamba-2, Falcon-H1 or Granite 4, as transformers saves it
  BASE-NAME/                  an adapter with random values, as PEFT saves it
  expected.safetensors        ids and targets; BASE-NAME.logits, BASE-NAME.loss and gradients of some; losses of LoRA+

With load: FOLDER has BASE-NAME/ folders with adapters, and FOLDER/expected.safetensors what mcs computes with them.
"""
import os
import shutil
import sys
import warnings

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.optimizers import create_loraplus_optimizer
from safetensors.torch import load_file, save_file
from transformers import (DeepseekV3Config, DeepseekV3ForCausalLM, FalconH1Config, FalconH1ForCausalLM, GptOssConfig, GptOssForCausalLM,
                          GraniteMoeHybridConfig, GraniteMoeHybridForCausalLM, Lfm2Config, Lfm2ForCausalLM, Mamba2Config, Mamba2ForCausalLM, Qwen2Config,
                          Qwen2ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM, Qwen3NextConfig, Qwen3NextForCausalLM)

OUT = os.path.join(os.path.dirname(__file__), "../../engine/lora/testdata/variants")

QV = ["q_proj", "v_proj"]
VARIANTS = {
    "own-patterns": dict(target_modules=r".*\.(q|v|down)_proj", rank_pattern={"q_proj": 4, r".*\.0\.mlp\.down_proj": 1},
                         alpha_pattern={r"^model.layers.1.self_attn.v_proj": 8}),
    "own-blocks": dict(target_modules=["q_proj", "k_proj"], layers_to_transform=[1], layers_pattern="layers"),
    "own-rslora": dict(target_modules="all-linear", exclude_modules=["down_proj"], use_rslora=True),
    "own-gaussian": dict(target_modules=QV, init_lora_weights="gaussian", lora_dropout=0.1),
    "own-dora": dict(target_modules="all-linear", use_dora=True),
    "own-pissa": dict(target_modules=QV, init_lora_weights="pissa"),
    "own-olora": dict(target_modules=QV, init_lora_weights="olora"),
    "own-converted": dict(target_modules=QV, init_lora_weights="pissa", use_rslora=True),
    "own-bias_all": dict(target_modules=QV, bias="all"),
    "own-bias_lora": dict(target_modules=QV, bias="lora_only"),
    "own-modules": dict(target_modules=QV, modules_to_save=["model.norm", "post_attention_layernorm", "lm_head"]),
    "own-embedding": dict(target_modules=["embed_tokens", "lm_head", "q_proj"]),
    "own-dora_embedding": dict(target_modules=["embed_tokens", "q_proj"], use_dora=True),
    "own-tokens": dict(target_modules=QV, trainable_token_indices=[1, 5, 30]),
    "own-lora_bias": dict(target_modules=["q_proj", "v_proj", "down_proj"], lora_bias=True),
    "own-lora_bias_rslora": dict(target_modules="all-linear", lora_bias=True, use_rslora=True, alpha_pattern={"q_proj": 5}),
    "own-parameters": dict(target_modules=[], target_parameters=["q_proj.weight", "model.layers.1.mlp.down_proj.weight"],
                           rank_pattern={"q_proj.weight": 3, "down_proj": 5}),
    "own-parameters_modules": dict(target_modules=["v_proj"], target_parameters=["o_proj.weight", "embed_tokens.weight"]),
    "mixed-experts": dict(target_modules=[], target_parameters=["experts.gate_up_proj", "experts.down_proj"], use_rslora=True,
                          rank_pattern={"experts.down_proj": 3}),
    "mixed-down": dict(target_modules=["q_proj"], target_parameters=["layers.1.mlp.experts.down_proj", "layers.0.mlp.experts.gate_up_proj"]),
    "mixed-linear": dict(target_modules="all-linear"),
    "lfm2-linear": dict(target_modules="all-linear"),
    "lfm2-conv": dict(target_modules=["in_proj", "w1"], use_rslora=True),
    "qwen3_next-linear": dict(target_modules="all-linear"),
    "qwen3_next-delta": dict(target_modules=["in_proj_qkvz", "in_proj_ba", "shared_expert_gate"], use_rslora=True),
    "mamba2-proj": dict(target_modules=["in_proj"], use_rslora=True),
    "falcon_h1-linear": dict(target_modules=["in_proj", "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]),
    "falcon_h1-modules": dict(target_modules=["in_proj", "v_proj"], modules_to_save=["pre_ff_layernorm", "final_layernorm"]),
    "granitemoehybrid-linear": dict(target_modules="all-linear"),
    "granitemoehybrid-experts": dict(target_modules=["in_proj", "input_linear"], target_parameters=["experts.gate_up_proj", "experts.down_proj"], use_rslora=True,
                                     rank_pattern={"experts.down_proj": 3}),
    "oss-experts": dict(target_modules=["q_proj", "o_proj"], target_parameters=["experts.gate_up_proj", "experts.down_proj"], rank_pattern={"experts.down_proj": 3}),
    "latent-experts": dict(target_modules=["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"], target_parameters=["experts.down_proj"]),
    "tied-parameters": dict(target_modules=[], target_parameters=["embed_tokens.weight"]),
    "tied-embedding": dict(target_modules=["embed_tokens", "q_proj"], ensure_weight_tying=True),
    "tied-apart": dict(target_modules=["embed_tokens", "q_proj"]),
    "tied-modules": dict(target_modules=QV, modules_to_save=["embed_tokens"], ensure_weight_tying=True),
    "tied-tokens": dict(target_modules=QV, trainable_token_indices=[1, 5, 30]),
}
GRADIENTS = ["mamba2-proj", "falcon_h1-linear", "granitemoehybrid-linear", "granitemoehybrid-experts", "lfm2-linear", "qwen3_next-linear", "mixed-experts", "oss-experts", "latent-experts", "own-lora_bias", "own-parameters", "own-dora", "own-dora_embedding", "own-modules",
             "own-bias_all", "own-embedding", "tied-embedding"]


def base(name):
    torch.manual_seed(0)
    if name == "mixed":
        return mixed()
    if name in ("lfm2", "qwen3_next"):
        return recurrent(name)
    if name in ("mamba2", "falcon_h1", "granitemoehybrid"):
        return state_space(name)
    if name == "oss":
        return oss()
    if name == "latent":
        return latent()
    model = Qwen2ForCausalLM(Qwen2Config(
        vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=64, tie_word_embeddings=name == "tied", initializer_range=0.3))
    return shaken(model, "norm", "bias")


def shaken(model, *parts):
    """The model with other numbers in these parts, so that they matter."""
    with torch.no_grad():
        for n, p in model.named_parameters():
            if any(part in n for part in parts):
                p.add_(0.2 * torch.randn_like(p))
    return model.eval()


def mixed():
    config = Qwen3MoeConfig(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
                            head_dim=8, max_position_embeddings=64, initializer_range=0.3, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=6)
    config._experts_implementation = "eager"
    model = Qwen3MoeForCausalLM(config)
    return shaken(model, "norm")


def recurrent(name):
    size = dict(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
                max_position_embeddings=64, initializer_range=0.3)
    if name == "lfm2":
        model = Lfm2ForCausalLM(Lfm2Config(**size, block_auto_adjust_ff_dim=False, layer_types=["conv", "full_attention"]))
    else:
        config = Qwen3NextConfig(
            **size, head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=4, num_experts=4,
            num_experts_per_tok=2, moe_intermediate_size=6, shared_expert_intermediate_size=8, layer_types=["linear_attention", "full_attention"])
        config._experts_implementation = "eager"
        model = Qwen3NextForCausalLM(config)
    return shaken(model, "norm")


def state_space(name):
    size = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, initializer_range=0.3, pad_token_id=None)
    heads = dict(mamba_n_heads=2, mamba_d_head=16, mamba_d_state=6, num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64)
    if name == "mamba2":
        model = Mamba2ForCausalLM(Mamba2Config(**size, num_heads=4, head_dim=8, state_size=6, n_groups=2))
    elif name == "falcon_h1":
        model = FalconH1ForCausalLM(FalconH1Config(
            **size, **heads, intermediate_size=24, mamba_d_ssm=32, mamba_rms_norm=True, ssm_multipliers=[0.5, 1.5, 0.7, 1.2, 0.8], ssm_in_multiplier=1.25,
            ssm_out_multiplier=0.6, key_multiplier=0.4, attention_in_multiplier=1.5, attention_out_multiplier=0.9, mlp_multipliers=[0.8, 1.3],
            lm_head_multiplier=0.5, embedding_multiplier=3.0))
    else:
        config = GraniteMoeHybridConfig(
            **size, **heads, intermediate_size=8, shared_intermediate_size=20, num_local_experts=4, num_experts_per_tok=2, attention_multiplier=0.3,
            residual_multiplier=0.5, logits_scaling=4.0, layer_types=["linear_attention", "full_attention"])
        config._experts_implementation = "eager"
        model = GraniteMoeHybridForCausalLM(config)
    return shaken(model, "norm", "A_log", ".D")


def oss():
    config = GptOssConfig(vocab_size=40, hidden_size=16, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=8,
                          max_position_embeddings=64, initializer_range=0.3, num_local_experts=4, num_experts_per_tok=2, sliding_window=5)
    config._experts_implementation = "eager"
    model = GptOssForCausalLM._from_config(config, attn_implementation="eager")
    return shaken(model, "norm", "bias")


def latent():
    config = DeepseekV3Config(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, q_lora_rank=10,
                              kv_lora_rank=12, qk_rope_head_dim=4, qk_nope_head_dim=6, v_head_dim=8, first_k_dense_replace=1, n_routed_experts=5,
                              num_experts_per_tok=2, moe_intermediate_size=6, n_group=1, topk_group=1, max_position_embeddings=64, initializer_range=0.3)
    config._experts_implementation = "eager"
    model = DeepseekV3ForCausalLM(config)
    return shaken(model, "norm")


def main(names):
    warnings.filterwarnings("ignore")
    torch.use_deterministic_algorithms(True)
    if names:
        expected = load_file(os.path.join(OUT, "expected.safetensors"))
        ids, targets = expected["ids"], expected["targets"]
        for name in {name.split("-")[0] for name in names}:
            if not os.path.exists(os.path.join(OUT, name)):
                base(name).save_pretrained(os.path.join(OUT, name))
                os.remove(os.path.join(OUT, name, "generation_config.json"))
        for name in ("own", "tied"):
            stored = load_file(os.path.join(OUT, name, "model.safetensors"))
            assert all(torch.equal(v, base(name).state_dict()[k]) for k, v in stored.items())
    else:
        shutil.rmtree(OUT, ignore_errors=True)
        for name in ("own", "tied", "mixed", "lfm2", "qwen3_next", "mamba2", "falcon_h1", "granitemoehybrid", "oss", "latent"):
            base(name).save_pretrained(os.path.join(OUT, name))
            os.remove(os.path.join(OUT, name, "generation_config.json"))
        ids, targets = torch.randint(0, 40, (2, 8)), torch.randint(0, 40, (2, 8))
        ids[0, :3] = torch.tensor([1, 5, 30])
        expected = {"ids": ids, "targets": targets}
    for name in names or VARIANTS:
        settings = VARIANTS[name]
        model = get_peft_model(base(name.split("-")[0]), LoraConfig(r=2, lora_alpha=3, task_type="CAUSAL_LM", **settings)).eval()
        out = os.path.join(OUT, name)
        first = out + "-first"
        model.peft_config["default"].init_lora_weights = True  # as PEFT's documentation has it for conversions
        model.save_pretrained(first)
        model.peft_config["default"].init_lora_weights = settings.get("init_lora_weights", True)
        torch.manual_seed(1)
        with torch.no_grad():
            for _, p in model.named_parameters():
                if p.requires_grad:
                    p.add_(0.1 * torch.randn_like(p))
        model.save_pretrained(out, path_initial_model_for_weight_conversion=first if name == "own-converted" else None)
        shutil.rmtree(first)
        os.remove(os.path.join(out, "README.md"))
        logits = model(input_ids=ids).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 40), targets.reshape(-1))
        expected[name + ".logits"], expected[name + ".loss"] = logits, loss
        if name in GRADIENTS:
            loss.backward()
            for n, p in model.named_parameters():
                if p.requires_grad and (".0." in n or ".layers." not in n):
                    expected[f"{name}.grad.{n}"] = p.grad
    if not names:
        expected["plus.losses"] = plus(ids, targets)
    save_file({n: t.detach().clone().contiguous() for n, t in expected.items()}, os.path.join(OUT, "expected.safetensors"))


def plus(ids, targets):
    """The losses of five steps of LoRA+, from own-dora."""
    model = PeftModel.from_pretrained(base("own"), os.path.join(OUT, "own-dora"), is_trainable=True)
    optimizer = create_loraplus_optimizer(model, torch.optim.AdamW, lr=2e-3, loraplus_lr_ratio=8)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        logits = model(input_ids=ids).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 40), targets.reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def load(folder):
    """Loads the adapters of a folder with PEFT, and exits with 1 if the logits are other ones than mcs computed."""
    warnings.filterwarnings("ignore")
    expected, bad = load_file(os.path.join(folder, "expected.safetensors")), False
    for name in sorted(os.listdir(folder)):
        if not os.path.isdir(os.path.join(folder, name)):
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = PeftModel.from_pretrained(base(name.split("-")[0]), os.path.join(folder, name)).eval()
        for w in said:
            if "missing" in str(w.message) or "unexpected" in str(w.message):
                print(f"{name}: {w.message}")
                bad = True
        with torch.no_grad():
            got = model(input_ids=expected["ids"]).logits
        want = expected[name + ".logits"]
        difference = ((got - want).abs().max() / want.abs().max()).item()
        print(f"{name}: differs by {difference:.2g}")
        bad = bad or not difference < 1e-5
    sys.exit(bad)


if __name__ == "__main__":
    if sys.argv[1:2] == ["load"]:
        load(sys.argv[2])
    main(sys.argv[2:] if sys.argv[1:2] == ["add"] else [])
