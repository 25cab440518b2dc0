"""Writes engine/llm/testdata/codes: small decoders whose weights are codes, and what transformers computes with what they stand for.

usage: python tests/peers/decoder_codes.py [NAME…|written|experts]  (needs torch, transformers, safetensors, mlx, bitsandbytes, compressed-tensors)

Each folder NAME has config.json and model.safetensors, and expected.safetensors: ids, and logits in f32. mlx's codes are those of
mlx.core.quantize, and bitsandbytes' those of its own functions, which expand them, too; compressed-tensors packs its words. The others are packed here
as their documentation says, and expanded by its formula. "written" makes engine/llm/testdata/written.safetensors instead: a matrix, and
what mlx.core.quantize and AutoAWQ's functions make of it; "experts" makes engine/llm/testdata/experts, of small models with experts in codes.

    python tests/peers/decoder_codes.py check FOLDER…       (needs mlx-lm) folders that the Go test TestSaveCodes wrote, and expected.safetensors
"""
import json
import os
import shutil
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

OUT = os.path.join(os.path.dirname(__file__), "../../engine/llm/testdata/codes")
PLAIN = "layers.0.mlp.down_proj"  # the matrix that stays numbers


def mlx(bits, group, dtype="float32", embed=False):
    def pack(path, w):
        import mlx.core as mx
        if "embed" in path and not embed:
            return None
        size = group if "up_proj" not in path else 64
        q, s, b = mx.quantize(mx.array(w.numpy()).astype(getattr(mx, dtype)), group_size=size, bits=bits)
        wide = mx.dequantize(q, s.astype(mx.float32), b.astype(mx.float32), group_size=size, bits=bits)
        torch_of = lambda x: torch.from_numpy(np.array(x.astype(mx.float32))).to(getattr(torch, dtype))
        return {".weight": torch.from_numpy(np.array(q).view(np.int32)).view(torch.uint32), ".scales": torch_of(s), ".biases": torch_of(b)}, torch.from_numpy(np.array(wide))

    own = {"model.layers.0.mlp.up_proj": {"group_size": 64, "bits": bits}}
    return pack, {"quantization": {"group_size": group, "bits": bits, "mode": "affine", **own, "model." + PLAIN: False}}


def grid(w, bits, group, sym):
    """Integers [out in], scales and zero points [out groups] of a grid as AutoGPTQ and AutoAWQ choose it."""
    high = 2**bits - 1
    x = w.reshape(w.shape[0], -1, group)
    if sym:
        scale, zero = x.abs().amax(-1) * 2 / high, torch.full(x.shape[:2], (high + 1) / 2)
    else:
        low = x.amin(-1).clamp(max=0)
        scale = (x.amax(-1).clamp(min=0) - low) / high
        zero = (-low / scale).round().clamp(1, high)
    scale = scale.half().float()
    codes = ((x / scale[..., None]).round() + zero[..., None]).clamp(0, high)
    wide = (codes - zero[..., None]) * scale[..., None]
    return codes.reshape(w.shape).long(), scale, zero.long(), wide.reshape(w.shape)


def packed(codes, bits, order=None):
    """Packs integers along the last dimension into words, the first in the lowest bits. order: which goes where."""
    n = 32 // bits
    codes = codes.reshape(*codes.shape[:-1], -1, n)
    codes = codes[..., order] if order else codes
    words = (codes << (torch.arange(n) * bits)).sum(-1)
    return torch.where(words >= 2**31, words - 2**32, words).int()


