"""Times mcs beside other systems on the CPU. tests/peers/run cpu prepares what this needs and starts it.

Each side is a process that answers "prepare this work" and "run it n times". The sides alternate: a round takes one
block of each, in another order each round, so that a busy or slowing machine is as bad for all of them; the ceilings of
the machine are measured in the same rounds (the best that was seen counts). Only one side works at a time.
"""
import argparse
import datetime
import json
import math
import os
import platform
import random
import re
import select
import statistics
import subprocess
import sys
import time

import bars
from bars import fastest
from works import WORKS

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(HERE, ".venv", "built")
PEERS = ("numpy", "torch", "compile", "jax", "candle", "mlx")
LABEL = {"torch": "PyTorch", "compile": "t.compile", "numpy": "NumPy", "jax": "JAX", "mlx": "MLX"}

BLOCK = 0.010  # a block lasts at least so many seconds
ROUNDS = 9
BEST_ROUNDS = 25  # with -best: a busy machine needs more until one is undisturbed
BUDGET = 0.4  # seconds for the blocks of one side and work; at least 3 blocks are taken
SLOW = 1.0  # a run longer than this is timed once if mcs is ten times faster
PAUSE = 0.03  # before a block: the threads of OpenMP and OpenBLAS wait actively for so long after their last work
PATIENCE = 300  # seconds after which a side has failed


class Side:
    """A worker process."""

    def __init__(self, name, command, env):
        self.name, self.absent, self.version = name, None, ""
        self.buffer = b""
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=HERE,
                                            stderr=subprocess.PIPE if name == "mlx" else None)
        except OSError as e:
            self.absent = e.strerror
            return
        hello = self.receive()
        self.absent, self.version = hello.get("absent"), hello.get("version", "")

    def receive(self):
        until = time.monotonic() + PATIENCE
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            got = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not got:
                self.process.kill()
                self.absent = "the process ended" if ready else f"no answer in {PATIENCE} s"
                return {"absent": self.absent}
            self.buffer += got
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def ask(self, **request):
        if self.absent:
            return {"absent": self.absent}
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            self.absent = "the process ended"
            return {"absent": self.absent}
        return self.receive()

    def run(self, n):
        """Seconds a run takes, or None if it failed."""
        answer = self.ask(run=n)
        self.memory = answer.get("memory", 0)
        return answer["seconds"] / n if "seconds" in answer else None

    def calibrate(self):
        """How many runs fill a block, and how long one takes. Short work is warmed up more."""
        one, n = self.run(1), 1
        while one and n * one < BLOCK / 4:
            n = max(n + 1, min(n * 10, math.ceil(BLOCK / one)))
            one = self.run(n)
        return one and max(1, math.ceil(BLOCK / one)), one


