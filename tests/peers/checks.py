"""The checks of tests/peers/run cuda: programs that are run with their output in a file, and one line that says how they went.

Each returns whether it went well (None: it could not be run) and that line.
"""
import os
import re
import shutil
import subprocess
import sys
import time

from sides import HERE, PROGRAMS, environment

ROOT = os.path.dirname(os.path.dirname(HERE))


def run(a, name, command, cwd=ROOT):
    """Runs a command with its output in a.o/name.log. Returns its status, None if it ran out of time, the output, and where that is."""
    path, start = os.path.join(a.o, name + ".log"), time.monotonic()
    print("$ " + " ".join(command))
    with open(path, "w") as log:
        try:
            status = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd, env=environment(a.threads), timeout=a.limit).returncode
        except subprocess.TimeoutExpired:
            status = None
        except OSError as e:
            log.write(str(e))
            status = 127
    with open(path, errors="replace") as log:
        return status, log.read(), f"{time.monotonic() - start:.0f} s, {path}"


def program(name):
    path = os.path.join(PROGRAMS, name)
    return path if os.path.exists(path) else None


def tests(a, name, binary, folder, pattern, *flags, before=()):
    """A test binary, perhaps within another program, and how many of its tests passed."""
    path = program(binary)
    if not path:
        return None, f"there is no {binary} in {PROGRAMS}"
    status, out, where = run(a, name, [*before, path, "-test.run", pattern, "-test.v", f"-test.timeout={a.limit}s", *flags], os.path.join(ROOT, folder))
    passed, failed, skipped = (len(re.findall(rf"^ *--- {what}:", out, re.M)) for what in ("PASS", "FAIL", "SKIP"))
    counts = f"{passed} passed, {failed} failed, {skipped} skipped, {where}"
    if status is None:
        return False, "out of time: " + counts
    if status == 0 and not passed:
        reason = re.search(r"^ +\S+\.go:\d+: (.*)", out, re.M)
        return None, (reason[1] if reason else "no test ran") + ", " + where
    first = re.search(r"^ *--- FAIL: (\S+)", out, re.M)
    return status == 0, counts + (f", first {first[1]}" if first else "")


def kind(device):
    return device.partition(":")[0]


def backendtest(a):
    number = a.device.partition(":")[2]
    flags = ["-gpu", number] if kind(a.device) == "cuda" and number else []
    return tests(a, "backendtest", "backendtest.test", os.path.join("engine", "internal", "backend", kind(a.device)), "^TestConformance(OnGPU)?$", *flags)


def onnx(a):
    cases = os.path.abspath(a.onnx) if a.onnx else made(a)
    if not cases:
        return None, "no cases: give a zip of them with -onnx, or install Python's onnx"
    ok, what = tests(a, "onnx", "onnx.test", os.path.join("tests", "conformance"), "^TestONNX$", "-onnx", cases, "-device", a.device)
    with open(os.path.join(a.o, "onnx.log"), errors="replace") as log:
        count = re.findall(r"^onnx: (\S+ \d+ of \d+.*)", log.read(), re.M)
    return ok, (count[-1] + "; " if count else "") + what


def made(a):
    """A zip of the node cases that Python's onnx makes, or None."""
    path = os.path.join(a.o, "onnx-node.zip")
    if not os.path.exists(path):
        part = path + ".part"
        status, _, _ = run(a, "onnx-cases", [sys.executable, "-W", "ignore", os.path.join(HERE, "onnx_cases.py"), part])
        if status != 0:
            return None
        os.replace(part, path)
    return path


def lora(a):
    """The example, on the device and on the processor: do the losses agree?"""
    notebook = program("notebook")
    if not notebook:
        return None, f"there is no notebook in {PROGRAMS}"
    losses, places = {}, {}
    for device in (a.device, "cpu"):
        steps = ["-p", f"steps={20 if a.quick else 100}"]
        status, out, places[device] = run(a, "lora-" + device.replace(":", ""), [notebook, "run", "-device", device, *steps, os.path.join("examples", "lora.mcs")])
        if status:
            return False, f"on {device} it ended with {status}: " + places[device]
        # of the runs as they ended, not as they went; and of the texts kept aside
        losses[device] = [float(x) for pattern in (r"^\d+ steps.* loss (\d+\.\d+) → (\d+\.\d+)", r"^code (\d+\.\d+), tests (\d+\.\d+)")
                          for pair in re.findall(pattern, out, re.M) for x in pair]
    got, want = losses[a.device], losses["cpu"]
    if not want or len(got) != len(want):
        return False, f"got {len(got)} losses, the processor has {len(want)}: " + places[a.device]
    worst = max(abs(x - y) / y for x, y in zip(got, want))
    return worst < 0.02, f"losses {' '.join(map(str, got))}, on the processor {' '.join(map(str, want))}: {100 * worst:.2f} % apart at most, " + places[a.device]


def emulated(a):
    """Each kind of kernel on the emulated GPU, held against the reference."""
    if not program("families.test"):
        return None, f"there is no families.test in {PROGRAMS}"
    parts, good = [], True
    for device in ("emulated", "emulated-address", "emulated-undefined"):
        ok, what = families(a, device, [], device)
        if ok is None:
            return ok, what
        good = good and ok
        parts.append(f"{device}: {what}")
    return good, "; ".join(parts)


def families(a, name, before, device):
    """The test of all families of kernels on a device, in a program that watches it."""
    return tests(a, name, "families.test", os.path.join("tests", "peers", "mcs"), f"Families/{a.only}", "-device", device, before=before)


def sanitize(a):
    """NVIDIA's sanitizers over a test binary that runs each kind of kernel and holds it against the reference."""
    tool = shutil.which("compute-sanitizer")
    if not tool:
        return None, "there is no compute-sanitizer"
    parts, good = [], True
    for check in ("memcheck", "racecheck"):
        flags = ["--leak-check", "no", "--report-api-errors", "no"] if check == "memcheck" else []  # a call that asks how many parameters there are fails at the last
        ok, what = families(a, check, [tool, "--tool", check, *flags, "--error-exitcode", "66"], a.device)
        if ok is None:
            return ok, what
        with open(os.path.join(a.o, check + ".log"), errors="replace") as log:
            found = re.findall(r"^=+ ((?:ERROR|RACECHECK) SUMMARY: .*)", log.read(), re.M)
        good = good and ok and bool(found)
        parts.append(f"{check}: {found[-1] if found else 'no summary'}, {what}")
    return good, "; ".join(parts)