def gptq(bits, group, sym, version="gptq"):
    def pack(path, w):
        if "embed" in path:
            return None
        codes, scale, zero, wide = grid(w, bits, group if group > 0 else w.shape[1], sym)
        minus = 1 if version == "gptq" else 0
        return {".qweight": packed(codes, bits).T, ".qzeros": packed(zero.T - minus, bits), ".scales": scale.T.half(),
                ".g_idx": (torch.arange(w.shape[1]) // (group if group > 0 else w.shape[1])).int()}, wide

    return pack, {"quantization_config": {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": sym, "desc_act": False,
                                          "checkpoint_format": version}}


def awq():
    def pack(path, w):
        if "embed" in path:
            return None
        codes, scale, zero, wide = grid(w, 4, 64, False)
        order = [0, 2, 4, 6, 1, 3, 5, 7]
        return {".qweight": packed(codes.T.contiguous(), 4, order), ".qzeros": packed(zero.T.contiguous(), 4, order), ".scales": scale.T.half()}, wide

    return pack, {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemm", "zero_point": True,
                                          "modules_to_not_convert": [PLAIN]}}


def fp8():
    def pack(path, w):
        if "embed" in path:
            return None
        rows, columns = -(-w.shape[0] // 64), w.shape[1] // 64
        full = torch.zeros(rows * 64, w.shape[1])
        full[: w.shape[0]] = w
        blocks = full.reshape(rows, 64, columns, 64)
        scale = blocks.abs().amax((1, 3)) / 448
        q = (blocks / scale[:, None, :, None]).to(torch.float8_e4m3fn)
        wide = (q.float() * scale[:, None, :, None]).reshape(full.shape)[: w.shape[0]]
        return {".weight": q.reshape(full.shape)[: w.shape[0]], ".weight_scale_inv": scale}, wide

    return pack, {"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [64, 64],
                                          "modules_to_not_convert": [PLAIN]}}


def nf4(double):
    def pack(path, w):
        import bitsandbytes.functional as F
        if "embed" in path:
            return None
        q, state = F.quantize_4bit(w, blocksize=64, quant_type="nf4", compress_statistics=double)
        parts = {".weight." + key: t for key, t in state.as_dict(packed=True).items()}
        return {".weight": q, **parts}, F.dequantize_4bit(q, state)

    return pack, {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_quant_type": "nf4",
                                          "bnb_4bit_use_double_quant": double, "bnb_4bit_quant_storage": "uint8"}}


def compressed(form, activations=None, **args):
    """What compressed-tensors packs and expands itself; the scales are of the largest magnitudes, or of the ranges."""
    weights = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": None, "actorder": None, **args}

    def pack(path, w):
        from compressed_tensors.compressors import BaseCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
        if "embed" in path:
            return None
        scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**{k: v for k, v in weights.items() if v is not None}))
        bits, parts = weights["num_bits"], {"weight": w}
        size = weights["group_size"] or w.shape[1]
        x = w.reshape(w.shape[0], -1, size)
        if bits == 4 and weights["type"] == "float":
            parts["weight_global_scale"] = (448 * 6 / w.abs().max()).reshape(1)
            parts["weight_scale"] = (x.abs().amax(-1) / 6 * parts["weight_global_scale"]).to(torch.float8_e4m3fn).float()
        elif weights["type"] == "float":
            largest = w.abs().amax().reshape(1) if weights["strategy"] == "tensor" else w.abs().amax(1, keepdim=True)
            parts["weight_scale"] = largest / 448
        else:
            codes, parts["weight_scale"], zero, _ = grid(w, bits, size, weights["symmetric"])
            parts["weight_zero_point"] = (zero - 2 ** (bits - 1)).to(torch.int8)
        compressor = BaseCompressor.get_value_from_registry(form)
        parts = compressor.compress(parts, scheme)
        if "weight_global_scale" in parts:  # the package expands to bf16
            from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
            codes = unpack_fp4_from_uint8(parts["weight_packed"], *w.shape, dtype=torch.float32).reshape(x.shape)
            wide = (codes * (parts["weight_scale"].float() / parts["weight_global_scale"])[..., None]).reshape(w.shape)
        else:
            wide = compressor.decompress(parts, scheme)["weight"]
        if activations and not activations.get("dynamic"):
            parts["input_global_scale" if bits == 4 else "input_scale"] = torch.ones(1)
        return {"." + name: t for name, t in parts.items()}, wide

    return pack, {"quantization_config": {"quant_method": "compressed-tensors", "format": form, "ignore": ["lm_head"], "config_groups": {
        "group_0": {"targets": ["Linear"], "weights": weights, "input_activations": activations, "output_activations": None}}}}