class Ceilings:
    """The machine's limits, measured by ceilings.c."""

    def __init__(self, threads):
        self.threads, self.process, self.best = threads, None, {}
        try:
            self.process = subprocess.Popen([os.path.join(BUILT, "ceilings")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError:
            pass

        for _ in range(20):
            for dtype in ("f32", "bf16", "int8"):
                self.sample("flops", dtype)

    def sample(self, kind, what):
        """Measures once. What counts is the best rate of the run: anything else that runs can only lower it."""
        if not self.process:
            return 0
        self.process.stdin.write(f"{self.threads} {kind} {what} {BLOCK}\n")
        self.process.stdin.flush()
        rate = float(self.process.stdout.readline() or 0)
        self.best[kind, what] = max(rate, self.best.get((kind, what), 0))
        return self.best[kind, what]

    def measure(self, work):
        """The least time that the work could take: its arithmetic at the peak rate, or its bytes at the bandwidth of
        the level of cache where that many bytes live. Also says which of them it is."""
        least = (0, "")
        if work["flops"]:
            peak = self.sample("flops", work["peak"]) or self.sample("flops", "f32")
            if peak:
                least = max(least, (work["flops"] / peak, "flops"))
        if work["bytes"]:
            # A decode reads the same weights for every token.
            rate = self.sample(work["traffic"], work["bytes"] // work.get("tokens", 1))
            if rate:
                least = max(least, (work["bytes"] / rate, "bytes"))
        return least

    def __str__(self):
        peaks = [f"{dtype} {self.best['flops', dtype] / 1e9:.0f}" for dtype in ("f32", "bf16", "int8") if self.best.get(("flops", dtype))]
        return "peak, GOP/s: " + ", ".join(peaks) if peaks else "no ceilings were measured"


def environment(threads):
    env = dict(os.environ, PYTHONPATH=HERE, PYTHONWARNINGS="ignore", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1",
               TRANSFORMERS_VERBOSITY="error", JAX_PLATFORMS="cpu", TORCHINDUCTOR_COMPILE_THREADS="1",
               TORCHINDUCTOR_CACHE_DIR=os.path.join(HERE, ".venv", "inductor"))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS"):
        env[name] = str(threads)
    return env


def start(peers, threads):
    """The sides that are there, mcs first; says in one line each which are not."""
    env = environment(threads)
    sides = []
    for name in ("mcs", *peers):
        if name in ("mcs", "candle"):
            command = [os.path.join(BUILT, name), str(threads)]
        else:
            command = [sys.executable, os.path.join(HERE, "worker.py"), name, str(threads)]
        side = Side(name, command, env)
        if side.absent:
            print(f"no {name}: {side.absent}", file=sys.stderr)
            if name == "mcs":
                sys.exit(1)
            continue
        sides.append(side)
    return sides


def differs(got, want, close):
    """Why the samples of two results are not the same, or None."""
    if len(got) != len(want):
        return f"{len(got)} results, mcs has {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        if len(a) != len(b):
            return f"result {i}: {len(a)} samples, mcs has {len(b)}"
        largest = max(map(abs, b))
        worst = max(abs(x - y) for x, y in zip(a, b))
        if not worst <= close * largest:
            return f"result {i} differs by {worst:.2g} of {largest:.2g}"
    return None


def measure(work, sides, ceilings, order, best):
    """The rows of one work: {peer: {...}} in the order of the sides."""
    rows, active, want = {}, [], None
    for side in sides:
        answer = side.ask(prepare=work)
        if "absent" in answer:
            if answer["absent"].startswith("failed") or side.name == "mcs":
                print(f"{work['name']}: {side.name}: {answer['absent'].splitlines()[0]}", file=sys.stderr)
            if side.name == "mcs":
                return {}
            continue
        want = want or answer["result"]
        disagrees = differs(answer["result"], want, work["close"])
        if disagrees:
            print(f"{work['name']}: {side.name} disagrees with mcs: {disagrees}", file=sys.stderr)
        n, one = side.calibrate()
        if not one:
            print(f"{work['name']}: {side.name} failed", file=sys.stderr)
            continue
        active.append((side, n, one))
        rows[side.name] = {"agrees": not disagrees, "times": []}
    fastest = min(one for _, _, one in active)
    rounds = BEST_ROUNDS if best else ROUNDS
    for _ in range(rounds):
        left = 0
        order.shuffle(active)
        for side, n, one in active:
            times = rows[side.name]["times"]
            most = max(3, min(rounds, int(BUDGET / (n * one))))
            if one > SLOW and one > 10 * fastest:
                most = 1
            if len(times) >= most:
                continue
            left += 1
            time.sleep(PAUSE)
            took = side.run(n)
            if took is None:
                print(f"{work['name']}: {side.name} failed", file=sys.stderr)
                took = float("inf")
            times.append(took)
            rows[side.name]["memory"] = side.memory
        if not left:
            break
        bound = ceilings.measure(work)
    return finish(work, rows, *bound, min if best else statistics.median)


def finish(work, rows, bound, limit, middle):
    """Times, ratios to mcs and shares of the ceiling."""
    mcs = middle(rows["mcs"]["times"])
    for name, row in rows.items():
        seconds = middle(row["times"])
        row.update(work=work["name"], peer=name, seconds=seconds, ratio=seconds / mcs, share=bound / seconds if bound else None,
                   limit=limit, samples=len(row.pop("times")))
        amount = work.get(limit)
        row["rate"] = amount / seconds if amount else None
    return rows


def duration(s):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if s * factor >= 1 or unit == "µs":
            return f"{s * factor:.3g} {unit}" if s * factor < 1000 else f"{s * factor:.0f} {unit}"


def header(sides):
    return f"{'work':34} {'mcs':>9} {'rate':>12} {'share':>6}  " + " ".join(f"{LABEL.get(s.name, s.name):>16}" for s in sides[1:])


def line(work, rows, sides):
    m = rows["mcs"]
    unit = {"flops": "GFLOP/s", "bytes": "GB/s"}.get(m["limit"], "")
    rate = f"{m['rate'] / 1e9:.4g} {unit}" if m["rate"] else ""
    share = f"{100 * m['share']:.0f} %" if m["share"] else ""
    cells = []
    for s in sides[1:]:
        r = rows.get(s.name)
        cells.append(f"{duration(r['seconds'])} {r['ratio']:5.2f}×{'' if r['agrees'] else '!'}" if r else "–")
    return f"{work['name']:34} {duration(m['seconds']):>9} {rate:>12} {share:>6}  " + " ".join(f"{c:>16}" for c in cells)


def summary(table):
    """Geometric means over the kinds of work, and the works where mcs loses, worst first."""
    kinds, lost = {}, []
    for name, rows in table.items():
        best = fastest(rows)
        if not best:
            continue
        kinds.setdefault(name.split("/")[0], []).append(best[0])
        if best[0] < 1:
            lost.append((best[0], name, best[1]))
    yield "fastest peer's time over mcs's, geometric mean (worst):"
    for kind, ratios in kinds.items():
        yield f"  {kind:14} {math.exp(statistics.mean(map(math.log, ratios))):5.2f}× ({min(ratios):.2f}×) in {len(ratios)}"
    yield f"mcs is slower than the fastest peer in {len(lost)} of {sum(map(len, kinds.values()))}, worst first:"
    for ratio, name, peer in sorted(lost):
        yield f"  {ratio:5.2f}×  {name} ({peer})"
    yield "the bars whose works were measured:"
    yield from bars.report(table)


def markdown(table, sides):
    """The table of docs/performance.md: each peer's time over mcs's."""
    yield "| work | mcs | rate | share | " + " | ".join(LABEL.get(s.name, s.name) for s in sides[1:]) + " |"
    yield "|---|" + "--:|" * (len(sides) + 2)
    for name, rows in table.items():
        m = rows["mcs"]
        unit = {"flops": "GFLOP/s", "bytes": "GB/s"}.get(m["limit"], "")
        cells = [name, duration(m["seconds"]), f"{m['rate'] / 1e9:.3g} {unit}" if m["rate"] else "", f"{100 * m['share']:.0f} %" if m["share"] else ""]
        cells += [f"{rows[s.name]['ratio']:.2f}" if s.name in rows else "" for s in sides[1:]]
        yield "| " + " | ".join(cells) + " |"


def memory_line(rows):
    """The most memory that each side held, libraries included."""
    held = [f"{LABEL.get(name, name)} {r['memory'] / 2**20:.0f} MiB" for name, r in rows.items() if r.get("memory")]
    return f"{'  peak memory':34} " + ", ".join(held)


def machine():
    try:
        with open("/proc/cpuinfo") as f:
            return re.search(r"model name\s*: (.*)", f.read())[1]
    except (OSError, TypeError):
        return platform.processor() or platform.machine()


def arguments():
    p = argparse.ArgumentParser(prog="tests/peers/run cpu", description=__doc__.splitlines()[0])
    p.add_argument("-json", metavar="FILE", help="write one object a work and peer, one a line")
    p.add_argument("-markdown", metavar="FILE", help="write the table as docs/performance.md has it")
    p.add_argument("-only", metavar="PATTERN", default="", help="only the works in whose name this regular expression is found")
    p.add_argument("-peers", default=",".join(PEERS), help="only these (default: %(default)s)")
    p.add_argument("-threads", type=int, default=2, help="of every side (default: 2)")
    p.add_argument("-best", action="store_true", help="take the best block of each side, not the median: for a machine that others use, too")
    p.add_argument("-long", action="store_true", help="also the works that take minutes")
    return p.parse_args()


def main():
    a = arguments()
    works = [w for w in WORKS if re.search(a.only, w["name"]) and (a.long or not w["long"])]
    if not works:
        sys.exit(f"no work's name has {a.only!r}; the names are: " + ", ".join(w["name"] for w in WORKS))
    if hasattr(os, "sched_setaffinity"):  # for those that take every processor they see
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:a.threads])
    sides, ceilings = start([p for p in a.peers.split(",") if p in PEERS], a.threads), Ceilings(a.threads)
    print(f"{datetime.date.today()}, {machine()}, {a.threads} threads, load {os.getloadavg()[0]:.1f} before; "
          + ", ".join(f"{LABEL.get(s.name, s.name)} {s.version}" for s in sides[1:]))
    print(f"{'the best block' if a.best else 'the median'} of at most {BEST_ROUNDS if a.best else ROUNDS} rounds; a peer's time, and its ratio to mcs's: above 1 mcs is faster; ! the result differs\n")
    print(header(sides))
    table, order = {}, random.Random(1)
    out = open(a.json, "w") if a.json else None
    for w in works:
        rows = measure(w, sides, ceilings, order, a.best)
        if not rows:
            continue
        table[w["name"]] = rows
        print(line(w, rows, sides), flush=True)
        if w["kind"] in ("train", "decode"):
            print(memory_line(rows), flush=True)
        if out:
            for row in rows.values():
                out.write(json.dumps(row) + "\n")
            out.flush()
    if a.markdown:
        with open(a.markdown, "w") as f:
            f.write("\n".join(markdown(table, sides)) + "\n")
    print(f"\n{ceilings}\n" + "\n".join(summary(table)))
    if any(not r["agrees"] for rows in table.values() for r in rows.values()):
        sys.exit("some results differ")


if __name__ == "__main__":
    main()
