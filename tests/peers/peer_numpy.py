"""NumPy's side of the comparison."""
import numpy as np

from inputs import Absent, lora_inputs, values


class NumPy:
    """NumPy: the forward work that is a few calls."""

    def prepare(self, w):
        f32 = np.float32
        kind = w["kind"]
        if w.get("grad") or w.get("dtype") == "bf16":
            raise Absent("no gradients, no bf16")
        if kind == "lora":
            x, wt, a, b = lora_inputs(w)[:4]
            return lambda: [x @ wt + f32(2) * (x @ a) @ b]
        if kind == "matmul":
            a, b = values(1, w["n"], w["n"]), values(2, w["n"], w["n"])
            return lambda: [a @ b]
        if kind == "matvec":
            x, wt = values(1, 1, w["k"]), values(2, w["n"], w["k"])
            return lambda: [x @ wt.T]
        if kind == "chain":
            x, y = values(1, w["m"], w["n"]), values(2, w["m"], w["n"])
            return lambda: [np.tanh(x * y + f32(0.5)) * (f32(1) / (f32(1) + np.exp(-x))) - y]
        if kind == "small":
            x, y = values(1, 4, 4), values(2, 4, 4)
            return lambda: [x + y]
        raise Absent("not a few calls")

    def wait(self, outputs):
        pass

    def numpy(self, outputs):
        return outputs
