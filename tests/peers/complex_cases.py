"""Writes what NumPy and PyTorch answer for complex tensors and for engine/fft.

    pip install numpy torch
    python complex_cases.py TENSORS TRANSFORMS   # engine/tensor/testdata/complex.json.gz, engine/fft/testdata/peers.json.gz

A case holds its operands as quarters, a real and an imaginary part, and of each result a few projections, Σ result·weight
with weights that both sides compute, so that the files stay small.
"""

import gzip
import json
import sys

import numpy as np
import torch

RNG = np.random.default_rng(12)


def project(result):
    """Weighs the elements of a result: by 1, and by a wave."""
    z = np.asarray(result).ravel()
    wave = np.cos(np.arange(z.size) * 0.7 + 0.3)
    sums = []
    for part in (z.real.astype(np.float64), z.imag.astype(np.float64)):
        part = np.nan_to_num(part, nan=77, posinf=1000, neginf=-1000)  # which JSON has
        sums += [float(part.sum()), float((part * wave).sum())]
    return [list(np.shape(result)), bool(np.iscomplexobj(result))] + sums


def quarters(z):
    parts = [z.real, z.imag] if np.iscomplexobj(z) else [z]
    return dict(shape=list(z.shape), parts=[(p.ravel() * 4).round().astype(int).tolist() for p in parts])


def numbers(shape, real=False, some=False):
    """Some: none is 0."""
    x = RNG.integers(-12, 13, size=shape) / 4.0
    if some:
        x = np.where(x == 0, 0.75, x)
    if real:
        return x
    return x + 1j * numbers(shape, real=True, some=some)


def shape_of(rank):
    return tuple(int(d) for d in RNG.integers(1, 5, size=rank))


NUMBER = 0.5 - 2j


def binary(f, **how):
    def make():
        shape = shape_of(RNG.integers(0, 4))
        other = tuple(1 if RNG.random() < 0.3 else d for d in shape)[int(RNG.integers(0, len(shape) + 1)):]
        return [numbers(shape, real=how.get("left", False), some=True), numbers(other, real=how.get("right", False), some=True)]
    return make, f


def unary(f, rank=None, some=True, real=False):
    return (lambda: [numbers(shape_of(RNG.integers(0, 4) if rank is None else rank), some=some, real=real)]), f


def matrices(f, right=False):
    def make():
        batch, (m, k, n) = shape_of(RNG.integers(0, 2)), shape_of(3)
        return [numbers(batch + (m, k)), numbers((k, n) if RNG.random() < 0.5 else batch + (k, n), real=right)]
    return make, f


