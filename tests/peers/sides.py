"""The processes that are compared: how they are started, asked and timed."""
import glob
import json
import math
import os
import select
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(HERE, ".venv", "built")
PROGRAMS = os.environ.get("PEERS_PROGRAMS") or BUILT  # what is written in Go, perhaps built elsewhere
PEERS = ("numpy", "torch", "compile", "jax", "candle", "mlx", "llama")
GPU_PEERS = ("torch", "compile", "native")
# Sides of mcs itself, no peers: with one thread, to show what the other threads are good for, without the libraries of
# a GPU's vendor, to show what they are good for, and the program of another commit, built from its tests/peers/mcs.
SINGLE, OWN, BEFORE = "single", "own", "before"
MCS = ("mcs", SINGLE, OWN, BEFORE)
LABEL = {"torch": "PyTorch", "compile": "t.compile", "native": "from C", "numpy": "NumPy", "jax": "JAX", "mlx": "MLX", "llama": "llama.cpp",
         SINGLE: "1 thread", OWN: "own kernels"}

BLOCK = 0.010  # a block lasts at least so many seconds
PATIENCE = 300  # seconds after which a side has failed


class Side:
    """A worker process."""
    processor = False  # whether the time of processors counts, not the clock's

    def __init__(self, name, command, env):
        self.name, self.command, self.env = name, command, env
        self.begin()

    def begin(self):
        self.absent, self.version, self.device, self.buffer = None, "", "", b""
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env, cwd=HERE,
                                            stderr=subprocess.PIPE if self.name == "mlx" else None)
        except OSError as e:
            self.absent = e.strerror
            return
        hello = self.receive()
        self.absent, self.version, self.device = hello.get("absent"), hello.get("version", ""), hello.get("device", "")

    @property
    def label(self):
        return LABEL.get(self.name, self.name)

    def receive(self):
        until = time.monotonic() + PATIENCE
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            got = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not got:
                self.process.kill()
                self.absent = "the process ended" if ready else f"no answer in {PATIENCE} s"
                return {"absent": self.absent}
            self.buffer += got
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def ask(self, **request):
        if self.absent:
            return {"absent": self.absent}
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            self.absent = "the process ended"
            return {"absent": self.absent}
        return self.receive()

    def does(self, work):
        """Whether the side is asked for a work at all."""
        if self.name == OWN:
            return work.get("library", False)
        return self.name != SINGLE or work["scales"]

    def revive(self):
        """Starts the process again if a work has ended it."""
        if self.absent:
            print(f"{self.name} starts again: {self.absent}", file=sys.stderr)
            self.begin()

    def end(self):
        """Lets the process end, which it does when there are no more requests."""
        try:
            self.process.stdin.close()
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()

    def drop(self):
        """Forgets the work, so that its memory is free."""
        self.ask(drop=True)

    def run(self, n, way=""):
        """Seconds a run takes, or None if it failed."""
        begun = self.spent()
        answer = self.told(run=n, way=way) if way else self.told(run=n)
        self.memory = answer.get("memory", 0)
        if "seconds" not in answer:
            return None
        return (self.spent() - begun if self.processor else answer["seconds"]) / n

    def spent(self):
        """The seconds that the process's threads have computed (Linux)."""
        total = 0
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat") if self.processor else []:
            with open(path) as f:
                total += int(f.read().split()[0])
        return total / 1e9

    def told(self, **request):
        """The answer to a request about the work that was prepared. One that tells nothing says why, which is printed."""
        answer = self.ask(**request)
        if "absent" in answer:
            print(f"{self.label}: {answer['absent'].splitlines()[0]}", file=sys.stderr)
        return answer

    def calibrate(self, way=""):
        """How many runs fill a block, and how long one takes. Short work is warmed up more, and what the first run prepares is not
        counted: blocks grow until one lasts."""
        one, n = self.run(1, way), 1
        if one and one < 1:
            one = self.run(1, way)
        while one and n * one < BLOCK:
            n = max(n + 1, min(n * 10, math.ceil(BLOCK / one)))
            one = self.run(n, way)
        return one and n, one

    def profile(self, n):
        """Where the time of a run goes: mcs tells it, the others do not."""
        return self.told(profile=n).get("profile")


def environment(threads):
    env = dict(os.environ, PYTHONPATH=HERE, PYTHONWARNINGS="ignore", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1",
               TRANSFORMERS_VERBOSITY="error", JAX_PLATFORMS="cpu", TORCHINDUCTOR_COMPILE_THREADS=str(threads),
               TORCHINDUCTOR_CACHE_DIR=os.path.join(HERE, ".venv", "inductor"), TORCH_LOGS="-all")
    # glibc gives arrays of up to 32 MiB back to the system until it has seen some freed: then a side's first works pay for new pages.
    env.update(MALLOC_MMAP_THRESHOLD_=str(32 << 20), MALLOC_TRIM_THRESHOLD_=str(1 << 30), MALLOC_TOP_PAD_=str(64 << 20))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS"):
        env[name] = str(threads)
    return env


def command(name, threads, device):
    """The program of a side, which works on a device."""
    if name in MCS:
        return [os.environ["PEERS_BEFORE"] if name == BEFORE else os.path.join(PROGRAMS, "mcs"), "-device", device, str(threads)]
    if name == "candle":
        return [os.path.join(BUILT, "candle"), str(threads)]
    return [sys.executable, os.path.join(HERE, "worker.py"), name, str(threads), device]


def start(peers, threads, device="cpu"):
    """The sides that are there, mcs first; says in one line each which are not. On the processor mcs is there with one thread,
    too, and on a GPU without libraries; where PEERS_BEFORE names the program of another commit, that is a side, too."""
    sides = []
    other = OWN if device != "cpu" else SINGLE
    for name in ("mcs", *peers, *([BEFORE] if "PEERS_BEFORE" in os.environ else []), *([other] if threads > 1 or other == OWN else [])):
        each = 1 if name == SINGLE else threads
        env = environment(each)
        if name == OWN:
            env["MCS_LIBRARIES"] = "off"
        side = Side(name, command(name, each, device), env)
        if side.absent:
            print(f"no {name}: {side.absent}", file=sys.stderr)
            if name == "mcs":
                sys.exit(1)
            continue
        sides.append(side)
    return sides
