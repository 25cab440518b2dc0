"""NumPy's side of the regression in examples/ridge.mcs, which puts out the same lines."""
import numpy as np

t = np.arange(200.0)[:, None]
x = np.sin(0.7 * t * np.arange(1, 9))
truth = np.arange(-7.0, 9, 2)[:, None] / 7
y = x @ truth + 0.1 * np.sin(78.233 * t)


def ridge(l):
    return np.linalg.solve(x.T @ x + l * np.eye(8), x.T @ y)


for l in [0, 1, 100]:
    w = ridge(l)
    print(f"lambda {l:3}: |w| {np.linalg.norm(w):.4f}, off by {np.abs(w - truth).max():.4f} at most")
print(np.allclose(ridge(0), np.linalg.lstsq(x, y, rcond=None)[0], 1e-9, 1e-9))
same = np.concatenate([x, x], 1)
print(np.linalg.matrix_rank(same), "of", same.shape[1])
