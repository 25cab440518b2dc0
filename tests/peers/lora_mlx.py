"""Writes the adapters of engine/lora/testdata/variants that mlx-lm makes, on the CPU.

usage: python tests/peers/lora_mlx.py        (needs mlx, mlx-lm; after lora_variants.py, whose base models it reads)
       python tests/peers/lora_mlx.py load FOLDER    loads what mcs wrote there, and compares

  BASE-mlx_NAME/              an adapter with random values, as mlx-lm saves it
  expected_mlx.safetensors    BASE-mlx_NAME.logits and .loss

With load: FOLDER has BASE-NAME/ folders with adapters, and FOLDER/expected.safetensors what mcs computes with them.
"""
import json
import os
import shutil
import sys

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map
from mlx_lm.models import lfm2, qwen2, qwen3_next
from mlx_lm.tuner.utils import linear_to_lora_layers, load_adapters

OUT = os.path.join(os.path.dirname(__file__), "../../engine/lora/testdata/variants")
KEYS = ["self_attn.q_proj", "self_attn.v_proj"]
VARIANTS = {
    "own-mlx_lora": dict(num_layers=1, lora_parameters=dict(rank=2, scale=5.0, dropout=0.0)),
    "own-mlx_keys": dict(num_layers=2, lora_parameters=dict(rank=3, scale=1.5, dropout=0.1, keys=KEYS + ["lm_head", "model.embed_tokens"])),
    "own-mlx_dora": dict(num_layers=2, lora_parameters=dict(rank=2, scale=2.0, dropout=0.0, keys=KEYS), fine_tune_type="dora"),
    "tied-mlx_embedding": dict(num_layers=1, lora_parameters=dict(rank=2, scale=2.0, dropout=0.0, keys=KEYS + ["model.embed_tokens"])),
    "own-mlx_full": dict(num_layers=1, lora_parameters=None, fine_tune_type="full"),
}


def base(name):
    folder = os.path.join(OUT, name)
    with open(os.path.join(folder, "config.json")) as f:
        settings = json.load(f)
    settings["rope_theta"] = settings["rope_parameters"]["rope_theta"]
    settings["rope_parameters"] = None
    kind = {"lfm2": lfm2, "qwen2": qwen2, "qwen3_next": qwen3_next}[settings["model_type"]]
    model = kind.Model(kind.ModelArgs.from_dict({**settings, "rope_scaling": None, "block_dim": settings["hidden_size"], "partial_rotary_factor": 0.25,
                                                "full_attention_interval": 2}))
    weights = mx.load(os.path.join(folder, "model.safetensors"))
    weights = model.sanitize(weights)
    model.load_weights([(n, w) for n, w in weights.items() if n != "lm_head.weight" or not settings["tie_word_embeddings"]])
    model.eval()
    return model


def main():
    mx.set_default_device(mx.cpu)
    shared = mx.load(os.path.join(OUT, "expected.safetensors"))
    ids, targets = shared["ids"], shared["targets"]
    expected = {}
    for name, settings in VARIANTS.items():
        mx.random.seed(1)
        model = base(name.split("-")[0])
        model.freeze()
        kind = settings.setdefault("fine_tune_type", "lora")
        if kind == "full":
            for layer in model.layers[-settings["num_layers"]:]:
                layer.unfreeze()
        else:
            linear_to_lora_layers(model, settings["num_layers"], settings["lora_parameters"], use_dora=kind == "dora")
        model.update(tree_map(lambda p: p + 0.1 * mx.random.normal(p.shape), model.trainable_parameters()))
        model.eval()
        out = os.path.join(OUT, name)
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        mx.save_safetensors(os.path.join(out, "adapters.safetensors"), dict(tree_flatten(model.trainable_parameters())))
        with open(os.path.join(out, "adapter_config.json"), "w") as f:
            json.dump({"model": "small", "iters": 10, **settings}, f, indent=4)
        logits = model(ids)
        expected[name + ".logits"] = logits
        expected[name + ".loss"] = nn.losses.cross_entropy(logits, targets).mean()
    mx.save_safetensors(os.path.join(OUT, "expected_mlx.safetensors"), expected)


def load(folder):
    """Loads the adapters of a folder with mlx-lm, and exits with 1 if the logits are other ones than mcs computed."""
    mx.set_default_device(mx.cpu)
    expected, bad = mx.load(os.path.join(folder, "expected.safetensors")), False
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not os.path.exists(os.path.join(path, "adapters.safetensors")):
            continue
        model = load_adapters(base(name.split("-")[0]), path)
        model.eval()
        got, want = model(expected["ids"]), expected[name + ".logits"]
        difference = (mx.abs(got - want).max() / mx.abs(want).max()).item()
        print(f"{name}: differs by {difference:.2g}")
        bad = bad or not difference < 1e-5
    sys.exit(bad)


if __name__ == "__main__":
    if sys.argv[1:2] == ["load"]:
        load(sys.argv[2])
    main()
