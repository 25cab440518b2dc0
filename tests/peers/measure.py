"""How one work is measured: the sides prepare it, alternate in rounds, and are compared with mcs and with the ceiling."""
import json
import math
import statistics
import sys
import time

import table as text

ROUNDS = 9
BEST_ROUNDS = 25  # with -best: a busy machine needs more until one is undisturbed
BUDGET = 0.4  # seconds for the blocks of one side and work; at least 3 blocks are taken
SLOW = 1.0  # a run longer than this is timed once if mcs is ten times faster
PAUSE = 0.03  # before a block: the threads of OpenMP and OpenBLAS wait actively for so long after their last work
WARM = 0.01  # of runs after the pause that do not count: on two processors, Go's monitor takes a fifth of one for so long after all threads slept
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


def prepare(work, side, rows):
    """Lets a side prepare a work, whose results are held against mcs's. Returns each of its ways to do it, as the side, the way, the
    number of runs a block and the time of one; and adds a row for each. The first way is the side's own choice."""
    answer = side.ask(prepare=work)
    if "absent" in answer:
        if answer["absent"].startswith("failed") or side.name == "mcs":
            print(f"{work['name']}: {side.name}: {answer['absent'].splitlines()[0]}", file=sys.stderr)
        return []
    disagrees = rows and differs(answer["result"], rows["mcs"]["result"], work["close"])
    if disagrees:
        print(f"{work['name']}: {side.name} disagrees with mcs: {disagrees}", file=sys.stderr)
    prepared = []
    for way in ["", *answer.get("ways", [])]:
        n, one = side.calibrate(way)
        if not one:
            print(f"{work['name']}: {named(side, way)} failed", file=sys.stderr)
            continue
        prepared.append((side, way, n, one))
        rows[named(side, way)] = {"agrees": not disagrees, "times": [], "result": answer["result"]}
    return prepared


def named(side, way):
    return f"{side.name} {way}" if way else side.name


def measure(work, sides, ceilings, order, best):
    """The rows of one work: {peer: {...}} in the order of the sides. mcs comes first."""
    rows, profile, bounds = {}, None, [(0, "", "")]
    for side in sides:
        side.revive()
    # Sides with a work that does not leave room for others take turns one by one, the others in rounds.
    doing = [side for side in sides if side.does(work)]
    for group in [[side] for side in doing] if work.get("alone") else [doing]:
        active = []
        for side in group:
            active += prepare(work, side, rows)
            if not rows:
                return {}
        bounds.append(rounds(work, active, rows, ceilings, order, best))
        if sides[0] in group:
            n = max(1, int(PROFILE / middle(best)(rows["mcs"]["times"])))
            profile = shortest(sides[0], n)
        if work.get("alone"):
            group[0].drop()
    finish(work, rows, *bounds[-1], middle(best))
    rows["mcs"]["profile"] = profile
    return rows


def shortest(side, n):
    """The profile of the shortest of three measurements, or None."""
    return min(filter(None, (side.profile(n) for _ in range(3))), key=lambda p: p["seconds"], default=None)


def middle(best):
    return min if best else statistics.median


def rounds(work, active, rows, ceilings, order, best):
    """Runs the sides that have prepared a work, and returns its ceiling."""
    fastest = min((one for *_, one in active), default=0)
    count, bound = BEST_ROUNDS if best else ROUNDS, (0, "", "")
    for _ in range(count):
        left = 0
        order.shuffle(active)
        for side, way, n, one in active:
            row = rows[named(side, way)]
            times = row["times"]
            most = max(3, min(count, int(BUDGET / (n * one))))
            if one > SLOW and one > 10 * fastest:
                most = 1
            if len(times) >= most:
                continue
            left += 1
            time.sleep(PAUSE)
            if one < 5 * WARM:
                side.run(math.ceil(WARM / one), way)
            took = side.run(n, way)
            if took is None:
                print(f"{work['name']}: {named(side, way)} failed", file=sys.stderr)
                took = float("inf")
            times.append(took)
            row["memory"] = side.memory
        if not left:
            break
        bound = ceilings.measure(work)
    return bound


def split(work, row, empty, launch):
    """How a training step or a decode spends its time: launches a layer, and the share outside of kernels. The kernels' times are
    those of runs in which each is waited for, by the device's clock, and hold what two readings of that take. So a second
    share takes what an all but empty kernel takes from each: the truth lies between. A step is a graph that is replayed
    before the last replay is over: its time outside of kernels is what a graph of as many launches takes that have
    nothing to do."""
    profile = row.get("profile")
    if not profile:
        return
    passes = work["tokens"] if work["kind"] == "decode" else 1
    row["launches a layer"] = profile["launches"] / passes / work["layers"]
    busy = sum(k["seconds"] for k in profile["kernels"])
    row["outside"] = 1 - busy / row["seconds"]
    row["outside at most"] = 1 - (busy - profile["launches"] * empty) / row["seconds"]
    if launch and work["kind"] == "train":
        row["a launch"], row["outside"] = launch, profile["launches"] * launch / row["seconds"]


def finish(work, rows, bound, limit, name, middle):
    """Times, ratios to mcs and shares of the ceiling."""
    mcs = middle(rows["mcs"]["times"])
    for peer, row in rows.items():
        seconds = middle(row["times"])
        del row["result"]
        row.update(work=work["name"], peer=peer, seconds=seconds, ratio=seconds / mcs, share=bound / seconds if bound else None,
                   limit=limit, bound=name, samples=len(row.pop("times")))
        amount = work.get(limit)
        row["rate"] = amount / seconds if amount else None


def write(a, table, sides):
    if a.json:
        with open(a.json, "w") as f:
            f.writelines(json.dumps(row) + "\n" for rows in table.values() for row in rows.values())
    if a.markdown:
        with open(a.markdown, "w") as f:
            f.write("\n".join(text.markdown(table, sides)) + "\n")
