"""Writes what NumPy and PyTorch answer, to hold engine/tensor against.

    pip install numpy torch
    python tensor_ops.py numpy FILE     # engine/tensor/testdata/numpy.json
    python tensor_ops.py torch FILE     # engine/tensor/testdata/torch.json

A file is a list of cases: the op, its settings, its arguments and the results, and for PyTorch the gradients of the
arguments of sum(result * weight), too. Arrays are {type, shape, data}, data in base64, little endian.
"""

import base64
import json
import sys

import numpy as np

INTS = {f"{sign}int{bits}": f"{short}{bits}" for sign, short in (("u", "u"), ("", "i")) for bits in (8, 16, 32, 64)}
TYPES = {"float32": "f32", "float64": "f64", "bool": "bool", **INTS}


def array(x):
    x = np.asarray(x)
    data = base64.b64encode(x.tobytes(order="C")).decode()
    return {"type": TYPES[x.dtype.name], "shape": list(x.shape), "data": data}


def case(op, args, want, grads=(), weight=None, **settings):
    c = {"op": op, "settings": settings, "args": [array(a) for a in args], "want": [array(w) for w in want]}
    if grads:
        c["grads"] = [array(g) for g in grads]
        c["weight"] = array(weight)
    return c


def extremes(name):
    """Both ends of an integer type, and what lies about 0."""
    info = np.iinfo(name)
    list_ = [0, 1, 2, 3, 7, info.max, info.max - 1, info.max // 2 + 1, info.min, info.min + 1, -1, -2, -7]
    return np.array(sorted({i for i in list_ if info.min <= i <= info.max}), dtype=name)


def integer_cases():
    cases = []
    pairs = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "floor_div": np.floor_divide, "mod": np.remainder,
             "maximum": np.maximum, "minimum": np.minimum, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
             "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "and": np.bitwise_and, "or": np.bitwise_or,
             "xor": np.bitwise_xor}
    for name in INTS:
        ends = extremes(name)
        x, y = (a.ravel() for a in np.meshgrid(ends, ends))
        for op, f in pairs.items():
            cases.append(case(op, [x, y], [f(x, y)]))
        cases.append(case("pow", [x, y % 5], [np.power(x, y % 5)]))
        for op, f in {"neg": np.negative, "abs": np.abs, "sign": np.sign, "not": np.invert}.items():
            cases.append(case(op, [ends], [f(ends)]))
        table = np.resize(ends, (3, 5))
        for op, f in {"sum": np.sum, "prod": np.prod, "cumsum": np.cumsum, "max": np.max, "min": np.min, "argmax": np.argmax,
                      "argmin": np.argmin}.items():
            for axis in (0, 1):
                cases.append(case(op, [table], [f(table, axis)], axis=axis))
        cases.append(case("mean", [table], [table.astype(np.float32).mean(1, dtype=np.float32)], axis=1))
        cases.append(case("matmul", [table, table.T], [table @ table.T]))
        for to in (*INTS, "float32", "float64", "bool"):
            cases.append(case("cast", [ends], [ends.astype(to)], to=TYPES[to]))
        for other in INTS:  # what both are promoted to
            a, b = (a.ravel() for a in np.meshgrid(ends[::3], extremes(other)[::3]))
            cases.append(case("add", [a, b], [a + b]))
            cases.append(case("lt", [a, b], [a.astype(np.result_type(a, b)) < b.astype(np.result_type(a, b))]))
    return cases


