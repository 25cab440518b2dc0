"""A decoder with LoRA in JAX: training step and greedy decode, each one compiled function. Weights come from their names."""
import jax
import jax.numpy as jnp
import numpy as np

from inputs import Absent, adapter_weights, decoder_weights, words

EPS, THETA = 1e-5, 10000.0


def norm(x, weight):
    x = x.astype(jnp.float32)
    return (x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + EPS)).astype(weight.dtype) * weight


def rotated(x, positions):
    """x [B T heads D] at positions [T]: the two halves of a head are the axes of its planes."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * THETA ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None].astype(x.dtype), jnp.sin(angles)[:, None].astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def linear(x, base, adapter, name):
    y = x @ base[name].T
    if adapter is not None:
        a, b = adapter[name]
        y += (2.0 * (x @ a.T)) @ b.T
    return y


def block(w, x, base, adapter, prefix, positions, attend):
    """One layer; attend maps queries, keys and values [B T heads D] to the attention's result."""
    def project(x, name):
        return linear(x, base, adapter, prefix + name)

    def heads(y, n):
        return y.reshape(*y.shape[:2], n, w["width"] // w["heads"])
    h = norm(x, base[prefix + "input_layernorm"])
    q, k, v = (heads(project(h, f"self_attn.{s}_proj"), n) for s, n in (("q", w["heads"]), ("k", w["kv"]), ("v", w["kv"])))
    y = attend(rotated(q, positions), rotated(k, positions), v)
    x = x + project(y.reshape(x.shape), "self_attn.o_proj")
    h = norm(x, base[prefix + "post_attention_layernorm"])
    return x + project(jax.nn.silu(project(h, "mlp.gate_proj")) * project(h, "mlp.up_proj"), "mlp.down_proj")


def arrays(tree, dtype=jnp.float32):
    return jax.tree.map(lambda a: jnp.asarray(a).astype(dtype), tree)


def train(w):
    base, adapter = arrays(decoder_weights(w)), arrays(adapter_weights(w))
    ids, targets = (jnp.asarray(words(s, w["batch"] * w["t"], w["vocab"]).reshape(w["batch"], w["t"]).astype(np.int32)) for s in (1, 2))

    def loss_of(adapter, base):
        x, positions = base["model.embed_tokens"][ids], jnp.arange(w["t"])
        for i in range(w["layers"]):
            x = block(w, x, base, adapter, f"model.layers.{i}.", positions, lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True))
        logits = norm(x, base["model.norm"]) @ base["model.embed_tokens"].T
        return (jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]).mean()

    def update(adapter, m, v, t, base):
        loss, grads = jax.value_and_grad(loss_of)(adapter, base)
        size = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / (size + 1e-6)), grads)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
        t += 1
        adapter = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), adapter, m, v)
        return (adapter, m, v, t), loss, size
    update = jax.jit(update, donate_argnums=(0, 1, 2, 3))
    zeros = jax.tree.map(jnp.zeros_like, adapter)
    state = [(adapter, zeros, jax.tree.map(jnp.copy, zeros), jnp.zeros(()))]

    def step():
        state[0], loss, size = update(*state[0], base)
        return [loss, size]
    for _ in range(2):  # so that the loss that is compared is one after updates
        step()
    return step


def decode(w):
    if w["dtype"] not in ("f32", "bf16"):
        raise Absent("JAX has no products with weights in codes")
    base = arrays(decoder_weights(w), {"f32": jnp.float32, "bf16": jnp.bfloat16}[w["dtype"]])
    prompt = jnp.asarray(words(1, w["prompt"], w["vocab"])[None].astype(np.int32))
    room = w["prompt"] + w["tokens"]

    def forward(ids, caches, at, base):
        """The best next word after ids [1 T] at positions from at on, and the caches with their keys and values."""
        positions, kept = at + jnp.arange(ids.shape[1]), []
        seen = (jnp.arange(room) <= positions[:, None])[None, None]
        x = base["model.embed_tokens"][ids]
        for i in range(w["layers"]):
            def attend(q, k, v, cache=caches[i]):
                k, v = (jax.lax.dynamic_update_slice(c, new, (0, at, 0, 0)) for c, new in zip(cache, (k, v)))
                kept.append((k, v))
                return jax.nn.dot_product_attention(q, k, v, mask=seen)
            x = block(w, x, base, None, f"model.layers.{i}.", positions, attend)
        scores = norm(x[:, -1], base["model.norm"]) @ base["model.embed_tokens"].T
        return jnp.argmax(scores, -1).astype(jnp.int32), kept

    @jax.jit
    def generate(prompt, base):
        empty = jnp.zeros((1, room, w["kv"], w["width"] // w["heads"]), base["model.norm"].dtype)
        first, caches = forward(prompt, [(empty, empty)] * w["layers"], 0, base)

        def more(state, at):
            word, caches = forward(state[0][None], state[1], at, base)
            return (word, caches), word
        _, rest = jax.lax.scan(more, (first, caches), w["prompt"] + jnp.arange(w["tokens"] - 1))
        return jnp.concatenate([first, rest[:, 0]])
    return lambda: [generate(prompt, base)]
