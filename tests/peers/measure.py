"""How one work is measured: the sides prepare it, alternate in rounds, and are compared with mcs and with the ceiling."""
import json
import statistics
import sys
import time

import table as text

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


def write(a, table, sides):
    if a.json:
        with open(a.json, "w") as f:
            f.writelines(json.dumps(row) + "\n" for rows in table.values() for row in rows.values())
    if a.markdown:
        with open(a.markdown, "w") as f:
            f.write("\n".join(text.markdown(table, sides)) + "\n")
