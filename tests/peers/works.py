"""The work that all sides do: what it is called, its shapes, and how much arithmetic and memory traffic it needs.

A work is a dict that goes to every worker as it is. Beside the shapes it has
  flops   arithmetic operations of one run (a multiply-add is two), 0 where the arithmetic is not the point; of a decode,
          those of its prompt
  peak    the ceiling that the flops are held against: f32, bf16 or int8
  exps    exponentials
  bytes   what must at least be read and written once
  traffic the ceiling that the bytes are held against: read or copy
  close   how far a result may be from mcs's, as a share of the largest value
  tokens  how often a decode reads its weights, 0 of all other work
  scales  whether mcs also does it with one thread
  long    only run when it is asked for
  file    what a work reads, made by made.py
"""
import math


# Works that mcs does with one thread, too: one of each kind that has enough to do for several.
SCALES = ("lora/1024 r8 1024 rows", "softmax/1024x1024", "rms_norm/1024x1024 fwd+bwd", "matmul/f32 1024", "chain/1024x1024", "attention/512", "train/small 4x256")


def work(name, kind, flops, bytes, traffic="copy", peak="f32", close=1e-4, long=False, exps=0, tokens=0, **shapes):
    return dict(name=name, kind=kind, flops=flops, bytes=bytes, traffic=traffic, peak=peak, close=close, long=long, exps=exps,
                tokens=tokens, scales=name in SCALES, **shapes)


def lora(n, r, m, grad=False):
    base, adapter = 2 * m * n * n, 4 * m * n * r
    flops = base + adapter if not grad else 2 * base + 3 * adapter  # W is frozen: only x, A and B have gradients
    name = f"lora/{n} r{r} {m} rows" + (" fwd+bwd" if grad else "")
    touched = 4 * (n * n + 2 * n * r + 2 * m * n)
    return work(name, "lora", flops, touched * (2 if grad else 1), "read", n=n, r=r, m=m, grad=grad)


def row(kind, m, grad=False, n=1024):
    name = f"{kind}/{m}x{n}" + (" fwd+bwd" if grad else "")
    return work(name, kind, 0, 4 * m * n * (5 if grad else 2), exps=m * n if kind == "softmax" else 0, m=m, n=n, grad=grad)


def matmul(n, dtype, long=False):
    size = 4 if dtype == "f32" else 2
    return work(f"matmul/{dtype} {n}", "matmul", 2 * n**3, 3 * size * n * n, "read", dtype,
                1e-4 if dtype == "f32" else 2e-2, long, n=n, dtype=dtype)


def matvec(n, k, dtype, long=False):
    size = 4 if dtype == "f32" else 2
    return work(f"matvec/{dtype} {n}x{k}", "matvec", 2 * n * k, size * n * k, "read", dtype,
                1e-4 if dtype == "f32" else 2e-2, long, n=n, k=k, dtype=dtype)


