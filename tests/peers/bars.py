"""What mcs wants to reach in the table, and whether it did: a bar is a figure of the table and the least (or most) it should be.

A ratio is the peer's time over mcs's, a share the least possible time over mcs's. Only bars whose works were measured in
this run are told.
"""
import math
import re
import statistics

from sides import MCS, SINGLE


def matching(table, pattern):
    return {name: rows for name, rows in table.items() if re.fullmatch(pattern, name)}


def fastest(rows):
    """The fastest peer's ratio and name, or None without peers."""
    return min(((r["ratio"], r["peer"]) for name, r in rows.items() if name not in MCS), default=None)


# A bar is what it says and a function of the table. That returns None if none of its works was measured, else whether the
# bar is reached, by what, and the works that miss it.


def least(text, figures, bound, show):
    """Every figure, of {work: figure}, is at least bound; show tells the worst."""
    def measure(table):
        found = figures(table)
        if found:
            worst = min(found, key=found.get)
            return found[worst] >= bound, show(worst, found[worst], table), [name for name, f in found.items() if f < bound]
    return text, measure


def share(pattern, bound):
    """Every work of the pattern has at least this share of the ceiling."""
    def figures(table):
        return {name: rows["mcs"]["share"] for name, rows in matching(table, pattern).items() if rows["mcs"]["share"]}
    return least(f"share of the ceiling at least {100 * bound:.0f} %: {pattern}", figures, bound, lambda name, f, _: f"{100 * f:.0f} % ({name})")


def ratio(pattern, bound, peer=None):
    """Every work of the pattern is at least so many times as fast as the peer, or as the fastest one."""
    def best(rows):
        return fastest(rows) if peer is None else (peer in rows) and (rows[peer]["ratio"], peer)

    def figures(table):
        return {name: best(rows)[0] for name, rows in matching(table, pattern).items() if best(rows)}
    return least(f"{peer or 'fastest peer'}'s time at least {bound}× mcs's: {pattern}", figures, bound,
                 lambda name, f, table: f"{f:.2f}× ({name}, {best(table[name])[1]})")


def mean_ratio(pattern, bound):
    def measure(table):
        found = {name: best[0] for name, rows in matching(table, pattern).items() if (best := fastest(rows))}
        if found:
            mean = math.exp(statistics.mean(map(math.log, found.values())))
            return mean >= bound, f"{mean:.2f}× over {len(found)} works", [n for n, f in found.items() if f < bound and mean < bound]
    return f"fastest peer's time at least {bound}× mcs's in the geometric mean: {pattern}", measure


def spread(pattern, most):
    """The times of the works differ by at most this factor."""
    def measure(table):
        times = {name: rows["mcs"]["seconds"] for name, rows in matching(table, pattern).items()}
        if len(times) > 1:
            quickest, slowest = min(times.values()), max(times.values())
            return slowest / quickest <= most, f"{slowest / quickest:.2f}× over {len(times)} works", [n for n, t in times.items() if t > most * quickest]
    return f"slowest at most {most}× the fastest: {pattern}", measure


def beside(work, other, most):
    """A work takes at most so many times as long as another."""
    def measure(table):
        if work in table and other in table:
            r = table[work]["mcs"]["seconds"] / table[other]["mcs"]["seconds"]
            return r <= most, f"{r:.3f}×", [work] if r > most else []
    return f"{work} at most {most}× {other}", measure


def memory(pattern, peer):
    def figures(table):
        return {name: rows[peer]["memory"] / rows["mcs"]["memory"] for name, rows in matching(table, pattern).items()
                if peer in rows and rows["mcs"].get("memory") and rows[peer].get("memory")}
    return least(f"peak memory at most {peer}'s: {pattern}", figures, 1, lambda name, f, _: f"{1 / f:.2f}× ({name})")


def seconds(work, most):
    def measure(table):
        if work in table:
            s = table[work]["mcs"]["seconds"]
            return s <= most, f"{1e6 * s:.2f} µs", [work] if s > most else []
    return f"{work} in at most {1e6 * most:.0f} µs", measure


