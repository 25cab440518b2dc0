"""PyTorch's side of the comparison, eager or with torch.compile, on the processor or a GPU."""
import math
import os
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from inputs import Absent, quantised, values, words

EPS = 1e-5
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def pack_codes(codes, scale, bits):
    """What multiply_codes wants of a weight [out in] in groups of 64 that all have the same scale."""
    if bits == 8:
        return codes.to(torch.int8), torch.full((codes.shape[0],), scale, dtype=torch.bfloat16)
    groups = torch.zeros(codes.shape[1] // 64, codes.shape[0], 2, dtype=torch.bfloat16)
    groups[..., 0] = scale
    return torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes + 8, 1), groups


def multiply_codes(x, codes, scales, bits):
    if bits == 8:
        return torch.ops.aten._weight_int8pack_mm(x, codes, scales)
    return torch.ops.aten._weight_int4pack_mm_for_cpu(x, codes, 64, scales)


def values_on(device, seed, *shape):
    """inputs.values on a device, made there if it is a GPU."""
    if device.type == "cpu":
        return torch.from_numpy(values(seed, *shape))
    return generated(device, seed, *shape)


def generated(device, seed, *shape):
    """inputs.values in whole numbers of 64 bits, of which the lower 32 count."""
    h = torch.arange(math.prod(shape), device=device)
    h = (h * 0x9E3779B1 + (seed * 0x7F4A7C15 & 0xFFFFFFFF)) & 0xFFFFFFFF
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h ^= h >> shift
        h = times(h, factor)
    h ^= h >> 16
    return ((h >> 8).float() * 2**-23 - 1).reshape(shape)


def times(h, factor):
    """The lower 32 bits of h times a factor, both below 2^32: in two parts, because 64 bits do not hold the product."""
    high = h * (factor >> 16) & 0xFFFF
    return (high << 16) + h * (factor & 0xFFFF) & 0xFFFFFFFF