def numpy_cases():
    inf, nan = np.inf, np.nan
    rng = np.random.default_rng(1)
    special = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3.5, 7, -7, 1e-30, 1e30, inf, -inf, nan], dtype=np.float32)
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    ints = np.array([0, 1, -1, 2, -2, 7, -7, 2**31 - 1, -(2**31)], dtype=np.int32)
    i, j = (a.ravel() for a in np.meshgrid(ints, ints))
    bytes_ = np.array([0, 1, 2, 100, 200, 255], dtype=np.uint8)
    p, q = (a.ravel() for a in np.meshgrid(bytes_, bytes_))
    dense = rng.normal(size=200).astype(np.float32)
    cases = []

    for name, f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "mod": np.remainder,
                    "maximum": np.maximum, "minimum": np.minimum}.items():
        cases.append(case(name, [x, y], [f(x, y)]))
        cases.append(case(name, [i, j], [f(i, j)]))
        cases.append(case(name, [p, q], [f(p, q)]))
    cases.append(case("div", [x, y], [np.divide(x, y)]))
    cases.append(case("floor_div", [i, j], [np.floor_divide(i, j)]))
    cases.append(case("floor_div", [p, q], [np.floor_divide(p, q)]))
    cases.append(case("pow", [x, y], [np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)]))
    cases.append(case("pow", [i, np.abs(j % 5)], [np.power(i, np.abs(j % 5))]))
    cases.append(case("atan2", [x, y], [np.arctan2(x, y)]))
    for name, f in {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
                    "ge": np.greater_equal}.items():
        cases.append(case(name, [x, y], [f(x, y)]))
        cases.append(case(name, [i, j], [f(i, j)]))
    for name, f in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
        cases.append(case(name, [i, j], [f(i, j)]))
        cases.append(case(name, [i > 0, j > 0], [f(i > 0, j > 0)]))
    for name, f in {"neg": np.negative, "abs": np.abs, "sign": np.sign}.items():
        cases.append(case(name, [special], [f(special)]))
        cases.append(case(name, [ints], [f(ints)]))
    for name, f in {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "sqrt": np.sqrt, "exp": np.exp,
                    "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sin": np.sin, "cos": np.cos,
                    "tanh": np.tanh, "is_nan": np.isnan}.items():
        a = np.concatenate([special, dense, dense * 30])
        if name in ("sin", "cos"):
            a = a[np.abs(a) != np.float32(1e30)]
        cases.append(case(name, [a], [f(a.astype(np.float64)).astype(np.bool_ if name == "is_nan" else np.float32)]))
    cases.append(case("not", [ints], [np.invert(ints)]))
    cases.append(case("not", [ints > 0], [np.invert(ints > 0)]))

    fits = np.array([0, -0.0, 1.9, -1.9, 100.5, 254.99, 3e8], dtype=np.float32)
    cases.append(case("cast", [fits], [fits.astype(np.int32)], to="i32"))
    cases.append(case("cast", [fits], [fits.astype(np.int64)], to="i64"))
    cases.append(case("cast", [special], [special.astype(np.bool_)], to="bool"))
    cases.append(case("cast", [ints], [ints.astype(np.uint8)], to="u8"))
    cases.append(case("cast", [ints], [ints.astype(np.float32)], to="f32"))

    a, b = dense[:24].reshape(2, 3, 4), dense[30:34].reshape(4)
    col = dense[40:43].reshape(3, 1)
    cases.append(case("add", [a, b], [a + b]))
    cases.append(case("mul", [a, col], [a * col]))
    cases.append(case("sub", [b, a], [b - a]))
    cases.append(case("add", [np.zeros((0, 3), np.float32), np.ones(3, np.float32)], [np.zeros((0, 3), np.float32)]))
    cases.append(case("where", [a > 0, a, col], [np.where(a > 0, a, col)]))
    for axis in (0, 1, -1):
        cases.append(case("sum", [a], [a.sum(axis, dtype=np.float64).astype(np.float32)], axis=axis))
        cases.append(case("mean", [a], [a.mean(axis, dtype=np.float64).astype(np.float32)], axis=axis))
        cases.append(case("max", [a], [a.max(axis)], axis=axis))
        cases.append(case("min", [a], [a.min(axis)], axis=axis))
        cases.append(case("prod", [a], [a.prod(axis, dtype=np.float64).astype(np.float32)], axis=axis))
        cases.append(case("var", [a], [a.var(axis, dtype=np.float64).astype(np.float32)], axis=axis))
        cases.append(case("cumsum", [a], [a.cumsum(axis)], axis=axis))
        ties = np.array([[[1, 3, 3], [2, nan, nan]], [[5, 5, 1], [-inf, -inf, 0]]], dtype=np.float32)
        cases.append(case("argmax", [ties], [ties.argmax(axis)], axis=axis))
        cases.append(case("argmin", [ties], [ties.argmin(axis)], axis=axis))
        cases.append(case("max", [ties], [ties.max(axis)], axis=axis))
        index = rng.integers(0, a.shape[axis], size=(2, 2))
        cases.append(case("take", [a, index], [a.take(index, axis)], axis=axis))
        along = rng.integers(0, a.shape[axis], size=a.shape)
        cases.append(case("take_along", [a, along], [np.take_along_axis(a, along, axis)], axis=axis))
    cases.append(case("matmul", [a, a.transpose(0, 2, 1)], [a @ a.transpose(0, 2, 1)]))
    cases.append(case("matmul", [a, dense[:20].reshape(4, 5)], [a @ dense[:20].reshape(4, 5)]))
    cases.append(case("matmul", [b, a.transpose(0, 2, 1)], [b @ a.transpose(0, 2, 1)]))
    cases.append(case("matmul", [i.reshape(9, 9)[:, :4], j.reshape(9, 9)[:4]], [i.reshape(9, 9)[:, :4] @ j.reshape(9, 9)[:4]]))

    # Indices below 0 count from the end.
    x = rng.normal(size=(2, 3)).astype(np.float32)
    for axis, index in ((0, [-1, 0, -2]), (1, [[-3, 2], [-1, 0]])):
        cases.append(case("take", [x, index], [x.take(index, axis)], axis=axis))
    along = np.array([[-1, 1, -2]])
    cases.append(case("take_along", [x, along], [np.take_along_axis(x, along, 0)], axis=0))
    return cases + integer_cases()


