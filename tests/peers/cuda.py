"""Runs all that is to be seen of mcs on a GPU, beside PyTorch and cuBLASLt. tests/peers/run cuda prepares what this needs and
starts it.

Its steps each end with a line that says how they went, and write what they saw into a folder:
  compare      times, shares and ratios of works_gpu.py, as cpu.py has them: compare.md, compare.json
  kernels      each kind of kernel at a large size, beside the ceilings: kernels.md, kernels.json
  backendtest  the suite of all backends
  onnx         ONNX's node cases (-onnx)
  lora         examples/lora.mcs on the GPU and on the processor
  emulated     each kind of kernel on the emulated GPU, plain and under clang's sanitizers; it needs no GPU
  sanitize     memcheck and racecheck of compute-sanitizer over each kind of kernel
The last two take minutes and are only made if they are asked for. The table of kernels is written at the end: it says which
kernels have passed in these, of which the logs lie in the same folder.
"""
import argparse
import datetime
import json
import os
import random
import re
import subprocess
import sys
import traceback

import bars
import checks
import table as text
from limits import Ceilings, DeviceCeilings, explain
from measure import BEST_ROUNDS, ROUNDS, measure, shortest, split, write
from sides import BUILT, GPU_PEERS, OWN, start
from works_gpu import LARGE, QUICK, works

STEPS = ("compare", "kernels", "backendtest", "onnx", "lora", "emulated", "sanitize")


def arguments():
    p = argparse.ArgumentParser(prog="tests/peers/run cuda", description=__doc__.splitlines()[0])
    p.add_argument("-device", default="cuda:0", help="the device, as both sides call it (default: %(default)s)")
    p.add_argument("-o", metavar="DIR", default="", help="where results and logs go (default: a folder of today in tests/peers/.venv)")
    p.add_argument("-steps", metavar="LIST", default=",".join(STEPS[:5]), help="which steps (default: %(default)s)")
    p.add_argument("-sanitize", action="store_true", help="only the step sanitize")
    p.add_argument("-only", metavar="PATTERN", default="", help="only the works, and families of kernels, in whose name this regular expression is found")
    p.add_argument("-peers", default=",".join(GPU_PEERS), help="only these (default: %(default)s)")
    p.add_argument("-quick", action="store_true", help="small sizes, which show that everything runs and nothing else")
    p.add_argument("-best", action="store_true", help="take the best block of each side, not the median")
    p.add_argument("-threads", type=int, default=min(16, os.cpu_count() or 1), help="of every side (default: %(default)s)")
    p.add_argument("-mcs", metavar="FILE", help="programs that tests/peers/run build FILE has made, for where there is no Go")
    p.add_argument("-onnx", metavar="FILE", help="zip of ONNX's node cases (default: made by Python's onnx)")
    p.add_argument("-limit", type=int, default=1800, metavar="SECONDS", help="of each check (default: %(default)s)")
    a = p.parse_args()
    a.steps = ["sanitize"] if a.sanitize else a.steps.split(",")
    unknown = [s for s in a.steps if s not in STEPS]
    if unknown:
        p.error(f"got the step {unknown[0]!r}, want some of {', '.join(STEPS)}")
    a.o = os.path.abspath(a.o or os.path.join(os.path.dirname(BUILT), f"cuda-{datetime.date.today()}"))
    return a


def driver():
    """The GPU's driver, as its own tool tells."""
    try:
        out = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return out.stdout.partition("\n")[0].strip()


def ceilings(a, sides):
    """The device's limits: a processor's own program has them, or the first side that can tell."""
    if a.device.partition(":")[0] == "cpu":
        return Ceilings(a.threads)
    return DeviceCeilings(next((s for name in ("native", "torch") for s in sides if s.name == name), None))


def compare(a, sides, limits, head):
    chosen = [w for w in works(a.quick) if re.search(a.only, w["name"])]
    print(f"{'the best block' if a.best else 'the median'} of at most {BEST_ROUNDS if a.best else ROUNDS} rounds; a side's time, and its ratio to mcs's: above 1 mcs is faster; ! the result differs\n")
    print(text.header(sides))
    table, order, wrong = {}, random.Random(1), []
    a.json, a.markdown = os.path.join(a.o, "compare.json"), os.path.join(a.o, "compare.md")
    for w in chosen:
        rows = measure(w, sides, limits, order, a.best)
        if not rows:
            wrong.append(w["name"])
            continue
        table[w["name"]] = rows
        if w["kind"] in ("train", "decode"):
            split(w, rows["mcs"], shortest_kernel(table), limits.launch())
        wrong += [f"{w['name']} ({peer})" for peer, r in rows.items() if not r["agrees"]]
        print(text.line(w, rows, sides) + "   {:>4} launches, {} in kernels".format(*text.inside(rows)))
        print(end=text.ways(rows, sides))
        if w["kind"] in ("train", "decode"):
            print(text.memory(rows) + "\n" + text.steps(w, rows))
        write(a, table, sides)  # what is there if the run is stopped
    missed = bars.missed(table, bars.GPU_BARS)
    for w in chosen:
        if w["name"] in missed:
            row = table[w["name"]]["mcs"]
            row["limited"] = explain(w, row, limits)
    write(a, table, sides)
    prepend(a.markdown, head)
    print(f"\n{limits}\n" + "\n".join(text.summary(table, bars.GPU_BARS)))
    return not wrong, f"{len(table)} works" + (f"; failed or other results: {', '.join(wrong)}" if wrong else ", all results agree")


