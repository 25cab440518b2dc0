"""Writes engine/optim/testdata/eight.json: the dynamic maps of bitsandbytes, and what it makes of numbers.

usage: python tests/peers/eight_bits.py        (needs torch, bitsandbytes)

  signed, unsigned   the 256 numbers of each map
  x                  four blocks of 256 numbers, of many magnitudes
  codes, roots       of x and of |x| in blocks of 256
"""
import json
import os

import torch
from bitsandbytes import functional

OUT = os.path.join(os.path.dirname(__file__), "../../engine/optim/testdata/eight.json")


def main():
    torch.manual_seed(1)
    x = torch.randn(1024) * 10 ** torch.linspace(0, -8, 1024)[torch.randperm(1024)]
    x[5], x[300] = 0, x[256:512].abs().max() * -1
    maps = {name: functional.create_dynamic_map(name == "signed") for name in ("signed", "unsigned")}
    codes, state = functional.quantize_blockwise(x, code=maps["signed"], blocksize=256)
    roots, _ = functional.quantize_blockwise(x.abs(), code=maps["unsigned"], blocksize=256)
    with open(OUT, "w") as f:
        json.dump({"signed": maps["signed"].tolist(), "unsigned": maps["unsigned"].tolist(), "x": x.tolist(), "scales": state.absmax.tolist(),
                   "codes": codes.flatten().tolist(), "roots": roots.flatten().tolist()}, f)
        f.write("\n")


if __name__ == "__main__":
    main()
