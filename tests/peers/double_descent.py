"""The NumPy twin of examples/double_descent.mcs: its lines and its numbers.

    python3 tests/peers/double_descent.py
"""
import matplotlib.pyplot as plt
import numpy as np


def noise(rows, columns, at):
    v = np.sin((np.arange(rows * columns) + at).reshape(rows, columns) * 12.9898) * 43758.5453
    return v - np.floor(v) - 0.5


x, others = noise(40, 8, 0), noise(500, 8, 1000)
def target(x): return np.abs(x).sum(1, keepdims=True)
y = target(x) + noise(40, 1, 9000) * 0.5
weights = noise(8, 800, 10000)
def features(x, n): return np.maximum(x @ weights[:, :n], 0)
widths, train, test = [2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 80, 100, 200, 400, 800], [], []
for n in widths:
    w = np.linalg.lstsq(features(x, n), y, rcond=None)[0]
    train.append(np.square(features(x, n) @ w - y).mean())
    test.append(np.square(features(others, n) @ w - target(others)).mean())
    print("%3d features: %.2f seen, %.2f not seen" % (n, train[-1], test[-1]))
plt.plot(widths, train, label="seen")
plt.plot(widths, test, label="not seen")
plt.loglog()
plt.ylim(0.01, 1000)
plt.title("double descent")
plt.xlabel("features")
plt.ylabel("error")
plt.legend()
plt.savefig("double_descent.png")