def fp8_scaled(scale, others, rows=False, **settings):
    """One scale for all numbers, or for each row: 1/448 of the largest magnitude, as torch._scaled_mm's users and FBGEMM's quantize_fp8_per_row have it."""
    def pack(path, w):
        if "embed" in path:
            return None
        by = w.abs().amax(1, keepdim=True) / 448 if rows else w.abs().max() / 448
        q = (w / by).to(torch.float8_e4m3fn)
        return {".weight": q, scale: by, **{name: t.clone() for name, t in others.items()}}, q.float() * by

    return pack, {"quantization_config": settings}


def modelopt():
    """The codes of NVFP4 by the names and the scale of NVIDIA's model optimizer, whose number multiplies."""
    pack_other, _ = compressed("nvfp4-pack-quantized", type="float", strategy="tensor_group", group_size=16)

    def pack(path, w):
        if "embed" in path:
            return None
        parts, wide = pack_other(path, w)
        return {".weight": parts[".weight_packed"], ".weight_scale": parts[".weight_scale"], ".weight_scale_2": (1 / parts[".weight_global_scale"]).squeeze(),
                ".input_scale": torch.tensor(1.0)}, wide

    return pack, {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}}


FORMATS = {
    "fp8": fp8,
    "nf4": lambda: nf4(False),
    "nf4-double": lambda: nf4(True),
    "compressed": lambda: compressed("pack-quantized", group_size=32),
    "compressed-zeros": lambda: compressed("pack-quantized", group_size=32, symmetric=False),
    "compressed-channel": lambda: compressed("pack-quantized", num_bits=8, strategy="channel", symmetric=False),
    "compressed-int8": lambda: compressed("int-quantized", num_bits=8, strategy="channel", activations={"num_bits": 8, "type": "int", "dynamic": True}),
    "compressed-fp8": lambda: compressed("float-quantized", num_bits=8, type="float", strategy="tensor", activations={"num_bits": 8, "type": "float", "dynamic": False}),
    "compressed-fp8-channel": lambda: compressed("float-quantized", num_bits=8, type="float", strategy="channel", activations={"num_bits": 8, "type": "float", "dynamic": True}),
    "nvfp4": lambda: compressed("nvfp4-pack-quantized", type="float", strategy="tensor_group", group_size=16, activations={"num_bits": 4, "type": "float", "dynamic": False}),
    "nvfp4-modelopt": modelopt,
    "fp8-tensor": lambda: fp8_scaled(".weight_scale_inv", {".activation_scale": torch.tensor(1.0)}, quant_method="fp8", activation_scheme="static", weight_block_size=None),
    "fp8-modelopt": lambda: fp8_scaled(".weight_scale", {".input_scale": torch.tensor(1.0)}, quant_method="modelopt", quant_algo="FP8", ignore=["lm_head"]),
    "fp8-fbgemm": lambda: fp8_scaled(".weight_scale", {".input_scale_ub": torch.tensor([1200.0])}, rows=True, quant_method="fbgemm_fp8", activation_scale_ub=1200.0, modules_to_not_convert=[PLAIN]),
    "gptq4": lambda: gptq(4, 64, False),
    "gptq4-v2": lambda: gptq(4, 32, False, "gptq_v2"),
    "gptq8": lambda: gptq(8, -1, True),
    "awq": awq,
    "mlx4": lambda: mlx(4, 32, embed=True),
    "mlx8": lambda: mlx(8, 64, dtype="bfloat16"),
    "mlx3": lambda: mlx(3, 64),
    "mlx6": lambda: mlx(6, 128),
}


