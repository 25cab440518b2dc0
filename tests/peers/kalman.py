"""NumPy's side of examples/kalman.mcs, which puts out the same lines."""
import numpy as np

steps = 40
t = np.arange(steps, dtype=float)
truth = np.stack([t, 10 * np.sin(t / 12)], 1)
measured = truth + 2 * np.sin(np.stack([12.9898 * t, 78.233 * t], 1))
move = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]])
see = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])


def filter(unsteady):
    x, p, places, likelihood = see.T @ measured[0], np.eye(4) * 10, [], 0.0
    for z in measured[1:]:
        x, p = move @ x, move @ p @ move.T + np.eye(4) * unsteady
        s = see @ p @ see.T + np.eye(2) * 2
        off = z - see @ x
        likelihood -= (off @ np.linalg.solve(s, off) + np.linalg.slogdet(s)[1]) / 2
        gain = np.linalg.solve(s, see @ p).T
        x, p = x + gain @ off, p - gain @ see @ p
        places.append(see @ x)
    return np.stack(places), likelihood


def off(places):
    return np.sqrt(np.mean((places - truth[1:]) ** 2))


print(f"measured: off by {off(measured[1:]):.4f}")
for unsteady in [1e-4, 1e-2, 1.0]:
    places, likelihood = filter(unsteady)
    print(f"unsteadiness {unsteady:g}: off by {off(places):.4f}, log-likelihood {likelihood:.3f}")

# The best unsteadiness, by Newton's method on its logarithm; derivatives by differences, which NumPy leaves to its user.
log, h = np.log(1e-2), 1e-3
for _ in range(5):
    below, at, above = (filter(np.exp(log + d))[1] for d in (-h, 0, h))
    log -= (above - below) / (2 * h) / ((above - 2 * at + below) / h**2)
places, likelihood = filter(np.exp(log))
print(f"unsteadiness {np.exp(log):.4f}: off by {off(places):.4f}, log-likelihood {likelihood:.3f}")
