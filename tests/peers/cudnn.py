"""Causal attention and its gradient by cuDNN's backend API, called as C calls it: what mcs is held against, by a program of
its own. The library finds attention by the pattern of its operations, those of NVIDIA's cudnn-frontend
(scaled_dot_product_flash_attention.h) in their order; the numbers are those of cudnn_graph.h. The gradient is asked for as
set_deterministic_algorithm(true) does there: the same bits in each run.
"""
import ctypes

F32, F16, I32, BF16, BOOL = 0, 2, 4, 9, 11
HANDLE, DATA, TRUTH, NUMBER, POINTER, MODE, POINTWISE, DESCRIPTOR, REDUCTION = 0, 1, 2, 3, 6, 8, 14, 15, 18
ADD, MUL, DIV, SUB, EXP, LOG, GREATER_EQUAL, INDEX, SELECT = 0, 1, 6, 9, 13, 15, 303, 501, 601
SUM, MAX = 0, 3
CELLS = {HANDLE: ctypes.c_void_p, TRUTH: ctypes.c_bool, NUMBER: ctypes.c_int64, POINTER: ctypes.c_void_p, DESCRIPTOR: ctypes.c_void_p}
PROPOSALS = {"B": 1, "A": 3, "fallback": 2}
DTYPES = {"f16": F16, "bf16": BF16}