def make(name):
    torch.manual_seed(sum(map(ord, name)))
    pack, keys = FORMATS[name]()
    width = 64 if name.startswith(("compressed-", "nvfp4", "fp8-")) else 128
    config = LlamaConfig(vocab_size=48, hidden_size=width, intermediate_size=width, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=32, initializer_range=0.1, tie_word_embeddings=True, pad_token_id=None, bos_token_id=None, eos_token_id=None)
    config._attn_implementation = "eager"
    model = LlamaForCausalLM(config).float().eval()
    folder = os.path.join(OUT, name)
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "generation_config.json"))
    path = os.path.join(folder, "model.safetensors")
    tensors, wide = {}, {}
    for key, w in load_file(path).items():
        packed = pack(key.removesuffix(".weight"), w) if w.dim() == 2 and PLAIN not in key else None
        if packed is None:
            w = w if w.dim() == 1 else w.half().float()
            tensors[key] = wide[key] = w
            if w.dim() == 2:
                tensors[key] = w.half()
        else:
            tensors.update({key.removesuffix(".weight") + part: t.contiguous() for part, t in packed[0].items()})
            wide[key] = packed[1].float()
    save_file(tensors, path, metadata={"format": "pt"})
    model.load_state_dict(wide, strict=False)
    model.tie_weights()
    path = os.path.join(folder, "config.json")
    with open(path) as f:
        settings = json.load(f)
    with open(path, "w") as f:
        json.dump({**settings, **keys}, f, indent=2)
    ids = torch.randint(0, 48, (2, 12))
    with torch.no_grad():
        save_file({"ids": ids, "logits": model(input_ids=ids).logits.contiguous()}, os.path.join(folder, "expected.safetensors"))


EXPERTS = {"awq": awq, "gptq4": lambda: gptq(4, 64, False), "fp8": fp8, "compressed": lambda: compressed("pack-quantized", group_size=32), "mlx4": lambda: mlx(4, 64)}


def experts(name):
    """A small Qwen 3 with experts, in codes, too: mlx has those of all experts in one tensor."""
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
    torch.manual_seed(sum(map(ord, name)))
    pack, keys = EXPERTS[name]()
    keys[next(iter(keys))].pop("modules_to_not_convert", None)
    config = Qwen3MoeConfig(vocab_size=48, hidden_size=64, intermediate_size=64, moe_intermediate_size=64, num_experts=3, num_experts_per_tok=2, norm_topk_prob=True, num_hidden_layers=1,
                            num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=32, initializer_range=0.1, tie_word_embeddings=True,
                            pad_token_id=None, bos_token_id=None, eos_token_id=None)
    config._attn_implementation = "eager"
    folder = os.path.join(OUT, "../experts", name)
    plain = folder + "-plain"
    Qwen3MoeForCausalLM(config).float().eval().save_pretrained(plain)
    path = os.path.join(plain, "model.safetensors")
    tensors, wide = {}, {}
    for key, w in load_file(path).items():
        packed = pack(key.removesuffix(".weight"), w) if w.dim() == 2 and "mlp.gate." not in key else None
        if packed is None:
            tensors[key], wide[key] = (w.half(), w.half().float()) if w.dim() == 2 else (w, w)
            continue
        tensors.update({key.removesuffix(".weight") + part: t.contiguous() for part, t in packed[0].items()})
        wide[key] = packed[1].float().contiguous()
    if name.startswith("mlx"):
        for key in [key for key in tensors if ".experts.0." in key]:
            of = [key.replace(".experts.0.", f".experts.{i}.") for i in range(3)]
            tensors[key.replace(".experts.0.", ".switch_mlp.")] = torch.stack([tensors.pop(k) for k in of])
    save_file(wide, path, metadata={"format": "pt"})
    model = Qwen3MoeForCausalLM.from_pretrained(plain, dtype=torch.float32, attn_implementation="eager").eval()
    os.makedirs(folder, exist_ok=True)
    save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(plain, "config.json")) as f:
        settings = json.load(f)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({**settings, **keys}, f, indent=2)
    shutil.rmtree(plain)
    ids = torch.randint(0, 48, (2, 12))
    with torch.no_grad():
        save_file({"ids": ids, "logits": model(input_ids=ids).logits.contiguous()}, os.path.join(folder, "expected.safetensors"))


