"""One side of the comparison in Python: worker.py numpy|torch|compile|jax|mlx|llama|native THREADS [DEVICE], a process that answers
requests.

A request is a line of JSON on standard input, the answer a line of JSON on standard output:
  {"prepare": work}  builds inputs and function and runs it once: {"ok": true, "result": samples, "ways": names}, or {"absent": why}
  {"run": n}         {"seconds": what n runs took, "memory": bytes}; with "way": name, in this way
  {"drop": true}     forgets the work, so that its memory is free
  {"rate": what, "bytes": n}  {"rate": a ceiling of the device}: torch and native have them

On the processor each run waits until its result is there; on a GPU runs are queued, and the end is waited for, as on mcs's side.
memory is the most that the process, libraries included, or the GPU's memory held since the work was prepared; 0 where the
system does not tell.
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
    peer, threads, device = sys.argv[1], int(sys.argv[2]), (sys.argv[3:] or ["cpu"])[0]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    try:
        side = load(peer, threads, device)
    except (ImportError, OSError, RuntimeError) as e:
        answer(absent=str(e).partition("\n")[0])
        return
    answer(ok=True, version=side.version if hasattr(side, "version") else importlib.metadata.version({"compile": "torch"}.get(peer, peer)))
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
                answer(ok=True, result=samples(side.numpy(outputs)), ways=list(getattr(function, "ways", ())))
            except Absent as e:
                answer(absent=str(e))
            except Exception as e:
                answer(absent=failure(e))
            outputs = None
            forget_peak(side)
        elif "drop" in request:
            function = None
            forget_peak(side)
            answer(ok=True)
        elif "rate" in request:
            answer(rate=side.rate(request["rate"], request.get("bytes", 0)))
        elif function is None:
            answer(absent="no work was prepared")
        else:
            try:
                answer(seconds=seconds(side, function.ways[request["way"]] if "way" in request else function, request["run"]), memory=side.memory() if hasattr(side, "memory") else peak_memory())
            except Exception as e:
                answer(absent=failure(e))


def failure(e):
    return f"failed: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"


def seconds(side, function, n):
    start = time.perf_counter()
    if hasattr(function, "repeat"):  # the side has a loop of its own
        function.repeat(n)
    else:
        for _ in range(n):
            side.wait(function())
        if hasattr(side, "finish"):
            side.finish()
    return time.perf_counter() - start


def forget_peak(side):
    """Gives back what is free, and lets Linux measure the peak anew (man 5 proc, clear_refs)."""
    gc.collect()
    if hasattr(side, "forget"):
        side.forget()
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


def load(peer, threads, device):
    if peer == "numpy":
        from peer_numpy import NumPy
        return NumPy()
    if peer in ("torch", "compile"):
        from peer_torch import Torch
        return Torch(threads, compiled=peer == "compile", device=device)
    if peer == "native":
        from peer_native import Native
        return Native(device)
    if peer == "llama":
        from peer_llama import Llama
        return Llama(threads)
    if peer == "jax":
        from peer_jax import JAX
        return JAX()
    from peer_mlx import MLX
    return MLX()


if __name__ == "__main__":
    main()
