"""What mcs wants to reach in the table, and whether it did: a bar is a figure of the table and the least (or most) it should be.

A ratio is the peer's time over mcs's, a share the least possible time over mcs's. Only bars whose works were measured in
this run are told.
"""
import math
import re
import statistics


def matching(table, pattern):
    return {name: rows for name, rows in table.items() if re.fullmatch(pattern, name)}


def fastest(rows):
    """The fastest peer's ratio and name, or None without peers."""
    return min(((r["ratio"], r["peer"]) for name, r in rows.items() if name != "mcs"), default=None)


def share(pattern, least):
    """Every work of the pattern has at least this share of the ceiling."""
    def measure(table):
        found = {name: rows["mcs"]["share"] for name, rows in matching(table, pattern).items() if rows["mcs"]["share"]}
        if found:
            worst = min(found, key=found.get)
            return found[worst] >= least, f"{100 * found[worst]:.0f} % ({worst})"
    return f"share of the ceiling at least {100 * least:.0f} %: {pattern}", measure


def ratio(pattern, least, peer=None):
    """Every work of the pattern is at least so many times as fast as the peer, or as the fastest one."""
    def measure(table):
        found = {}
        for name, rows in matching(table, pattern).items():
            best = fastest(rows) if peer is None else (peer in rows) and (rows[peer]["ratio"], peer)
            if best:
                found[name] = best
        if found:
            worst = min(found, key=found.get)
            return found[worst][0] >= least, f"{found[worst][0]:.2f}× ({worst}, {found[worst][1]})"
    return f"{peer or 'fastest peer'}'s time at least {least}× mcs's: {pattern}", measure


def mean_ratio(pattern, least):
    def measure(table):
        found = [best[0] for rows in matching(table, pattern).values() if (best := fastest(rows))]
        if found:
            mean = math.exp(statistics.mean(map(math.log, found)))
            return mean >= least, f"{mean:.2f}× over {len(found)} works"
    return f"fastest peer's time at least {least}× mcs's in the geometric mean: {pattern}", measure


def spread(pattern, most):
    """The times of the works differ by at most this factor."""
    def measure(table):
        times = [rows["mcs"]["seconds"] for rows in matching(table, pattern).values()]
        if len(times) > 1:
            return max(times) / min(times) <= most, f"{max(times) / min(times):.2f}× over {len(times)} works"
    return f"slowest at most {most}× the fastest: {pattern}", measure


def beside(work, other, most):
    """A work takes at most so many times as long as another."""
    def measure(table):
        if work in table and other in table:
            r = table[work]["mcs"]["seconds"] / table[other]["mcs"]["seconds"]
            return r <= most, f"{r:.3f}×"
    return f"{work} at most {most}× {other}", measure


def memory(pattern, peer):
    def measure(table):
        found = {name: rows["mcs"]["memory"] / rows[peer]["memory"] for name, rows in matching(table, pattern).items()
                 if peer in rows and rows["mcs"].get("memory") and rows[peer].get("memory")}
        if found:
            worst = max(found, key=found.get)
            return found[worst] <= 1, f"{found[worst]:.2f}× ({worst})"
    return f"peak memory at most {peer}'s: {pattern}", measure


def seconds(work, most):
    def measure(table):
        if work in table:
            s = table[work]["mcs"]["seconds"]
            return s <= most, f"{1e6 * s:.2f} µs"
    return f"{work} in at most {1e6 * most:.0f} µs", measure


BARS = [
    share("matmul/f32 (1024|2048|4096)", 0.92),  # 0.88 on Cascade Lake
    share("matmul/f32 256", 0.80),
    ratio("matmul/f32 .*", 0.97),
    share("matmul/bf16 (1024|2048|4096)", 0.85),
    share("matvec/(bf16|int8|int4) .*", 0.85),
    share("(softmax|layer_norm|rms_norm)/.*", 0.85),
    ratio("(softmax|layer_norm|rms_norm)/.*", 1.25),
    mean_ratio("lora/(512|1024|2048) r8 (1|16|128|1024) rows", 1.5),
    ratio("lora/(512|1024|2048) r8 (1|16|128|1024) rows", 1.0),
    spread("lora/1024 r[0-9]+ 128 rows", 1.10),
    beside("lora/1024 r16 1024 rows", "matmul/f32 1024", 1.06),
    ratio("train/small .*", 2.5, "compile"),
    ratio("train/0.5B .*", 3.0, "torch"),
    memory("train/.*", "torch"),
    ratio("decode/.*", 3.0, "torch"),
    share("decode/0.5B.*", 0.85),
    seconds("small/add 4x4", 2e-6),
]


def report(table):
    """A line for each bar whose works were measured: what was, and whether that reaches it."""
    for name, measure in BARS:
        result = measure(table)
        if result:
            yield f"  {'reached' if result[0] else 'MISSED '}  {name}: {result[1]}"