VALUES = {
    "add": binary(lambda z, w: z + w), "sub": binary(lambda z, w: z - w), "mul": binary(lambda z, w: z * w), "div": binary(lambda z, w: z / w),
    "add real": binary(lambda z, x: z + x, right=True), "mul real": binary(lambda z, x: z * x, right=True), "div real": binary(lambda z, x: z / x, right=True),
    "real sub": binary(lambda x, z: x - z, left=True), "real div": binary(lambda x, z: x / z, left=True), "pow": binary(lambda z, w: z**w),
    "real pow": binary(lambda x, z: np.asarray(x, complex) ** z, left=True),
    "eq": binary(lambda z, w: z == w), "ne": binary(lambda z, w: z != w.real, ),
    "mul number": unary(lambda z: z * NUMBER), "sub from number": unary(lambda z: NUMBER - z), "div number": unary(lambda z: z / NUMBER),
    "real mul number": unary(lambda x: x * NUMBER, real=True), "pow number": unary(lambda z: z**2.5), "pow 3": unary(lambda z: z**3), "pow -1": unary(lambda z: z**-1),
    "neg": unary(lambda z: -z), "conj": unary(np.conj), "abs": unary(np.abs), "angle": unary(np.angle, some=False), "sign": unary(np.sign, some=False),
    "recip": unary(lambda z: 1 / z), "square": unary(np.square), "exp": unary(np.exp), "log": unary(np.log), "sqrt": unary(np.sqrt, some=False),
    "sin": unary(np.sin), "cos": unary(np.cos), "tan": unary(np.tan), "real": unary(np.real), "imag": unary(np.imag),
    "sum": unary(np.sum), "sum 0": unary(lambda z: z.sum(0), rank=3), "mean": unary(lambda z: z.mean((0, 2)), rank=3), "prod": unary(lambda z: z.prod(1), rank=3),
    "cumsum": unary(lambda z: z.cumsum(1), rank=2), "cumprod": unary(lambda z: z.cumprod(1), rank=2), "var": unary(lambda z: z.var(0), rank=2),
    "std": unary(np.std), "norm": unary(lambda z: np.linalg.norm(z, axis=-1), rank=2), "norm all": unary(lambda z: np.sqrt((np.abs(z) ** 2).sum())),
    "matmul": matrices(np.matmul), "matmul real": matrices(np.matmul, right=True), "real matmul": matrices(lambda z, x: z.real @ (x * NUMBER), right=True),
    "einsum": matrices(lambda z, w: np.einsum("...ij,...jk->...ki", z, w)),
    "vecdot": ((lambda: [numbers((3, 4)), numbers((4,))]), lambda z, w: np.vecdot(z, w)), "outer": ((lambda: [numbers((3,)), numbers((4,))]), np.outer),
    "kron": ((lambda: [numbers((2, 2)), numbers((1, 3))]), np.kron), "trace": ((lambda: [numbers((3, 3))]), np.trace),
    "reshape": unary(lambda z: z.reshape(-1), rank=3), "permute": unary(lambda z: z.transpose(2, 0, 1), rank=3), "flip": unary(lambda z: z[::-1], rank=2),
    "slice": unary(lambda z: z[:, 1:], rank=2), "index": unary(lambda z: z[..., 0], rank=3), "put": unary(lambda z: np.concatenate([z[:1] * 0 + NUMBER, z[1:]]), rank=2),
    "roll": unary(lambda z: np.roll(z, 2, 1), rank=2), "pad": unary(lambda z: np.pad(z, ((1, 2), (0, 0)), constant_values=3), rank=2), "tile": unary(lambda z: np.tile(z, 2), rank=2),
    "repeat": unary(lambda z: z.repeat(2, 0), rank=2), "triu": unary(np.triu, rank=2), "take": unary(lambda z: z.take([0, -1, 0], 1), rank=2),
    "concat": binary(lambda z, x: np.concatenate([np.ravel(z), np.ravel(x)]), right=True), "where": binary(lambda z, x: np.where(np.real(z) > 0, z, x), right=True),
    "any": unary(lambda z: (z != 0).any(0), rank=2, some=False), "isfinite": unary(lambda z: np.isfinite(z / z), some=False),
}

SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan]
T = torch
GRADS = {  # real numbers of two complex matrices
    "mul": lambda z, w: (z * w).real.sum() + (z * w).imag.sum() * 2, "div": lambda z, w: (z / w).abs().sum(), "abs": lambda z, w: (z.abs() * w.abs()).sum(),
    "angle": lambda z, w: (z.angle() * w.real).sum(), "conj": lambda z, w: (z.conj() * w).imag.square().sum(), "exp": lambda z, w: (z.exp() * w).real.sum(),
    "log": lambda z, w: (z.log() / w).imag.sum(), "sqrt": lambda z, w: (z.sqrt() * w).real.sum(), "sin": lambda z, w: (z.sin() * w.cos()).imag.sum(),
    "pow": lambda z, w: (z**w).real.sum(), "recip": lambda z, w: (1 / (z + w * 8)).abs().sum(), "matmul": lambda z, w: (z @ w).abs().square().sum(),
    "prod": lambda z, w: (z.prod(0) * w.sum()).real.sum(), "real": lambda z, w: (z.real * w.real).sum(), "sum": lambda z, w: (z.sum(0) - 2j * w.mean(1)).abs().sum(),
    "shape": lambda z, w: (T.cat([z.mT, w.flip(0)], 1)[:, 1:].reshape(-1).cumsum(0)).abs().sum(), "sgn": lambda z, w: (z.sgn() * w).real.sum(),
    "number": lambda z, w: ((2j - z) / (w.real + 5) * (1 + 1j)).abs().sum(),
}

NORMS = ["backward", "ortho", "forward"]
TRANSFORMS = {
    "fft": (1, "c"), "ifft": (1, "c"), "rfft": (1, "r"), "irfft": (1, "c"), "fft2": (2, "c"), "ifft2": (2, "c"), "rfft2": (2, "r"), "irfft2": (2, "c"),
    "fftn": (0, "c"), "ifftn": (0, "c"), "rfftn": (0, "r"), "irfftn": (0, "c"),
}
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 20, 30, 53, 59, 64, 77]


