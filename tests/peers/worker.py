"""One side of the comparison in Python: worker.py numpy|torch|compile|jax|mlx THREADS, a process that answers requests.

A request is a line of JSON on standard input, the answer a line of JSON on standard output:
  {"prepare": work}  builds inputs and function and runs it once: {"ok": true, "result": samples}, or {"absent": why}
  {"run": n}         {"seconds": what n runs took, each waiting until its result is there, "memory": bytes}

memory is the most that the process held since the work was prepared, libraries included; 0 where the system does not
tell.
"""
import ctypes
import gc
import importlib.metadata
import json
import os
import sys
import time

from inputs import Absent, samples


def main():
    peer, threads = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    try:
        side = load(peer, threads)
    except ImportError as e:
        answer(absent=str(e))
        return
    answer(ok=True, version=importlib.metadata.version({"compile": "torch"}.get(peer, peer)))
    function = None
    for line in sys.stdin:
        request = json.loads(line)
        if "prepare" in request:
            function = None
            gc.collect()
            try:
                function = side.prepare(request["prepare"])
                outputs = function()
                side.wait(outputs)
                answer(ok=True, result=samples(side.numpy(outputs)))
            except Absent as e:
                answer(absent=str(e))
            except Exception as e:
                answer(absent=f"failed: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
            outputs = None
            gc.collect()
            forget_peak()
            continue
        start = time.perf_counter()
        for _ in range(request["run"]):
            side.wait(function())
        answer(seconds=time.perf_counter() - start, memory=peak_memory())


def forget_peak():
    """Gives back what is free, and lets Linux measure the peak anew (man 5 proc, clear_refs)."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:
        pass
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        pass


def peak_memory():
    try:
        with open("/proc/self/status") as f:
            return next(1024 * int(line.split()[1]) for line in f if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0


def load(peer, threads):
    if peer == "numpy":
        from peer_numpy import NumPy
        return NumPy()
    if peer in ("torch", "compile"):
        from peer_torch import Torch
        return Torch(threads, compiled=peer == "compile")
    if peer == "jax":
        from peer_jax import JAX
        return JAX()
    from peer_mlx import MLX
    return MLX()


if __name__ == "__main__":
    main()
