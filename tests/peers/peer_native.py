"""What a GPU does when C calls it: products of cuBLASLt (native.cu) and attention of cuDNN (cudnn.py) as a peer, and the device's
ceilings."""
import ctypes
import functools
import os
import time

import numpy as np

import cudnn
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
                ("free", None, [pointer]), ("put", ctypes.c_int, [pointer, pointer, size]), ("get", ctypes.c_int, [pointer, pointer, size]), ("stream", pointer, []),
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
        if make is None or w.get("grad") and make != self.attention:
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


    @functools.cached_property
    def cudnn(self):
        try:
            return cudnn.Library(self.lib.native_stream())
        except OSError as e:
            raise Absent(f"no cuDNN: {e}") from e

    def attention(self, w):
        if w.get("window") or w.get("cap") or w.get("documents"):
            raise Absent("no windows, caps and documents")
        if w["dtype"] not in cudnn.DTYPES:
            raise Absent("no attention of " + w["dtype"])
        return Attention(self, w)


class Attention:
    """Causal attention, and with its gradient."""

    def __init__(self, native, w):
        self.native, self.dtype, self.memory, self.calls = native, w["dtype"], [], []
        shape = batch, heads, kv, t, d = w["batch"], w["heads"], w["kv"], w["t"], w["d"]
        wide, few = (batch, heads, t, d), (batch, kv, t, d)
        q, k, v = self.put(values(1, *wide)), self.put(values(2, *few)), self.put(values(3, *few))
        o, self.wanted = self.room(2 * batch * heads * t * d), []
        lse, dots = (self.room(4 * batch * heads * t) for _ in range(2))
        self.add(cudnn.Graph.forward, shape, [q, k, v, o, lse][:4 + w["grad"]], w["grad"])
        self.wanted = [(o, wide)]
        if w["grad"]:
            grads = [(self.room(2 * int(np.prod(s))), s) for s in (wide, few, few)]
            self.add(lambda graph: graph.backward(), shape, [q, k, v, o, lse, self.put(values(4, *wide)), dots] + [at for at, _ in grads])
            self.wanted += grads

    def room(self, size):
        self.memory.append(self.native.must(self.native.lib.native_alloc(max(size, 1))))
        return self.memory[-1]

    def put(self, numbers):
        data = narrowed(numbers, self.dtype)
        at = self.room(data.nbytes)
        self.native.must(self.native.lib.native_put(at, data.ctypes.data, data.nbytes))
        return at

    def add(self, write, shape, addresses, *more):
        """Adds a graph, by the fastest of the plans that the library proposes for it."""
        graph, best = cudnn.Graph(self.native.cudnn, shape, self.dtype), float("inf")
        operands = write(graph, *more)
        self.calls.append(None)
        for plan, size in graph.plans(("A", "B")):
            call = plan, graph.pack(operands, addresses, self.room(size)), graph
            before, self.calls[-1] = self.calls[-1], call
            self.repeat(2)
            start = time.perf_counter()
            self.repeat(10)
            took = time.perf_counter() - start
            if took < best:
                best = took
            else:
                self.calls[-1] = before
        if best == float("inf"):
            raise Absent("cuDNN has no such attention")

    def repeat(self, n):
        for _ in range(n):
            for plan, pack, _ in self.calls:
                self.native.cudnn.execute(plan, pack)
        self.native.must(self.native.lib.native_run(None, 0, 1))

    def __call__(self):
        self.repeat(1)
        outputs = []
        for at, shape in self.wanted:
            data = np.empty(shape, np.float16 if self.dtype == "f16" else np.uint16)
            self.native.must(self.native.lib.native_get(data.ctypes.data, at, data.nbytes))
            outputs.append(widened(data, self.dtype))
        return outputs

    def __del__(self):
        for at in self.memory:
            self.native.lib.native_free(at)


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
