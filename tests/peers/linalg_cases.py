"""Writes what NumPy and PyTorch answer for engine/linalg: 2,000 random matrices, and gradients.

    pip install numpy torch scipy
    python linalg_cases.py FILE     # engine/linalg/testdata/peers.json.gz

A case holds its matrices as small integers and quarters, which every dtype holds, and of each result a few projections,
Σ result·weight with weights that both sides compute, so that the file stays small. Of results with a choice of signs or
of an order, the projections are of what does not depend on it.
"""

import gzip
import json
import sys

import numpy as np
import scipy.linalg
import torch

RNG = np.random.default_rng(11)


def project(result):
    """Weighs the elements of a result: by 1, and by a wave."""
    x = np.nan_to_num(np.asarray(result, dtype=np.float64).ravel(), nan=77, posinf=1000, neginf=-1000)  # which JSON has
    return [list(np.shape(result)), float(x.sum()), float((x * np.cos(np.arange(x.size) * 0.7 + 0.3)).sum())]


def shape_of(square):
    batch = [(), (), (), (3,), (2, 2), (1, 3), (0,)][RNG.integers(7)]
    m, n = (int(k) for k in RNG.integers(0 if RNG.random() < 0.1 else 1, 8, size=2))
    return batch + ((m, m) if square else (m, n))


def matrices(shape, rank=None):
    a = RNG.integers(-12, 13, size=shape) / 4.0
    if rank is not None and min(shape[-2:]) > rank:  # of lower rank: products of integers
        left = RNG.integers(-3, 4, size=shape[:-1] + (rank,))
        right = RNG.integers(-3, 4, size=shape[:-2] + (rank, shape[-1]))
        a = (left @ right) / 4.0
    elif shape[-1] == shape[-2] and RNG.random() < 0.7:
        a = a + 3 * np.eye(shape[-1])  # better conditions
    return a


def definite(a):
    return a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1])


def symmetric(a):
    return a + np.swapaxes(a, -1, -2)


def projector(q):
    return q @ np.swapaxes(q, -1, -2)


L = np.linalg
SQUARE = {
    "solve": lambda a, b: [L.solve(a, b)],
    "inv": lambda a: [L.inv(a)],
    "det": lambda a: [L.det(a)],
    "slogdet": lambda a: list(L.slogdet(a)),
    "cholesky": lambda a: [L.cholesky(definite(a))],
    "eigh": lambda a: [L.eigvalsh(symmetric(a))],
    "eig_vals": lambda a: [(L.eigvals(a) ** k).sum(-1).real for k in (1, 2, 3)],
    "matrix_power": lambda a: [L.matrix_power(a, 3), L.matrix_power(a, 0)],
    "expm": lambda a: [scipy.linalg.expm(a) if a.size else a],
    "cond1": lambda a: [L.cond(a, 1)] if a.size else [np.zeros(a.shape[:-2])],
}
ANY = {
    "qr": lambda a: list(L.qr(a)),
    "full_qr": lambda a: list(L.qr(a, mode="complete")),
    "lu": lambda a: [torch.linalg.lu(torch.tensor(a))[k].numpy() for k in range(3)],
    "svd": lambda a: [L.svd(a, compute_uv=False)],
    "full_svd": lambda a: [projector(np.asarray(L.svd(a)[0])), L.svd(a)[2].shape],
    "pinv": lambda a: [L.pinv(a, rcond=1e-10)],
    "rank": lambda a: [L.matrix_rank(a, rtol=1e-10)] if a.size else [np.zeros(a.shape[:-2])],
    "lstsq": lambda a, b: [L.lstsq(a, b, rcond=1e-10)[0]],
    "norms": lambda a: [L.vector_norm(a, ord=k) for k in (0, 1, 2, 3, 0.5)] + ([L.vector_norm(a, ord=k) for k in (np.inf, -np.inf)] if a.size else []),
    "matrix_norms": lambda a: [L.matrix_norm(a, ord=k) for k in (1, -1, np.inf, -np.inf, 2, -2, "nuc", "fro")],
}


def case(name, f, square):
    shape = shape_of(square)
    if name in ("lstsq",):
        shape = shape[-2:]
    rank = int(RNG.integers(1, 4)) if not square and name not in ("lu", "qr", "full_qr") and RNG.random() < 0.3 else None
    a = matrices(shape, rank)
    args = [a]
    if name in ("solve", "lstsq"):
        args.append(matrices(shape[:-1] + (int(RNG.integers(1, 4)),)))
    if name in ("matrix_norms", "lstsq", "full_svd") and a.size == 0:
        return None
    if name in ("solve", "inv", "expm", "cond1") and a.size and L.cond(a).max() > 1e6:
        return None
    if name == "lu" and a.size == 0:
        return None
    return dict(op=name, args=[[list(x.shape), (x.ravel() * 4).round().astype(int).tolist()] for x in args], want=[project(r) for r in f(*args)])


T = torch.linalg
GRADS = {
    "solve": lambda a, b: T.solve(a, b).sum(), "inv": lambda a, b: (T.inv(a) * b).sum(), "det": lambda a, b: T.det(a).sum(),
    "slogdet": lambda a, b: T.slogdet(a)[1].sum(), "cholesky": lambda a, b: (T.cholesky(a @ a.mT + torch.eye(a.shape[-1])) * b).sum(),
    "qr": lambda a, b: (T.qr(a)[0] * b).sum() + T.qr(a)[1].sum(), "lu": lambda a, b: (T.lu(a)[1] * b).sum() + T.lu(a)[2].sum(),
    "svd": lambda a, b: (T.svd(a)[0].abs() * b).sum() + (T.svd(a)[1] ** 2).sum(),
    "eigh": lambda a, b: (T.eigh(a + a.mT)[1].abs() * b).sum() + (T.eigh(a + a.mT)[0] ** 3).sum(),
    "pinv": lambda a, b: (T.pinv(a) * b.mT).sum(), "lstsq": lambda a, b: (T.pinv(a) @ b).sum(), "expm": lambda a, b: (T.matrix_exp(a / 4) * b).sum(),
    "matrix_power": lambda a, b: (T.matrix_power(a, 3) * b).sum(), "nuclear": lambda a, b: T.matrix_norm(a, "nuc").sum(),
    "norm": lambda a, b: T.vector_norm(a, 3), "cond": lambda a, b: T.cond(a).sum(), "cross": lambda a, b: (T.cross(a[..., :3, :3], b[..., :3, :3]) ** 2).sum(),
}


def gradient(name, f):
    shape = [(4, 4), (2, 4, 4)][RNG.integers(2)]
    args = [matrices(shape) for _ in range(2)]
    if L.cond(args[0]).max() > 50:
        return None
    x = [torch.tensor(a, requires_grad=True) for a in args]
    grads = torch.autograd.grad(f(*x), x, allow_unused=True)
    return dict(op=name, args=[[list(a.shape), (a.ravel() * 4).round().astype(int).tolist()] for a in args],
                want=[None if g is None else project(g.numpy()) for g in grads])


def fill(table, count, make):
    out = []
    names = list(table)
    while len(out) < count:
        name = names[len(out) % len(names)]
        made = make(name, table[name])
        if made is not None:
            out.append(made)
    return out


torch.set_default_dtype(torch.float64)
cases = fill(SQUARE, 1000, lambda name, f: case(name, f, True)) + fill(ANY, 1000, lambda name, f: case(name, f, False))
with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
    f.write(json.dumps(dict(values=cases, gradients=fill(GRADS, 85, gradient))).encode())
print(len(cases))
