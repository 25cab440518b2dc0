"""Writes engine/data/testdata/tables.json: two tables as CSV, and what pandas makes of them.

    python tests/peers/table_cases.py          (pandas)
"""
import io
import json
import os

import numpy as np
import pandas as pd

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "engine", "data", "testdata", "tables.json")
N = 60


def left():
    rng = np.random.default_rng(5)
    t = pd.DataFrame({
        "class": rng.integers(1, 4, N),
        "sex": rng.choice(["female", "male"], N),
        "age": np.round(rng.normal(30, 12, N), 1),
        "fare": np.round(rng.lognormal(3, 1, N), 4),
        "day": pd.Timestamp("1912-04-10") + pd.to_timedelta(rng.integers(0, 4, N), "D"),
        "seat": rng.integers(0, 12, N),
    })
    t.loc[rng.random(N) < 0.2, "age"] = np.nan
    t.loc[rng.random(N) < 0.1, "sex"] = None
    return t


def right():
    rng = np.random.default_rng(6)
    return pd.DataFrame({"seat": rng.integers(4, 16, 10), "deck": rng.choice(list("ABC"), 10), "fare": rng.integers(0, 9, 10)})


def cases(t, r):
    by = t.groupby(["class", "sex"], dropna=False, sort=True)
    yield "group", by.agg(
        count=("fare", "size"), fare_mean=("fare", "mean"), fare_std=("fare", "std"), age_sum=("age", "sum"), age_median=("age", "median"),
        age_min=("age", "min"), day_max=("day", "max"), age_first=("age", "first"), age_last=("age", "last"), day_distinct=("day", "nunique"),
        seat_sum=("seat", "sum"), fare_quantile=("fare", lambda v: v.quantile(0.9)), fare_range=("fare", lambda v: v.max() - v.min())).reset_index()
    yield "all", pd.DataFrame({"fare_mean": [t.fare.mean()], "age_std": [t.age.std()], "seat_sum": [t.seat.sum()]})
    yield "sort", t.sort_values(["class", "age"], ascending=[True, False], kind="stable", na_position="last")
    yield "sort by text", t.sort_values(["sex", "fare"], kind="stable", na_position="last")
    yield "unique", t.drop_duplicates(["class", "day"])
    yield "filter", t[t.age > 30]
    yield "where", t[(t.fare > 20) & (t["class"] == 3)]
    yield "drop missing", t.dropna(subset=["age", "sex"])
    yield "fill", t.fillna({"age": 0.5})
    yield "append", pd.concat([t[["seat", "fare"]], r])
    yield "describe", t[["age", "fare", "seat"]].describe().T.drop(columns="count").reset_index()
    yield "join", t.merge(r, on="seat", how="inner", suffixes=("", "_right"))
    yield "left join", t.merge(r, on="seat", how="left", suffixes=("", "_right"))
    outer = t.merge(r, on="seat", how="left", suffixes=("", "_right"))
    alone = r[~r.seat.isin(t.seat)].rename(columns={"fare": "fare_right"})
    yield "outer join", pd.concat([outer, alone])
    yield "pivot", t.dropna(subset=["sex"]).pivot_table(index="class", columns="sex", values="fare", aggfunc="mean").reset_index()
    yield "pivot counts", t.pivot_table(index="day", columns="class", values="fare", aggfunc="size").reset_index()


def plain(t):
    rows = []
    for row in t.itertuples(index=False):
        rows.append([None if pd.isna(v) else str(v.date()) if isinstance(v, pd.Timestamp) else v.item() if hasattr(v, "item") else v for v in row])
    return {"names": [str(c) for c in t.columns], "rows": rows}


def main():
    texts = []
    for t in left(), right():
        b = io.StringIO()
        t.to_csv(b, index=False)
        texts.append(b.getvalue())
    out = {"left": texts[0], "right": texts[1], "cases": {name: plain(t) for name, t in cases(left(), right())}}
    with open(OUT, "w") as f:
        json.dump(out, f, separators=(",", ":"))


if __name__ == "__main__":
    main()