def codes(n, k, bits, long=False):
    """One row times a weight in codes of so many bits, in groups of 64 with scales in f32; peers may have fewer scales, and
    activations in bf16."""
    return work(f"matvec/int{bits} {n}x{k}", "codes", 0, n * k * bits // 8 + 4 * n * k // 64, "read", close=1e-2, long=long, n=n, k=k, bits=bits)


def attention(t, long=False):
    q, kv = 14, 2
    seen = t * (t + 1) // 2
    return work(f"attention/{t}", "attention", 4 * q * seen * 64, 4 * 64 * t * (2 * q + 2 * kv), exps=q * seen, long=long, t=t, heads=q, kv=kv)


def conv(name, image, out, kernel, stride=1, padding=0, grad=False):
    """Convolutions of ResNet and of a network for MNIST: image is [N C H W]."""
    n, c, height, width = image
    places = [(length + 2 * padding - kernel) // stride + 1 for length in (height, width)]
    x, y, taps = n * c * height * width, n * out * places[0] * places[1], c * kernel**2
    flops, bytes = 2 * y * taps, 4 * (x + y + out * taps)
    return work(f"conv/{name}" + (" fwd+bwd" if grad else ""), "conv", flops * (3 if grad else 1), bytes * (3 if grad else 1), "read",
                image=image, out=out, kernel=kernel, stride=stride, padding=padding, grad=grad)


CONVS = dict(
    mnist=((32, 16, 14, 14), 32, 3, 1, 1), resnet3x3=((8, 64, 56, 56), 64, 3, 1, 1), deep3x3=((8, 256, 14, 14), 256, 3, 1, 1),
    resnet1x1=((8, 64, 56, 56), 256, 1), strided=((8, 128, 56, 56), 128, 3, 2, 1),
)


def cross_entropy(v, grad=False, long=False):
    name = f"cross_entropy/256x{v}" + (" fwd+bwd" if grad else "")
    return work(name, "cross_entropy", 0, 4 * 256 * v * (2 if grad else 1), "copy" if grad else "read", long=long, exps=256 * v, m=256, v=v, grad=grad)


def linear_cross_entropy(m, n, v, dtype="f32", long=False):
    """The loss of a head, whose weight is [v n] as in a tied embedding, and both gradients."""
    size = 4 if dtype == "f32" else 2
    return work(f"linear_cross_entropy/{dtype} {m}x{n}x{v} fwd+bwd", "linear_cross_entropy", 6 * m * n * v, size * (2 * m * n + 3 * n * v), "read", dtype,
                1e-4 if dtype == "f32" else 5e-2, long, exps=m * v, m=m, n=n, v=v, dtype=dtype, grad=True)


def adamw(millions):
    # reads p, g, m, v and writes p, m, v
    return work(f"adamw/{millions} M", "adamw", 0, 28 * millions * 10**6, count=millions)


SMALL = dict(vocab=8192, layers=4, width=512, heads=8, kv=2, hidden=1408)
HALF_B = dict(vocab=151936, layers=24, width=896, heads=14, kv=2, hidden=4864)
ONE_AND_A_HALF_B = dict(vocab=151936, layers=28, width=1536, heads=12, kv=2, hidden=8960)


def linear_weights(s):
    """Numbers in the linear layers of the blocks."""
    kv = s["width"] // s["heads"] * s["kv"]
    return s["layers"] * (2 * s["width"] ** 2 + 2 * s["width"] * kv + 3 * s["width"] * s["hidden"])


def train(name, shape, batch, t, long=False, dtype="f32"):
    # Forward and the gradient of the input: 2 + 2 a weight and token; a frozen weight has no gradient of its own.
    flops = 4 * batch * t * (linear_weights(shape) + shape["vocab"] * shape["width"])
    kind = "" if dtype == "f32" else f" {dtype}"  # beside autocast
    return work(f"train/{name}{kind} {batch}x{t}", "train", flops, 0, peak=dtype, close=2e-3 if dtype == "f32" else 5e-2, long=long, batch=batch, t=t, r=16, dtype=dtype, **shape)


def decode(name, shape, tokens, long=False, dtype="f32"):
    prompt, head = 32, shape["vocab"] * shape["width"]
    weights = linear_weights(shape) + head
    size = {"f32": 4, "bf16": 2, "int8": 1 + 4 / 64, "int4": 0.5 + 4 / 64}[dtype]
    kind = "" if dtype == "f32" else f" {dtype}"
    flops = 2 * (prompt * linear_weights(shape) + head)  # of the prompt's tokens only the last one gets scores
    return work(f"decode/{name}{kind} {tokens} tokens", "decode", flops, int(size * weights) * tokens, "read", "int8" if dtype == "int4" else dtype,
                close=0, long=long, tokens=tokens, prompt=prompt, dtype=dtype, **shape)


def order(op, *shape, axis=-1):
    """What sorts, sums up or picks elements of an f32 tensor. Which of equal elements comes first NumPy and PyTorch leave open, so
    places are not compared closely."""
    where = "flat" if len(shape) == 1 else "mask" if op == "masked" else f"axis {axis}"
    return work(f"order/{op} {'x'.join(map(str, shape))} {where}", "order", 0, 8 * math.prod(shape), op=op, image=shape, axis=axis,
                close=1 if op == "argsort" else 1e-4)


LINALG = dict(solve=8 / 3, inv=8 / 3, slogdet=2 / 3, cholesky=1 / 3, qr=8 / 3, svd=17, eigh=9, svdvals=8 / 3, eigvalsh=4 / 3, eigvals=10, lstsq=17)  # n³, as LAPACK's users count


def linalg(op, n, dtype):
    """What factorises [n n], or solves n right-hand sides. mcs computes in f64 and rounds, so what NumPy computes in f32 is off."""
    size = 4 if dtype == "f32" else 8
    return work(f"linalg/{op} {dtype} {n}", "linalg", round(LINALG[op] * n**3), 3 * size * n * n, close=1e-6 if dtype == "f64" else 2e-2, op=op, n=n, dtype=dtype)


def load(gigabytes):
    """A safetensors file, in the page cache, to tensors that own their memory. made.py makes the file."""
    return work(f"load/{gigabytes} GB", "load", 0, gigabytes << 30, "copy", close=0, count=16 * gigabytes)


def tokenise(megabytes):
    """A text to tokens, line by line, by one thread. made.py makes the tokenizer."""
    return work(f"tokenise/{megabytes} MB", "tokenise", 0, megabytes << 20, "read", close=0)


def gguf(name, shape, tokens, kind, long=False):
    """A decode from a GGUF file with matrices of that type, which mcs writes. llama.cpp rounds the other factor of a product to 8
    bits, so that only the number of tokens is compared."""
    size = {"q8_0": 34 / 32, "q4_0": 18 / 32}[kind]
    weights = linear_weights(shape) + shape["vocab"] * shape["width"]
    return work(f"gguf/{name} {kind} {tokens} tokens", "gguf", 0, int(size * weights) * tokens, "read", close=0, long=long, tokens=tokens,
                prompt=32, dtype=kind, **shape)


LORA = (1, 16, 128, 1024)  # rows

WORKS = (
    [lora(n, 8, m) for n in (512, 1024, 2048) for m in LORA]
    + [lora(1024, r, 128) for r in (4, 16, 32, 64)] + [lora(1024, 16, 1024)]
    + [lora(1024, 8, m, grad=True) for m in LORA]
    + [lora(2048, 8, m, grad=True) for m in (32, 128)]
    + [row(kind, m, grad) for kind in ("softmax", "layer_norm", "rms_norm") for grad in (False, True) for m in (64, 1024)]
    + [matmul(n, "f32", n > 2048) for n in (256, 512, 1024, 2048, 4096)]
    + [matmul(n, "bf16", n > 1024) for n in (256, 512, 1024, 2048, 4096)]
    + [matvec(n, k, d) for d in ("f32", "bf16") for n, k in ((896, 896), (4864, 896), (896, 4864), (8960, 1536))]
    + [codes(n, k, bits) for bits in (8, 4) for n, k in ((896, 896), (4864, 896), (896, 4864), (8960, 1536))]
    + [codes(151936, 896, bits, long=True) for bits in (8, 4)]
    + [work("chain/1024x1024", "chain", 0, 12 * 1024 * 1024, m=1024, n=1024)]
    + [order(op, 1024, 1024, axis=axis) for op in ("sort", "argsort", "median", "cumsum") for axis in (-1, 0)]
    + [order(op, 1024 * 1024) for op in ("sort", "argsort", "median", "cumsum", "unique", "masked")]
    + [order("masked", 1024, 1024)]
    + [linalg(op, n, d) for op in LINALG for d in ("f64", "f32") for n in (512, 1024)]
    + [attention(t) for t in (128, 512, 2048)]
    + [conv(name, *shape, grad=grad) for name, shape in CONVS.items() for grad in (False, True)]
    + [cross_entropy(32000), cross_entropy(32000, grad=True), cross_entropy(151936, long=True), cross_entropy(151936, grad=True, long=True)]
    + [linear_cross_entropy(512, 512, 32000, d) for d in ("f32", "bf16")]
    + [linear_cross_entropy(1024, 896, 151936, d, long=True) for d in ("f32", "bf16")]
    + [adamw(1), adamw(40)]
    + [load(1), tokenise(1)]
    + [gguf("small", SMALL, 64, kind) for kind in ("q8_0", "q4_0")] + [gguf(name, shape, 16, kind, long=True) for name, shape in (("0.5B", HALF_B), ("1.5B", ONE_AND_A_HALF_B)) for kind in ("q8_0", "q4_0")]
    + [work("small/add 4x4", "small", 0, 0, n=4)]
    + [train("small", SMALL, 4, 256, dtype=d) for d in ("f32", "bf16")]
    + [train("0.5B", HALF_B, 1, 256, long=True, dtype=d) for d in ("f32", "bf16")]
    + [decode("small", SMALL, 64, dtype=d) for d in ("f32", "bf16", "int8", "int4")]
    + [decode("0.5B", HALF_B, 16, long=True, dtype=d) for d in ("f32", "bf16", "int8", "int4")]
)
