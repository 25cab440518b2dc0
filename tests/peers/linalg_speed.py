"""Times linear algebra or Fourier transforms of f32 by mcs and by PyTorch on one device, both in one run, synchronised: the mean of some calls.

    python tests/peers/linalg_speed.py -device cuda:0 -times 3
    python tests/peers/linalg_speed.py -package fft -device cuda:0 -times 20
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import torch


def mcs(package, device, pattern, times, limit):
    """The milliseconds of the package's BenchmarkDevice, by name and length."""
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, package + ".test")
        subprocess.run(["go", "test", "-c", "-o", binary, "./engine/" + package], check=True)
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


def linalg(device, n):
    """PyTorch's calls for a matrix of n rows, or for as many small ones as have 2^20 elements."""
    a = torch.randn(*([n, n] if n >= 512 else [2**20 // n**2, n, n]), device=device)
    h = a @ a.mT / n + torch.eye(n, device=device)
    return {"solve": lambda: torch.linalg.solve(h, a), "inv": lambda: torch.linalg.inv(h), "cholesky": lambda: torch.linalg.cholesky(h),
            "lu": lambda: torch.linalg.lu(a), "qr": lambda: torch.linalg.qr(a), "eigh": lambda: torch.linalg.eigh(h),
            "svd": lambda: torch.linalg.svd(a, full_matrices=False)}


def fft(device, n):
    """PyTorch's calls for 2^22 numbers in rows of n, or in images of that width."""
    rows = max(1, 2**22 // n)
    x = torch.randn(rows, n, device=device)
    z = torch.complex(x, torch.randn(rows, n, device=device))
    half, parameter = torch.fft.rfft(x), x.clone().requires_grad_()
    calls = {"fft": lambda: torch.fft.fft(z), "ifft": lambda: torch.fft.ifft(z), "rfft": lambda: torch.fft.rfft(x), "irfft": lambda: torch.fft.irfft(half, n),
             "grad": lambda: torch.autograd.grad(torch.fft.rfft(parameter).abs().sum(), parameter)}
    if rows >= n:
        squares = rows // n * n
        calls["fft2"] = lambda: torch.fft.fft2(z[:squares].view(-1, n, n))
        calls["rfft2"] = lambda: torch.fft.rfft2(x[:squares].view(-1, n, n))
    return calls


# Of each package: PyTorch's calls, and the usual names and lengths.
PACKAGES = {"linalg": (linalg, "solve,inv,cholesky,lu,qr,eigh,svd", "8,32,128,512,1024,4096"),
            "fft": (fft, "fft,ifft,rfft,irfft,fft2,rfft2,grad", "128,1000,1009,1024,1048576")}


def peer(make, device, names, sizes, times):
    """The names, lengths and milliseconds of PyTorch, as they are measured."""
    torch.backends.cuda.matmul.allow_tf32 = False
    for n in sizes:
        torch.manual_seed(1)
        calls = make(device, n)

        def finish():
            if device.startswith("cuda"):
                torch.cuda.synchronize()

        for name in names:
            if name not in calls:
                continue
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
    p.add_argument("-package", default="linalg", choices=PACKAGES)
    p.add_argument("-device", default="cpu")
    p.add_argument("-times", type=int, default=3)
    p.add_argument("-names")
    p.add_argument("-sizes")
    p.add_argument("-limit", type=int, default=300, help="seconds for mcs")
    a = p.parse_args()
    make, names, sizes = PACKAGES[a.package]
    names, sizes = (a.names or names).split(","), [int(n) for n in (a.sizes or sizes).split(",")]
    pattern = f"^({'|'.join(names)})$/^({'|'.join(map(str, sizes))})$"
    ours = mcs(a.package, a.device, pattern, a.times, a.limit)
    print(f"torch {torch.__version__}, {a.device}\n{'':18}mcs ms    torch ms    torch/mcs", flush=True)
    for name, n, theirs in peer(make, a.device, names, sizes, a.times):
        own = ours.get((name, n), float("nan"))
        print(f"{name + ' ' + str(n):14}{own:10.3f}{theirs:12.3f}{theirs / own:13.2f}", flush=True)


main()