def awq_packed(w, group):
    """AutoAWQ's pseudo_quantize_tensor with zero points, and the layout of its WQLinear_GEMM.from_linear."""
    x = w.reshape(-1, group)
    high, low = x.amax(1, keepdim=True), x.amin(1, keepdim=True)
    scale = (high - low).clamp(min=1e-5) / 15
    zero = (-torch.round(low / scale)).clamp_(0, 15)
    scale, zero = scale.half().float().reshape(w.shape[0], -1), zero.reshape(w.shape[0], -1)
    each = lambda t: t.repeat_interleave(group, 1)
    codes = (torch.round(w / each(scale)) + each(zero)).clamp(0, 15)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    return {"qweight": packed(codes.T.contiguous().long(), 4, order), "qzeros": packed(zero.T.contiguous().long(), 4, order), "scales": scale.T.half().contiguous()}


def awq_scales(x, w, group):
    """AutoAWQ's _compute_best_scale for one layer with the weight [out in] that gets x, with duo_scaling."""
    w_mean = (w.abs().reshape(-1, group) / (w.abs().reshape(-1, group).amax(1, keepdim=True) + 1e-6)).reshape(w.shape).mean(0)
    x_mean, best, least = x.abs().mean(0), None, float("inf")
    for i in range(20):
        ratio = i / 20
        s = (x_mean.pow(ratio) / (w_mean.pow(1 - ratio) + 1e-4)).clamp(min=1e-4)
        s = s / (s.max() * s.min()).sqrt()
        y = (w * s).reshape(-1, group)
        high, low = y.amax(1, keepdim=True), y.amin(1, keepdim=True)
        scale = (high - low).clamp(min=1e-5) / 15
        zero = (-torch.round(low / scale)).clamp_(0, 15)
        scale = scale.half().float()
        q = (((torch.round(y / scale) + zero).clamp(0, 15) - zero) * scale).reshape(w.shape) / s
        loss = (x @ (q - w).T).pow(2).mean().item()
        if loss < least:
            best, least = s, loss
    return best


def awq_clipped(x, w, group):
    """AutoAWQ's _compute_best_clip, and what apply_clip makes of w."""
    x, g = x.reshape(1, x.shape[0], -1, group), w.reshape(w.shape[0], 1, -1, group)
    most = g.abs().amax(-1, keepdim=True)
    best, least, want = most.clone(), torch.ones_like(most) * 1e9, (x * g).sum(-1)
    for i in range(10):
        at = most * (1 - i / 20)
        y = torch.clamp(g, -at, at).reshape(-1, group)
        high, low = y.amax(1, keepdim=True), y.amin(1, keepdim=True)
        scale = (high - low).clamp(min=1e-5) / 15
        zero = (-torch.round(low / scale)).clamp_(0, 15)
        scale = scale.half().float()
        q = (((torch.round(y / scale) + zero).clamp(0, 15) - zero) * scale).reshape(g.shape)
        err = ((x * q).sum(-1) - want).pow(2).mean(1).reshape(least.shape)
        better = err < least
        least[better], best[better] = err[better], at[better]
    return torch.clamp(g, -best, best).reshape(w.shape)