def shortest_kernel(table):
    """What a kernel with next to nothing to do takes by the device's clock, in seconds; 0 if none was run."""
    profiles = [rows["mcs"]["profile"] for name, rows in table.items() if name.startswith("small/") and rows["mcs"].get("profile")]
    return min((k["seconds"] / k["launches"] for p in profiles for k in p["kernels"]), default=0)


def kernels(a, side, limits, head):
    """Each family of kernels at one large size; the shaders' own, where a library would do some of it."""
    size = QUICK if a.quick else LARGE
    count, failed, out = 0, [], open(os.path.join(a.o, "kernels.json"), "w", buffering=1)  # what is there if the run is stopped
    print(json.dumps({"head": head}), file=out)
    for f in side.ask(families=True)["families"]:
        if not re.search(a.only, f["name"]):
            continue
        work = dict(kind="family", family=f["name"], name=f["name"], m=size["rows"], n=size["columns"], peak=f["peak"], bytes=0, tokens=0)
        side.revive()
        answer = side.ask(prepare=work)
        profile = None if "absent" in answer else shortest(side, 3)
        if not profile:
            failed.append(f["name"])
            print(f"{f['name']}: {answer.get('absent', 'no profile').splitlines()[0]}", file=sys.stderr)
            continue
        for k in profile["kernels"]:
            least, bound = limits.kernel_bound(k, work)
            count += 1
            print(json.dumps(dict(k, work=f["name"], share=least / k["seconds"] if k["seconds"] and least else None, bound=bound)), file=out)
    side.drop()
    out.close()
    return not failed, f"{count} kernels" + (f"; failed: {', '.join(failed)}" if failed else "")


# The checks that run each family of kernels, by the name of their log; the table of kernels tells which have passed.
RUNS = ("emulated", "emulated-address", "emulated-undefined", "memcheck", "racecheck")


def joined(a):
    """Writes the table of kernels, with what their families have passed in the checks whose logs lie beside it."""
    path = os.path.join(a.o, "kernels.json")
    if not os.path.exists(path):
        return
    with open(path) as f:
        head, *rows = map(json.loads, f)
    passed = {}
    for run in RUNS:
        try:
            with open(os.path.join(a.o, run + ".log"), errors="replace") as log:
                passed[run] = set(re.findall(r"^ +--- PASS: TestFamilies/(\S+)", log.read(), re.M))
        except OSError:
            continue
    table = "\n".join(text.kernels(rows, passed))
    with open(os.path.join(a.o, "kernels.md"), "w") as out:
        out.write(head["head"] + "\n\n" + table + "\n")
    print("\n" + table)


def prepend(path, head):
    with open(path) as f:
        body = f.read()
    with open(path, "w") as f:
        f.write(head + "\n\n" + body)


def logged(path):
    """Writes all that this process and those that it starts print into a file, too. Returns what to call at the end."""
    tee = subprocess.Popen(["tee", path], stdin=subprocess.PIPE)
    os.dup2(tee.stdin.fileno(), 1)
    os.dup2(1, 2)
    tee.stdin.close()
    sys.stdout.reconfigure(line_buffering=True)

    def end(sides):
        for side in sides:
            side.end()
        sys.stdout.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            tee.wait(5)
        except subprocess.TimeoutExpired:  # a process that was started is still there, and may print
            pass
    return end


def main():
    a = arguments()
    os.makedirs(a.o, exist_ok=True)
    end, sides = logged(os.path.join(a.o, "run.log")), []
    try:
        good = all([ok is not False for ok in do(a, sides)])
    finally:
        end(sides)
    sys.exit(0 if good else 1)


def do(a, sides):
    """Does the steps, and yields whether each went well. The sides that it starts are added to sides."""
    verdicts, limits = [], None
    if {"compare", "kernels"} & set(a.steps):
        sides += start([p for p in a.peers.split(",") if p in GPU_PEERS], a.threads, a.device)
        limits = ceilings(a, sides)
    head = ", ".join(part for part in (
        str(datetime.date.today()), sides[0].device if sides else a.device, driver(), *(f"{s.label} {s.version}" for s in sides[1:] if s.name in GPU_PEERS),
        "`tests/peers/run cuda " + " ".join(sys.argv[1:]) + "`") if part)
    print(head)
    for step in a.steps:
        print(f"\n== {step}")
        try:
            if step == "compare":
                ok, what = compare(a, sides, limits, head)
            elif step == "kernels":
                ok, what = kernels(a, next((s for s in sides if s.name == OWN), sides[0]), limits, head)
            else:
                ok, what = getattr(checks, step)(a)
        except Exception as e:  # the next steps are worth to be made all the same
            traceback.print_exc()
            ok, what = False, f"{type(e).__name__}: {e}"
        verdicts.append((step, ok, what))
        with open(os.path.join(a.o, "verdicts.txt"), "w") as f:
            f.write(head + "\n" + "\n".join(map(verdict, verdicts)) + "\n")
        yield ok
    if limits:
        limits.end()
    joined(a)
    print("\n" + "\n".join(map(verdict, verdicts)) + f"\nall of it is in {a.o}")


def verdict(v):
    step, ok, what = v
    return f"{step:12} {'skipped' if ok is None else 'ok' if ok else 'FAILED'}: {what}"


if __name__ == "__main__":
    main()
