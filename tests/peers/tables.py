"""Reads one CSV with mcs, pandas (both engines) and polars, side by side, each time in a process of its own.

    python tests/peers/tables.py [-gigabytes 1] [-rounds 3] [-only REGEX]          (pandas, polars, pyarrow, Go)

The file has integers, floats of 4 to 17 digits, words, names, bools and days, is made in a temporary folder, and lies in the
page cache when it is read. A line has the best and the median wall time, the processor's time, and the most memory that the process
held. Numbers of rows and sums have to be equal.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

PEERS = {
    "read (cat)": "import time\ns = time.time()\nwith open(p, 'rb', buffering=0) as f:\n    while f.read(1 << 20): pass\nt = time.time() - s",
    "pandas, C": "import pandas as pd",
    "pandas, pyarrow": "import pandas as pd",
    "polars": "import polars as pl",
}
CALLS = {
    "pandas, C": "pd.read_csv(p)",
    "pandas, pyarrow": "pd.read_csv(p, engine='pyarrow')",
    "polars": "pl.read_csv(p, try_parse_dates=True)",
}


def make(path, size):
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as csv

    rng, n, at = np.random.default_rng(1), 1_000_000, 0
    words = np.array(["red", "green", "blue", "yellow", "black", "white", "violet", "brown"])
    with open(path, "wb") as f:
        while f.tell() < size:
            t = pa.table({
                "id": np.arange(at, at + n), "x": np.round(rng.normal(size=n), 4), "y": np.round(rng.normal(size=n) * 100, 2), "z": rng.random(n),
                "colour": words[rng.integers(0, 8, n)], "count": rng.integers(0, 1000, n), "ok": rng.random(n) < 0.5,
                "name": np.char.add("item ", rng.integers(0, 10**7, n).astype(str)),
                "day": (np.datetime64("2020-01-01") + rng.integers(0, 2000, n)).astype(str),
            })
            csv.write_csv(t, f, csv.WriteOptions(include_header=at == 0))
            at += n


def make_apart(path, size):
    """In a process of its own: memory of this one would count as that of the sides."""
    subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {HERE!r}); import tables; tables.make({path!r}, {size})"], check=True)


def run(command):
    p = subprocess.Popen(command, stdout=subprocess.PIPE)
    out = p.stdout.read()
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode != 0:
        sys.exit(f"{command[0]} failed")
    return json.loads(out) | {"cpu": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss * 1024}


def python(name, path):
    code = f"p = {path!r}\n{PEERS[name]}\n"
    if name in CALLS:
        code += f"import time\ns = time.time()\nd = {CALLS[name]}\nt = time.time() - s\n"
        code += "import json\nprint(json.dumps(dict(seconds=t, rows=len(d), sum=float(d['x'].sum()))))"
    else:
        code += "import json\nprint(json.dumps(dict(seconds=t)))"
    return [sys.executable, "-c", code]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-gigabytes", type=float, default=1)
    parser.add_argument("-rounds", type=int, default=3)
    parser.add_argument("-only", default=".")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, program = os.path.join(folder, "x.csv"), os.path.join(folder, "mcs")
        subprocess.run(["go", "build", "-o", program, "./tests/peers/mcs"], check=True, cwd=os.path.join(HERE, "..", ".."))
        make_apart(path, args.gigabytes * 1e9)
        size = os.path.getsize(path)
        sides = {"mcs": [program, "-csv", path]} | {name: python(name, path) for name in PEERS}
        sides = {name: command for name, command in sides.items() if re.search(args.only, name)}
        results = {name: [] for name in sides}
        for _ in range(args.rounds):
            for name, command in sides.items():
                results[name].append(run(command))
        facts = {(r["rows"], round(r["sum"], 6)) for list_ in results.values() for r in list_ if "rows" in r}
        if len(facts) > 1:
            sys.exit(f"the sides read different tables: {facts}")
        print(f"{size / 1e9:.2f} GB, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {args.rounds} rounds")
        for name, list_ in results.items():
            wall = [r["seconds"] for r in list_]
            print(f"{name:16} best {min(wall):6.2f} s  median {statistics.median(wall):6.2f} s  {size / min(wall) / 1e9:5.2f} GB/s"
                  f"  processor {min(r['cpu'] for r in list_):6.2f} s  memory {max(r['memory'] for r in list_) / 1e9:5.2f} GB")


if __name__ == "__main__":
    main()
