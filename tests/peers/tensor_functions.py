"""Writes what NumPy and PyTorch answer for the functions that engine/tensor composes, as tensor_ops.py does for its ops.

    pip install numpy torch
    python tensor_functions.py FILE     # engine/tensor/testdata/functions.json
"""

import json
import sys

import numpy as np

from tensor_ops import case

INF, NAN = np.inf, np.nan
SPECIAL = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3.5, 8, -7, 1e-30, 1e30, INF, -INF, NAN], dtype=np.float32)
INTS = np.array([0, 1, -1, 2, -2, 7, -7, 31, 32, 40, 2**31 - 1, -(2**31)], dtype=np.int32)


def elementwise(rng):
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    dense = rng.normal(size=60).astype(np.float32)
    some = np.concatenate([SPECIAL, dense, dense * 30, np.float32(2) ** np.arange(-149, 128, 7), np.float32(10) ** np.arange(-10, 11)])
    some = some.astype(np.float32)
    for name, f in {"log2": np.log2, "log10": np.log10, "exp2": np.exp2, "trunc": np.trunc, "cbrt": np.cbrt,
                    "signbit": np.signbit, "is_finite": np.isfinite, "is_inf": np.isinf}.items():
        want = f(some.astype(np.float64))
        yield case(name, [some], [want if want.dtype == np.bool_ else want.astype(np.float32)])
    for name, f in {"hypot": np.hypot, "log_add_exp": np.logaddexp, "copysign": np.copysign}.items():
        yield case(name, [x, y], [f(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)])
    steps = np.array([0, -0.0, 1, -1, 2, -1.5, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38, INF, -INF, NAN, 0.1], dtype=np.float32)
    u, v = (a.ravel() for a in np.meshgrid(steps, steps))
    yield case("next_after", [u, v], [np.nextafter(u, v)])
    i, j = (a.ravel() for a in np.meshgrid(INTS, INTS))
    yield case("shl", [i, j], [np.left_shift(i, j)])
    yield case("shr", [i, j], [np.right_shift(i, j)])
    b, c = np.array([0, 1, 127, 200, 255], dtype=np.uint8), np.array([0, 1, 7, 8, 255], dtype=np.uint8)
    yield case("shl", [b, c], [np.left_shift(b, c)])
    yield case("shr", [b, c], [np.right_shift(b, c)])
    yield case("bitcast", [some], [some.view(np.int32)], to="i32")
    yield case("bitcast", [INTS], [INTS.view(np.float32)], to="f32")
    yield case("trunc", [INTS], [np.trunc(INTS)])


def ordered(rng):
    x = rng.integers(-4, 5, size=(3, 5)).astype(np.float32)
    x[1, 2], x[2, 0], x[0, 4] = NAN, INF, -INF
    ints = rng.integers(-4, 5, size=(4, 3))
    for a in (x, ints):
        for axis in (0, -1):
            yield case("sort", [a], [np.sort(a, axis)], axis=axis)
            yield case("arg_sort", [a], [np.argsort(a, axis, kind="stable")], axis=axis)
            yield case("cum_max", [a], [np.maximum.accumulate(a, axis)], axis=axis)
            yield case("cum_min", [a], [np.minimum.accumulate(a, axis)], axis=axis)
            yield case("diff", [a], [np.diff(a, axis=axis)], axis=axis)
            yield case("count_non_zero", [a], [np.count_nonzero(a, axis)], axis=axis)
            for n in (0, 1, -2, 7):
                yield case("roll", [a], [np.roll(a, n, axis)], axis=axis, n=n)
            for n in (0, 1, 3):
                yield case("repeat", [a], [np.repeat(a, n, axis)], axis=axis, n=n)
        for sides in (0, 1):
            s = np.sort(a.ravel())
            for line in (s, s[:1], s[:0]):
                want = np.searchsorted(line, a, side=("left", "right")[sides])
                yield case("search_sorted", [line, a], [want], right=sides)
        for values in (a[0], a[:0], np.array([3, 4])):
            yield case("is_in", [a, values], [np.isin(a, values)])
        flat = a.ravel()
        for line in (flat, flat[:1], flat[:0]):
            values, first, inverse, counts = np.unique(line, True, True, True, equal_nan=False)
            for part, want in {"values": values, "first": first, "inverse": inverse, "counts": counts}.items():
                yield case("unique_" + part, [line], [want])
    yield case("bin_count", [ints], [np.bincount(ints[(ints >= 0) & (ints < 4)], minlength=4)], n=4)
    dense = rng.normal(size=(4, 7)).astype(np.float32)
    dense[1, 3], dense[2, 2] = NAN, INF
    for axis in (0, 1):
        for q in (0, 0.1, 0.5, 0.75, 1):
            yield case("quantile", [dense], [np.quantile(dense, q, axis).astype(np.float32)], axis=axis, q=q)
        yield case("median", [dense], [np.median(dense, axis)], axis=axis)
        yield case("sample_var", [dense], [np.var(dense, axis, ddof=1, dtype=np.float64).astype(np.float32)], axis=axis)


