"""Writes what package quant is held against: weights that NumPy quantised, in the layout that the package documents.

    python tests/peers/quantised.py engine/quant/testdata/numpy.json    # needs numpy
"""
import json
import sys

import numpy as np


def bf16_up(s):
    bits = s.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0xFFFF)) & np.uint32(0xFFFF0000)).view(np.float32)


def quantise(w, bits, group, scheme, scale):
    """Codes, scales and zero points [out groups·group], [out groups], [out groups] of w [in out]."""
    inputs, outputs = w.shape
    groups = -(-inputs // group)
    full = np.zeros((groups * group, outputs))
    full[:inputs] = w
    g = full.T.reshape(outputs, groups, group)
    low, high = np.minimum(g.min(-1), 0), np.maximum(g.max(-1), 0)
    middle = 2 ** (bits - 1)
    span, steps = (np.maximum(-low, high), middle - 1) if scheme == "symmetric" else (high - low, 2**bits - 1)
    s = (span / steps).astype(np.float32)
    if scale == "bf16":
        s = bf16_up(s)
    nothing = s < np.float32(2.0**-126)
    s[nothing] = 0
    divisor = np.where(nothing, 1, s).astype(np.float64)
    if scheme == "symmetric":
        zeros = np.full(s.shape, middle)
        codes = np.clip(np.rint(g / divisor[..., None]), 1 - middle, middle - 1) + middle
    else:
        zeros = np.where(nothing, 0, np.rint(-low / divisor)).astype(int)
        codes = np.clip(np.rint(g / divisor[..., None]) + zeros[..., None], 0, 2**bits - 1)
    codes = np.where(nothing[..., None], zeros[..., None], codes).astype(int)
    codes.reshape(outputs, -1)[:, inputs:] = np.repeat(zeros, group, 1).reshape(outputs, -1)[:, inputs:]
    return codes.reshape(outputs, -1), s, zeros


def blocks(a, fill):
    """Rows of a filled up to a multiple of 16, as [blocks 16 …]."""
    rows = -(-len(a) // 16) * 16
    full = np.full((rows, *a.shape[1:]), fill, a.dtype)
    full[: len(a)] = a
    return full.reshape(rows // 16, 16, *a.shape[1:])


def packed(codes, bits, zero):
    c = blocks(codes, zero)  # [blocks 16 inputs]
    if bits == 8:
        lines = c.reshape(len(c), 16, -1, 4)
    else:
        halves = c.reshape(len(c), 16, -1, 2, 4)
        lines = halves[..., 0, :] | halves[..., 1, :] << 4
    return lines.transpose(0, 2, 1, 3)


def numbers(a):
    """Nine digits tell every f32 apart."""
    return [float(f"{v:.9g}") for v in a.ravel()]


def case(random, inputs, outputs, bits, group, scheme, scale):
    w = random.standard_normal((inputs, outputs)).astype(np.float32) * np.float32(0.05) + np.float32(0.01)
    w[:, 0] = 0
    w[: min(inputs, 3), -1] = 0.5  # ties
    codes, s, zeros = quantise(w, bits, group, scheme, scale)
    per_input = np.repeat(s, group, 1)[:, :inputs], np.repeat(zeros, group, 1)[:, :inputs]
    back = (per_input[0] * (codes[:, :inputs] - per_input[1]).astype(np.float32)).T.astype(np.float32)
    x = random.standard_normal((3, inputs)).astype(np.float32)
    product = x.astype(np.float64) @ back.astype(np.float64)
    padding = 0 if scheme == "affine" else 2 ** (bits - 1)
    return {
        "name": f"int{bits} {group} {scheme} {scale} {inputs}x{outputs}",
        "in": inputs, "out": outputs, "bits": bits, "group": group, "scheme": scheme, "scale": scale,
        "weight": numbers(w), "codes": packed(codes, bits, padding).ravel().tolist(),
        "scales": numbers(blocks(s, 0).transpose(0, 2, 1)),
        "zeros": blocks(zeros, padding).transpose(0, 2, 1).ravel().tolist(),
        "dequantized": numbers(back), "x": numbers(x), "product": numbers(product),
        "productOfGradient": numbers(product @ back.astype(np.float64).T),
    }


def main():
    random = np.random.default_rng(1)
    cases = [
        case(random, *shape, bits, group, scheme, scale)
        for bits in (4, 8)
        for shape, group in (((40, 3), 32), ((64, 17), 64), ((130, 2), 128))
        for scheme, scale in (("symmetric", "f32"), ("affine", "f32"), ("affine", "bf16"))
    ]
    with open(sys.argv[1], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main()
