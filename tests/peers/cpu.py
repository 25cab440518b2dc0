"""Times mcs beside other systems on the CPU. tests/peers/run cpu prepares what this needs and starts it.

Each side is a process that answers "prepare this work" and "run it n times". The sides alternate: a round takes one
block of each, in another order each round, so that a busy or slowing machine is as bad for all of them; the ceilings of
the machine are measured in the same rounds (the best that was seen counts). Only one side works at a time.
"""
import argparse
import datetime
import json
import os
import platform
import random
import re
import statistics
import sys
import time

import bars
import table as text
from limits import Ceilings, explain
from sides import PEERS, start
from works import WORKS

ROUNDS = 9
BEST_ROUNDS = 25  # with -best: a busy machine needs more until one is undisturbed
BUDGET = 0.4  # seconds for the blocks of one side and work; at least 3 blocks are taken
SLOW = 1.0  # a run longer than this is timed once if mcs is ten times faster
PAUSE = 0.03  # before a block: the threads of OpenMP and OpenBLAS wait actively for so long after their last work
PROFILE = 0.05  # seconds of runs for mcs's profile, at least one


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


def prepare(work, sides):
    """The sides that do the work, each with its number of runs a block and the time of one, and their rows."""
    rows, active, want = {}, [], None
    for side in sides:
        if not side.does(work):
            continue
        answer = side.ask(prepare=work)
        if "absent" in answer:
            if answer["absent"].startswith("failed") or side.name == "mcs":
                print(f"{work['name']}: {side.name}: {answer['absent'].splitlines()[0]}", file=sys.stderr)
            if side.name == "mcs":
                return [], {}
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
    return active, rows


def measure(work, sides, ceilings, order, best):
    """The rows of one work: {peer: {...}} in the order of the sides."""
    active, rows = prepare(work, sides)
    if not active:
        return {}
    fastest = min(one for _, _, one in active)
    rounds, bound = BEST_ROUNDS if best else ROUNDS, (0, "", "")
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
    finish(work, rows, *bound, min if best else statistics.median)
    n = max(1, int(PROFILE / rows["mcs"]["seconds"]))
    rows["mcs"]["profile"] = min((sides[0].profile(n) for _ in range(3)), key=lambda p: p["seconds"])
    return rows


def finish(work, rows, bound, limit, name, middle):
    """Times, ratios to mcs and shares of the ceiling."""
    mcs = middle(rows["mcs"]["times"])
    for peer, row in rows.items():
        seconds = middle(row["times"])
        row.update(work=work["name"], peer=peer, seconds=seconds, ratio=seconds / mcs, share=bound / seconds if bound else None,
                   limit=limit, bound=name, samples=len(row.pop("times")))
        amount = work.get(limit)
        row["rate"] = amount / seconds if amount else None


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
          + ", ".join(f"{s.label} {s.version}" for s in sides[1:] if s.name in PEERS))
    print(f"{'the best block' if a.best else 'the median'} of at most {BEST_ROUNDS if a.best else ROUNDS} rounds; a peer's time, and its ratio to mcs's: above 1 mcs is faster; ! the result differs\n")
    print(text.header(sides))
    table, order = {}, random.Random(1)
    for w in works:
        rows = measure(w, sides, ceilings, order, a.best)
        if not rows:
            continue
        table[w["name"]] = rows
        print(text.line(w, rows, sides), flush=True)
        if w["kind"] in ("train", "decode"):
            print(text.memory(rows), flush=True)
        write(a, table, sides)  # what is there if the run is stopped
    missed = bars.missed(table)
    for w in works:
        if w["name"] in missed:
            row = table[w["name"]]["mcs"]
            row["limited"] = explain(w, row, ceilings)
    write(a, table, sides)
    print(f"\n{ceilings}\n" + "\n".join(text.summary(table)))
    if any(not r["agrees"] for rows in table.values() for r in rows.values()):
        sys.exit("some results differ")


def write(a, table, sides):
    if a.json:
        with open(a.json, "w") as f:
            f.writelines(json.dumps(row) + "\n" for rows in table.values() for row in rows.values())
    if a.markdown:
        with open(a.markdown, "w") as f:
            f.write("\n".join(text.markdown(table, sides)) + "\n")


if __name__ == "__main__":
    main()
