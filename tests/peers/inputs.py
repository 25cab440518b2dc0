"""What the sides in Python share: the inputs, and which part of a result is compared."""
import zlib

import numpy as np


def values(seed, *shape):
    """Pseudo-random numbers in [-1, 1) that every side can make: multiples of 2^-23 from a hash of seed and index."""
    h = np.arange(np.prod(shape, dtype=np.int64), dtype=np.uint32)
    h *= np.uint32(0x9E3779B1)
    h += np.uint32(seed * 0x7F4A7C15 & 0xFFFFFFFF)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h ^= h >> np.uint32(shift)
        h *= np.uint32(factor)
    h ^= h >> np.uint32(16)
    return ((h >> np.uint32(8)).astype(np.float32) * np.float32(2**-23) - np.float32(1)).reshape(shape)


def words(seed, count, vocabulary):
    return ((values(seed, count) + 1) * (vocabulary / 2)).astype(np.int64)


SAMPLES = 509


def samples(outputs):
    """Some numbers of each output, the same ones on every side."""
    picked = []
    for out in outputs:
        flat = np.asarray(out, dtype=np.float32).reshape(-1)
        count = min(SAMPLES, flat.size)
        picked.append([float(flat[i * flat.size // count]) for i in range(count)])
    return picked


class Absent(Exception):
    """This side has no such work."""


def lora_inputs(w):
    n, r, m = w["n"], w["r"], w["m"]
    return values(1, m, n), values(2, n, n), values(3, n, r), values(4, r, n), values(5, m, n)


def row_inputs(w):
    return values(1, w["m"], w["n"]), values(2, w["n"]), values(3, w["n"]), values(5, w["m"], w["n"])


def exact_codes(v, bits):
    """Codes for the rows of v, without their middle, and the scale of all: what they stand for needs no rounding, because the
    first code of each 32 is the largest that there is."""
    most = 2 ** (bits - 1) - 1
    codes = np.rint(v * np.float32(most)).astype(np.int32)
    codes[:, ::32] = most
    return codes, 1 / (most + 1)


def quantised(w):
    return exact_codes(values(2, w["n"], w["k"]), w["bits"])


def named(name, *shape, bits=None):
    """A weight of the decoder [out in], from its name; with bits one that codes hold exactly."""
    if not bits:
        return values(seed(name), *shape) / 32
    codes, scale = named_codes(name, *shape, bits=bits)
    return codes * np.float32(scale)


def named_codes(name, *shape, bits):
    codes, scale = exact_codes(values(seed(name), *shape), bits)
    return codes, scale / 32


def seed(name):
    return zlib.crc32(name.encode())


BITS = {"int8": 8, "int4": 4}


def linear_shapes(w):
    """The linear layers of the blocks: names without ".weight" and shapes [out in]."""
    width, kv, hidden = w["width"], w["width"] // w["heads"] * w["kv"], w["hidden"]
    for i in range(w["layers"]):
        for name, shape in (("self_attn.q_proj", (width, width)), ("self_attn.k_proj", (kv, width)), ("self_attn.v_proj", (kv, width)),
                            ("self_attn.o_proj", (width, width)), ("mlp.gate_proj", (hidden, width)), ("mlp.up_proj", (hidden, width)),
                            ("mlp.down_proj", (width, hidden))):
            yield f"model.layers.{i}.{name}", shape


def decoder_weights(w):
    """All weights of the decoder, under transformers' names without ".weight"."""
    bits = BITS.get(w.get("dtype"))
    weights = {name: named(name + ".weight", *shape, bits=bits) for name, shape in linear_shapes(w)}
    weights["model.embed_tokens"] = named("model.embed_tokens.weight", w["vocab"], w["width"], bits=bits)
    for i in range(w["layers"]):
        for norm in ("input_layernorm", "post_attention_layernorm"):
            weights[f"model.layers.{i}.{norm}"] = np.ones(w["width"], np.float32)
    weights["model.norm"] = np.ones(w["width"], np.float32)
    return weights


def adapter_weights(w):
    """Each linear layer's A [r in] and B [out r]."""
    return {name: (named(name + ".lora_A.weight", w["r"], shape[1]), np.zeros((shape[0], w["r"]), np.float32)) for name, shape in linear_shapes(w)}
