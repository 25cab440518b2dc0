"""How the result is printed: a line a work, the summary, and the table of the documentation."""
import math
import statistics

import bars
from bars import fastest
from limits import launches
from sides import BEFORE, LABEL


def duration(s):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if s * factor >= 1 or unit == "µs":
            return f"{s * factor:.3g} {unit}" if s * factor < 1000 else f"{s * factor:.0f} {unit}"


def steps(work, rows):
    """What of a training step and of a decode is more telling than their time, if mcs told where it goes."""
    parts = []
    for name, r in rows.items():
        parts.append(f"{LABEL.get(name, name)} {tokens(work) / r['seconds']:.0f}")
    row = rows["mcs"]
    text = f"{'  tokens/s':34} " + ", ".join(parts)
    if "outside" in row:
        share = f"{100 * row['outside']:.1f} to {100 * row['outside at most']:.1f} %"
        if row["outside at most"] <= 0:  # kernels that are timed one by one take longer than a run, in which they overlap
            share = "an unknown share"
        if "a launch" in row:
            share = f"by {1e6 * row['a launch']:.2f} µs a launch {100 * row['outside']:.1f} %"
        text += f"; mcs: {row['launches a layer']:.1f} launches a layer, {share} of the time outside of kernels"
    return text


def tokens(work):
    return work["batch"] * work["t"] if work["kind"] == "train" else work["tokens"]


UNITS = {"flops": "GFLOP/s", "bytes": "GB/s", "exps": "Gexp/s"}


def rounded(x, digits):
    """A number of so many digits, below a million without an exponent."""
    return f"{float(f'{x:.{digits}g}'):g}"


def rate(row, digits):
    return f"{rounded(row['rate'] / 1e9, digits)} {UNITS[row['limit']]}" if row["rate"] else ""


def share(row):
    return f"{100 * row['share']:.0f} %" if row["share"] else ""


def header(sides):
    return f"{'work':34} {'mcs':>9} {'rate':>12} {'share':>6}  " + " ".join(f"{s.label:>16}" for s in sides[1:])


def line(work, rows, sides):
    m = rows["mcs"]
    cells = []
    for s in sides[1:]:
        r = rows.get(s.name)
        cells.append(f"{duration(r['seconds'])} {r['ratio']:5.2f}×{'' if r['agrees'] else '!'}" if r else "–")
    return f"{work['name']:34} {duration(m['seconds']):>9} {rate(m, 4):>12} {share(m):>6}  " + " ".join(f"{c:>16}" for c in cells)


def ways(rows, sides):
    """A line of how long each way of those peers takes that have several."""
    cells = [f"{name.replace(s.name, s.label, 1)} {duration(r['seconds'])} {r['ratio']:.2f}×" for s in sides for name, r in rows.items() if name.startswith(s.name + " ")]
    return f"{'  ways':34} {'; '.join(cells)}\n" if cells else ""


def memory(rows):
    """The most memory that each side held, libraries included, and what a run of mcs leaves to Go's collector."""
    held = [f"{LABEL.get(name, name)} {r['memory'] / 2**20:.0f} MiB" for name, r in rows.items() if r.get("memory")]
    text = f"{'  peak memory':34} " + ", ".join(held)
    profile = rows["mcs"].get("profile")
    if profile:
        text += f"; a run of mcs: {launches(profile['launches'])}, {profile['objects']:.0f} Go objects"
    return text


def summary(table, wanted=bars.BARS):
    """Geometric means over the kinds of work, the works where mcs loses, worst first, and the bars."""
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
    before = sorted((rows[BEFORE]["ratio"], name) for name, rows in table.items() if BEFORE in rows)
    if before:
        yield f"the commit before's time over mcs's, geometric mean {math.exp(statistics.mean(math.log(r) for r, _ in before)):.2f}×; the least: " + ", ".join(f"{name} {r:.2f}" for r, name in before[:8])
    yield "the bars whose works were measured:"
    yield from bars.report(table, wanted)
    yield "what limits the works that miss a bar:"
    for name, rows in table.items():
        if "limited" in rows["mcs"]:
            yield f"  {name:32} {rows['mcs']['limited']}"


def inside(rows):
    """How many launches a run of mcs is, and how long its kernels take by the device's clock when each is waited for."""
    profile = rows["mcs"].get("profile")
    if not profile:
        return "", ""
    return f"{profile['launches']:.0f}", duration(sum(k["seconds"] for k in profile["kernels"] or []))


def markdown(table, sides):
    """The table of docs/performance.md: each peer's time over mcs's; ! the result differs."""
    yield "| work | mcs | launches | in kernels | rate | share | " + " | ".join(s.label for s in sides[1:]) + " |"
    yield "|---|" + "--:|" * (len(sides) + 4)
    for name, rows in table.items():
        m = rows["mcs"]
        cells = [name, duration(m["seconds"]), *inside(rows), rate(m, 3), share(m)]
        cells += [f"{rows[s.name]['ratio']:.2f}{'' if rows[s.name]['agrees'] else '!'}" if s.name in rows else "" for s in sides[1:]]
        yield "| " + " | ".join(cells) + " |"
    yield ""
    yield "| work that misses a bar | what limits it |"
    yield "|---|---|"
    for name, rows in table.items():
        if "limited" in rows["mcs"]:
            yield f"| {name} | {rows['mcs']['limited']} |"


def kernels(rows, passed):
    """The table of kernels: what each took in one run, its share of what the device can do, and in which checks its family has
    passed: {check: names as Go's tests write them}."""
    yield "| work | kernel | launches | time | GB/s | GFLOP/s | bound | share |" + "".join(f" {check} |" for check in passed)
    yield "|---|---|--:|--:|--:|--:|---|--:|" + "---|" * len(passed)
    for r in rows:
        rates = [rounded(r[amount] / r["seconds"] / 1e9, 3) if r["seconds"] and r[amount] else "" for amount in ("bytes", "flops")]
        checks = ["ok" if r["work"].replace(" ", "_") in names else "" for names in passed.values()]
        yield "| " + " | ".join([r["work"], f"`{r['name']}`", f"{r['launches']:.0f}", duration(r["seconds"]), *rates, r["bound"], share(r), *checks]) + " |"
