"""Writes engine/lora/testdata/combine.safetensors: adapters that PEFT combined (add_weighted_adapter).

usage: python tests/peers/lora_combine.py        (needs torch, peft, safetensors)

  ADAPTER.LAYER.A, .B          the adapters "a" and "b" of rank 4 and "c" of rank 2, which has no part at layer "two"
  CASE.LAYER.A, .B             what they became; matrices lie as mcs has them, [in rank] and [rank out]
  CASE.LAYER.mask.N            of DARE: what was kept, in the order in which PEFT asked

The metadata has each case as JSON: adapters, weights, method and so on.
"""
import json
import os

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file

OUT = os.path.join(os.path.dirname(__file__), "../../engine/lora/testdata/combine.safetensors")

CASES = {
    "linear": dict(of="ab", weights=[0.7, 0.5], method="linear"),
    "linear negative": dict(of="ab", weights=[1, -0.4], method="linear"),
    "one": dict(of="a", weights=[0.3], method="linear"),
    "cat": dict(of="abc", weights=[0.7, -0.5, 2], method="cat"),
    "svd": dict(of="abc", weights=[0.7, -0.5, 2], method="svd"),
    "svd of rank 3": dict(of="ab", weights=[1, 1], method="svd", rank=3),
    "svd of rank 8": dict(of="ab", weights=[1, 1], method="svd", rank=8),
    "ties": dict(of="ab", weights=[0.7, 0.5], method="ties", density=0.4),
    "ties by count": dict(of="ab", weights=[0.7, -0.5], method="ties", density=0.6, count=True),
    "ties of all": dict(of="ab", weights=[1, 1], method="ties", density=1.0),
    "ties of products": dict(of="abc", weights=[0.7, 0.5, 1], method="ties_svd", density=0.4),
    "prune": dict(of="ab", weights=[0.7, 0.5], method="magnitude_prune", density=0.3),
    "prune products": dict(of="ac", weights=[0.7, 0.5], method="magnitude_prune_svd", density=0.3, rank=5),
    "dare": dict(of="ab", weights=[0.7, 0.5], method="dare_linear", density=0.7),
    "dare ties": dict(of="ab", weights=[0.7, 0.5], method="dare_ties", density=0.7),
    "dare ties by count": dict(of="ab", weights=[0.7, -0.5], method="dare_ties", density=0.5, count=True),
    "dare products": dict(of="abc", weights=[0.7, 0.5, 1], method="dare_linear_svd", density=0.7),
    "dare ties products": dict(of="abc", weights=[0.7, 0.5, 1], method="dare_ties_svd", density=0.7),
}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(12, 10, bias=False), torch.nn.Linear(10, 8, bias=False)

    def forward(self, x):
        return self.two(self.one(x))


def main():
    torch.manual_seed(0)
    configs = {
        "a": LoraConfig(r=4, lora_alpha=6, target_modules=["one", "two"]),
        "b": LoraConfig(r=4, lora_alpha=2, target_modules=["one", "two"]),
        "c": LoraConfig(r=2, lora_alpha=3, target_modules=["one"]),
    }
    model = get_peft_model(Model(), configs["a"], adapter_name="a")
    for name in "bc":
        model.add_adapter(name, configs[name])
    layers = {"one": model.base_model.model.one, "two": model.base_model.model.two}
    out = {}

    def keep(case):
        for at, layer in layers.items():
            if case in layer.lora_A:
                out[f"{case}.{at}.A"] = layer.lora_A[case].weight.detach().T.contiguous()
                out[f"{case}.{at}.B"] = layer.lora_B[case].weight.detach().T.contiguous()

    with torch.no_grad():
        for layer in layers.values():
            for name in layer.lora_A:
                layer.lora_A[name].weight.copy_(torch.randn_like(layer.lora_A[name].weight))
                layer.lora_B[name].weight.copy_(torch.randn_like(layer.lora_B[name].weight))
    for name in configs:
        keep(name)

    bernoulli = torch.bernoulli
    for case, c in CASES.items():
        masks = []

        def recorded(*args, **kwargs):
            masks.append(bernoulli(*args, **kwargs))
            return masks[-1]

        torch.bernoulli = recorded
        model.base_model.add_weighted_adapter(
            list(c["of"]), c["weights"], case, c["method"], svd_rank=c.get("rank"), density=c.get("density"),
            majority_sign_method="frequency" if c.get("count") else "total")
        torch.bernoulli = bernoulli
        keep(case)
        for i, mask in enumerate(masks):
            each = len(masks) // 2 if "c" not in c["of"] else 3
            at = "one" if i < each else "two"
            out[f"{case}.{at}.mask.{i if i < each else i - each}"] = mask.T.to(torch.uint8).contiguous()
    save_file(out, OUT, {"cases": json.dumps(CASES)})


if __name__ == "__main__":
    main()