def arranged(rng):
    a = rng.normal(size=(2, 3, 5)).astype(np.float32)
    m = a[0]
    for offset in range(-4, 7):
        yield case("diagonal", [m], [np.diagonal(m, offset)], n=offset)
        yield case("diagonal", [a], [np.diagonal(a, offset, -2, -1)], n=offset)
    yield case("trace", [a], [np.trace(a, 0, -2, -1, dtype=np.float64).astype(np.float32)])
    yield case("diag", [m[0]], [np.diag(m[0])])
    for i in range(-3, 3):
        for j in range(-3, 3):
            yield case("move_axis", [a], [np.moveaxis(a, i, j)], axis=i, to=j)
    x, y, z = m[0], m[1][:3], m[2][:2]
    for i, want in enumerate(np.meshgrid(x, y, z, indexing="ij")):
        yield case("meshgrid", [x, y, z], [want], n=i)
    yield case("outer", [x, y], [np.outer(x, y)])
    yield case("vec_dot", [m, x], [(m.astype(np.float64) * x).sum(-1).astype(np.float32)], axis=-1)
    b = rng.normal(size=(5, 4, 3)).astype(np.float32)
    for i, j in (([1], [2]), ([2, 1], [0, 2]), ([], []), ([-1], [-3])):
        want = np.tensordot(a.astype(np.float64), b.astype(np.float64), (i, j)).astype(np.float32)
        yield case("tensor_dot", [a, b], [want], axes=i, to=j)
    yield case("masked", [a, a > 0], [a[a > 0]])
    yield case("masked", [a, np.zeros(a.shape, np.bool_)], [a[:0].ravel()])
    yield case("kron", [m, x[:4].reshape(2, 2)], [np.kron(m, x[:4].reshape(2, 2))])
    for axis in (0, -1):
        yield case("norm", [m], [np.linalg.norm(m.astype(np.float64), axis=axis).astype(np.float32)], axis=axis)
    for dtype in (np.int32, np.uint8, np.int64):
        index = np.array([[2, 0], [1, 1]], dtype=dtype)
        yield case("take", [a, index], [a.take(index, 1)], axis=1)
        along = np.array([[[1], [0], [2]]], dtype=dtype).repeat(2, 0)
        yield case("take_along", [a, along], [np.take_along_axis(a, along.astype(np.int64), 2)], axis=2)


def scattered(rng):
    index = np.array([3, -1, 0, 3])
    for base, updates in ((rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 4, 3))), (rng.integers(-9, 9, (2, 4, 3)),) * 2):
        base = base.astype(np.float32) if base.dtype == np.float64 else base
        updates = updates.astype(base.dtype)
        if base.dtype == np.float32:
            base[0, 3, 1], updates[1, 1, 2] = NAN, NAN
        for how, f in enumerate((None, np.add, np.multiply, np.minimum, np.maximum)):
            want = base.copy()
            for n, at in enumerate(index):  # in order, so that the last one stays
                want[:, at] = f(want[:, at], updates[:, n]) if f else updates[:, n]
            yield case("put", [base, index, updates], [want], axis=1, how=how)
            along = rng.integers(-4, 4, size=(2, 5, 2))
            values, want = np.resize(updates, along.shape), base.copy()
            for at in np.ndindex(along.shape):
                to = (at[0], along[at], at[2])
                want[to] = f(want[to], values[at]) if f else values[at]
            yield case("put_along", [base, along, values], [want], axis=1, how=how)