def transform(name):
    """A call: operand, lengths, axes (None for the default) and norm."""
    count, kind = TRANSFORMS[name]
    rank = int(RNG.integers(max(1, count), 4))
    shape = [int(d) for d in RNG.integers(1, 6, size=rank)]
    axes = None
    if RNG.random() < 0.6:
        axes = [int(a) for a in RNG.permutation(rank)[: count or int(RNG.integers(1, rank + 1))]]
        axes = [a - rank if RNG.random() < 0.5 else a for a in axes]
    touched = axes if axes is not None else list(range(-(count or rank), 0))
    last = touched[-1]
    shape[last] = int(RNG.choice(LENGTHS))
    if name.startswith("irfft") and shape[last] < 2:
        shape[last] = 2
    n = None
    if RNG.random() < 0.5:
        n = [max(1, shape[a] + int(RNG.integers(-3, 4))) for a in touched]
    if RNG.random() < 0.05 and rank > len(touched):  # an empty batch
        shape[next(a for a in range(rank) if a not in touched and a - rank not in touched)] = 0
    x = numbers(tuple(shape), real=kind == "r" or name in ("fft", "fft2", "fftn") and RNG.random() < 0.3)
    return x, n, axes, NORMS[RNG.integers(3)]


def one(name, x, n, axes, norm, library):
    f = getattr(library, name)
    if TRANSFORMS[name][0] == 1:
        more = {} if axes is None else {("axis" if library is np.fft else "dim"): axes[0]}
        return f(x, None if n is None else n[0], norm=norm, **more)
    more = {} if axes is None else {("axes" if library is np.fft else "dim"): axes}
    return f(x, n, norm=norm, **more)


def transforms():
    cases, grads = [], []
    for i in range(600):
        name = list(TRANSFORMS)[i % len(TRANSFORMS)]
        x, n, axes, norm = transform(name)
        case = dict(op=name, args=[quarters(x)], n=n, axes=axes, norm=NORMS.index(norm))
        if axes is None and n is not None and TRANSFORMS[name][0] == 0:  # NumPy: the last axes; deprecated there
            case["want"] = project(one(name, x, n, list(range(-len(n), 0)), norm, np.fft))
        else:
            case["want"] = project(one(name, x, n, axes, norm, np.fft))
        cases.append(case)
    for i in range(120):
        name = list(TRANSFORMS)[i % len(TRANSFORMS)]
        x, n, axes, norm = transform(name)
        if x.size == 0:
            continue
        t = torch.tensor(x, requires_grad=True)
        y = one(name, t, n, axes, norm, torch.fft)
        wave = torch.cos(torch.arange(y.numel(), dtype=torch.float64) * 0.7 + 0.3).reshape(y.shape)
        loss = (y.real * wave).sum() + (y.imag.square() * wave).sum() if y.is_complex() else (y.square() * wave).sum()
        grads.append(dict(op=name, args=[quarters(x)], n=n, axes=axes, norm=NORMS.index(norm), want=project(torch.autograd.grad(loss, t)[0].resolve_conj().numpy())))
    freqs = [dict(op=f, n=[n], want=project(getattr(np.fft, f)(n, 0.25))) for f in ("fftfreq", "rfftfreq") for n in range(1, 12)]
    shifts = [dict(op=f, args=[quarters(x)], axes=axes, want=project(getattr(np.fft, f)(x, axes)))
              for f in ("fftshift", "ifftshift") for x in (numbers((5, 4)), numbers((3, 7), real=True)) for axes in (None, [0], [1, 0], [-1])]
    return dict(values=cases, gradients=grads, frequencies=freqs, shifts=shifts)


def arithmetic():
    cases, grads, special = [], [], []
    for i in range(8 * len(VALUES)):
        name = list(VALUES)[i % len(VALUES)]
        make, f = VALUES[name]
        args = make()
        with np.errstate(all="ignore"):
            cases.append(dict(op=name, args=[quarters(np.asarray(a)) for a in args], want=project(f(*args))))
    for i in range(6 * len(GRADS)):
        name = list(GRADS)[i % len(GRADS)]
        args = [numbers((3, 3), some=True) for _ in range(2)]
        x = [torch.tensor(a, requires_grad=True) for a in args]
        got = torch.autograd.grad(GRADS[name](*x), x, allow_unused=True)
        grads.append(dict(op=name, args=[quarters(a) for a in args], want=[None if g is None else project(g.resolve_conj().numpy()) for g in got]))
    text = lambda z: [str(float(np.real(z))), str(float(np.imag(z)))]
    for a in SPECIAL:
        for b in SPECIAL:
            z = complex(a, b)
            with np.errstate(all="ignore"):
                row = dict(z=text(z), abs=text(np.abs(z)), angle=text(np.angle(z)), sqrt=text(np.sqrt(z)), square=text(np.multiply(z, z)))
            special.append(row)
    return dict(values=cases, gradients=grads, special=special)


for path, made in zip(sys.argv[1:], (arithmetic(), transforms())):
    with gzip.GzipFile(path, "wb", mtime=0) as f:
        f.write(json.dumps(made).encode())
    print(path, {k: len(v) for k, v in made.items()})
