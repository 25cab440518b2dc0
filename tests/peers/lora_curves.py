"""Writes engine/train/testdata/curves: 50 steps of LoRA on small decoders, as PEFT and PyTorch make them.

usage: python tests/peers/lora_curves.py [FAMILY…]        (needs torch, transformers, peft, safetensors; FAMILY: only these)

  FAMILY/                     a small model as transformers writes it
  FAMILY/VARIANT/             the adapter before the first step, as PEFT writes it
  FAMILY/curves.safetensors   ids [50 batches, 4 rows, 17 tokens], and for each variant loss.VARIANT [50] and norm.VARIANT [50], the
                              norm of the gradients before they are clipped

AdamW at a rate of 5e-3 (betas 0.9 and 0.999, eps 1e-8, weight decay 0.01), gradients clipped to a norm of 1. The text is of cycles of
tokens, with some of them at random, so there is something to learn.
"""
import os
import shutil
import sys

import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file

OUT = os.path.join(os.path.dirname(__file__), "../../engine/train/testdata/curves")
STEPS, ROWS, T, VOCAB = 50, 4, 16, 48
SMALL = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64, initializer_range=0.15, pad_token_id=None, bos_token_id=None, eos_token_id=None)
FAMILIES = {"llama": ("Llama", dict(tie_word_embeddings=False)), "qwen2": ("Qwen2", dict(tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
            "qwen3_moe": ("Qwen3Moe", dict(head_dim=8, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=16, norm_topk_prob=True,
                                           output_router_logits=True, router_aux_loss_coef=0.05)),
            "gpt_oss": ("GptOss", dict(head_dim=8, num_local_experts=5, num_experts_per_tok=2, sliding_window=6, rope_parameters={
                "rope_type": "yarn", "rope_theta": 150000.0, "factor": 4.0, "truncate": False, "original_max_position_embeddings": 16})),
            "deepseek_v3": ("DeepseekV3", dict(num_key_value_heads=4, q_lora_rank=12, kv_lora_rank=16, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=6,
                                               first_k_dense_replace=1, n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=16, n_group=1, topk_group=1))}
EXPERTS = {"gpt_oss": ["experts.gate_up_proj", "experts.down_proj"]}  # which all-linear does not choose there
VARIANTS = {"lora": {}, "rslora": dict(use_rslora=True), "dora": dict(use_dora=True)}


def batches():
    starts, steps = torch.randint(0, VOCAB, (STEPS, ROWS, 1)), torch.randint(1, 4, (STEPS, ROWS, 1))
    ids = (starts + steps * torch.arange(T + 1)) % VOCAB
    return torch.where(torch.rand(ids.shape) < 0.1, torch.randint(0, VOCAB, ids.shape), ids)


def base(kind, changes):
    torch.manual_seed(3)
    config = getattr(transformers, kind + "Config")(**{**SMALL, **changes})
    config._experts_implementation = "eager"
    return getattr(transformers, kind + "ForCausalLM")._from_config(config, attn_implementation="eager").float()


def curve(model, ids):
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=5e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    losses, norms = [], []
    for batch in ids:
        out = model(input_ids=batch[:, :-1])
        loss = torch.nn.functional.cross_entropy(out.logits.flatten(0, 1), batch[:, 1:].flatten())
        if getattr(out, "aux_loss", None) is not None:  # that of the routers
            loss = loss + model.config.router_aux_loss_coef * out.aux_loss
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, 1.0))
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), torch.stack(norms)


def main():
    torch.use_deterministic_algorithms(True)
    for family in sys.argv[1:] or FAMILIES:
        settings = FAMILIES[family]
        shutil.rmtree(os.path.join(OUT, family), ignore_errors=True)
        folder = os.path.join(OUT, family)
        base(*settings).save_pretrained(folder)
        os.remove(os.path.join(folder, "generation_config.json"))
        torch.manual_seed(5)
        ids = batches()
        made = {"ids": ids}
        for variant, changes in VARIANTS.items():
            if family not in ("llama", "qwen2") and variant == "dora":
                continue  # which PEFT does not have for experts
            torch.manual_seed(7)
            model = get_peft_model(base(*settings), LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", target_parameters=EXPERTS.get(family), task_type="CAUSAL_LM", **changes))
            model.save_pretrained(os.path.join(folder, variant))
            os.remove(os.path.join(folder, variant, "README.md"))
            made["loss." + variant], made["norm." + variant] = curve(model, ids)
            print(family, variant, made["loss." + variant][[0, 1, 24, 49]].tolist())
        save_file({k: v.contiguous() for k, v in made.items()}, os.path.join(folder, "curves.safetensors"))


if __name__ == "__main__":
    main()
