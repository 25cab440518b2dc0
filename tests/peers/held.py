"""Answers TestHeldAgainstPeers of engine/train: makes small models of every family, and computes, trains and generates with them.

It reads lines and answers each with one of JSON (needs torch, transformers, peft, safetensors):

  list            the names of all models: those of decoder_families.py, and of each family so many of VARIED that it has five;
                  with "list all" each family has all of VARIED that its configuration knows
  make NAME DIR   writes DIR/model and DIR/adapter (a LoRA whose B is not zero, as PEFT saves it), and DIR/expected.safetensors: ids, logits
                  (computed in f64), single (computed in f32), rounded (of the model in bf16), adapted (logits with the adapter, in f64),
                  batches [30 steps, 2 texts, 12 tokens], losses (AdamW, in f64), single losses (in f32)
  check NAME DIR  reads what mcs wrote: the adapter DIR/ours, and in DIR/ours.safetensors its logits and texts that it chose greedily.
                  Answers how far its logits are from PEFT's in f64, how far PEFT's in f32 are, and for each text the first token that is not transformers' best one, and by how much
"""
import copy
import json
import os
import sys
import warnings
from unittest import mock

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

from decoder_families import MODELS, SMALL, VOCAB, small

STEPS, CONTEXT = 30, 128
YARN = {"rope_type": "yarn", "rope_theta": 2e4, "factor": 4.0, "original_max_position_embeddings": 32}
# What configurations of any family may say otherwise; those keys that a family does not have are left out.
VARIED = {
    "tied": dict(tie_word_embeddings=True, num_key_value_heads=1, rms_norm_eps=1e-3, layer_norm_eps=1e-3, intermediate_size=37),
    "bias": dict(attention_bias=True, mlp_bias=True, use_bias=True, tie_word_embeddings=False, num_hidden_layers=3, layer_types=None, layer_rope_theta=None),
    "yarn": dict(rope_parameters=YARN, head_dim=12, num_key_value_heads=4, vocab_size=VOCAB + 3),
    "narrow": dict(hidden_size=8, num_attention_heads=2, num_key_value_heads=1, head_dim=10, sliding_window=3, initializer_range=0.6),
    "heads": dict(num_attention_heads=6, num_key_value_heads=3, hidden_size=24, head_dim=4, hidden_act="gelu", max_position_embeddings=2 * CONTEXT),
}
UNADAPTED = {"falcon_h1": ["out_proj"], "mamba2": ["out_proj"], "nemotron_h": ["out_proj"], "phimoe": ["router"]}  # which PEFT refuses


def family(name):
    return name.split("-")[0].split("+")[0]


def rows(every):
    """All models by name: class and settings."""
    found = {}
    for name in MODELS:
        found.setdefault(family(name), []).append(name)
    table = {}
    for kin, names in found.items():
        table |= {name: MODELS[name] for name in names}
        kind, changes = MODELS[names[0]]
        known = small(names[0], kind, changes).config.to_dict()
        for word, varied in VARIED.items():
            varied = {k: v for k, v in varied.items() if k in known}
            if "kv_lora_rank" in known:
                varied["num_key_value_heads"] = varied.get("num_attention_heads", known["num_attention_heads"])  # which all have their own
            if kin in ("phi", "gptj"):
                varied.pop("tie_word_embeddings", None)  # whose output matrix has a bias, which mcs refuses of a tied one
            if "full_attention" in (known.get("rope_parameters") or {}):
                varied.pop("rope_parameters", None)  # which are of kinds of layers
            if every or sum(family(n) == kin for n in table) < 5:
                table[f"{kin}+{word}"] = (kind, changes | varied)
    return table


