"""Writes what NumPy answers for lines that a habit types, of which a session's answer has to have the value.

    python tests/peers/numpy_lines.py > repl/session/testdata/numpy.json
"""

import json
import math

import numpy as np

INF, NAN = np.inf, np.nan

# Numbers are such that f32 has them, and results are far from where rounding decides.
NAMES = {
    "x": np.array([[1.5, -2, 3, 0.25], [0, 4, -0.5, 2], [2.5, 1, -3, 6]]),
    "y": np.array([[2, -2, 1, 0.5], [1, 3, 0.5, -2], [-1, 1, 4, 5]]),
    "p": np.array([[0.5, 2, 3, 0.25], [1, 4, 0.5, 2], [2.5, 1, 3, 6]]),
    "v": np.array([3.0, -1, 2, 0.5, 7]),
    "w": np.array([1.0, 4, 2, -2, 0.5]),
    "u": np.array([5.0, 2, 3, 7]),
    "a": np.array([[4.0, 1, 0.5], [1, 3, -1], [0.5, -1, 5]]),
    "b": np.array([1.0, -2, 3]),
    "c": np.arange(24.0).reshape(2, 3, 4) % 7 - 2,
    "n": np.array([[1.0, NAN, 3], [NAN, -2, INF]]),
    "n2": np.array([[NAN, NAN, 2], [5, -INF, 1]]),
    "k": np.array([[1.0, NAN, 3], [4, -2, 0.5]]),
    "i": np.array([3, 1, 3, 0, 2, 1]),
    "j": np.array([1, 1, 5, 3, 9, 0]),
    "h": np.array([2, 0, 1]),
    "m": np.array([[True, False, True, False], [False, True, True, False], [True, True, False, False]]),
    "one": np.ones(1),
    "three": np.ones(3),
    "r": np.arange(6.0),
}

