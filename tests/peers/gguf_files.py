"""Writes and reads GGUF files, to hold engine/gguf against.

    pip install gguf transformers torch
    python gguf_files.py write FOLDER GGML   # the fixtures engine/gguf/testdata: python.gguf, names.json; GGML is llama.cpp's libggml-base.so
    python gguf_files.py grids FILE      # engine/gguf/grids.bin: magnitudes of the IQ types by place, 2 or 3 bits each
    python gguf_files.py check FILE      # a file that the Go test TestPythonReads wrote

For each type T that the package decodes: "T" holds random blocks, "T.f32" what the package makes of them. "values" is f32, "Q8_0.of",
"Q4_K.of" and so on hold the same values as the package, or ggml where it cannot, quantises them. names.json holds the names of models of transformers in files, as the
package maps them, and the fields of their config.json, as transformers maps them.
"""

import ctypes
import json
import pathlib
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T

DECODED = [T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K, T.IQ4_NL, T.IQ4_XS, T.IQ3_XXS, T.IQ3_S, T.IQ2_XXS, T.IQ2_XS,
           T.IQ2_S, T.IQ1_S, T.IQ1_M, T.TQ1_0, T.TQ2_0, T.MXFP4]
# Where the f16 numbers of a block are, by type.
SCALES = {T.Q4_1: (0, 2), T.Q5_1: (0, 2), T.Q2_K: (80, 82), T.Q3_K: (108,), T.Q4_K: (0, 2), T.Q5_K: (0, 2), T.Q6_K: (208,), T.TQ1_0: (52,), T.TQ2_0: (64,)}
GRIDS = [("IQ2_XXS", (8, 25, 43)), ("IQ2_XS", (8, 25, 43)), ("IQ2_S", (8, 25, 43)), ("IQ3_XXS", (4, 12, 20, 28, 36, 44, 52, 62)),
         ("IQ3_S", (1, 3, 5, 7, 9, 11, 13, 15)), ("IQ1_S", (-1, 0, 1))]
METADATA = {
    "test.u8": (200, gguf.GGUFValueType.UINT8), "test.i8": (-100, gguf.GGUFValueType.INT8),
    "test.u16": (60000, gguf.GGUFValueType.UINT16), "test.i16": (-30000, gguf.GGUFValueType.INT16),
    "test.u32": (4000000000, gguf.GGUFValueType.UINT32), "test.i32": (-2000000000, gguf.GGUFValueType.INT32),
    "test.u64": (2**64 - 1, gguf.GGUFValueType.UINT64), "test.i64": (-(2**63), gguf.GGUFValueType.INT64),
    "test.f32": (0.25, gguf.GGUFValueType.FLOAT32), "test.f64": (0.1, gguf.GGUFValueType.FLOAT64),
    "test.yes": (True, gguf.GGUFValueType.BOOL), "test.text": ("naïve 名\n", gguf.GGUFValueType.STRING),
}
ARRAYS = {"test.tokens": ["<s>", "", "▁the"], "test.scores": [0.5, -1.5], "test.types": [1, 2, 3], "test.flags": [True, False]}


