"""What a LoRA training step cannot take less than on a GPU: the products with frozen weights and their gradients, those of
the output matrix, and causal attention with its gradient, by the libraries that PyTorch calls, each alone and in bf16.

usage: python tests/peers/floor.py [SHAPE ...]     (needs torch with CUDA; shapes and batches are those of train.mcs)
"""
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = {  # vocabulary, layers, width, heads, heads of keys, their depth, hidden, texts, length
    "0.5B": (151936, 24, 896, 14, 2, 64, 4864, 4, 1024),
    "1.5B": (151936, 28, 1536, 12, 2, 128, 8960, 4, 1024),
    "7B": (152064, 28, 3584, 28, 4, 128, 18944, 2, 4096),
}
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def randn(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def best(work, seconds=3.0):
    """Milliseconds of work, recorded as a CUDA graph, the best of blocks of five."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    least, begin = float("inf"), time.time()
    while time.time() - begin < seconds:
        start = time.time()
        for _ in range(5):
            graph.replay()
        torch.cuda.synchronize()
        least = min(least, (time.time() - start) / 5)
    return 1e3 * least


for name in sys.argv[1:] or SHAPES:
    vocab, layers, width, heads, groups, depth, hidden, texts, length = SHAPES[name]
    rows, qkv = texts * length, (heads + 2 * groups) * depth
    sides = [(width, qkv), (heads * depth, width), (width, 2 * hidden), (hidden, width)]
    weights = [[randn(out, inner) * 0.02 for inner, out in sides] for _ in range(layers)]
    x, dy = [randn(rows, inner) for inner, _ in sides], [randn(rows, out) for _, out in sides]
    y, dx = [torch.empty_like(t) for t in dy], [torch.empty_like(t) for t in x]

    def products():
        for layer in weights:
            for n, w in enumerate(layer):
                torch.mm(x[n], w.t(), out=y[n])
        for layer in reversed(weights):
            for n, w in enumerate(layer):
                torch.mm(dy[n], w, out=dx[n])

    took = best(products)
    flops = 4 * rows * layers * sum(inner * out for inner, out in sides)
    print(f"{name}: products {took:.2f} ms, {flops / took / 1e9:.0f} TFLOP/s", end="", flush=True)
    piece, matrix = 1024, randn(vocab, width) * 0.02
    logits, back = torch.empty(piece, vocab, device="cuda", dtype=torch.bfloat16), torch.empty(piece, width, device="cuda", dtype=torch.bfloat16)

    def output():
        for _ in range(rows // piece):
            torch.mm(x[0][:piece], matrix.t(), out=logits)
            torch.mm(logits, matrix, out=back)

    print(f", output matrix {best(output):.2f} ms", end="", flush=True)
    q, k, v, do = (randn(texts, heads, length, depth).requires_grad_(n < 3) for n in range(4))

    def attention():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.autograd.grad(o, (q, k, v), do)

    for _ in range(3):
        attention()
    torch.cuda.synchronize()
    start = time.time()
    for _ in range(50):
        attention()
    torch.cuda.synchronize()
    print(f", attention {1e3 * (time.time() - start) / 50 * layers:.2f} ms")
    del weights, matrix, logits
    torch.cuda.empty_cache()
