"""NumPy's side of examples/pca.mcs, which puts out the same lines."""
import numpy as np

glyphs = [
    "01110100011001110101110011000101110", "00100011000010000100001000010001110", "01110100010000100010001000100011111",
    "11111000100010000010000011000101110", "00010001100101010010111110001000010", "11111100001111000001000011000101110",
    "00110010001000011110100011000101110", "11111000010001000100010000100001000", "01110100011000101110100011000101110",
    "01110100011000101111000010001001100",
]
count, side = 600, 12
pixels = np.zeros((count, side, side))
for n in range(count):
    for i, c in enumerate(glyphs[n % 10]):
        pixels[n, n // 10 % 2 + i // 5, n // 20 % 2 + i % 5] = 0.7 * int(c)
n, i = np.arange(count)[:, None], np.arange(side * side)
noise = (n * n * 31 + i * i * 17 + n * i * 7) % 60
x = pixels.reshape(count, side * side) + noise / 255
x = x - x.mean(0)

_, s, vt = np.linalg.svd(x, full_matrices=False)
share = np.cumsum(s * s / np.sum(s * s))
for k in [1, 2, 10, 40]:
    back = x @ vt[:k].T @ vt[:k]
    print(f"{k:2d} components: {share[k-1]:.4f} of the variance, off by {np.sqrt(np.mean((x - back) ** 2)):.4f}")

z, digit = x @ vt[:20].T, np.arange(count) % 10
means = np.stack([z[digit == d].mean(0) for d in range(10)])
far = ((z[:, None] - means) ** 2).sum(-1)
print(f"{np.mean(far.argmin(1) == digit):.4f} are nearest to the mean of their digit")
