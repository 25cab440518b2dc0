"""PyTorch's side of the comparison, eager or with torch.compile."""
import torch
import torch.nn.functional as F

from inputs import Absent, lora_inputs, quantised, row_inputs, values, words

EPS = 1e-5


def tensors(arrays):
    return [torch.from_numpy(a) for a in arrays]


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


class Torch:
    def __init__(self, threads, compiled):
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        torch.set_float32_matmul_precision("highest")  # the default; below it oneDNN may multiply f32 as bf16
        self.compiled = compiled

    def compile(self, f):
        return torch.compile(f, dynamic=False) if self.compiled else f

    def prepare(self, w):
        # Without this, dynamo counts every shape as a recompilation of the same code and falls back to eager after 8.
        torch._dynamo.reset()
        make = getattr(self, w["kind"], None)
        if make is None:
            raise Absent("no " + w["kind"])
        return make(w)

    def wait(self, outputs):
        pass  # the CPU device has finished when a call returns

    def numpy(self, outputs):
        return [o.detach().float().numpy() for o in outputs]

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
        x, wt, a, b, dy = tensors(lora_inputs(w))

        def f(x, a, b, wt):
            return torch.addmm(x @ wt, x @ a, b, alpha=2.0)
        return self.backward(f, [x, a, b, wt], 3, dy) if w["grad"] else self.forward(f, x, a, b, wt)

    def row(self, w, f, wanted):
        x, weight, bias, dy = tensors(row_inputs(w))
        inputs = [x, weight, bias]
        return self.backward(f, inputs, wanted, dy) if w["grad"] else self.forward(f, *inputs)

    def softmax(self, w):
        return self.row(w, lambda x, weight, bias: torch.softmax(x, -1), 1)

    def layer_norm(self, w):
        return self.row(w, lambda x, weight, bias: F.layer_norm(x, weight.shape, weight, bias, EPS), 3)

    def rms_norm(self, w):
        return self.row(w, lambda x, weight, bias: F.rms_norm(x, weight.shape, weight, EPS), 2)

    def matmul(self, w):
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[w["dtype"]]
        a, b = (t.to(dtype) for t in tensors((values(1, w["n"], w["n"]), values(2, w["n"], w["n"]))))
        return self.forward(lambda a, b: a @ b, a, b)

    def matvec(self, w):
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[w["dtype"]]
        x, wt = (t.to(dtype) for t in tensors((values(1, 1, w["k"]), values(2, w["n"], w["k"]))))
        return self.forward(F.linear, x, wt)

    def codes(self, w):
        # PyTorch's own weight-only kernels: 8 bits with a scale a row, 4 bits with a scale and an offset a group. They are meant
        # for activations in bf16: with f32, as mcs has them, they take 10 to 50 times as long.
        codes, scale = quantised(w)
        x, codes = torch.from_numpy(values(1, 1, w["k"])).bfloat16(), torch.from_numpy(codes)
        weight = pack_codes(codes, scale, w["bits"])
        return self.forward(lambda x, *weight: multiply_codes(x, *weight, w["bits"]), x, *weight)

    def chain(self, w):
        x, y = tensors((values(1, w["m"], w["n"]), values(2, w["m"], w["n"])))
        return self.forward(lambda x, y: torch.tanh(x * y + 0.5) * torch.sigmoid(x) - y, x, y)

    def attention(self, w):
        q = torch.from_numpy(values(1, 1, w["heads"], w["t"], 64))
        k, v = (torch.from_numpy(values(s, 1, w["kv"], w["t"], 64)) for s in (2, 3))
        return self.forward(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True), q, k, v)

    def cross_entropy(self, w):
        logits = torch.from_numpy(values(1, w["m"], w["v"]))
        targets = torch.from_numpy(words(2, w["m"], w["v"]))
        if w["grad"]:
            return self.backward(F.cross_entropy, [logits, targets], 1, torch.ones(()))
        return self.forward(F.cross_entropy, logits, targets)

    def adamw(self, w):
        params = [torch.nn.Parameter(torch.from_numpy(values(1 + i, 1000, 1000))) for i in range(w["count"])]
        for i, p in enumerate(params):
            p.grad = torch.from_numpy(values(1001 + i, 1000, 1000))
        # fused is the fastest of PyTorch's own loops; a compiled optimizer is compiled from the one over lists
        optimizer = torch.optim.AdamW(params, lr=1e-3, weight_decay=0.1, fused=not self.compiled, foreach=self.compiled)
        step = self.compile(optimizer.step)

        def run():
            step()
            return [params[0]]
        return run

    def small(self, w):
        x, y = tensors((values(1, 4, 4), values(2, 4, 4)))
        f = self.compile(lambda x, y: x + y)

        def run():
            with torch.inference_mode():
                out = f(x, y)
                out.numpy()
                return [out]
        return run

    def train(self, w):
        from peer_decoder import train
        return train(w, self.compile)

    def decode(self, w):
        from peer_decoder import decode
        return decode(w, self.compile if self.compiled else None)
