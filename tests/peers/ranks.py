"""Several GPUs of one machine: `mcs train -n 2` against one process, and beside PyTorch's DDP with PEFT.

usage: python tests/peers/ranks.py bits,ends,speed --mcs FILE [--device cuda] [--work DIR] [--shapes 0.5B,7B]

  bits   two processes leave the losses, adapters and checkpoints of one, in f32 and bf16, whatever algorithm and protocol NCCL takes
  ends   a rank that is killed ends the others, who say which; one that is stopped for 5 s does no harm; torchrun starts a killed job again, and it
         leaves what one that nobody killed does
  speed  tokens a second of two GPUs over those of one, of mcs and of PyTorch, the same batches a step (needs torch, transformers, peft; torchrun)

Each line is a check or a figure; the exit code is the number of checks that failed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

SHAPES = {
    "small": dict(vocab_size=64, num_hidden_layers=2, hidden_size=64, num_attention_heads=4, num_key_value_heads=2, intermediate_size=192, tie_word_embeddings=True),
    "0.5B": dict(vocab_size=151936, num_hidden_layers=24, hidden_size=896, num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864, tie_word_embeddings=True),
    "7B": dict(vocab_size=152064, num_hidden_layers=28, hidden_size=3584, num_attention_heads=28, num_key_value_heads=4, intermediate_size=18944, tie_word_embeddings=False),
}
WORDS = "the of and to in is it for that was on as with by at from his but not are this have an they which one you were all her she there would".split()
failed = 0


def check(what, right, more=""):
    global failed
    failed += not right
    print("ok  " if right else "FAIL", what, more, flush=True)


def folder(work, name, device):
    """A model of that shape with random weights in bf16, as transformers writes it."""
    out = work / name
    if out.exists():
        return out
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers
    with torch.device("meta"):
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(max_position_embeddings=4096, **SHAPES[name])).to(torch.bfloat16)
    model = model.to_empty(device=device)
    model.tie_weights()
    torch.manual_seed(1)
    with torch.no_grad():
        for n, p in model.named_parameters():
            p.fill_(1) if "norm" in n else p.normal_(0, 0.02)
    model.save_pretrained(out)
    del model, p
    if device == "cuda":
        torch.cuda.empty_cache()
    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["<end>"] + WORDS)}, unk_token="<end>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(tokenizer_object=t, eos_token="<end>", unk_token="<end>").save_pretrained(out)
    return out


def text(work, words):
    """A text, or as many records as there are lengths in words."""
    path = work / f"text{len(words)}.{'txt' if len(words) == 1 else 'jsonl'}"
    if not path.exists():
        x, lines = 1, []
        for n in words:
            line = []
            for _ in range(n):
                x = (x * 1103515245 + 12345) % 2**31
                line.append(WORDS[(x >> 16) % len(WORDS)])
            lines.append(" ".join(line))
        path.write_text(lines[0] if len(words) == 1 else "".join(json.dumps(dict(text=line)) + "\n" for line in lines))
    return path


class Job:
    """A job of mcs in a folder of its own."""

    def __init__(self, args, name, model, steps, accumulate=2, batch=4, length=64, compute="f32", every=0, dropout=0.0, rank=8, words=(200_000,)):
        self.args, self.dir = args, args.work / "jobs" / name
        shutil.rmtree(self.dir, ignore_errors=True)
        self.dir.mkdir(parents=True)
        (self.dir / "job.toml").write_text(f"""
