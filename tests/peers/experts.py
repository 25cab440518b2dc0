"""Times products of rows with the matrices of experts, in bf16 and in codes: of mcs, of PyTorch's torch._grouped_mm, which transformers calls, and
of vLLM's Triton kernels, on one GPU in one run.

    python tests/peers/experts.py -mcs mcs -vllm site-packages/vllm/model_executor/layers/fused_moe/fused_moe.py

The rows of PyTorch and of vLLM are in the order of their experts before the clock starts; mcs puts them in order each time. vLLM's kernels have the
best of the tiles below, and codes of 4 and 8 bits as GPTQ's and AWQ's; those of MXFP4 are not in that file.
"""

import argparse
import ast
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

import torch

# By name: experts, inputs, outputs, rows of one token.
SHAPES = {"gpt_oss": (32, 2880, 5760, 4), "qwen3_moe": (128, 2048, 1536, 8)}

CELL = """
groups, in, out, each := %d, %d, %d, %d
rng := tensor.NewRNG(1)
byte1 := func(shape ...int) tensor.Tensor { return rng.RandInt(0, 256, shape...).Cast(dtype.U8).Eval() }
all := map[string]func() tensor.Tensor{}
for _, name := range []string{"mxfp4", "int4", "q4_k", "int8"} {
	q := tensor.Quantised{Matrices: groups, In: in, Out: out, Bits: 4, Group: 32}
	scale := dtype.F32
	switch name {
	case "mxfp4":
		q.Form, q.Extra, scale = 3, tensor.From(quant.Codes("e2m1"), 16), dtype.BF16
	case "q4_k":
		q.Form = 2
	case "int8":
		q.Bits = 8
	}
	blocks, lines := groups*out/16, in*q.Bits/32
	q.Codes = byte1(blocks, lines, 64)
	q.Scales = rng.Rand(blocks, in/32, 16).Mul(0.001).Cast(scale).Eval()
	if name == "q4_k" {
		q.Extra = rng.Randn(blocks, in/32, 16).Mul(0.01).Cast(scale).Eval()
	}
	all[name] = func() tensor.Tensor { return q.Dequantize(dtype.BF16) }
}
exact := all["mxfp4"]().Eval()
all["bf16"] = func() tensor.Tensor { return exact }
for _, tokens := range []int{%s} {
	x := rng.Randn(tokens*each, in).Cast(dtype.BF16).Eval()
	index := rng.RandInt(0, groups, tokens*each).Eval()
	for name, w := range all {
		best := 1e9
		for range 4 {
			tensor.GroupedMatMul(x, w(), index).Eval()
			x.Slice(0, 0, 1).Sum().Item()
			start := time.Now()
			var last tensor.Tensor
			for range 20 {
				last = tensor.GroupedMatMul(x, w(), index).Eval()
			}
			_ = last.Slice(0, 0, 1).Sum().Item()
			best = min(best, time.Since(start).Seconds()/20)
		}
		fmt.Println("took", tokens, name, 1e6*best)
	}
	d := tensor.MaxAbsDiff(tensor.GroupedMatMul(x, all["mxfp4"](), index), tensor.GroupedMatMul(x, exact, index))
	if d != 0 {
		fmt.Println("mxfp4 and bf16 differ by", d)
	}
}
"""


def mcs(program, device, shape, tokens):
    """Microseconds by tokens and codes."""
    with tempfile.NamedTemporaryFile("w", suffix=".mcs") as f:
        f.write(CELL % (*shape, ", ".join(map(str, tokens))))
        f.flush()
        out = subprocess.run([program, "run", "-device", device, f.name], capture_output=True, text=True, timeout=300)
    for line in (out.stdout + out.stderr).splitlines():
        if not line.startswith("took"):
            print(line, file=sys.stderr)
    return {(int(m[1]), m[2]): float(m[3]) for m in re.finditer(r"took (\d+) (\S+) (\S+)", out.stdout)}


def clock(f, times=20):
    """The least mean of calls, in microseconds, by the GPU's clock."""
    best = float("inf")
    for _ in range(4):
        f()
        torch.cuda.synchronize()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(times):
            f()
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) * 1000 / times)
    return best


