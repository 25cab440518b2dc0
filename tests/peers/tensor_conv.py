"""Writes what PyTorch answers for convolutions and pooling, with gradients, as tensor_ops.py does for other ops.

    pip install numpy torch
    python tensor_conv.py FILE     # engine/tensor/testdata/conv.json.gz
"""

import gzip
import json
import math
import sys

import torch
import torch.nn.functional as F

from tensor_ops import case


def randn(*shape):
    """Different numbers of few bits: windows have one greatest, sums are exact, and the file is small."""
    n = math.prod(shape)
    return ((torch.randperm(n, dtype=torch.float64) - n // 2) / 32).reshape(shape)


def answer(name, f, args, **settings):
    args = [a.requires_grad_() for a in args]
    y = f(*args)
    weight = randn(*y.shape)
    grads = torch.autograd.grad((y * weight).sum(), args)
    return case(name, [a.detach().numpy() for a in args], [y.detach().numpy()], [g.numpy() for g in grads], weight.numpy(), **settings)


def convolutions():
    grid = [  # kernel, stride, padding, dilation, groups
        (1, 1, 0, 1, 1), (3, 1, 1, 1, 1), (3, 2, 1, 1, 1), (2, 3, 0, 1, 1), (3, 1, 2, 2, 2), (2, 2, 1, 1, 4), (3, 2, 4, 2, 1), (4, 3, 2, 1, 2),
    ]
    for rank, f, turned in ((1, F.conv1d, F.conv_transpose1d), (2, F.conv2d, F.conv_transpose2d), (3, F.conv3d, F.conv_transpose3d)):
        for kernel, stride, padding, dilation, groups in grid if rank < 3 else grid[1:5:2]:
            space, s = (7, 6, 5)[:rank], dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
            bias = randn(4)
            yield answer(f"conv{rank}d", lambda x, w, b: f(x, w, b, **s), [randn(2, 4, *space), randn(4, 4 // groups, *[kernel] * rank), bias], **s)
            for extra in {0, stride - 1}:
                yield answer(f"conv_transpose{rank}d", lambda x, w, b: turned(x, w, b, output_padding=extra, **s),
                             [randn(1, 4, *(4, 3, 3)[:rank]), randn(4, 4 // groups, *[kernel] * rank), bias], output_padding=extra, **s)
    yield answer("conv1d", lambda x, w, b: F.conv1d(x, w, b), [randn(3, 7), randn(2, 3, 3), randn(2)], stride=1, padding=0, dilation=1, groups=1)
    for kernel, dilation in ((3, 1), (4, 1), (2, 3)):
        yield answer("conv2d_same", lambda x, w: F.conv2d(x, w, padding="same", dilation=dilation), [randn(2, 3, 6, 5), randn(3, 3, kernel, kernel)], dilation=dilation)
    # Settings of each axis.
    yield answer("conv2d_axes", lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(0, 2), dilation=(1, 2)), [randn(2, 3, 7, 6), randn(3, 3, 3, 2)])


def pooling():
    grid = [  # kernel, stride, padding, ceil
        (2, 2, 0, False), (2, 2, 0, True), (3, 2, 1, False), (3, 2, 1, True), (3, 1, 1, False), (2, 3, 1, True), (4, 3, 2, True),
    ]
    for rank in (1, 2, 3):
        for kernel, stride, padding, ceil in grid if rank < 3 else grid[2:4]:
            x, s = randn(2, 2, *(9, 8, 5)[:rank]), dict(stride=stride, padding=padding)
            yield answer(f"max_pool{rank}d", lambda x: getattr(F, f"max_pool{rank}d")(x, kernel, ceil_mode=ceil, **s), [x], kernel=kernel, ceil=int(ceil), **s)
            for count in (True, False):
                yield answer(f"avg_pool{rank}d", lambda x: getattr(F, f"avg_pool{rank}d")(x, kernel, ceil_mode=ceil, count_include_pad=count, **s), [x.detach()],
                             kernel=kernel, ceil=int(ceil), without=int(not count), **s)
    x = randn(1, 2, 9, 8)
    yield answer("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, dilation=2), [x], kernel=3, stride=2, padding=0, dilation=2, ceil=0)
    y, places = F.max_pool2d(x.detach(), 3, 2, 1, return_indices=True)
    yield case("max_pool_places", [x.detach().numpy()], [places.numpy()], kernel=3, stride=2, padding=1)
    yield answer("lp_pool2d", lambda x: F.lp_pool2d(x, 3, 2, stride=1), [x.detach().abs()], kernel=2, stride=1, padding=0, p=3)
    for height, width in ((3, 4), (1, 1), (4, 3), (9, 8), (2, 5)):
        for name in ("avg", "max"):
            yield answer(f"adaptive_{name}_pool2d", lambda x: getattr(F, f"adaptive_{name}_pool2d")(x, (height, width)), [x.detach()], height=height, width=width)


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
        f.write(("[\n" + ",\n".join(json.dumps(c) for part in (convolutions(), pooling()) for c in part) + "\n]\n").encode())


main()
