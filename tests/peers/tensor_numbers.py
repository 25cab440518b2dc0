"""Writes of which dtype a result is in NumPy and PyTorch when a Python number stands beside an array.

    pip install numpy torch
    python -W ignore tensor_numbers.py FILE     # engine/tensor/testdata/numbers.json
"""

import json
import operator
import sys

import numpy as np
import torch

DTYPES = {"bool": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
          "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
SHORT = {long: short for short, long in DTYPES.items()}
NUMBERS = ["2", "2.0", "2.5"]


def swapped(f):
    return lambda x, c: f(c, x)


def written(x, c):
    y = x.copy() if isinstance(x, np.ndarray) else x.clone()
    y[0] = c
    return y


def chosen(module):
    return {"where": lambda x, c: module.where(x > 0, x, c), "where, swapped": lambda x, c: module.where(x > 0, c, x),
            "where, only": lambda x, c: module.where(x > 0, c, 1)}


BOTH = {"add": operator.add, "sub, swapped": swapped(operator.sub), "mul": operator.mul, "div": operator.truediv,
        "div, swapped": swapped(operator.truediv), "floor_div": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
        "pow, swapped": swapped(operator.pow), "lt": operator.lt, "eq": operator.eq, "set_index": written}
NUMPY = BOTH | chosen(np) | {"clip": lambda x, c: np.clip(x, c, c), "maximum": np.maximum, "full_like": np.full_like}
TORCH = BOTH | chosen(torch) | {"clip": lambda x, c: torch.clamp(x, c, c), "full_like": torch.full_like}


def answer(f, x, c):
    try:
        return SHORT.get(str(f(x, c).dtype).removeprefix("torch."), "")
    except (TypeError, RuntimeError, ValueError):
        return ""  # refused, or not implemented


def main():
    rows = []
    for op in NUMPY:
        for short, long in DTYPES.items():
            for c in NUMBERS:
                number = float(c) if "." in c else int(c)
                row = {"op": op, "dtype": short, "number": c, "numpy": "", "torch": ""}
                if short != "bf16":
                    row["numpy"] = answer(NUMPY[op], np.ones(2, long), number)
                if op in TORCH:
                    row["torch"] = answer(TORCH[op], torch.ones(2, dtype=getattr(torch, long)), number)
                rows.append(row)
    with open(sys.argv[1], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


main()