class Torch:
    def __init__(self, threads, compiled, device="cpu"):
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        torch.set_float32_matmul_precision("highest")  # the default; below it f32 may be multiplied as bf16, or as TF32 on a GPU
        self.compiled, self.device = compiled, torch.device(device)
        self.gpu = self.device.type == "cuda"
        if self.gpu:
            torch.cuda.set_device(self.device)
            torch.backends.cudnn.allow_tf32 = False  # PyTorch's default is that convolutions of f32 round to TF32
            torch.utils.deterministic.fill_uninitialized_memory = False  # for finding mistakes, and takes time
            self.memory, self.finish, self.forget = self.peak, torch.cuda.synchronize, self.forget_peak

    def compile(self, f):
        return torch.compile(f, dynamic=False) if self.compiled else f

    def prepare(self, w):
        # Without this, dynamo counts every shape as a recompilation of the same code and falls back to eager after 8.
        torch._dynamo.reset()
        make = getattr(self, w["kind"], None)
        if make is None:
            raise Absent("no " + w["kind"])
        return make(w)

    def load(self, w):
        """safetensors maps the file and reads nothing; the copies own their memory, as mcs's tensors do: a program that
        changes the file changes none of them."""
        if self.compiled:
            raise Absent("nothing to compile")
        from safetensors.torch import load_file
        return lambda: [t.clone() for _, t in sorted(load_file(w["file"]).items(), key=lambda item: int(item[0][1:]))]

    def tokenise(self, w):
        """Hugging Face's tokenizers."""
        if self.compiled:
            raise Absent("nothing to compile")
        from tokenizers import Tokenizer
        t = Tokenizer.from_file(w["file"])
        with open(os.path.join(os.path.dirname(w["file"]), "text.txt"), encoding="utf-8") as f:
            lines = f.read().splitlines(keepends=True)
        return lambda: [torch.tensor([i for line in lines for i in t.encode(line, add_special_tokens=False).ids])]

    def wait(self, outputs):
        pass  # the CPU device has finished when a call returns, and for a GPU it is finish that waits

    def numpy(self, outputs):
        return [o.detach().float().cpu().numpy() for o in outputs]

    def peak(self):
        return torch.cuda.max_memory_allocated()

    def forget_peak(self):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def rate(self, what, size):
        """A ceiling of the device, where there is no C compiler for it: copies, reads and products of PyTorch."""
        if what in ("copy", "read"):
            x = torch.zeros(max(size // (8 if what == "copy" else 4), 1), device=self.device)
            y = torch.empty_like(x)
            return size / self.least((lambda: y.copy_(x)) if what == "copy" else x.sum)
        if what not in DTYPES:
            return 0
        n = 8192 if self.gpu else 512
        a, b = (self.values(s, n, n).to(DTYPES[what]) for s in (1, 2))
        return 2 * n**3 / self.least(lambda: a @ b)

    def least(self, f, runs=5):
        """The least seconds of a run of f."""
        best = float("inf")
        for _ in range(runs + 1):
            start = time.perf_counter()
            f()
            if self.gpu:
                torch.cuda.synchronize()
            best = min(best, time.perf_counter() - start)
        return best

    def values(self, seed, *shape):
        return values_on(self.device, seed, *shape)

    def stored(self, w, *arrays):
        return [a.to(DTYPES[w.get("dtype", "f32")]) for a in arrays]

    def words(self, seed, count, vocabulary):
        return torch.from_numpy(words(seed, count, vocabulary)).to(self.device)

    def forward(self, f, *inputs):
        f = self.compile(f)

        def run():
            with torch.inference_mode():
                return [f(*inputs)]
        return run

    def backward(self, f, inputs, wanted, dy):
        """The result of f and the gradients of sum(f * dy) for the first of its inputs."""
        f = self.compile(f)
        for x in inputs[:wanted]:
            x.requires_grad_()

        def run():
            y = f(*inputs)
            return [y, *torch.autograd.grad(y, inputs[:wanted], dy)]
        return run

    def lora(self, w):
        n, r, m = w["n"], w["r"], w["m"]
        x, wt, a, b, dy = self.stored(w, *(self.values(i + 1, *shape) for i, shape in enumerate(((m, n), (n, n), (n, r), (r, n), (m, n)))))

        def f(x, a, b, wt):
            return torch.addmm(x @ wt, x @ a, b, alpha=2.0)
        return self.backward(f, [x, a, b, wt], 3, dy) if w["grad"] else self.forward(f, x, a, b, wt)

    def experts(self, w):
        """What transformers calls grouped_mm: rows in the order of their experts, and PyTorch's products of groups."""
        m, k, n, hidden, count = w["m"], w["k"], w["n"], w["hidden"], w["count"]
        x, up, down, dy = self.stored(w, *(self.values(s, *shape) for s, shape in ((1, (m, n)), (2, (count, 2 * hidden, n)), (3, (count, n, hidden)), (6, (m, n)))))
        weights, index = self.values(4, m, k), self.words(5, m * k, count)

        def f(x, up, down):
            order = torch.argsort(index)
            back = torch.argsort(order)
            ends = torch.cumsum(torch.histc(index[order].float(), bins=count, min=0, max=count - 1), 0, dtype=torch.int32)
            gate, linear = torch._grouped_mm(x[order // k], up.transpose(-2, -1), offs=ends).chunk(2, dim=-1)
            y = torch._grouped_mm(F.silu(gate) * linear, down.transpose(-2, -1), offs=ends)
            return (y[back].float() * weights.reshape(-1, 1)).view(m, k, n).sum(1).to(x.dtype)
        return self.backward(f, [x, up, down], 1, dy) if w["grad"] else self.forward(f, x, up, down)

    def row(self, w, f, wanted):
        x, weight, bias, dy = (self.values(s, *shape) for s, shape in ((1, (w["m"], w["n"])), (2, (w["n"],)), (3, (w["n"],)), (5, (w["m"], w["n"]))))
        inputs = [x, weight, bias]
        return self.backward(f, inputs, wanted, dy) if w["grad"] else self.forward(f, *inputs)

    def softmax(self, w):
        return self.row(w, lambda x, weight, bias: torch.softmax(x, -1), 1)

    def layer_norm(self, w):
        return self.row(w, lambda x, weight, bias: F.layer_norm(x, weight.shape, weight, bias, EPS), 3)

    def rms_norm(self, w):
        return self.row(w, lambda x, weight, bias: F.rms_norm(x, weight.shape, weight, EPS), 2)

    def matmul(self, w):
        a, b = self.stored(w, self.values(1, w["n"], w["n"]), self.values(2, w["n"], w["n"]))
        return self.forward(lambda a, b: a @ b, a, b)

    def matvec(self, w):
        x, wt = self.stored(w, self.values(1, 1, w["k"]), self.values(2, w["n"], w["k"]))
        return self.forward(F.linear, x, wt)

    def codes(self, w):
        # PyTorch's own weight-only kernels: 8 bits with a scale a row, 4 bits with a scale and an offset a group. They are meant
        # for activations in bf16: with f32, as mcs has them, they take 10 to 50 times as long.
        if self.gpu:
            raise Absent("no weights in codes on a GPU without packages beside PyTorch")
        codes, scale = quantised(w)
        x, codes = torch.from_numpy(values(1, 1, w["k"])).bfloat16(), torch.from_numpy(codes)
        weight = pack_codes(codes, scale, w["bits"])
        return self.forward(lambda x, *weight: multiply_codes(x, *weight, w["bits"]), x, *weight)

    def chain(self, w):
        x, y = self.values(1, w["m"], w["n"]), self.values(2, w["m"], w["n"])
        return self.forward(lambda x, y: torch.tanh(x * y + 0.5) * torch.sigmoid(x) - y, x, y)

    def over(self, f):
        """A function of M rows of N numbers."""
        return lambda w: self.forward(f, self.values(1, w["m"], w["n"]))

    def scale(self, w):
        return self.over(lambda x: x * 2)(w)

    def sum(self, w):
        return self.over(torch.sum)(w)

    def sum_rows(self, w):
        return self.over(lambda x: x.sum(1))(w)

    def sum_columns(self, w):
        return self.over(lambda x: x.sum(0))(w)

    def max_rows(self, w):
        return self.over(lambda x: x.amax(1))(w)

    def attention(self, w):
        batch, d = w.get("batch", 1), w.get("d", 64)
        shapes = (batch, w["heads"], w["t"], d), (batch, w["kv"], w["t"], d), (batch, w["kv"], w["t"], d), (batch, w["heads"], w["t"], d)
        q, k, v, dy = self.stored(w, *(self.values(i + 1, *shape) for i, shape in enumerate(shapes)))

        if w.get("window") or w.get("cap") or w.get("documents"):
            return self.flex_attention(w, q, k, v, dy)

        def f(q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

        def made():
            return self.backward(f, [q, k, v], 3, dy) if w.get("grad") else self.forward(f, q, k, v)
        return self.fastest_attention(made, w.get("grad", False)) if self.gpu and not self.compiled else made()

    def flex_attention(self, w, q, k, v, dy):
        """A window, capped scores, or documents of equal length in a row: compiled, as flex_attention is meant to be, and
        without a cap also as a mask of scaled_dot_product_attention."""
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        if self.compiled or not self.gpu:
            raise Absent("flex_attention is compiled on the eager side, for a GPU alone")
        t, window, cap, each = w["t"], w["window"] or w["t"], w["cap"], w["t"] // (w["documents"] or 1)

        def seen(b, h, i, j):
            return (j <= i) & (i - j < window) & (i // each == j // each)

        def capped(score, b, h, i, j):
            return cap * torch.tanh(score / cap)

        block, flex = create_block_mask(seen, None, None, t, t, device=self.device), torch.compile(flex_attention, dynamic=False)
        place = torch.arange(t, device=self.device)
        ways = {"flex": lambda q, k, v: flex(q, k, v, score_mod=capped if cap else None, block_mask=block, enable_gqa=True)}
        if not cap:
            mask = seen(0, 0, place[:, None], place)
            ways["mask"] = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        ways = {name: self.backward(f, [q, k, v], 3, dy) if w.get("grad") else self.forward(f, q, k, v) for name, f in ways.items()}
        best = ways["flex"]
        best.ways = ways
        return best

    def conv(self, w):
        n, c, height, width = w["image"]
        s = dict(stride=w["stride"], padding=w["padding"])
        x, weight = self.stored(w, self.values(1, *w["image"]), self.values(2, w["out"], c, w["kernel"], w["kernel"]))
        places = [(length + 2 * w["padding"] - w["kernel"]) // w["stride"] + 1 for length in (height, width)]
        dy, = self.stored(w, self.values(3, n, w["out"], *places))

        def f(x, weight):
            return F.conv2d(x, weight, **s)
        return self.backward(f, [x, weight], 2, dy) if w["grad"] else self.forward(f, x, weight)

    def fastest_attention(self, made, grad):
        """made's function with the backend of PyTorch that is the fastest here. Its ways are all that can do it: FlashAttention,
        cuDNN and another, and for a gradient also those whose results are the same bits in each run."""
        ways = {}
        for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION), ("efficient", SDPBackend.EFFICIENT_ATTENTION)):
            for repeats in (False, True)[:1 + grad]:
                way = self.within(made(), backend, repeats)
                try:
                    way()
                except RuntimeError:  # it has no kernel for these types or shapes, or none that repeats its bits
                    continue
                ways[name + (", same bits" if repeats else "")] = way
        best = min(ways.values(), key=self.least, default=None) or made()
        best.ways = ways
        return best

    def within(self, run, backend, repeats):
        def way():
            torch.use_deterministic_algorithms(repeats)
            try:
                with sdpa_kernel(backend):
                    return run()
            finally:
                torch.use_deterministic_algorithms(False)
        return way

    def cross_entropy(self, w):
        logits, targets = self.values(1, w["m"], w["v"]), self.words(2, w["m"], w["v"])
        if w["grad"]:
            return self.backward(F.cross_entropy, [logits, targets], 1, torch.ones((), device=self.device))
        return self.forward(F.cross_entropy, logits, targets)

    def linear_cross_entropy(self, w):
        x, weight = self.stored(w, self.values(1, w["m"], w["n"]), self.values(2, w["v"], w["n"]))
        targets = self.words(3, w["m"], w["v"])

        def f(x, weight, targets):  # autocast has the loss in f32, too
            return F.cross_entropy(F.linear(x, weight).float(), targets)
        return self.backward(f, [x, weight, targets], 2, torch.ones((), device=self.device))

    def adamw(self, w):
        params = [torch.nn.Parameter(self.values(1 + i, 1000, 1000)) for i in range(w["count"])]
        for i, p in enumerate(params):
            p.grad = self.values(1001 + i, 1000, 1000)
        # fused is the fastest of PyTorch's own loops; a compiled optimizer is compiled from the one over lists
        optimizer = torch.optim.AdamW(params, lr=1e-3, weight_decay=0.1, fused=not self.compiled, foreach=self.compiled)
        step = self.compile(optimizer.step)

        def run():
            step()
            return [params[0]]
        return run

    def small(self, w):
        x, y = self.values(1, 4, 4), self.values(2, 4, 4)
        f = self.compile(lambda x, y: x + y)

        def run():
            with torch.inference_mode():
                out = f(x, y)
                out.cpu().numpy()
                return [out]
        return run

    def train(self, w):
        from peer_decoder import train
        return train(w, self.compile, self.device)

    def decode(self, w):
        from peer_decoder import decode
        return decode(w, self.compile if self.compiled else None, self.device)
