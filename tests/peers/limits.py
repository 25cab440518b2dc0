"""What the machine could do at most, measured in the run, and where mcs's time goes beside it."""
import math
import os
import subprocess

from sides import BLOCK, BUILT

PEAKS = ("f32", "bf16", "int8", "exp")


class Ceilings:
    """The machine's limits, measured by ceilings.c. What counts is the best rate of the run: anything else that runs can
    only lower it."""

    peaks, samples = PEAKS, 9  # how often a bandwidth is measured that only a kernel asks for

    def __init__(self, threads):
        self.threads, self.process, self.best = threads, None, {}
        try:
            self.process = subprocess.Popen([os.path.join(BUILT, "ceilings")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError:
            return
        for _ in range(20):
            for dtype in PEAKS:
                self.sample("flops", dtype)

    def sample(self, kind, what):
        """Measures once and returns the best so far."""
        self.best[kind, what] = max(self.once(kind, what), self.best.get((kind, what), 0))
        return self.best[kind, what]

    def once(self, kind, what):
        if not self.process or kind == "flops" and what not in self.peaks:
            return 0
        self.process.stdin.write(f"{self.threads} {kind} {what} {BLOCK}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline() or 0)

    def end(self):
        if self.process:
            self.process.stdin.close()

    def peak(self, dtype):
        """Multiply-adds of a type, or in f32 where the processor has none for it."""
        return self.best.get(("flops", dtype)) or self.best.get(("flops", "f32"), 0)

    def launch(self):
        """The seconds of a launch in a graph that has nothing to do; 0 if that is not known."""
        rate = self.best.get(("flops", "launch"))
        return 1 / rate if rate else 0

    def measure(self, work):
        """The least time that the work could take, and the limit that it comes from: its arithmetic at the peak rate, its
        exponentials, or its bytes at the bandwidth of the level of cache where that many bytes live."""
        bounds = []
        if work["flops"] and not work["tokens"]:
            self.sample("flops", work["peak"])
            bounds.append((work["flops"], self.peak(work["peak"]), "flops", work["peak"] + " peak"))
        if work["exps"]:
            bounds.append((work["exps"], self.sample("flops", "exp"), "exps", "exponentials"))
        if work["bytes"]:
            n = at_once(work)
            bounds.append((work["bytes"], self.sample(work["traffic"], n), "bytes", f"{work['traffic']} of {size(n)}"))
        return max(((self.prompt(work, amount / rate), kind, name) for amount, rate, kind, name in bounds if rate), default=(0, "", ""))

    def prompt(self, work, seconds):
        """A decode starts with one pass over the weights for all tokens of the prompt, whose arithmetic may take longer."""
        if not work["tokens"]:
            return seconds
        once = seconds / work["tokens"]
        return seconds - once + max(once, work["flops"] / self.peak(work["peak"]))

    def kernel(self, kernel, work):
        return self.kernel_bound(kernel, work)[0]

    def kernel_bound(self, kernel, work):
        """The least time of a kernel's launches of one run, and what keeps it from less. Its bytes come from where those of the
        whole work live, or a larger kernel's own; those sizes count as powers of two, so that one measurement serves many."""
        each, n = kernel["bytes"] / kernel["launches"], at_once(work)
        product = any(kind in kernel["name"] for kind in ("matmul", "lora", "conv"))
        traffic = "read" if product else "copy"
        if n < each:
            n = 1 << round(math.log2(each))
        if n and (traffic, n) not in self.best:
            for _ in range(self.samples):
                self.sample(traffic, n)
        bandwidth, peak = self.best.get((traffic, n), 0), self.peak(work["peak"] if product or "attention" in kernel["name"] else "f32")
        return max((kernel["bytes"] / bandwidth if bandwidth else 0, traffic), (kernel["flops"] / peak if peak else 0, "arithmetic"))

    def __str__(self):
        found = [f"{dtype} {self.best['flops', dtype] / 1e9:.0f}" for dtype in self.peaks if dtype != "launch" and self.best.get(("flops", dtype))]
        return "peak, GOP/s: " + ", ".join(found) if found else "no ceilings were measured"


class DeviceCeilings(Ceilings):
    """A GPU's limits, measured by a side that has them: native.cu, or PyTorch where that could not be built. The peaks are
    measured once, because they take longer than the works do, and copies anew in each round."""
    peaks, samples = ("f32", "f16", "bf16", "exp", "launch"), 2

    def __init__(self, side):
        self.side, self.process, self.best = side, None, {}
        for dtype in self.peaks if side else ():
            for _ in range(2):
                self.sample("flops", dtype)

    def once(self, kind, what):
        if not self.side or kind == "flops" and self.best.get((kind, what)):
            return 0
        name, size = (what, 0) if kind == "flops" else (kind, what)
        return self.side.ask(rate=name, bytes=size).get("rate", 0)


def at_once(work):
    """The bytes that a work touches before it touches them again: a decode reads the same weights for every token."""
    return work["bytes"] // (work["tokens"] or 1)


def size(n):
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= factor:
            return f"{n / factor:.3g} {unit}"
    return f"{n} B"


def explain(work, row, ceilings):
    """What lies between mcs and the ceiling, from its own profile: how much of a run is spent in kernels and at which share of
    what the machine allows those, the heaviest ones alone, and how much lies between them."""
    profile = row.get("profile")
    if not profile or not profile["kernels"]:
        return row["bound"]
    groups = {}
    for k in profile["kernels"]:
        # matmul_add and matmul_silu are one thing here, the product; so are the parts of an adapter
        name = k["name"].split("_")[0] if k["name"].startswith(("matmul", "lora")) else k["name"]
        seconds, least = groups.get(name, (0, 0))
        groups[name] = seconds + k["seconds"], least + ceilings.kernel(k, work)
    seconds, least = (sum(g[i] for g in groups.values()) for i in (0, 1))
    share = seconds / profile["seconds"]
    parts = sorted(groups.items(), key=lambda g: -g[1][0])[:3]
    inside = ", ".join(f"{name} {100 * s / profile['seconds']:.0f} % at {100 * least / s:.0f}" for name, (s, least) in parts)
    text = f"{row['bound']}; kernels {100 * share:.0f} % of a run, at {100 * least / seconds:.0f} % of their ceilings"
    if len(groups) > 1:
        text += f" ({inside})"
    return f"{text}; {100 * (1 - share):.0f} % around {launches(profile['launches'])}"


def launches(n):
    return "1 launch" if n == 1 else f"{n:.0f} launches"