class Peer:
    def __init__(self):
        self.rows = rows(True)

    def list(self, every=""):
        return list(rows(bool(every)))

    def make(self, name, folder):
        kind, changes = self.rows[name]
        changes = {"max_position_embeddings": CONTEXT} | changes
        if "longrope" in str(changes):
            changes["max_position_embeddings"] = CONTEXT
        self.model = small(name, kind, changes)
        for key in ("model", "adapter"):
            os.makedirs(os.path.join(folder, key))
        self.model.save_pretrained(os.path.join(folder, "model"))
        vocab = self.model.config.vocab_size
        ids = torch.randint(0, vocab, (2, 80))
        expected = {"ids": ids, "logits": exactly(logits, self.model, ids), "single": logits(self.model, ids), "rounded": logits(copy.deepcopy(self.model).bfloat16(), ids)}

        model = get_peft_model(copy.deepcopy(self.model), LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", exclude_modules=UNADAPTED.get(family(name)), task_type="CAUSAL_LM"))
        with torch.no_grad():
            for n, p in model.named_parameters():
                if "lora_B" in n:
                    p.copy_(0.05 * torch.randn_like(p))
        model.save_pretrained(os.path.join(folder, "adapter"))
        expected["adapted"] = exactly(logits, model, ids)
        expected["batches"] = batches(vocab)
        expected["losses"] = exactly(trained, model, expected["batches"])
        expected["single losses"] = trained(model, expected["batches"])
        save_file({k: v.contiguous() for k, v in expected.items()}, os.path.join(folder, "expected.safetensors"))
        return {}

    def check(self, name, folder):
        ours = load_file(os.path.join(folder, "ours.safetensors"))
        ids = load_file(os.path.join(folder, "expected.safetensors"))["ids"]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = PeftModel.from_pretrained(copy.deepcopy(self.model), os.path.join(folder, "ours")).eval()
        said = [str(w.message) for w in said if "missing" in str(w.message) or "unexpected" in str(w.message)]
        want = exactly(logits, model, ids)
        return {"adapter": off(ours["logits"], want), "single": off(logits(model, ids), want), "said": said,
                "texts": {key: other(self.model, t) for key, t in ours.items() if key != "logits"}}


def off(got, want):
    return ((got - want).abs().max() / want.abs().max()).item()


def logits(model, ids):
    with torch.no_grad():
        return model(input_ids=ids, use_cache=False).logits.float()


def exactly(compute, model, ids):
    """What a function computes in f64 with a copy of a model, whose code has f32 written into it."""
    with mock.patch.object(torch, "float32", torch.float64), mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        return compute(copy.deepcopy(model).double(), ids).to(torch.get_default_dtype())


def batches(vocab):
    starts, steps = torch.randint(0, vocab, (STEPS, 2, 1)), torch.randint(1, 4, (STEPS, 2, 1))
    ids = (starts + steps * torch.arange(12)) % vocab  # fewer tokens than let dynamic rates grow, which stay grown
    return torch.where(torch.rand(ids.shape) < 0.1, torch.randint(0, vocab, ids.shape), ids)


def trained(model, ids):
    """The losses of steps of AdamW, each before its step."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    losses = []
    for batch in ids:
        loss = torch.nn.functional.cross_entropy(model(input_ids=batch[:, :-1], use_cache=False).logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def other(model, text):
    """The first token of a text, beside the length of its prompt, that is not the best one, and how much better that one is beside the largest logit; or nothing."""
    prompt, text = int(text[0]), text[1:]
    scores = logits(model, text[None, :-1])[0]
    for i in range(prompt, len(text)):
        row = scores[i - 1]
        if int(row.argmax()) != int(text[i]):
            row = logits(model, text[None, :i])[0, -1]  # of a model whose rates grow with the text
            if int(row.argmax()) != int(text[i]):
                return {"at": i - prompt, "by": ((row.max() - row[int(text[i])]) / row.abs().max()).item()}
    return {"at": -1, "by": 0.0}


def main():
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    peer = Peer()
    for line in sys.stdin:
        word, *rest = line.split()
        try:
            answer = {"answer": getattr(peer, word)(*rest)}
        except Exception as e:  # says what a configuration cannot
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
