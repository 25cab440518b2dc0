"""Writes what NumPy answers for random indices: values, shapes and gradients of taking and of writing.

    pip install numpy
    python tensor_index.py FILE.json.gz     # engine/tensor/testdata/index.json.gz

A case is [shape of x, index, its tensors, shape of y, sum of x[index], sum of x[index] = y]. In the index each ?
stands for the next tensor, which is [shape, integers] or [shape, a string of 0 and 1 for a mask]. x is 0, 1, 2 …, y is
-1, -2 …. The sums are CRC-32s of texts, "" where NumPy gives an error. For taking: the shape, the values, and the
gradient for x of the sum of element k times 1 + k%7. For writing: the values, and the gradients for x and for y of
the sum of element k times 1 + k%5.
"""

import gzip
import json
import sys
import zlib

import numpy as np


def text(*arrays):
    return zlib.crc32(";".join(" ".join(str(int(v)) for v in a.ravel()) for a in arrays).encode())


def number(rng, d, wrong=0.02):
    """An index on an axis of length d, out of range at times."""
    return int(rng.integers(-d - 2, d + 3)) if d == 0 or rng.random() < wrong else int(rng.integers(-d, d))


def span(rng, d):
    bound = lambda: "" if rng.random() < 0.4 else str(int(rng.integers(-d - 2, d + 3)))
    step = "" if rng.random() < 0.5 else ":" + ("" if rng.random() < 0.1 else str(int(rng.choice([-3, -2, -1, 1, 2, 3, 3, 9]))))
    if rng.random() < 0.005:
        step = ":0"
    return bound() + ":" + bound() + step


def index(rng, shape):
    """The text of a random index, and its tensors as NumPy's arrays."""
    parts, tensors, axis, rest = [], [], 0, False
    common = [int(rng.integers(0, 4)) if rng.random() < 0.1 else int(rng.integers(1, 4)) for _ in range(int(rng.integers(0, 3)))]
    while axis < len(shape) and rng.random() < 0.9 or rng.random() < 0.03:
        kind = rng.random()
        d = shape[axis] if axis < len(shape) else 3
        if kind < 0.22:
            parts.append(str(number(rng, d)))
        elif kind < 0.50:
            parts.append(span(rng, d))
        elif kind < 0.56:
            parts.append("None")
            continue
        elif kind < 0.62 and not rest:
            parts.append("...")
            rest = True
            axis += int(rng.integers(0, max(1, len(shape) - axis + 1)))
            continue
        elif kind < 0.70:
            parts.append("[" + ", ".join(str(number(rng, d, 0.01)) for _ in range(common[-1] if common and rng.random() < 0.8 else 1)) + "]")
        elif kind < 0.86 or axis >= len(shape):
            have = common[int(rng.integers(0, len(common) + 1)):]
            have = [1 if rng.random() < 0.2 else k for k in have]
            parts.append("?")
            tensors.append(np.array([number(rng, d, 0.003) for _ in range(int(np.prod(have)))], dtype=np.int64).reshape(have))
        else:
            n = int(rng.integers(1, len(shape) - axis + 1)) if rng.random() < 0.5 else 1
            of = [k + 1 if rng.random() < 0.02 else k for k in shape[axis : axis + n]]
            parts.append("?")
            tensors.append(rng.random(of) < rng.random())
            axis += n - 1
        axis += 1
    if len(parts) == 1 and rng.random() < 0.1:
        parts.append("")
    return ", ".join(parts), tensors


def numpys(txt, tensors, spread=False):
    """The index as NumPy takes it; spread writes masks as integers, whose assignment takes every shape."""
    out, rest = [], list(tensors)
    for part in [] if txt.strip() == "" else json.loads("[" + ",".join(json.dumps(p) for p in pieces(txt)) + "]"):
        part = part.strip()
        if part == "":
            continue
        if part == "?":
            t = rest.pop(0)
            out += list(np.nonzero(t)) if spread and t.dtype == np.bool_ else [t]
        elif part.startswith("["):
            out.append(np.array(json.loads(part), dtype=np.int64))
        elif part in ("None", "..."):
            out.append({"None": None, "...": Ellipsis}[part])
        elif ":" in part:
            out.append(slice(*(None if p == "" else int(p) for p in part.split(":"))))
        else:
            out.append(int(part))
    return tuple(out)


def pieces(txt):
    """The parts between the commas that stand outside of lists."""
    depth, piece, out = 0, "", []
    for c in txt:
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            out, piece = out + [piece], ""
        else:
            piece += c
    return out + [piece]


def taken(x, idx):
    y = np.array(x[idx])
    dx = np.zeros(x.shape, dtype=np.int64)
    np.add.at(dx, idx, np.reshape(1 + np.arange(y.size) % 7, y.shape))
    return text(np.array(y.shape, dtype=np.int64), y, dx)


def written(x, idx, y):
    z, owner = x.copy(), np.full(x.shape, -1, dtype=np.int64)
    shape = np.array(x[idx]).shape
    while y.ndim > len(shape) and y.shape[0] == 1:
        y = y[0]
    wide = np.broadcast_to(y, shape)
    z[idx] = wide
    owner[idx] = np.broadcast_to(np.arange(y.size).reshape(y.shape), shape)
    dz = np.reshape(1 + np.arange(z.size) % 5, z.shape)
    dx = np.where(owner < 0, dz, 0)
    dy = np.zeros(y.size, dtype=np.int64)
    np.add.at(dy, owner[owner >= 0], dz[owner >= 0])
    return text(z, dx, dy)


def cases(count):
    rng = np.random.default_rng(12)
    for _ in range(count):
        shape = [int(k) for k in rng.choice([0, 1, 2, 3, 4, 5], p=[0.02, 0.13, 0.25, 0.3, 0.2, 0.1], size=rng.choice([0, 1, 2, 3, 4], p=[0.02, 0.2, 0.33, 0.3, 0.15]))]
        x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
        txt, tensors = index(rng, shape)
        took, wrote, yshape = "", "", []
        try:
            idx, flat = numpys(txt, tensors), numpys(txt, tensors, spread=True)
            took = taken(x, idx)
            have = list(x[idx].shape)[int(rng.integers(0, x[idx].ndim + 1)) if rng.random() < 0.5 else 0 :]
            yshape = [1 if rng.random() < 0.15 else k for k in have]
            if rng.random() < 0.05:
                yshape = [1] + yshape
            if rng.random() < 0.03:
                yshape = yshape + [2]
            y = -1 - np.arange(int(np.prod(yshape)), dtype=np.int64).reshape(yshape)
            wrote = written(x, flat, y)
        except (IndexError, ValueError):
            pass
        yield [shape, txt, [[list(t.shape), "".join(str(int(b)) for b in t.ravel()) if t.dtype == np.bool_ else t.ravel().tolist()] for t in tensors], yshape, took, wrote]


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases(5000))
    with open(sys.argv[1], "wb") as f:
        f.write(gzip.compress(("[" + lines + "]\n").encode(), 9, mtime=0))