def written():
    import mlx.core as mx
    torch.manual_seed(1)
    w = torch.randn(16, 128) * 0.1
    w[3] = w[3].abs()  # none below 0
    w[4, :64] = 0
    w[5, :32] = -w[5, :32].abs()
    out = {"w": w}
    for bits, group, dtype in [(4, 32, "float32"), (4, 64, "bfloat16"), (8, 64, "float16"), (8, 128, "float32")]:
        of = mx.array(w.numpy()).astype(getattr(mx, dtype))
        for end, t in zip(["weight", "scales", "biases"], mx.quantize(of, group_size=group, bits=bits)):
            whole = t.dtype == mx.uint32
            t = torch.from_numpy(np.array(t.view(mx.int32) if whole else t.astype(mx.float32)))
            out[f"mlx.{bits}.{group}.{dtype}.{end}"] = t.view(torch.uint32) if whole else t.to(getattr(torch, dtype))
    for group in (32, 128):
        out.update({f"awq.4.{group}.float32.{end}": t for end, t in awq_packed(w, group).items()})
    out["inputs"] = torch.randn(64, 128) * torch.exp(2 * torch.randn(128))
    out["balanced"] = awq_scales(out["inputs"], w, 32)
    out["clipped"] = awq_clipped(out["inputs"], w, 32)
    save_file(out, os.path.join(OUT, "../written.safetensors"))


def awq_expanded(folder):
    """The model of a folder, with the numbers that AutoAWQ's dequantize_gemm computes."""
    path = os.path.join(folder, "model.safetensors")
    tensors, wide = load_file(path), {}
    order = [0, 4, 1, 5, 2, 6, 3, 7]
    shifts = torch.arange(0, 32, 4)
    for key, t in tensors.items():
        if not key.endswith(".qweight"):
            if not key.endswith((".qzeros", ".scales")):
                wide[key] = t.float()
            continue
        name = key.removesuffix(".qweight")
        split = lambda q: ((q[:, :, None] >> shifts) & 15)[..., order].reshape(q.shape[0], -1)
        scale, zero = tensors[name + ".scales"].float(), split(tensors[name + ".qzeros"])
        group = t.shape[0] // scale.shape[0]
        each = lambda x: x.repeat_interleave(group, 0)
        wide[name + ".weight"] = ((split(t) - each(zero)) * each(scale)).T.contiguous()
    with open(os.path.join(folder, "config.json")) as f:
        settings = {**json.load(f), "pad_token_id": None}
    del settings["quantization_config"]
    with tempfile.TemporaryDirectory() as plain:
        with open(os.path.join(plain, "config.json"), "w") as f:
            json.dump(settings, f)
        save_file(wide, os.path.join(plain, "model.safetensors"), metadata={"format": "pt"})
        model, found = AutoModelForCausalLM.from_pretrained(plain, dtype=torch.float32, output_loading_info=True)
    assert not found["unexpected_keys"] and all("lm_head" in name for name in found["missing_keys"]), found
    return model.eval()


def check(folders):
    for folder in folders:
        expected = load_file(os.path.join(folder, "expected.safetensors"))
        with open(os.path.join(folder, "config.json")) as f:
            is_awq = "quantization_config" in json.load(f)
        if is_awq:
            with torch.no_grad():
                logits = awq_expanded(folder)(input_ids=expected["ids"]).logits
        else:
            import mlx.core as mx
            from mlx_lm.utils import load_model
            import pathlib
            mx.set_default_device(mx.cpu)
            model = load_model(pathlib.Path(folder))[0]
            logits = torch.from_numpy(np.array(model(mx.array(expected["ids"].numpy())).astype(mx.float32)))
        difference = ((logits - expected["logits"]).abs().max() / expected["logits"].abs().max()).item()
        print(f"{folder}: {difference:.2g}")
        assert difference < 1e-4, folder  # some models have large inputs, so that sums differ


def main():
    if sys.argv[1:2] == ["check"]:
        return check(sys.argv[2:])
    if sys.argv[1:] == ["written"]:
        return written()
    if sys.argv[1:] == ["experts"]:
        return [experts(name) for name in EXPERTS]
    for name in sys.argv[1:] or FORMATS:
        shutil.rmtree(os.path.join(OUT, name), ignore_errors=True)
        make(name)


if __name__ == "__main__":
    main()
