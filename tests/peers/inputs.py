"""What the sides in Python share: the inputs, and which part of a result is compared."""
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


def quantised(w):
    """Codes [n k], without their middle, of a weight that they hold exactly, and the scale of all of them."""
    most = 2 ** (w["bits"] - 1) - 1
    codes = np.rint(values(2, w["n"], w["k"]) * np.float32(most)).astype(np.int32)
    codes[:, ::32] = most
    return codes, 1 / (most + 1)