def torch_cases():
    import torch
    import torch.nn.functional as F

    torch.manual_seed(2)

    def randn(*shape):
        return torch.randn(shape, dtype=torch.float64)

    def run(op, f, args, extra=(), **settings):
        """args get gradients; extra are further arguments of the op."""
        args = [a.requires_grad_() for a in args]
        y = f(*args)
        weight = randn(*y.shape)
        grads = torch.autograd.grad((y * weight).sum(), args)
        return case(op, [a.detach().numpy() for a in args] + [e.numpy() for e in extra], [y.detach().numpy()],
                    [g.numpy() for g in grads], weight.numpy(), **settings)

    yield run("softplus", lambda x: F.softplus(x, threshold=1e9), [randn(3, 5) * 9])
    yield run("log_sigmoid", F.logsigmoid, [randn(3, 5) * 9])
    yield run("elu", lambda x: F.elu(x, 0.7), [randn(3, 5)], alpha=0.7)
    yield run("leaky_relu", lambda x: F.leaky_relu(x, 0.1), [torch.tensor([-2.0, 0, 3], dtype=torch.float64)], alpha=0.1)
    yield run("lerp", lambda x, y: torch.lerp(x, y, 0.3), [randn(4), randn(4)], alpha=0.3)
    yield run("log_add_exp", torch.logaddexp, [randn(4, 3), randn(3)])
    yield run("hypot", torch.hypot, [randn(4, 3), randn(4, 1)])
    signs = randn(9)
    yield run("copysign", lambda x: torch.copysign(x, signs), [randn(9)], [signs])
    for name in ("log2", "log10"):
        yield run(name, getattr(torch, name), [randn(9).abs() + 0.1])
    yield run("log2", torch.log2, [torch.tensor([8.0, 0.25], dtype=torch.float64)])
    yield run("exp2", torch.exp2, [randn(9)])
    for axis in (0, 1):
        yield run("sort", lambda x: x.sort(axis)[0], [randn(4, 5)], axis=axis)
        yield run("cum_max", lambda x: x.cummax(axis)[0], [randn(4, 5)], axis=axis)
        yield run("diff", lambda x: x.diff(dim=axis), [randn(4, 5)], axis=axis)
        yield run("roll", lambda x: x.roll(-2, axis), [randn(4, 5)], axis=axis, n=-2)
        yield run("repeat", lambda x: x.repeat_interleave(3, axis), [randn(4, 5)], axis=axis, n=3)
        yield run("quantile", lambda x: x.quantile(0.3, axis), [randn(4, 5)], axis=axis, q=0.3)
        yield run("sample_var", lambda x: x.var(axis), [randn(4, 5)], axis=axis)
    target = torch.rand(4, 5, dtype=torch.float64)
    yield run("mean_squares", F.mse_loss, [randn(4, 5), randn(4, 5)])
    yield run("binary_cross_entropy", lambda x: F.binary_cross_entropy_with_logits(x, target), [randn(4, 5) * 9], [target])
    yield run("kl_divergence", lambda x, y: F.kl_div(x.log_softmax(-1), y.log_softmax(-1), reduction="batchmean", log_target=True),
              [randn(4, 5), randn(4, 5)])
    yield run("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), [randn(4, 5), randn(4, 5)], axis=1)
    yield run("kron", torch.kron, [randn(2, 3), randn(3, 2)])
    yield run("diagonal", lambda x: x.diagonal(1, -2, -1), [randn(2, 3, 4)], n=1)
    yield run("diag", torch.diag, [randn(4)])
    yield run("tensor_dot", lambda x, y: torch.tensordot(x, y, ([1], [2])), [randn(2, 3, 4), randn(2, 2, 3)], axes=[1], to=[2])

    # PyTorch leaves open which of several updates of one place stays, and so where the gradient goes: each place once.
    once = torch.tensor([[2, 0, 1], [1, 3, 0]])
    yield run("put_along", lambda x, u: x.scatter(1, once, u), [randn(3, 4), randn(2, 3)], [], axis=1, how=0, index=once.tolist())
    again = torch.tensor([[2, 0, 2], [1, 1, 1]])
    for how, name in ((1, "sum"), (2, "prod"), (3, "amin"), (4, "amax")):
        for x, u in ((randn(2, 4), randn(2, 3)), (torch.tensor([[0.0, 2, 0, 1], [1, 3, 2, 2]]), torch.tensor([[2.0, 0, 3], [3, 0, 3]]))):
            yield run("put_along", lambda x, u: x.scatter_reduce(1, again, u, name), [x.double(), u.double()], [], axis=1, how=how,
                      index=again.tolist())


def main():
    cases = []
    with np.errstate(all="ignore"):
        for seed, make in enumerate((elementwise, ordered, arranged, scattered)):
            cases += make(np.random.default_rng(seed))
        cases += torch_cases()
    with open(sys.argv[1], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main()