def torch_cases():
    import torch
    import torch.nn.functional as F

    torch.manual_seed(1)
    cases = []

    def randn(*shape):
        return torch.randn(shape, dtype=torch.float64)

    def run(op, f, args, extra=(), **settings):
        """args get gradients; extra are further arguments of the op."""
        args = [a.requires_grad_() for a in args]
        y = f(*args)
        weight = randn(*y.shape)
        grads = torch.autograd.grad((y * weight).sum(), args)
        cases.append(case(op, [a.detach().numpy() for a in args] + [e.numpy() for e in extra], [y.detach().numpy()],
                          [g.numpy() for g in grads], weight.numpy(), **settings))

    for op, f in {"gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid, "erf": torch.erf, "tanh": torch.tanh,
                  "relu": torch.relu, "log1p": lambda x: torch.log1p(x * x)}.items():
        run(op if op != "log1p" else "log1p_square", f, [randn(3, 5)])
    run("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), [randn(3, 5)])
    for axis in (0, -1):
        run("softmax", lambda x: F.softmax(x, axis), [randn(4, 6)], axis=axis)
        run("log_softmax", lambda x: F.log_softmax(x, axis), [randn(4, 6)], axis=axis)
        run("prod", lambda x: x.prod(axis), [randn(3, 4)], axis=axis)
        run("amax", lambda x: x.amax(axis), [torch.tensor([[1.0, 2, 2], [1, 0, 2]], dtype=torch.float64)], axis=axis)
    run("layer_norm", lambda x, w, b: F.layer_norm(x, (6,), w, b, 1e-5), [randn(2, 3, 6), randn(6), randn(6)], eps=1e-5)
    run("rms_norm", lambda x, w: F.rms_norm(x, (6,), w, 1e-6), [randn(2, 3, 6), randn(6)], eps=1e-6)

    targets = torch.tensor([1, 4, -100, 0])
    for smoothing in (0.0, 0.1):
        run("cross_entropy", lambda x: F.cross_entropy(x, targets, label_smoothing=smoothing), [randn(4, 5)], [targets],
            smoothing=smoothing)

    def attention(q, k, v, **kw):
        groups = q.shape[1] // k.shape[1]
        return F.scaled_dot_product_attention(q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1), **kw)

    run("attention", attention, [randn(2, 2, 3, 4), randn(2, 2, 5, 4), randn(2, 2, 5, 6)])
    run("attention", lambda q, k, v: attention(q, k, v, is_causal=True), [randn(1, 2, 4, 4) for _ in range(3)], causal=1)
    run("attention", attention, [randn(1, 4, 3, 4), randn(1, 2, 3, 4), randn(1, 2, 3, 4)])
    run("attention", lambda q, k, v: attention(q, k, v, scale=0.3), [randn(1, 1, 3, 4) for _ in range(3)], scale=0.3)
    boolean = torch.tensor([[True, False, True], [False, True, True], [True, True, True]]).reshape(1, 1, 3, 3)
    run("attention", lambda q, k, v: attention(q, k, v, attn_mask=boolean), [randn(1, 2, 3, 4) for _ in range(3)], [boolean])
    added = randn(1, 2, 3, 3)
    run("attention", lambda q, k, v: attention(q, k, v, attn_mask=added), [randn(1, 2, 3, 4) for _ in range(3)], [added])

    def rope(x, positions, base):  # as transformers' apply_rotary_pos_emb
        d = x.shape[-1]
        freq = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        angle = positions[:, None].double() * freq
        cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
        half = torch.cat([-x[..., d // 2:], x[..., : d // 2]], -1)
        return x * cos + half * sin

    positions = torch.tensor([0, 1, 7])
    run("rope", lambda x: rope(x, positions, 10000.0), [randn(2, 2, 3, 8)], [positions], base=10000.0)

    table, index = randn(5, 3), torch.tensor([[1, 1], [4, 0]])
    run("take", lambda w: F.embedding(index, w), [table], [index], axis=0)

    # Three steps of AdamW on one tensor, gradients given.
    p = randn(3, 2)
    start, gradients = p.clone(), [randn(3, 2) for _ in range(3)]
    p.requires_grad_()
    optimizer = torch.optim.AdamW([p], lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.05)
    for g in gradients:
        p.grad = g
        optimizer.step()
    state = optimizer.state[p]
    cases.append(case("adamw", [start.numpy()] + [g.numpy() for g in gradients],
                      [p.detach().numpy(), state["exp_avg"].numpy(), state["exp_avg_sq"].numpy()],
                      lr=0.1, beta1=0.9, beta2=0.99, eps=1e-8, decay=0.05))

    # Another target that does not count, class 0 among them; PyTorch takes one.
    targets = torch.tensor([1, 0, -1, 3, 0, 4])
    for ignore in (-1, 0):
        kept = torch.where(targets == -1, ignore, targets)
        run("cross_entropy", lambda x: F.cross_entropy(x, kept, ignore_index=ignore), [randn(6, 5)], [kept], ignore=ignore)
        run("cross_entropy", lambda x: F.cross_entropy(x, kept, ignore_index=ignore, label_smoothing=0.1), [randn(6, 5)], [kept],
            ignore=ignore, smoothing=0.1)
        run("cross_entropy", lambda x: F.cross_entropy(x, kept, ignore_index=ignore, reduction="none"), [randn(6, 5)], [kept],
            ignore=ignore, rows=1)

    # Windows, as masks of scaled_dot_product_attention, and capped scores, as transformers' Gemma2 has them.
    for tq, tk, window, cap, causal in ((9, 9, 3, 0, 1), (5, 9, 4, 0.7, 1), (7, 7, 3, 0.7, 0), (7, 9, 3, 0, 0), (4, 6, 7, 1.5, 1)):
        place, key = torch.arange(tq)[:, None] + tk - tq, torch.arange(tk)
        seen = (place - key).abs() < window
        seen = seen & (key <= place) if causal else seen

        def capped(q, k, v):
            scores = q @ k.repeat_interleave(2, 1).transpose(2, 3) / q.shape[3] ** 0.5
            scores = (cap * torch.tanh(scores / cap)).masked_fill(~seen, float("-inf"))
            return scores.softmax(-1) @ v.repeat_interleave(2, 1)

        run("attention", capped if cap else lambda q, k, v: attention(q, k, v, attn_mask=seen),
            [randn(1, 4, tq, 4), randn(1, 2, tk, 4), randn(1, 2, tk, 4)], window=window, cap=cap, causal=causal)
    return cases


def main():
    make = {"numpy": numpy_cases, "torch": torch_cases}[sys.argv[1]]
    with np.errstate(all="ignore"):
        cases = make()
    with open(sys.argv[2], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main()