output = "out"
[model]
path = "{model}"
compute = "{compute}"
[data]
train = "{text(args.work, words)}"
length = {length}
batch = {batch}
cache = false
[train]
steps = {steps}
accumulate = {accumulate}
[lora]
rank = {rank}
dropout = {dropout}
[checkpoints]
every = {every}
keep = 9
""")

    def start(self, ranks=1, env={}, launcher=(), resume=False):
        command = [*launcher, self.args.mcs, "train", "job.toml", "--device", self.args.device]
        if ranks > 1 and not launcher:
            command += ["-n", str(ranks)]
        if resume:
            command.append("--resume")
        self.out = open(self.dir / "said", "w")
        return subprocess.Popen(command, cwd=self.dir, env={**os.environ, **env}, stdout=self.out, stderr=subprocess.STDOUT)

    def run(self, ranks=1, **more):
        process = self.start(ranks, **more)
        code = process.wait()
        if code != 0:
            check(f"{self.dir.name} ends with 0", False, f"{code}\n{self.said()}")
        return self

    def said(self):
        return (self.dir / "said").read_text()[-1500:]

    def log(self):
        path = self.dir / "out" / "log.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")] if path.exists() else []
        return [line for line in lines if "loss" in line]

    def until(self, process, step):
        while process.poll() is None and (not self.log() or self.log()[-1]["step"] < step):
            time.sleep(0.05)

    def left(self):
        """What the run has left: losses and norms, and a hash of each file of tensors."""
        files = {str(p.relative_to(self.dir)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(self.dir.rglob("*.safetensors"))}
        return [(line["step"], line["loss"], line["norm"]) for line in self.log()], files

    def rate(self):
        """Tokens a second, and seconds a step, without the first third of the steps."""
        lines = self.log()
        first, last = lines[len(lines) // 3], lines[-1]
        seconds = last["seconds"] - first["seconds"]
        return (last["places"] - first["places"]) / seconds, seconds / (last["step"] - first["step"])


def same(what, a, b):
    (losses, files), (other, others) = a.left(), b.left()
    differ = [name for name in files.keys() | others.keys() if files.get(name) != others.get(name)]
    check(what, losses == other and losses and files and not differ,
          f"{len(losses)} losses, {len(files)} files" if not differ and losses == other else f"\n{losses[:3]}\n{other[:3]}\n{differ}")


def bits(args):
    model = folder(args.work, "0.5B" if args.device == "cuda" else "small", args.device)
    words = [40 + 37 * i % 200 for i in range(101)]  # rows have different numbers of targets
    for compute in ("f32", "bf16"):
        more = dict(model=model, steps=6, accumulate=4, batch=2, compute=compute, every=3, dropout=0.1, length=200, words=words)
        one = Job(args, f"{compute}-1", **more).run()
        two = Job(args, f"{compute}-2", **more).run(2)
        same(f"{compute}: two processes leave what one does", one, two)
        print([line for line in two.said().splitlines() if line.startswith("train")][:1], flush=True)
    one = Job(args, "tiny-1", "tiny", 20).run()
    for env in (dict(NCCL_ALGO="Ring", NCCL_PROTO="LL"), dict(NCCL_ALGO="Tree", NCCL_PROTO="LL128"), dict(NCCL_PROTO="Simple"), dict(NCCL_P2P_DISABLE="1"), dict(MCS_NCCL="off")):
        same(f"the same with {env}", one, Job(args, "tiny-2", "tiny", 20).run(2, env=env))


def rank(number, name="RANK"):
    """The process of a rank of mcs."""
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            env, line = (p / "environ").read_bytes().split(b"\0"), (p / "cmdline").read_bytes()
        except OSError:
            continue
        if f"{name}={number}".encode() in env and b"train" in line.split(b"\0") and b"torchrun" not in line and b"torch" not in line:
            return int(p.name)
    raise SystemExit(f"no rank {number}")


def ends(args):
    job = Job(args, "killed", "tiny", 1_000_000)
    process = job.start(2)
    job.until(process, 20)
    began = time.time()
    os.kill(rank(1, "MCS_RANK"), signal.SIGKILL)
    code = process.wait(60)
    words = job.said().strip().splitlines()[-1]
    check("a rank that is killed ends the other, which says so", code != 0 and "rank 1" in words and time.time() - began < 25, f"{time.time() - began:.1f} s: {words}")

    steps = 3000
    whole = Job(args, "whole", "tiny", steps, every=steps // 4).run(2)
    job = Job(args, "stopped", "tiny", steps, every=steps // 4)
    process = job.start(2)
    job.until(process, steps // 10)
    stopped = rank(1, "MCS_RANK")
    os.kill(stopped, signal.SIGSTOP)
    time.sleep(5)
    os.kill(stopped, signal.SIGCONT)
    process.wait(120)
    same("a rank that is stopped for 5 s does no harm", whole, job)

    torchrun = shutil.which("torchrun")
    if not torchrun:
        print("torchrun: not installed")
        return
    job = Job(args, "again", "tiny", steps, every=steps // 4)
    process = job.start(2, launcher=(torchrun, "--standalone", "--nproc-per-node", "2", "--max-restarts", "2", "--no-python"), resume=True)
    job.until(process, steps // 3)
    os.kill(rank(1), signal.SIGKILL)
    code = process.wait(120)
    same(f"torchrun starts it again, and it leaves what the whole run does (exit code {code})", whole, job)


def speed(args):
    for shape in args.shapes.split(","):
        model, steps = folder(args.work, shape, args.device), 45 if shape == "0.5B" else 36
        more = dict(model=model, steps=steps, batch=4, length=1024, compute="bf16", rank=16, words=[1100] * 200)
        jobs = [Job(args, f"{shape}-{ranks}", **more) for ranks in (1, 2)]
        alone = jobs[0].start(1)  # beside PyTorch's on the other GPU
        reference = [pytorch(args, model, steps, 1)]
        if alone.wait() != 0:
            check(shape, False, jobs[0].said())
        jobs[1].run(2)
        for name in ("mcs", "PyTorch"):
            one, two = [j.rate() for j in jobs] if name == "mcs" else (*reference, pytorch(args, model, steps, 2))
            print(f"{shape} bf16 4x1024, {name:8}: {one[0]:9.0f} and {two[0]:9.0f} tokens/s, {two[0] / one[0]:.3f} times; a step {1e3 * one[1]:.1f} and {1e3 * two[1]:.1f} ms", flush=True)


def pytorch(args, model, steps, ranks):
    """The rates of DDP, which runs this file again. Alone it takes the second GPU."""
    command = ["torchrun", "--standalone", "--nproc-per-node", str(ranks), __file__, "ddp", "--model", str(model), "--steps", str(steps)]
    env = dict(os.environ) if ranks > 1 else dict(os.environ, CUDA_VISIBLE_DEVICES="1")
    out = subprocess.run(command, env=env, capture_output=True, text=True)
    lines = [line for line in out.stdout.splitlines() if line.startswith("rate")]
    if not lines:
        print(out.stderr[-1500:])
        return 1.0, 1.0
    return tuple(float(x) for x in lines[0].split()[1:])


def ddp(args):
    import torch
    import transformers
    from peft import LoraConfig, get_peft_model
    ranks, local = int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.distributed.init_process_group("nccl")
    base = transformers.AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16, attn_implementation="sdpa").to(local)
    model = get_peft_model(base, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
    for p in model.parameters():
        if p.requires_grad:
            p.data = p.data.float()
    model.train()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=2e-4, weight_decay=0.0, fused=True)
    together = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local], gradient_as_bucket_view=True)
    ids = torch.randint(1, len(WORDS), (4, 1024), device=local)
    batches = 2 // ranks

    def step():
        for i in range(batches):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = together(input_ids=ids, labels=ids, use_cache=False).loss / batches
            loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        optimizer.zero_grad()
    for _ in range(args.steps // 3):
        step()
    torch.cuda.synchronize()
    began, left = time.time(), args.steps - args.steps // 3
    for _ in range(left):
        step()
    torch.cuda.synchronize()
    took = (time.time() - began) / left
    if torch.distributed.get_rank() == 0:
        print("rate", 2 * ids.numel() / took, took, flush=True)
    torch.distributed.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what")
    p.add_argument("--mcs", default="mcs", type=os.path.abspath)
    p.add_argument("--device", default="cuda")
    p.add_argument("--work", default="/dev/shm/ranks", type=pathlib.Path)
    p.add_argument("--shapes", default="0.5B,7B")
    p.add_argument("--model")
    p.add_argument("--steps", type=int)
    args = p.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    for what in args.what.split(","):
        began = time.time()
        dict(bits=bits, ends=ends, speed=speed, ddp=ddp)[what](args)
        if what != "ddp":
            print(f"{what}: {time.time() - began:.0f} s", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