def vllm(path):
    """The Triton kernels of vLLM's fused_moe.py, without the rest of vLLM."""
    text = open(path).read()
    kept = [ast.get_source_segment(text, n) for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and any(ast.unparse(d) == "triton.jit" for d in n.decorator_list)]
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as f:
        f.write("import triton\nimport triton.language as tl\n\n\n" + "\n\n\n".join("@triton.jit\n" + k for k in kept))
    spec = importlib.util.spec_from_file_location("kernels", f.name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Rows, columns and depth of a tile, warps, stages.
TILES = [(16, 32, 64, 4, 4), (16, 64, 128, 4, 4), (16, 128, 64, 4, 4), (64, 64, 32, 4, 4), (128, 128, 64, 8, 4), (128, 256, 64, 8, 3)]
TILES_OF_CODES = [(16, 32, 64, 4, 4), (16, 128, 64, 4, 3), (64, 128, 64, 4, 3), (128, 128, 64, 8, 3)]


def slots(index, groups, high):
    """Rows in the order of their groups, those of each filled up to tiles, and the group of each tile."""
    order, of = [], []
    for g in range(groups):
        rows = (index == g).nonzero().flatten().tolist()
        rows += [len(index)] * (-len(rows) % high)
        order += rows
        of += [g] * (len(rows) // high)
    i32 = dict(dtype=torch.int32, device=index.device)
    return torch.tensor(order, **i32), torch.tensor(of, **i32), torch.tensor([len(order)], **i32)


def theirs(kernels, x, w, index, bits):
    """The best time of vLLM's kernel, and its tile."""
    import triton
    import triton.language as tl

    groups, out, inner = w.shape
    y = torch.empty(len(x), out, dtype=x.dtype, device=x.device)
    if bits < 16:
        codes = torch.randint(0, 256, (groups, out, inner * bits // 8), dtype=torch.uint8, device=x.device)
        scales = torch.rand(groups, out, inner // 32, dtype=x.dtype, device=x.device)
    best = (float("inf"), None)
    for tile in TILES if bits == 16 else TILES_OF_CODES:
        high, wide, deep, warps, stages = tile
        if (high > 16) != (len(x) / groups > 16):
            continue
        order, of, count = slots(index.cpu(), groups, high)
        order, of, count = order.cuda(), of.cuda(), count.cuda()
        grid = (len(of) * triton.cdiv(out, wide),)
        common = dict(BLOCK_SIZE_M=high, BLOCK_SIZE_N=wide, BLOCK_SIZE_K=deep, GROUP_SIZE_M=1 if high == 16 else 8, MUL_ROUTED_WEIGHT=False, top_k=1, compute_type=tl.bfloat16, num_warps=warps, num_stages=stages)

        def one():
            if bits == 16:
                kernels.fused_moe_kernel[grid](x, w, y, None, None, None, None, order, of, count, out, inner, len(order), len(x), x.stride(0), 1, w.stride(0), 1, w.stride(1), y.stride(0), 1,
                                               0, 0, 0, 0, 0, 0, 0, 0, 0, use_fp8_w8a8=False, use_int8_w8a8=False, use_int8_w8a16=False, per_channel_quant=False, HAS_BIAS=False, **common)
                return
            kernels.fused_moe_kernel_gptq_awq[grid](x, codes, y, scales, None, None, order, of, count, out, inner, len(order), len(x), x.stride(0), 1, codes.stride(0), 1, codes.stride(1), y.stride(0), 1,
                                                    scales.stride(0), 1, scales.stride(1), 0, 0, 0, block_k_diviable=inner % deep == 0, group_size=32, has_zp=False,
                                                    use_int4_w4a16=bits == 4, use_int8_w8a16=bits == 8, **common)

        try:
            best = min(best, (clock(one), tile))
        except Exception as e:
            print(tile, bits, str(e)[:200], file=sys.stderr)
        if bits == 16 and best[1] == tile:
            rows = torch.randint(0, len(x), (8,), device=x.device)
            want = torch.stack([x[r].float() @ w[index[r]].float().T for r in rows])
            assert (y[rows].float() - want).abs().max() < 0.02 * want.abs().max(), tile
    return best


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-mcs", nargs="*", default=["mcs"], help="programs")
    p.add_argument("-vllm", default="", help="vLLM's fused_moe.py; nothing: that of the vllm that is installed, if one is")
    p.add_argument("-device", default="cuda:0")
    p.add_argument("-tokens", default="1,16,4096")
    a = p.parse_args()
    tokens = [int(t) for t in a.tokens.split(",")]
    if not a.vllm and (found := importlib.util.find_spec("vllm")):
        a.vllm = os.path.join(os.path.dirname(found.origin), "model_executor/layers/fused_moe/fused_moe.py")
    kernels = vllm(a.vllm) if a.vllm else None
    for name, shape in SHAPES.items():
        groups, inner, out, each = shape
        found = {program: mcs(program, a.device, shape, tokens) for program in a.mcs}
        w = torch.randn(groups, out, inner, dtype=torch.bfloat16, device="cuda")
        for t in tokens:
            for program, times in found.items():
                bf16 = times.get((t, "bf16"), float("nan"))
                print(f"{name}, {t} tokens, {program}:", ", ".join(f"{codes} {us:.0f} us ({us / bf16:.2f})" for (n, codes), us in sorted(times.items()) if n == t), flush=True)
            x = torch.randn(t * each, inner, dtype=torch.bfloat16, device="cuda")
            index = torch.randint(0, groups, (t * each,), device="cuda")
            ends = torch.bincount(index, minlength=groups).cumsum(0).to(torch.int32)
            grouped = getattr(torch, "_grouped_mm", None)
            line = [f"torch._grouped_mm bf16 {clock(lambda: grouped(x, w.mT, offs=ends)):.0f} us"] if grouped else []
            for bits in (16, 4, 8) if kernels else ():
                us, tile = theirs(kernels, x, w, index, bits)
                line.append(f"vLLM {'bf16' if bits == 16 else f'int{bits}'} {us:.0f} us {tile}")
            print(f"{name}, {t} tokens:", ", ".join(line), flush=True)
        del w
        torch.cuda.empty_cache()


main()
