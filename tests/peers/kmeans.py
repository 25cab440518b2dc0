"""The side of pandas and NumPy of examples/kmeans.mcs: `kmeans.py FILE` puts out the tables for the file that it made."""
import sys

import numpy as np
import pandas as pd

table = pd.read_csv(sys.argv[1])
x = table[["a", "b", "c", "d"]].to_numpy(np.float32)
centres = x[:4]
for _ in range(20):
    near = ((x[:, None] - centres) ** 2).sum(2).argmin(1)
    centres = np.stack([x[near == k].mean(0) for k in range(4)])
table["cluster"] = near
groups = table.groupby("cluster")
print(groups[["a", "b", "c", "d"]].mean().assign(count=groups.size()))
shares = table.pivot_table(index="cluster", columns="shop", aggfunc="size")
print(shares)
shares.to_parquet(sys.argv[1] + ".parquet")
print(pd.read_parquet(sys.argv[1] + ".parquet").sum())
