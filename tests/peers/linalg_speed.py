"""Times linear algebra of f32 by mcs and by PyTorch on one device, both in one run, synchronised: the mean of some calls.

    python tests/peers/linalg_speed.py -device cuda:0 -times 3
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import torch


def mcs(device, pattern, times, limit):
    """The milliseconds of engine/linalg's BenchmarkDevice, by name and length."""
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "linalg.test")
        subprocess.run(["go", "test", "-c", "-o", binary, "./engine/linalg"], check=True)
        command = [binary, "-test.run", "^$", "-test.bench", f"BenchmarkDevice/{pattern}", "-test.benchtime", f"{times}x", "-device", device]
        try:
            out = subprocess.run(command, capture_output=True, timeout=limit)
            text = (out.stdout + out.stderr).decode()
        except subprocess.TimeoutExpired as e:
            text = (e.stdout or b"").decode() + (e.stderr or b"").decode() + "\n(the time was over)"
    found = {(m[1], int(m[2])): float(m[3]) / 1e6 for m in re.finditer(r"BenchmarkDevice/(\w+)/(\d+?)(?:-\d+)?\s+\d+\s+([\d.e+]+) ns/op", text)}
    if not found or "FAIL" in text or "(the time" in text:
        print(text, file=sys.stderr)
    return found


def peer(device, names, sizes, times):
    """The names, lengths and milliseconds of PyTorch, as they are measured."""
    torch.backends.cuda.matmul.allow_tf32 = False
    for n in sizes:
        torch.manual_seed(1)
        a = torch.randn(n, n, device=device)
        h = a @ a.T / n + torch.eye(n, device=device)
        calls = {"solve": lambda: torch.linalg.solve(h, a), "inv": lambda: torch.linalg.inv(h), "cholesky": lambda: torch.linalg.cholesky(h),
                 "lu": lambda: torch.linalg.lu(a), "qr": lambda: torch.linalg.qr(a), "eigh": lambda: torch.linalg.eigh(h),
                 "svd": lambda: torch.linalg.svd(a, full_matrices=False)}

        def finish():
            if device.startswith("cuda"):
                torch.cuda.synchronize()

        for name in names:
            if name != "svd" or n < 4096:
                calls[name]()
            finish()
            begun = time.perf_counter()
            for _ in range(times):
                calls[name]()
            finish()
            yield name, n, (time.perf_counter() - begun) / times * 1e3


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-device", default="cpu")
    p.add_argument("-times", type=int, default=3)
    p.add_argument("-names", default="solve,inv,cholesky,lu,qr,eigh,svd")
    p.add_argument("-sizes", default="512,1024,4096")
    p.add_argument("-limit", type=int, default=300, help="seconds for mcs")
    a = p.parse_args()
    names, sizes = a.names.split(","), [int(n) for n in a.sizes.split(",")]
    pattern = f"^({'|'.join(names)})$/^({'|'.join(map(str, sizes))})$"
    ours = mcs(a.device, pattern, a.times, a.limit)
    print(f"torch {torch.__version__}, {a.device}\n{'':18}mcs ms    torch ms", flush=True)
    for name, n, theirs in peer(a.device, names, sizes, a.times):
        print(f"{name + ' ' + str(n):14}{ours.get((name, n), float('nan')):10.3f}{theirs:12.3f}", flush=True)


main()
