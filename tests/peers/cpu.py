"""Times mcs beside other systems on the CPU. tests/peers/run cpu prepares what this needs and starts it.

Each side is a process that answers "prepare this work" and "run it n times". The sides alternate: a round takes one
block of each, in another order each round, so that a busy or slowing machine is as bad for all of them; the ceilings of
the machine are measured in the same rounds (the best that was seen counts). Only one side works at a time.
"""
import argparse
import datetime
import os
import platform
import random
import re
import sys

import bars
import made
import table as text
from limits import Ceilings, explain
from measure import BEST_ROUNDS, ROUNDS, measure, write
from sides import PEERS, Side, start
from works import WORKS


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
    p.add_argument("-processor", action="store_true", help="compare the time of processors, not the clock's: for a machine that others use, too; with -threads 1")
    p.add_argument("-long", action="store_true", help="also the works that take minutes")
    return p.parse_args()


def main():
    a = arguments()
    works = [w for w in WORKS if re.search(a.only, w["name"]) and (a.long or not w["long"])]
    if not works:
        sys.exit(f"no work's name has {a.only!r}; the names are: " + ", ".join(w["name"] for w in WORKS))
    works = made.prepare(works)
    if hasattr(os, "sched_setaffinity"):  # for those that take every processor they see
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:a.threads])
    Side.processor = a.processor
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


if __name__ == "__main__":
    main()