def blocks(r, kind):
    block, size = gguf.GGML_QUANT_SIZES[kind]
    b = r.integers(0, 256, (2, 2048 // block // 2, size), dtype=np.uint8)
    if kind == T.MXFP4:
        b[..., 0] = r.integers(100, 140, b.shape[:2])
        return b.reshape(2, -1)
    if kind == T.IQ1_M:  # the scale is the upper 4 bits of four words
        d = r.normal(0, 0.1, b.shape[:2]).astype(np.float16).view(np.uint16)
        for i in range(4):
            b[..., 49 + 2 * i] = b[..., 49 + 2 * i] & 15 | ((d >> 4 * i & 15) << 4).astype(np.uint8)
        return b.reshape(2, -1)
    for at in SCALES.get(kind, (0,)):
        d = r.normal(0, 0.1, b.shape[:2]).astype(np.float16)
        d[0, 0] = 6e-8  # a subnormal
        b[..., at:at + 2] = d[..., None].view(np.uint8)
    return b.reshape(2, -1)


def grids(path):
    out = []
    for name, magnitudes in GRIDS:
        of = getattr(gguf.quants, name)
        of.init_grid()
        g = of.grid.reshape(-1, of.grid.shape[-1]).astype(int)
        width = 2 if g.shape[1] == 8 else 3
        codes = np.vectorize({m: i for i, m in enumerate(magnitudes)}.get)(g)
        out.append((codes << width * np.arange(g.shape[1])).sum(-1).astype("<u2"))
    path.write_bytes(np.concatenate(out).tobytes())


def values(r):
    v = r.normal(0, 1, (8, 256)).astype(np.float32)
    v *= 10.0 ** r.integers(-6, 4, (8, 1))
    v[0, :32] = 0
    v[1, :64] = np.tile(np.arange(-16, 16, dtype=np.float32), 2)  # ties, in magnitude and in rounding
    v[2, :32] = np.linspace(-127, 127, 32, dtype=np.float32).round(0) + 0.5
    v[3, :32] = 1e-36  # the scale is a subnormal
    return v


def plain(r):
    v = r.normal(0, 100, (2, 3, 5))
    return {"F32": v.astype(np.float32), "F16": v.astype(np.float16), "F64": v,
            **{f"I{n}": r.integers(-2 ** (n - 1), 2 ** (n - 1) - 1, (3, 5), dtype=f"i{n // 8}") for n in (8, 16, 32, 64)},
            "scale": np.array([1.5], np.float32)}


def by_ggml(v, kind, library):
    """Blocks by ggml's own quantiser, which the package has no words for."""
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    out = np.zeros((v.shape[0], v.shape[1] // 256 * gguf.GGML_QUANT_SIZES[kind][1]), np.uint8)
    pointer = lambda a: a.ctypes.data_as(ctypes.c_void_p)
    library.ggml_quantize_chunk(ctypes.c_int(kind), pointer(v), pointer(out), ctypes.c_int64(0), ctypes.c_int64(v.shape[0]), ctypes.c_int64(v.shape[1]), None)
    return out


def write(folder, ggml):
    r = np.random.default_rng(1)
    w = gguf.GGUFWriter(folder / "python.gguf", "test")
    for key, (value, kind) in METADATA.items():
        w.add_key_value(key, value, kind)
    for key, value in ARRAYS.items():
        w.add_array(key, value)
    for name, array in plain(r).items():
        w.add_tensor(name, array)
    v = values(r)
    w.add_tensor("values", v)
    for kind in (T.BF16, T.Q8_0, T.Q4_0, T.Q5_0, T.Q5_1):
        w.add_tensor(kind.name + ".of", gguf.quantize(v, kind), raw_dtype=kind)
    for kind in (T.Q4_K, T.Q5_K, T.Q6_K):
        w.add_tensor(kind.name + ".of", by_ggml(v, kind, ggml), raw_dtype=kind)
    for kind in DECODED:
        b = blocks(r, kind)
        w.add_tensor(kind.name, b, raw_dtype=kind)
        w.add_tensor(kind.name + ".f32", gguf.dequantize(b, kind))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def names(folder):
    """tensors: [architecture, name in the folder, name in a file], config: [key, field]"""
    import transformers
    from transformers.integrations.ggml import GGUF_CONFIG_MAPPING

    architectures = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    small = dict(vocab_size=8, hidden_size=8, intermediate_size=8, num_hidden_layers=12, num_attention_heads=2, num_key_value_heads=1,
                 head_dim=4, pad_token_id=0)
    tensors, config = [], set()
    for name, of in {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3", "gemma": "Gemma", "gemma2": "Gemma2", "gemma3": "Gemma3",
                     "phi3": "Phi3", "arcee": "Arcee", "cohere2": "Cohere2", "command-r": "Cohere", "ernie4_5": "Ernie4_5", "exaone4": "Exaone4",
                     "glm4": "Glm4", "granite": "Granite", "hunyuan-dense": "HunYuanDenseV1", "jais2": "Jais2", "mistral3": "Ministral3",
                     "nemotron": "Nemotron", "olmo2": "Olmo2", "phi2": "Phi", "seed_oss": "SeedOss", "smollm3": "SmolLM3", "stablelm": "StableLm",
                     "starcoder2": "Starcoder2"}.items():
        settings = getattr(transformers, of + ("TextConfig" if of == "Gemma3" else "Config"))(**small)
        model = getattr(transformers, of + "ForCausalLM")(settings)
        table = gguf.get_tensor_name_map(architectures[name], 12)
        for hub in model.state_dict():
            tied = hub == "lm_head.weight" and settings.tie_word_embeddings
            if not tied and not (hub.startswith("model.layers.") and hub.split(".")[2] not in ("0", "11")):
                tensors.append([name, hub, table.get_name(hub, try_suffixes=(".weight", ".bias"))])
        for key, field in GGUF_CONFIG_MAPPING.get(name, {}).items():
            if field and key != "rope.dimension_count" and ("norm" not in field or field == "rms_norm_eps"):  # others are some families' own
                config.add((name + "." + key, field))
    rows = lambda list: "[\n" + ",\n".join(json.dumps(row) for row in list) + "]"
    (folder / "names.json").write_text(f'{{"tensors": {rows(tensors)},\n"config": {rows(sorted(config))}}}\n')


def check(path):
    """The file has the fixture's metadata and tensors; those of types that Go does not write are left out."""
    want = gguf.GGUFReader(pathlib.Path(__file__).parent / "../../engine/gguf/testdata/python.gguf")
    got = gguf.GGUFReader(path)
    for key in ["general.architecture", *METADATA, *ARRAYS]:
        a, b = want.fields[key], got.fields[key]
        assert a.types == b.types and a.contents() == b.contents(), (key, a.contents(), b.contents())
    tensors = {t.name: t for t in want.tensors}
    assert len(got.tensors) == int(sys.argv[3]), len(got.tensors)
    for t in got.tensors:
        w = tensors[t.name]
        assert t.tensor_type == w.tensor_type and t.shape.tolist() == w.shape.tolist(), (t.name, t.tensor_type, t.shape)
        of = (lambda x: gguf.dequantize(x.data, x.tensor_type)) if t.tensor_type.name.endswith("_K") else (lambda x: x.data.view(np.uint8))
        assert np.array_equal(of(t), of(w)), t.name  # codes mean nothing where a scale is 0


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(pathlib.Path(sys.argv[2]), ctypes.CDLL(sys.argv[3]))
        names(pathlib.Path(sys.argv[2]))
    elif sys.argv[1] == "grids":
        grids(pathlib.Path(sys.argv[2]))
    else:
        check(sys.argv[2])
