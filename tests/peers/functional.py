"""Writes what torch.func answers for the functions of functions of engine/tensor (engine/tensor/functional.go).

    pip install torch
    python functional.py FILE     # engine/tensor/testdata/functional.json
"""

import json
import sys

import torch
from torch import func

torch.manual_seed(5)
W = torch.randn(4, 3, dtype=torch.float64)
X = torch.randn(3, dtype=torch.float64)
V = torch.randn(3, dtype=torch.float64)
D = torch.randn(4, dtype=torch.float64)
BATCH = torch.randn(5, 3, dtype=torch.float64)


def layer(x):
    return torch.tanh(W @ x) * x.sum()


def energy(x):
    return (layer(x) ** 2).sum() + torch.logsumexp(x, 0) * x.prod()


def answers():
    y, back = func.vjp(layer, X)
    yield "w", W
    yield "x", X
    yield "v", V
    yield "d", D
    yield "batch", BATCH
    yield "y", y
    yield "vjp", back(D)[0]
    yield "jvp", func.jvp(layer, (X,), (V,))[1]
    yield "jacobian", func.jacrev(layer)(X)
    yield "twice", func.jacrev(func.jacrev(layer))(X)
    yield "hessian", func.hessian(energy)(X)
    yield "third", func.jacrev(func.hessian(energy))(X)
    yield "vmap", func.vmap(layer)(BATCH)
    yield "grads", func.vmap(func.grad(energy))(BATCH)


with open(sys.argv[1], "w") as f:
    json.dump({name: {"shape": list(t.shape), "data": t.flatten().tolist()} for name, t in answers()}, f, indent=1)
    f.write("\n")
