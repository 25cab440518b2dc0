"""Writes what NumPy answers to random calls: shapes with zeros that broadcast, all dtypes, axes and indices below 0, steps
that go back, integers that overflow, NaN and infinities. The format is that of tensor_ops.py.

    pip install numpy
    python tensor_random.py FILE     # engine/tensor/testdata/random.json
"""

import json
import random
import sys

import numpy as np

from tensor_ops import case

CALLS = 500
INTEGERS = [np.uint8, np.int32, np.int64]


class Maker:
    """Makes arguments from one seed."""

    def __init__(self, seed):
        self.python, self.numpy = random.Random(seed), np.random.default_rng(seed)

    def shape(self, least=0, empty=True):
        lengths = [self.python.randint(1, 4) for _ in range(self.python.randint(least, 3))]
        if lengths and empty and self.python.random() < 0.1:
            lengths[self.python.randrange(len(lengths))] = 0
        return lengths

    def broadcast(self, shape):
        """A shape that broadcasts to the given one: lengths of 1, axes left out in front."""
        lengths = [1 if self.python.random() < 0.3 else n for n in shape]
        return lengths[self.python.randint(0, len(lengths)):] if self.python.random() < 0.3 else lengths

    def integers(self, shape, dtype):
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if self.python.random() < 0.4 else (max(info.min, -9), 9)
        return np.asarray(self.numpy.integers(low, high, size=shape, dtype=dtype, endpoint=True))

    def floats(self, shape):
        x = np.asarray(self.numpy.normal(size=shape) * 3).astype(np.float32)
        if x.size and self.python.random() < 0.4:
            for _ in range(min(3, x.size)):
                x.reshape(-1)[self.python.randrange(x.size)] = self.python.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e38, -1e-38])
        return x

    def booleans(self, shape):
        return np.asarray(self.numpy.random(shape) < 0.5)

    def array(self, shape):
        return self.python.choice([self.floats, self.booleans, lambda s: self.integers(s, self.python.choice(INTEGERS))])(shape)

    def axis(self, rank):
        return self.python.randint(-rank, rank - 1)

    def axes(self, rank):
        chosen = self.python.sample(range(rank), self.python.randint(1, rank))
        return [a - rank if self.python.random() < 0.5 else a for a in chosen]


def arithmetic(m):
    shape, whole = m.shape(), m.python.random() < 0.6
    dtype = m.python.choice(INTEGERS)
    make = (lambda s: m.integers(s, dtype)) if whole else m.floats
    x, y = make(shape), make(m.broadcast(shape))
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "mod": np.remainder,
                 "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    if whole:
        functions |= {"floor_div": np.floor_divide, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
                      "shl": np.left_shift, "shr": np.right_shift}
    else:
        functions |= {"div": np.divide, "copysign": np.copysign, "hypot": np.hypot, "next_after": np.nextafter}
    name = m.python.choice(list(functions))
    a, b = (x, y) if m.python.random() < 0.5 else (y, x)
    return case(name, [a, b], [functions[name](a, b)])


def reduction(m):
    shape = m.shape(1, empty=False)
    x, axes = m.array(shape), m.axes(len(shape))
    over = tuple(axes)
    name = m.python.choice(["max", "min", "any", "all", "count_non_zero", "sum", "prod"])
    if name in ("sum", "prod"):
        x = m.integers(shape, np.int64)
    want = {"max": np.max, "min": np.min, "any": np.any, "all": np.all, "count_non_zero": np.count_nonzero, "sum": np.sum, "prod": np.prod}[name]
    return case(name + "_axes", [x], [np.asarray(want(x, axis=over))], axes=axes)


def along(m):
    shape = m.shape(1, empty=False)
    axis = m.axis(len(shape))
    name = m.python.choice(["argmax", "argmin", "sort", "arg_sort", "cum_max", "cum_min", "cumsum"])
    x = m.integers(shape, np.int64) if name == "cumsum" else m.array(shape)
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    f = {"argmax": np.argmax, "argmin": np.argmin, "sort": np.sort, "arg_sort": lambda a, i: np.argsort(a, i, kind="stable"),
         "cum_max": np.maximum.accumulate, "cum_min": np.minimum.accumulate, "cumsum": np.cumsum}[name]
    return case(name, [x], [f(x, axis)], axis=axis)


def arrangement(m):
    x = m.array(m.shape(1))
    rank = x.ndim
    name = m.python.choice(["slice", "slice", "slice", "permute", "flip_axes", "tile", "expand", "roll", "repeat", "move_axis"])
    axis, n = m.axis(rank), m.python.randint(0, 3)
    if name == "slice":
        bounds = [[m.python.choice([0, 1, 2, 5, -1, -2, -6, 100, -100]) for _ in range(rank)] for _ in range(2)]
        steps = [m.python.choice([1, 1, 2, 3, -1, -2, -3]) for _ in range(rank)]
        return case(name, [x], [x[tuple(slice(a, b, c) for a, b, c in zip(*bounds, steps))]], starts=bounds[0], stops=bounds[1], steps=steps)
    if name == "permute":
        order = m.python.sample(range(rank), rank)
        return case(name, [x], [x.transpose(order)], axes=[a - rank if m.python.random() < 0.5 else a for a in order])
    if name == "flip_axes":
        axes = m.axes(rank)
        return case(name, [x], [np.flip(x, axes)], axes=axes)
    if name == "tile":
        counts = [m.python.randint(0, 2) for _ in range(m.python.randint(1, 4))]
        return case(name, [x], [np.tile(x, counts)], counts=counts)
    if name == "expand":
        small = np.asarray(x[tuple(slice(0, 1) if m.python.random() < 0.5 else slice(None) for _ in range(rank))])
        shape = [2] * m.python.randint(0, 1) + list(x.shape)
        return case(name, [small], [np.broadcast_to(small, shape)], shape=shape)
    if name == "roll":
        return case(name, [x], [np.roll(x, n - 5, axis)], axis=axis, n=n - 5)
    if name == "repeat":
        return case(name, [x], [np.repeat(x, n, axis)], axis=axis, n=n)
    to = m.axis(rank)
    return case(name, [x], [np.moveaxis(x, axis, to)], axis=axis, to=to)


def indexing(m):
    shape = m.shape(1, empty=False)
    x, axis = m.array(shape), m.axis(len(shape))
    n = shape[axis]
    if m.python.random() < 0.5:
        index = np.asarray(m.numpy.integers(-n, n, size=m.shape())).astype(m.python.choice([np.int32, np.int64]))
        return case("take", [x, index], [x.take(index, axis)], axis=axis)
    lengths = list(shape)
    lengths[axis] = m.python.randint(1, 4)
    index = m.numpy.integers(-n, n, size=lengths)
    return case("take_along", [x, index], [np.take_along_axis(x, index, axis)], axis=axis)


def conversion(m):
    x = m.array(m.shape())
    to = m.python.choice([np.bool_, np.uint8, np.int32, np.int64, np.float32])
    if x.dtype == np.float32 and to not in (np.bool_, np.float32):  # what a type does not hold is not NumPy's to say
        x = np.clip(np.nan_to_num(x), 0, 200)
    names = {np.bool_: "bool", np.uint8: "u8", np.int32: "i32", np.int64: "i64", np.float32: "f32"}
    return case("cast", [x], [x.astype(to)], to=names[to])


def main():
    m = Maker(1)
    makers = [arithmetic, arithmetic, arithmetic, reduction, along, arrangement, arrangement, indexing, conversion]
    with np.errstate(all="ignore"):
        cases = [makers[i % len(makers)](m) for i in range(CALLS)]
    with open(sys.argv[1], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main()
