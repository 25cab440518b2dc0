"""The work of tests/peers/run cuda, as works.py has that of the processor. Beside its fields, a work may have
  library  mcs also does it without the libraries of the GPU's vendor
  alone    it takes so much memory that only one side holds it at a time
"""
from works import HALF_B, LORA, conv, decode, linear_cross_entropy, linear_weights, row, work

# Sizes: the issue's, and small ones that show on any device that all of it runs.
LARGE = dict(rows=16384, columns=4096, squares=(4096,), lora=(1024, 4096), tokens=2048, heads=16, batch=4, millions=67, layers=24)
QUICK = dict(rows=64, columns=256, squares=(128,), lora=(64,), tokens=64, heads=4, batch=1, millions=1, layers=2)
TINY = dict(vocab=512, layers=2, width=64, heads=4, kv=2, hidden=192)
DTYPES = ("f32", "bf16", "f16")
CLOSE = {"f32": 1e-4, "f16": 5e-3, "bf16": 2e-2}
SIZE = {"f32": 4, "f16": 2, "bf16": 2}


def over(kind, m, n, reads=1, writes=1, **more):
    """A function of m rows of n numbers, of which it reads and writes so many."""
    return work(f"{kind}/{m}x{n}", kind, 0, 4 * m * n * (reads + writes), "copy" if writes else "read", m=m, n=n, grad=False, **more)


def product(n, dtype):
    return work(f"matmul/{dtype} {n}", "matmul", 2 * n**3, 3 * SIZE[dtype] * n * n, "read", dtype, CLOSE[dtype], n=n, dtype=dtype, library=True)


def lora(n, r, m, dtype):
    flops, touched = 2 * m * n * n + 4 * m * n * r, SIZE[dtype] * (n * n + 2 * n * r + 2 * m * n)
    return work(f"lora/{dtype} {n} r{r} {m} rows", "lora", flops, touched, "read", dtype, CLOSE[dtype], n=n, r=r, m=m, dtype=dtype, grad=False, library=True)


def experts(tokens, count, k, n, hidden, dtype, grad=False):
    name = f"experts/{dtype} {count} of {hidden}, top {k}, {tokens} tokens" + (" fwd+bwd" if grad else "")
    read = min(count, tokens * k) * 3 * n * hidden
    return work(name, "experts", 6 * tokens * k * n * hidden * (2 if grad else 1), SIZE[dtype] * read * (2 if grad else 1), "read", dtype, CLOSE[dtype],
                m=tokens, count=count, k=k, n=n, hidden=hidden, dtype=dtype, grad=grad)


def attention(batch, heads, kv, t, d, dtype, grad=False, window=0, cap=0, documents=0):
    seen = t * (t + 1) // 2
    if window:
        seen = t * window - window * (window - 1) // 2
    if documents:
        seen //= documents
    name = f"attention/{dtype} {batch}x{heads}x{t}x{d}" + (f" window {window}" if window else "") + (f" cap {cap}" if cap else "") + (f" documents {documents}" if documents else "") + (" fwd+bwd" if grad else "")
    flops = batch * heads * seen * d * (4 + (10 if grad else 0))  # backward: scores again, and four products
    return work(name, "attention", flops, SIZE[dtype] * batch * t * d * (2 * heads + 2 * kv) * (2 if grad else 1), "copy", dtype, CLOSE[dtype],
                batch=batch, heads=heads, kv=kv, t=t, d=d, dtype=dtype, grad=grad, window=window, cap=cap, documents=documents,
                library=dtype != "f32" and not window and not cap and not documents)


def convolution(images, channels, side, results, kernel, stride, dtype, grad=False):
    name = f"{dtype} {images}x{channels}x{side}x{side} {kernel}x{kernel} to {results}" + (f" stride {stride}" if stride > 1 else "")
    w = conv(name, (images, channels, side, side), results, kernel, stride, kernel // 2, grad)
    return dict(w, bytes=w["bytes"] // 4 * SIZE[dtype], peak=dtype, close=CLOSE[dtype], dtype=dtype, library=True)


# Images, channels, side, results, kernel, stride: layers of ResNet.
CONVOLUTIONS = ((32, 64, 56, 64, 3, 1), (32, 128, 28, 128, 3, 1), (32, 256, 14, 256, 3, 1), (32, 256, 56, 64, 1, 1), (32, 128, 56, 128, 3, 2))


def cross_entropy(m, v, grad):
    name = f"cross_entropy/{m}x{v}" + (" fwd+bwd" if grad else "")
    return work(name, "cross_entropy", 0, 4 * m * v * (2 if grad else 1), "copy" if grad else "read", m=m, v=v, grad=grad)


def train(shape, name, batch, t, dtype):
    flops = 4 * batch * t * (linear_weights(shape) + shape["vocab"] * shape["width"])
    return work(f"train/{name} {dtype} {batch}x{t}", "train", flops, 0, peak=dtype, close=2e-3 if dtype == "f32" else 5e-2, batch=batch, t=t, r=16, dtype=dtype,
                library=True, alone=True, **shape)


def works(quick=False):
    s = QUICK if quick else LARGE
    m, n = s["rows"], s["columns"]
    shape, name = (TINY, "tiny") if quick else (HALF_B, "0.5B")
    batch, t = (2, 32) if quick else (4, 1024)
    rows = [row(kind, m, grad, n) for kind in ("softmax", "layer_norm", "rms_norm") for grad in (False, True)]
    for w in rows:
        w["exps"] = 0  # the bars are shares of the copy, and a GPU has enough exponentials
    return (
        [over("scale", m, n)] + rows + [cross_entropy(m, n, grad) for grad in (False, True)]
        + [dict(linear_cross_entropy(*((64, 64, 512) if quick else (4096, 896, 151936)), dtype), library=True) for dtype in ("f32", "bf16")]
        + [work(f"adamw/{s['millions']} M", "adamw", 0, 28 * s["millions"] * 10**6, count=s["millions"])]
        + [work(f"chain/{m}x{n}", "chain", 0, 12 * m * n, m=m, n=n)]
        + [over(kind, m, n, writes=0, close=1e-3) for kind in ("sum", "sum_rows", "sum_columns", "max_rows")]
        + [product(size, dtype) for size in s["squares"] for dtype in DTYPES]
        + [lora(size, 16, count, dtype) for dtype in ("f32", "bf16") for size in s["lora"] for count in LORA]
        + [attention(s["batch"], s["heads"], s["heads"] // 4, s["tokens"], d, dtype, grad)
           for dtype in ("f32", "bf16") for d in (64, 128) for grad in (False, True)]
        + [attention(1, s["heads"], s["heads"] // 4, t, 128, "bf16", grad, *how)
           for t, *how in (((128, 40, 0, 0), (64, 0, 50, 0), (64, 0, 0, 4)) if quick else ((32768, 4096, 0, 0), (4096, 0, 50, 0), (4096, 0, 0, 4))) for grad in (False, True)]
        + [experts(*((count, 4, 2, 64, 64) if quick else (count, 32, 4, 2048, 1024)), "bf16", grad) for count in (16, 40 if quick else 4096) for grad in (False, True)]
        + [convolution(*((2, 16, 9, 16, *layer[4:]) if quick else layer), dtype, grad) for dtype in ("f32", "bf16") for layer in CONVOLUTIONS for grad in (False, True)]
        + [work("small/add 4x4", "small", 0, 0, n=4)]
        + [train(shape, name, batch, t, dtype) for dtype in ("f32", "bf16")]
        + [dict(decode(name, shape, 4 if quick else 64, dtype=dtype), close=1, library=True, alone=True) for dtype in ("f32", "bf16")]
    )