def objects(pattern, most):
    """A run allocates at most so many Go objects."""
    def figures(table):
        return {name: -rows["mcs"]["profile"]["objects"] for name, rows in matching(table, pattern).items() if rows["mcs"].get("profile")}
    return least(f"at most {most} Go objects a run: {pattern}", figures, -most, lambda name, f, _: f"{-f:.0f} ({name})")


def most(text, pattern, figure, bound, show):
    """A figure of mcs's rows is at most bound. Works that do not have it are left out."""
    def figures(table):
        found = {name: figure(rows["mcs"]) for name, rows in matching(table, pattern).items()}
        return {name: -f for name, f in found.items() if f is not None}
    return least(f"{text}: {pattern}", figures, -bound, lambda name, f, _: f"{show(-f)} ({name})")


def launches(pattern, bound):
    return most(f"at most {bound} launch", pattern, lambda row: row["profile"]["launches"] if row.get("profile") else None, bound, "{:.0f}".format)


def launches_a_layer(pattern, bound):
    return most(f"at most {bound} launches a layer", pattern, lambda row: row.get("launches a layer"), bound, "{:.1f}".format)


def outside(pattern, bound):
    return most(f"at most {100 * bound:.0f} % of the time outside of kernels", pattern, lambda row: row.get("outside"), bound, lambda f: f"{100 * f:.1f} %")


GPU_BARS = [
    share("(softmax|layer_norm|rms_norm|cross_entropy|adamw)/.*", 0.75),
    ratio("matmul/.*", 0.9, "native"),
    ratio("lora/.*", 0.9, "native"),
    ratio("attention/.*", 0.9, "native"),
    ratio("attention/.*", 0.9, "torch"),
    launches("lora/.* 1 rows", 1),
    seconds("small/add 4x4", 25e-6),
    outside("train/.*", 0.05),
    launches_a_layer("train/.*", 25),
    launches_a_layer("decode/.*", 6),
]

BARS = [
    share("matmul/f32 (1024|2048|4096)", 0.92),  # 0.88 on Cascade Lake
    share("matmul/f32 256", 0.80),
    ratio("order/.*", 1.0, "numpy"),
    ratio("matmul/f32 .*", 0.97),
    share("matmul/bf16 (1024|2048|4096)", 0.85),
    share("matvec/(bf16|int8|int4) .*", 0.85),
    share("(softmax|layer_norm|rms_norm)/.*", 0.85),
    ratio("(softmax|layer_norm|rms_norm)/.*", 1.25),
    ratio("conv/.*", 1.0, "torch"),
    mean_ratio("lora/(512|1024|2048) r8 (1|16|128|1024) rows", 1.5),
    ratio("lora/(512|1024|2048) r8 (1|16|128|1024) rows", 1.0),
    spread("lora/1024 r[0-9]+ 128 rows", 1.10),
    beside("lora/1024 r16 1024 rows", "matmul/f32 1024", 1.06),
    ratio("train/small [0-9].*", 2.5, "compile"),
    ratio("train/0.5B [0-9].*", 3.0, "torch"),
    ratio("train/.* bf16 .*", 1.0, "torch"),
    memory("train/.*", "torch"),
    objects("train/.*", 99),
    ratio("decode/.*", 3.0, "torch"),
    share("decode/0.5B.*", 0.85),
    ratio("load/.*", 0.8, "numpy"),
    ratio("load/.*", 1.0, "torch"),
    ratio("tokenise/.*", 1.0, "torch"),
    ratio("gguf/.*", 0.8, "llama"),
    seconds("small/add 4x4", 2e-6),
    ratio(".*", 1.85, SINGLE),
]


def results(table, bars):
    """Each bar whose works were measured, with what its function returned."""
    for name, measure in bars:
        result = measure(table)
        if result:
            yield name, *result


def missed(table, bars=BARS):
    """The works that keep a bar from being reached."""
    return {work for _, _, _, works in results(table, bars) for work in works}


def report(table, bars=BARS):
    """A line for each bar whose works were measured: what was, and whether that reaches it."""
    for name, reached, by, _ in results(table, bars):
        yield f"  {'reached' if reached else 'MISSED '}  {name}: {by}"
