"""Greedy decode in MLX, on its own fast functions. Weights come from their names."""
import mlx.core as mx
import numpy as np

from inputs import BITS, decoder_weights, named_codes, words
from peer_mlx import EPS, GROUP, packed

THETA = 10000.0


def decode(w):
    bits, width = BITS.get(w["dtype"]), w["width"] // w["heads"]
    weights = {name: mx.array(a) for name, a in decoder_weights(w).items()}
    if w["dtype"] == "bf16":
        weights = {name: a.astype(mx.bfloat16) for name, a in weights.items()}
    table = weights["model.embed_tokens"]
    if bits:
        for name, a in weights.items():
            if a.ndim == 2:
                weights[name] = packed(*named_codes(name + ".weight", *a.shape, bits=bits), bits)
    mx.eval(weights, table)

    def linear(x, name):
        a = weights[name]
        if bits:
            return mx.quantized_matmul(x, *a, transpose=True, group_size=GROUP, bits=bits)
        return x @ a.T

    def heads(y, n):
        return y.reshape(1, -1, n, width).transpose(0, 2, 1, 3)

    def forward(ids, caches, at):
        """The best word after ids [1 T], which follow at tokens whose keys and values the caches hold."""
        x = table[ids]
        for i, cache in enumerate(caches):
            prefix = f"model.layers.{i}."
            h = mx.fast.rms_norm(x, weights[prefix + "input_layernorm"], EPS)
            q, k, v = (heads(linear(h, f"{prefix}self_attn.{s}_proj"), n) for s, n in (("q", w["heads"]), ("k", w["kv"]), ("v", w["kv"])))
            q, k = (mx.fast.rope(t, width, traditional=False, base=THETA, scale=1.0, offset=at) for t in (q, k))
            cache[:] = [mx.concatenate([old, new], 2) for old, new in zip(cache, (k, v))] if cache else [k, v]
            y = mx.fast.scaled_dot_product_attention(q, *cache, scale=width**-0.5, mask="causal" if ids.shape[1] > 1 else None)
            x = x + linear(y.transpose(0, 2, 1, 3).reshape(x.shape), prefix + "self_attn.o_proj")
            h = mx.fast.rms_norm(x, weights[prefix + "post_attention_layernorm"], EPS)
            gate = linear(h, prefix + "mlp.gate_proj")
            x = x + linear(gate * mx.sigmoid(gate) * linear(h, prefix + "mlp.up_proj"), prefix + "mlp.down_proj")
        x = mx.fast.rms_norm(x[:, -1:], weights["model.norm"], EPS)
        return mx.argmax(linear(x, "model.embed_tokens")[0], -1)

    prompt = mx.array(words(1, w["prompt"], w["vocab"])[None].astype(np.int32))

    def run():
        caches, word, out = [[] for _ in range(w["layers"])], None, []
        for i in range(w["tokens"]):
            word = forward(prompt if word is None else word[None], caches, 0 if word is None else w["prompt"] + i - 1)
            mx.eval(word, caches)
            out.append(word)
        return [mx.concatenate(out)]
    return run
