"""JAX's side of the comparison: everything under jit."""
import jax
import jax.numpy as jnp
import numpy as np

from inputs import Absent, lora_inputs, row_inputs, values, words

EPS = 1e-5


def arrays(inputs):
    return [jnp.asarray(a) for a in inputs]


def layer_norm(x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + EPS) * weight + bias


def rms_norm(x, weight, bias):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + EPS) * weight


class JAX:
    def __init__(self):
        jax.config.update("jax_default_matmul_precision", "highest")

    def prepare(self, w):
        jax.clear_caches()
        make = getattr(self, w["kind"], None)
        if make is None:
            raise Absent("no " + w["kind"])
        return make(w)

    def wait(self, outputs):
        jax.block_until_ready(outputs)

    def numpy(self, outputs):
        return [np.asarray(o.astype(jnp.float32)) for o in outputs]

    def forward(self, f, *inputs):
        f = jax.jit(f)
        return lambda: [f(*inputs)]

    def backward(self, f, inputs, wanted, dy):
        @jax.jit
        def both(dy, *inputs):  # all of them are arguments: what jit captures is a constant, which XLA may work on beforehand
            y, pull = jax.vjp(lambda *x: f(*x, *inputs[wanted:]), *inputs[:wanted])
            return [y, *pull(dy)]
        return lambda: both(dy, *inputs)

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
        return self.row(w, lambda x, weight, bias: jax.nn.softmax(x), 1)

    def layer_norm(self, w):
        return self.row(w, layer_norm, 3)

    def rms_norm(self, w):
        return self.row(w, rms_norm, 2)

    def matmul(self, w):
        dtype = {"f32": jnp.float32, "bf16": jnp.bfloat16}[w["dtype"]]
        a, b = (t.astype(dtype) for t in arrays((values(1, w["n"], w["n"]), values(2, w["n"], w["n"]))))
        return self.forward(jnp.matmul, a, b)

    def matvec(self, w):
        dtype = {"f32": jnp.float32, "bf16": jnp.bfloat16}[w["dtype"]]
        x, wt = (t.astype(dtype) for t in arrays((values(1, 1, w["k"]), values(2, w["n"], w["k"]))))
        return self.forward(lambda x, wt: x @ wt.T, x, wt)

    def chain(self, w):
        x, y = arrays((values(1, w["m"], w["n"]), values(2, w["m"], w["n"])))
        return self.forward(lambda x, y: jnp.tanh(x * y + 0.5) * jax.nn.sigmoid(x) - y, x, y)

    def attention(self, w):
        # jax.nn.dot_product_attention works on [batch, time, heads, width]: XLA may choose how to get there and back.
        q, k, v = arrays(values(s, 1, h, w["t"], 64) for s, h in ((1, w["heads"]), (2, w["kv"]), (3, w["kv"])))

        def f(q, k, v):
            turned = (t.transpose(0, 2, 1, 3) for t in (q, k, v))
            return jax.nn.dot_product_attention(*turned, is_causal=True).transpose(0, 2, 1, 3)
        return self.forward(f, q, k, v)

    def cross_entropy(self, w):
        logits, targets = jnp.asarray(values(1, w["m"], w["v"])), jnp.asarray(words(2, w["m"], w["v"]).astype(np.int32))

        def f(logits):
            picked = jnp.take_along_axis(logits, targets[:, None], 1)[:, 0]
            return (jax.nn.logsumexp(logits, axis=-1) - picked).mean()
        return self.backward(f, [logits], 1, jnp.ones(())) if w["grad"] else self.forward(f, logits)

    def adamw(self, w):
        params = [jnp.asarray(values(1 + i, 1000, 1000)) for i in range(w["count"])]
        grads = [jnp.asarray(values(1001 + i, 1000, 1000)) for i in range(w["count"])]
        state = [params, [jnp.zeros_like(p) for p in params], [jnp.zeros_like(p) for p in params], jnp.zeros(())]

        def one(p, g, m, v, t):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            step = (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
            return p - 1e-3 * (step + 0.1 * p), m, v

        def update(p, m, v, t, g):
            t += 1
            out = [one(*x, t) for x in zip(p, g, m, v)]
            return [[o[i] for o in out] for i in range(3)] + [t]
        update = jax.jit(update, donate_argnums=(0, 1, 2, 3))

        def run():
            state[:] = update(*state, grads)
            return [state[0][0]]
        return run

    def small(self, w):
        x, y = arrays((values(1, 4, 4), values(2, 4, 4)))
        f = jax.jit(jnp.add)

        def run():
            out = f(x, y)
            np.asarray(out)
            return [out]
        return run

    def train(self, w):
        from peer_jax_decoder import train
        return train(w)

    def decode(self, w):
        from peer_jax_decoder import decode
        return decode(w)