LINES = """
np.linalg.norm(x)
np.linalg.norm(x, 1)
np.linalg.norm(x, 2)
np.linalg.norm(v, 1)
np.linalg.norm(v, ord=3)
np.linalg.norm(x, "fro")
np.linalg.norm(x, axis=1)
np.linalg.norm(x, 1, axis=0)
np.linalg.svd(a, compute_uv=False)
np.linalg.lstsq(x, b)[0]
np.linalg.lstsq(x, b, rcond=None)[0]
np.linalg.solve(a, b)
np.linalg.inv(a)
np.linalg.det(a)
np.linalg.cond(a)
np.linalg.cond(a, 1)
np.linalg.matrix_power(a, 3)
np.linalg.matrix_rank(x)
np.linalg.matrix_rank(x, 3)
np.linalg.pinv(x)
np.linalg.multi_dot([a, a, b])
np.transpose(x)
np.transpose(c, (2, 0, 1))
np.swapaxes(c, 0, 2)
np.moveaxis(c, 0, 2)
np.append(x, y)
np.append(x, y, axis=1)
np.vstack((x, y))
np.vstack((v, w))
np.hstack((x, y))
np.hstack((v, w))
np.column_stack((v, w))
np.vstack((x[0], y[0]))
np.dstack((x, y))
np.concatenate((x, y), axis=1)
np.concatenate([x, y])
np.stack((x, y), axis=1)
np.stack([v, w])
np.inner(x, y)
np.inner(v, w)
np.vdot(x, y)
np.dot(v, w)
np.dot(a, b)
np.outer(v, w)
np.cross(b, h)
np.tensordot(x, y)
np.tensordot(x, y.T, 1)
np.tensordot(x, y, axes=([1], [1]))
np.einsum("ij,kj->ik", x, y)
np.trace(a)
np.diag(b)
np.diag(a)
np.tril(a)
np.triu(a, 1)
np.meshgrid(b, w)
np.meshgrid(b, w, indexing="ij")
np.array_equal(three, one)
np.array_equal(x, x)
np.array_equiv(three, one)
np.allclose(x, y)
np.isclose(x, y)
np.arange(3, 9)
np.arange(5)
np.arange(0, 10, 3)
np.arange(5, 0, -2)
np.arange(0, 1, 0.25)
np.arange(2.5)
np.linspace(0, 1, 5)
np.logspace(0, 2, 5)
np.geomspace(1, 1000, 4)
np.eye(3)
np.identity(2)
np.tri(3)
np.full((2, 3), 7.0)
np.zeros(3)
np.ones((2, 3))
np.zeros(3, dtype="int64")
np.array_split(r, 4)
np.split(r, 3)
np.split(x, 2, axis=1)
np.split(r, [2, 4])
np.nan_to_num(n)
np.fmax(n, n2)
np.fmin(n, n2)
np.maximum(x, y)
np.minimum(x, 1)
np.sinc(x)
np.heaviside(x, 0.5)
np.intersect1d(i, j)
np.union1d(i, j)
np.setdiff1d(i, j)
np.isin(i, j)
np.unique(i)
np.unique(i, return_counts=True)
np.std(x)
np.std(x, ddof=1)
np.std(x, axis=0)
np.std(x, axis=0, ddof=1)
np.var(x)
np.var(x, 1)
np.var(x, ddof=1)
np.mean(x, axis=1)
np.mean(x, axis=1, keepdims=True)
np.average(x)
np.average(v, weights=w)
np.sum(x, axis=(0, 1))
np.prod(p, axis=0)
np.max(x, axis=0)
np.ptp(x)
np.ptp(x, axis=0)
np.median(x)
np.median(x, axis=0)
np.quantile(x, 0.25)
np.quantile(x, 0.25, axis=1)
np.percentile(x, 25)
np.nansum(k)
np.nansum(k, axis=0)
np.nanmean(k)
np.nanmean(k, axis=0)
np.nanstd(k)
np.nanstd(k, axis=0)
np.nanmax(k)
np.nanmax(k, axis=1)
np.nanmedian(k)
np.nanquantile(k, 0.25)
np.nancumsum(k)
np.nancumprod(k)
np.nancumsum(k, axis=1)
np.nanargmax(k)
np.nanargmax(k, axis=1)
np.cumsum(x)
np.cumsum(x, axis=1)
np.cumprod(p)
np.cumprod(p, axis=0)
np.diff(x)
np.diff(x, axis=0)
np.diff(x, 2)
np.diff(v, n=2)
np.ediff1d(x)
np.trapezoid(x)
np.trapezoid(v)
np.argmax(x)
np.argmax(x, axis=1)
np.argmin(x, 0)
np.sort(x)
np.sort(x, 0)
np.sort(x, axis=None)
np.argsort(v)
np.partition(v, 2)
np.searchsorted(u[:1], v)
np.digitize(v, r)
np.bincount(i)
np.bincount(i, minlength=6)
np.count_nonzero(x)
np.nonzero(x)
np.where(x > 1)
np.where(x > 1, x, 0)
np.where(m, x, y)
np.argwhere(x > 1)
np.flatnonzero(x > 1)
np.extract(m, x)
np.take(x, h, 0)
np.take(v, h)
np.take_along_axis(x, np.argsort(x, 1), 1)
np.delete(v, 1)
np.delete(v, h)
np.clip(x, 0, 1)
np.clip(x, -1, None)
np.clip(x, None, 1)
np.round(x)
np.round(x, 1)
np.abs(x)
np.sign(x)
np.square(x)
np.sqrt(p)
np.cbrt(x)
np.exp(x)
np.exp2(x)
np.expm1(x)
np.log(p)
np.log2(p)
np.log10(p)
np.log1p(p)
np.sin(x)
np.arctan2(x, y)
np.hypot(x, y)
np.logaddexp(x, y)
np.logaddexp2(x, y)
np.power(p, 3)
np.power(p, y)
np.mod(x, 3)
np.remainder(x, y)
np.fmod(x, y)
np.floor_divide(x, y)
np.true_divide(x, 2)
np.reciprocal(p)
np.negative(x)
np.fix(x)
np.trunc(x)
np.deg2rad(x)
np.degrees(x)
np.copysign(x, y)
np.isnan(n)
np.isinf(n)
np.isposinf(n)
np.signbit(x)
np.greater(x, y)
np.less_equal(x, 1)
np.not_equal(x, y)
np.logical_not(m)
np.bitwise_and(i, j)
np.left_shift(i, 2)
np.invert(i)
np.any(m, axis=0)
np.all(m)
np.reshape(x, (4, 3))
np.ravel(x)
np.squeeze(one)
np.expand_dims(v, 0)
np.broadcast_to(b, (2, 3))
np.tile(x, 2)
np.tile(v, (2, 1))
np.repeat(x, 2)
np.repeat(x, 2, axis=1)
np.roll(x, 1)
np.roll(x, 1, axis=0)
np.rot90(x)
np.rot90(x, 2)
np.flip(x, 0)
np.flip(x)
np.fliplr(x)
np.flipud(x)
np.pad(v, 1)
np.pad(x, ((1, 1), (0, 0)))
np.atleast_1d(x)
np.atleast_2d(v)
np.atleast_2d(x)
np.cov(x)
np.size(x)
np.shape(x)
np.ndim(x)
x.T @ x
x @ y.T
x.sum(axis=0)
x.mean()
x.std(ddof=1)
x.max(axis=1)
x.reshape(2, 6)
x.transpose()
c.transpose(2, 0, 1)
x.ravel()
x.astype("int64")
x.round(1)
x.dot(b @ y)
x.clip(0, 1)
x.argmax(axis=1)
x.cumsum()
x.cumsum(axis=0)
x ** 2
x % 3
x[:, ::-1]
x[m]
"""


def number(v):
    v = float(v)
    return v if math.isfinite(v) else str(v)


def described(value):
    if isinstance(value, (list, tuple)) and not all(isinstance(v, (int, np.integer)) for v in value):
        return [described(v) for v in value]
    value = np.asarray(value)
    return {"shape": list(value.shape), "values": [number(v) for v in value.ravel()]}


def main():
    kinds = {"f": "float64", "i": "int", "b": "bool"}
    names = {name: {"kind": kinds[a.dtype.kind]} | described(a) for name, a in NAMES.items()}
    lines = []
    for line in LINES.strip().splitlines():
        try:
            value = described(eval(line, {"np": np} | NAMES))
        except Exception as err:  # NumPy refuses it
            raise SystemExit(f"{line}: {err}")
        lines.append(json.dumps({"line": line, "value": value}))
    print('{"names": ' + json.dumps(names) + ',\n"lines": [\n' + ",\n".join(lines) + "\n]}")


main()
