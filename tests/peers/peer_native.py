"""What a GPU does when C calls it (native.cu): products of cuBLASLt as a peer, and the device's ceilings."""
import ctypes
import os

import numpy as np

from inputs import Absent, lora_inputs, values
from sides import BUILT


class Step(ctypes.Structure):
    _fields_ = [("product", ctypes.c_void_p), ("a", ctypes.c_void_p), ("b", ctypes.c_void_p), ("c", ctypes.c_void_p),
                ("alpha", ctypes.c_float), ("beta", ctypes.c_float)]


def narrowed(x, dtype):
    """x in a type, as bytes."""
    if dtype == "f16":
        return x.astype(np.float16)
    if dtype == "bf16":  # to the nearest, ties to even
        bits = x.view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.ascontiguousarray(x)


def widened(x, dtype):
    return (x.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" else x.astype(np.float32)


class Native:
    def __init__(self, device):
        kind, _, number = device.partition(":")
        if kind != "cuda":
            raise OSError(f"no CUDA on {device}")
        self.lib = lib = ctypes.CDLL(os.path.join(BUILT, "native.so"))
        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        for name, result, arguments in (
                ("error", ctypes.c_char_p, []), ("open", ctypes.c_char_p, [ctypes.c_int]), ("alloc", pointer, [size]),
                ("free", None, [pointer]), ("put", ctypes.c_int, [pointer, pointer, size]), ("get", ctypes.c_int, [pointer, pointer, size]),
                ("memory", ctypes.c_double, []), ("product", pointer, [ctypes.c_char_p] + [ctypes.c_uint64] * 3 + [ctypes.c_int]),
                ("close", None, [pointer]), ("run", ctypes.c_int, [ctypes.POINTER(Step), ctypes.c_int, ctypes.c_int]),
                ("rate", ctypes.c_double, [ctypes.c_char_p, size])):
            f = getattr(lib, "native_" + name)
            f.restype, f.argtypes = result, arguments
        description = self.must(lib.native_open(int(number or 0)))
        self.version = description.decode()

    def must(self, result):
        """A result that is neither null nor an error."""
        if result is None or isinstance(result, int) and result < 0:
            raise RuntimeError(self.lib.native_error().decode())
        return result

    def wait(self, outputs):
        pass  # a run has waited

    def numpy(self, outputs):
        return outputs

    def memory(self):
        return 0

    def rate(self, what, size):
        return self.lib.native_rate(what.encode(), size)

    def prepare(self, w):
        make = getattr(self, w["kind"], None)
        if make is None or w.get("grad"):
            raise Absent("no " + w["kind"])
        return make(w)

    def matmul(self, w):
        n = w["n"]
        run = Run(self, w["dtype"])
        a, b, c = run.matrix(values(1, n, n)), run.matrix(values(2, n, n)), run.matrix(shape=(n, n))
        run.multiply(a, b, c, (n, n, n))
        return run

    def matvec(self, w):
        n, k = w["n"], w["k"]
        run = Run(self, w["dtype"])
        x, weight, y = run.matrix(values(1, 1, k)), run.matrix(values(2, n, k)), run.matrix(shape=(1, n))
        run.multiply(x, weight, y, (1, n, k), turned=True)
        return run

    def lora(self, w):
        n, r, m = w["n"], w["r"], w["m"]
        run = Run(self, w.get("dtype", "f32"))
        x, wt, a, b = (run.matrix(v) for v in lora_inputs(w)[:4])
        h, y = run.matrix(shape=(m, r)), run.matrix(shape=(m, n))
        run.multiply(x, wt, y, (m, n, n))
        run.multiply(x, a, h, (m, r, n))
        run.multiply(h, b, y, (m, n, r), alpha=2, beta=1)
        return run


class Run:
    """Products, one behind the other; the last one's result is what comes out."""

    def __init__(self, native, dtype):
        self.native, self.dtype, self.memory, self.steps = native, dtype, [], []

    def matrix(self, numbers=None, shape=None):
        data = narrowed(numbers, self.dtype) if numbers is not None else np.zeros(shape, {"f32": np.float32, "f16": np.float16}.get(self.dtype, np.uint16))
        at = self.native.must(self.native.lib.native_alloc(data.nbytes))
        self.memory.append(at)
        self.native.must(self.native.lib.native_put(at, data.ctypes.data, data.nbytes))
        self.last = at, data
        return at

    def multiply(self, a, b, c, sizes, turned=False, alpha=1, beta=0):
        product = self.native.must(self.native.lib.native_product(self.dtype.encode(), *sizes, turned))
        self.steps.append(Step(product, a, b, c, alpha, beta))

    def repeat(self, n):
        steps = (Step * len(self.steps))(*self.steps)
        self.native.must(self.native.lib.native_run(steps, len(steps), n))

    def __call__(self):
        self.repeat(1)
        at, data = self.last
        self.native.must(self.native.lib.native_get(data.ctypes.data, at, data.nbytes))
        return [widened(data, self.dtype)]

    def __del__(self):
        for step in self.steps:
            self.native.lib.native_close(step.product)
        for at in self.memory:
            self.native.lib.native_free(at)
