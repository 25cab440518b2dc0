"""MLX's side of the comparison, on its CPU device. Its build for Linux calls a reference BLAS."""
import mlx.core as mx
import numpy as np

from inputs import Absent, lora_inputs, quantised, row_inputs, values, words

EPS, GROUP = 1e-5, 64


def packed(codes, scale, bits):
    """A weight as mx.quantized_matmul takes it: words of codes, and for each group a scale and what code 0 stands for."""
    each, middle = 32 // bits, 2 ** (bits - 1)
    parts = (codes + middle).astype(np.uint32).reshape(len(codes), -1, each) << (np.arange(each, dtype=np.uint32) * bits)
    scales = mx.full((len(codes), codes.shape[1] // GROUP), scale)
    return mx.array(np.bitwise_or.reduce(parts, -1)), scales, -middle * scales


def arrays(inputs):
    return [mx.array(a) for a in inputs]


class MLX:
    def __init__(self):
        mx.set_default_device(mx.cpu)

    def prepare(self, w):
        make = getattr(self, w["kind"], None)
        if make is None:
            raise Absent("no " + w["kind"])
        if w["flops"] > 3e9:
            raise Absent("takes seconds a run")
        return make(w)

    def wait(self, outputs):
        mx.eval(outputs)

    def numpy(self, outputs):
        return [np.array(o.astype(mx.float32)) for o in outputs]

    def forward(self, f, *inputs):
        mx.eval(inputs)
        f = mx.compile(f)
        return lambda: [f(*inputs)]

    def backward(self, f, inputs, wanted, dy):
        mx.eval(inputs, dy)
        rest = inputs[wanted:]

        @mx.compile
        def both(dy, *x):
            y, grads = mx.vjp(lambda *x: f(*x, *rest), list(x), [dy])
            return [*y, *grads]
        return lambda: both(dy, *inputs[:wanted])

    def lora(self, w):
        x, wt, a, b, dy = arrays(lora_inputs(w))

        def f(x, a, b, wt):
            return x @ wt + (2.0 * (x @ a)) @ b
        return self.backward(f, [x, a, b, wt], 3, dy) if w["grad"] else self.forward(f, x, a, b, wt)

    def row(self, w, f, wanted):
        x, weight, bias, dy = arrays(row_inputs(w))
        inputs = [x, weight, bias]
        return self.backward(f, inputs, wanted, dy) if w["grad"] else self.forward(f, *inputs)

    def softmax(self, w):
        return self.row(w, lambda x, weight, bias: mx.softmax(x, -1), 1)

    def layer_norm(self, w):
        return self.row(w, lambda x, weight, bias: mx.fast.layer_norm(x, weight, bias, EPS), 3)

    def rms_norm(self, w):
        return self.row(w, lambda x, weight, bias: mx.fast.rms_norm(x, weight, EPS), 2)

    def matmul(self, w):
        dtype = {"f32": mx.float32, "bf16": mx.bfloat16}[w["dtype"]]
        a, b = (t.astype(dtype) for t in arrays((values(1, w["n"], w["n"]), values(2, w["n"], w["n"]))))
        return self.forward(mx.matmul, a, b)

    def matvec(self, w):
        dtype = {"f32": mx.float32, "bf16": mx.bfloat16}[w["dtype"]]
        x, wt = (t.astype(dtype) for t in arrays((values(1, 1, w["k"]), values(2, w["n"], w["k"]))))
        return self.forward(lambda x, wt: x @ wt.T, x, wt)

    def codes(self, w):
        return self.forward(lambda x, *weight: mx.quantized_matmul(x, *weight, transpose=True, group_size=GROUP, bits=w["bits"]),
                            mx.array(values(1, 1, w["k"])), *packed(*quantised(w), w["bits"]))

    def chain(self, w):
        x, y = arrays((values(1, w["m"], w["n"]), values(2, w["m"], w["n"])))
        return self.forward(lambda x, y: mx.tanh(x * y + 0.5) * mx.sigmoid(x) - y, x, y)

    def attention(self, w):
        q, k, v = arrays(values(s, 1, h, w["t"], 64) for s, h in ((1, w["heads"]), (2, w["kv"]), (3, w["kv"])))
        return self.forward(lambda q, k, v: mx.fast.scaled_dot_product_attention(q, k, v, scale=0.125, mask="causal"), q, k, v)

    def cross_entropy(self, w):
        logits, targets = mx.array(values(1, w["m"], w["v"])), mx.array(words(2, w["m"], w["v"]).astype(np.int32))

        def f(logits):
            picked = mx.take_along_axis(logits, targets[:, None], 1)[:, 0]
            return (mx.logsumexp(logits, axis=-1) - picked).mean()
        return self.backward(f, [logits], 1, mx.array(1.0)) if w["grad"] else self.forward(f, logits)

    def small(self, w):
        x, y = arrays((values(1, 4, 4), values(2, 4, 4)))

        def run():
            out = x + y
            np.array(out)
            return [out]
        return run

    def decode(self, w):
        from peer_mlx_decoder import decode
        return decode(w)