class Library:
    def __init__(self, stream, name="libcudnn.so.9"):
        self.lib = ctypes.CDLL(name)
        self.lib.cudnnGetVersion.restype = ctypes.c_size_t
        self.lib.cudnnGetErrorString.restype = ctypes.c_char_p
        v = self.lib.cudnnGetVersion()
        self.version = f"{v // 10000}.{v % 10000 // 100}.{v % 100}"
        self.handle = ctypes.c_void_p()
        self.must("cudnnCreate", ctypes.byref(self.handle))
        self.must("cudnnSetStream", self.handle, ctypes.c_void_p(stream))

    def must(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status:
            raise RuntimeError(f"{name}: {self.lib.cudnnGetErrorString(status).decode()}")

    def describe(self, kind, *attributes):
        """A descriptor with attributes: name, type, and one or several values."""
        d = self.empty(kind)
        for name, type, *values in attributes:
            cells = (CELLS.get(type, ctypes.c_int) * len(values))(*values)
            self.must("cudnnBackendSetAttribute", d, name, type, ctypes.c_int64(len(values)), cells)
        self.must("cudnnBackendFinalize", d)
        return d

    def empty(self, kind):
        d = ctypes.c_void_p()
        self.must("cudnnBackendCreateDescriptor", kind, ctypes.byref(d))
        return d

    def execute(self, plan, pack):
        self.must("cudnnBackendExecute", self.handle, plan, pack)


class Graph:
    """Operations, one by one; a tensor is its descriptor and its number."""

    def __init__(self, library, shape, dtype):
        self.library, self.operations, self.known, self.scalars = library, [], 0, {}
        self.batch, self.heads, self.kv, self.t, self.d = shape
        self.cell = DTYPES[dtype]

    def form(self, heads, rows, width, dtype, turned=False):
        """Dimensions, strides and type of what lies without gaps, or of that with its last two axes exchanged."""
        dims, strides = [self.batch, heads, rows, width], [heads * rows * width, rows * width, width, 1]
        if turned:
            dims[2:], strides[2:] = dims[:1:-1], strides[:1:-1]
        return dims, strides, dtype

    def tensor(self, form, virtual=True, scalar=False):
        dims, strides, dtype = form
        self.known += 1
        return self.library.describe(17, (900, NUMBER, 16), (901, DATA, dtype), (902, NUMBER, *dims), (903, NUMBER, *strides), (906, NUMBER, self.known),
                                     (907, TRUTH, virtual), (908, TRUTH, scalar)), self.known

    def memory(self, heads, rows, width, turned=False, dtype=None):
        return self.tensor(self.form(heads, rows, width, self.cell if dtype is None else dtype, turned), virtual=False)

    def number(self, value):
        made = self.tensor(([1] * 4, [1] * 4, F32), virtual=False, scalar=True)
        self.scalars[made[1]] = ctypes.c_float(value)
        return made

    def scores(self, dtype=F32, turned=False):
        return self.form(self.heads, self.t, self.t, dtype, turned)

    def sums(self):
        return self.form(self.heads, self.t, 1, F32)

    def does(self, kind, *attributes):
        self.operations.append(self.library.describe(kind, *attributes))

    def matmul(self, a, b, to):
        how = self.library.describe(18, (1500, DATA, F32))
        self.does(19, (1520, DESCRIPTOR, a[0]), (1521, DESCRIPTOR, b[0]), (1522, DESCRIPTOR, to[0]), (1523, DESCRIPTOR, how))
        return to

    def pointwise(self, mode, to, x, *more, precision=F32, axis=None):
        how = self.library.describe(0, (0, POINTWISE, mode), (1, DATA, precision), *([(9, NUMBER, axis)] if axis else []))
        self.does(13, (750, DESCRIPTOR, how), (751, DESCRIPTOR, x[0]), (753, DESCRIPTOR, to[0]), *((name, DESCRIPTOR, y[0]) for name, y in zip((752, 758), more)))
        return to

    def score(self, mode, x, *more, dtype=F32, **how):
        return self.pointwise(mode, self.tensor(self.scores(dtype)), x, *more, **how)

    def reduce(self, mode, to, x):
        how = self.library.describe(21, (1600, REDUCTION, mode), (1601, DATA, F32))
        self.does(22, (1610, DESCRIPTOR, x[0]), (1611, DESCRIPTOR, to[0]), (1612, DESCRIPTOR, how))
        return to

    def seen(self, form, x):
        to = self.tensor(form)
        self.does(31, (2200, DESCRIPTOR, x[0]), (2201, DESCRIPTOR, to[0]))
        return to

    def masked(self, x):
        """Hides the keys behind a query."""
        row, column = (self.score(INDEX, x, dtype=I32, axis=axis) for axis in (2, 3))
        hidden = self.number(float("-inf"))
        sees = self.score(GREATER_EQUAL, row, column, dtype=BOOL, precision=BOOL)
        return self.score(SELECT, x, hidden, sees)

    def forward(self, stats):
        """Its operands in memory: q, k, v, o and, with stats, the logsumexp."""
        q, k, v = self.memory(self.heads, self.t, self.d), self.memory(self.kv, self.t, self.d, turned=True), self.memory(self.kv, self.t, self.d)
        scale = self.number(self.d**-0.5)
        x = self.matmul(q, k, self.tensor(self.scores()))
        x = self.masked(self.score(MUL, x, scale))
        top = self.reduce(MAX, self.tensor(self.sums()), x)
        e = self.score(EXP, self.score(SUB, x, top))
        total = self.reduce(SUM, self.tensor(self.sums()), e)
        lse = self.tensor(self.sums(), virtual=not stats)
        self.pointwise(ADD, lse, top, self.pointwise(LOG, self.tensor(self.sums()), total))
        weights = self.score(DIV, e, total, dtype=self.cell)
        o = self.matmul(weights, v, self.memory(self.heads, self.t, self.d))
        return [q, k, v, o] + ([lse] if stats else [])

    def backward(self):
        """Its operands in memory: q, k, v, o, the logsumexp, do, a number for each query, dq, dk and dv."""
        q, k, v = self.memory(self.heads, self.t, self.d), self.memory(self.kv, self.t, self.d, turned=True), self.memory(self.kv, self.t, self.d, turned=True)
        o, do = self.memory(self.heads, self.t, self.d), self.memory(self.heads, self.t, self.d)
        lse = self.tensor(self.sums(), virtual=False)
        scale, one = self.number(self.d**-0.5), self.number(1)
        x = self.pointwise(MUL, self.tensor(self.form(self.heads, self.t, self.d, F32)), do, o)
        dots = self.pointwise(MUL, self.tensor(self.sums(), virtual=False), self.reduce(SUM, self.tensor(self.sums()), x), one)
        x = self.score(MUL, self.matmul(q, k, self.tensor(self.scores())), scale)
        weights = self.score(EXP, self.masked(self.score(SUB, x, lse)))
        dv = self.by_keys(weights, do)
        x = self.score(SUB, self.matmul(do, v, self.tensor(self.scores())), dots)
        slopes = self.score(MUL, self.score(MUL, x, weights), scale)
        dk = self.by_keys(slopes, q)
        keys = self.seen(self.form(self.kv, self.t, self.d, self.cell), k)
        dq = self.matmul(slopes, keys, self.memory(self.heads, self.t, self.d))
        return [q, k, v, o, lse, do, dots, dq, dk, dv]

    def by_keys(self, scores, times):
        """The product of turned scores and an operand, added up over the heads that share keys."""
        turned = self.seen(self.scores(self.cell, turned=True), scores)
        to = self.memory(self.kv, self.t, self.d)
        if self.heads == self.kv:
            return self.matmul(turned, times, to)
        return self.reduce(SUM, to, self.matmul(turned, times, self.tensor(self.form(self.heads, self.t, self.d, self.cell))))

    def plans(self, modes):
        """The plans that the library's heuristics propose, with the bytes of their workspaces."""
        graph = self.library.describe(15, (800, HANDLE, self.library.handle), (801, DESCRIPTOR, *self.operations))
        for mode in modes:
            heuristics = self.library.describe(4, (201, DESCRIPTOR, graph), (200, MODE, PROPOSALS[mode]))
            for config in self.results(heuristics):
                try:
                    plan = self.library.describe(5, (400, HANDLE, self.library.handle), (401, DESCRIPTOR, config))
                except RuntimeError:
                    continue
                size, count = ctypes.c_int64(), ctypes.c_int64()
                self.library.must("cudnnBackendGetAttribute", plan, 402, NUMBER, ctypes.c_int64(1), ctypes.byref(count), ctypes.byref(size))
                yield plan, size.value

    def results(self, heuristics):
        count = ctypes.c_int64()
        ask = ["cudnnBackendGetAttribute", heuristics, 202, DESCRIPTOR]
        self.library.must(*ask, ctypes.c_int64(0), ctypes.byref(count), None)
        configs = (ctypes.c_void_p * count.value)(*(self.library.empty(3).value for _ in range(count.value)))
        self.library.must(*ask, ctypes.c_int64(len(configs)), ctypes.byref(count), configs)
        return [ctypes.c_void_p(c) for c in configs[:count.value]]

    def pack(self, operands, addresses, workspace):
        """What a run gets: where the operands lie, and the numbers, which the graph keeps."""
        ids = [t[1] for t in operands] + list(self.scalars)
        places = list(addresses) + [ctypes.addressof(n) for n in self.scalars.values()]
        return self.library.describe(16, (1000, NUMBER, *ids), (1001, POINTER, *places), (1003, POINTER, workspace))
