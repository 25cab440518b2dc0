"""Writes engine/llm/testdata/gguf: small decoders as llama.cpp's own converter and quantiser write them, and what they compute.

    pip download llama-cpp-python --no-binary :all: --no-deps    # unpacked, its vendor/llama.cpp has the converter, conversion, and gguf-py
    pip install llama-cpp-python --no-binary :all:      (to quantise and check; where a processor has AMX, products with codes of 0.3.36 end
        in a fault: CMAKE_ARGS="-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON")
    python tests/peers/decoder_gguf.py write LLAMA_CPP [NAME...]    # the fixtures; LLAMA_CPP is the folder vendor/llama.cpp, NAME one of NAMES
    python tests/peers/decoder_gguf.py check FILE...    # files that the Go test TestLlamaCppReads wrote, and expected.safetensors beside
    python tests/peers/decoder_gguf.py mixtures FOLDER [OUT]    # files that TestMixturesOfTypes wrote; OUT is mixtures.json, to be made

Of NAME.gguf of a family engine/llm/testdata/families/NAME/expected.safetensors has the logits. Those of quantised models and of those
with a tokenizer are NAME.safetensors: ids, logits of transformers for the weights that the file holds; words.json has texts and the
tokens that llama.cpp makes of them.
"""
import ctypes
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile

import numpy as np
import torch

HERE = pathlib.Path(__file__).parent
FAMILIES = HERE / "../../engine/llm/testdata/families"
OUT = HERE / "../../engine/llm/testdata/gguf"
WRAPPED = HERE / "../../engine/llm/testdata/wrapped"
EMBED = HERE / "../../engine/embed/testdata"
NAMES = ["llama-2", "llama-3", "llama-bias", "llama-yarn", "mistral-wide", "qwen2", "qwen2-yarn", "qwen3", "qwen3-bias", "gemma2", "gemma2-one",
         "gemma3", "phi3", "phi3-long", "gemma", "ministral3", "seed_oss-bias", "smollm3", "olmo2-grouped", "olmo3", "granite", "exaone4", "exaone4-full",
         "cohere", "cohere2", "glm4", "phi", "starcoder2", "nemotron-bias", "hunyuan_v1_dense-plain", "arcee", "ernie4_5", "stablelm-bias",
         "stablelm-parallel", "jais2", "qwen3_moe", "qwen2_moe", "mixtral", "olmoe",
         "cohere-norms", "gpt_oss", "deepseek_v2", "deepseek_v3", "lfm2", "falcon_h1", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text",
         "mamba2", "granitemoe", "granitemoeshared", "granitemoehybrid", "nemotron_h-experts", "glm4_moe", "dots1", "hunyuan_v1_moe",
         "ernie4_5_moe", "apertus", "lfm2_moe", "minimax_m2", "hy_v3-some", "mellum", "solar_open", "glm4_moe_lite", "exaone-3",
         "gpt2", "gpt_bigcode", "gpt_neox", "falcon", "falcon-norms", "olmo", "olmo-clip", "exaone_moe", "glm-narrow", "internlm3-linear", "iquestcoder",
         "phimoe-bias", "youtu", "minicpm3", "granite_swa", "granitemoe_swa", "granitemoe_swa-alone", "bamba", "gemma4", "gemma4-experts", "gemma4-same"]
TEXTS = ["Hello, world!", "  two  blanks and\na line\n\n\n", "Zürich 名古屋 🙂🙃", "it's 12345 o'clock", "def f(x):\n\treturn x**2", "", " ", "ẞß ﬁ"]


def converter(llama_cpp):
    sys.path.insert(0, str(llama_cpp))
    sys.path.insert(0, str(pathlib.Path(llama_cpp) / "gguf-py"))
    import conversion
    return conversion


def convert(llama_cpp, folder, out, kind="f32", words=None, dense=False):
    """Converts with the class of the model's architecture. words: the name of the tokenizer's way of cutting, None for no tokenizer; dense: with layers
    after the pooling."""
    conversion = converter(llama_cpp)
    import gguf
    from conversion.base import ModelBase, ModelType
    hparams = ModelBase.load_hparams(pathlib.Path(folder), False)
    conversion.load_all_models()
    cls = ModelBase.from_model_architecture(hparams["architectures"][0], model_type=ModelType.TEXT)
    cls = getattr(cls, "Ministral3Model", cls)  # which the class of its file only wraps
    if words is None:
        patched = type("Silent", (cls,), {"set_vocab": lambda self: self._set_vocab_none(), "model_arch": cls.model_arch})
        (pathlib.Path(folder) / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {str(i): i for i in range(hparams.get("vocab_size", 48))}}, "added_tokens": []}))
    else:
        patched = type("Named", (cls,), {"get_vocab_base_pre": lambda self, t: words, "model_arch": cls.model_arch})
    kind = {"f32": gguf.LlamaFileType.ALL_F32, "f16": gguf.LlamaFileType.MOSTLY_F16, "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}[kind]
    patched.no_mtp = True
    published = json.loads((pathlib.Path(folder) / "config.json").read_text())  # of which transformers leaves out what has another name for it
    hparams |= {key: published[key] for key in ("activation_function", "first_k_dense_replace", "original_max_position_embeddings", "partial_rotary_factor", "rotary_pct") if key in published}
    m = patched(pathlib.Path(folder), kind, pathlib.Path(out), eager=True, hparams=hparams, sentence_transformers_dense_modules=dense)
    m.write()


def as_published(c):
    """Settings that the models' own folders have, and those of small models do not."""
    layers, words = c["num_hidden_layers"] if "num_hidden_layers" in c else 0, {"full_attention": "attention", "linear_attention": "mamba"}
    match c["model_type"]:
        case "cohere2":
            c["rotary_pct"] = 1.0
        case "falcon_h1":
            c.setdefault("head_dim", c["hidden_size"] // c["num_attention_heads"])
        case "mamba2":
            c.pop("intermediate_size", None)
        case "granitemoehybrid":
            c["layer_types"] = [words.get(kind, kind) for kind in c["layer_types"]]
        case "bamba":
            c["attn_rotary_emb"] = c["hidden_size"] // c["num_attention_heads"] // 2
        case "granite_swa" | "granitemoe_swa":
            c["no_rope_layers"] = [int(rate > 0) for rate in c["layer_rope_theta"]]
        case "nemotron_h":
            c["mamba_d_head"] = c["mamba_head_dim"]
        case "deepseek_v3" | "dots1":
            c["scoring_func"] = "sigmoid"
        case "glm4_moe_lite":
            c.update(scoring_func="sigmoid", first_k_dense_replace=1)
        case "solar_open":
            c["partial_rotary_factor"] = 1.0
        case "exaone":
            c.update(activation_function=c["hidden_act"], architectures=["ExaoneForCausalLM"])
        case "minimax_m2":
            c.update(scoring_func="sigmoid", rotary_dim=c["head_dim"])
        case "exaone_moe":
            c["scoring_func"] = "sigmoid"
        case "falcon" if c["multi_query"] and not c["new_decoder_architecture"]:
            c["num_kv_heads"] = 1
        case "glm":
            c.update(seq_length=c["max_position_embeddings"], layernorm_epsilon=c["rms_norm_eps"], attention_dim=c["head_dim"])
        case "gpt2":
            c["n_ctx"] = c["n_positions"]
        case "gpt_neox":
            c["rotary_pct"] = c["rope_parameters"].get("partial_rotary_factor", 1.0)
        case "phimoe":
            c.update(architectures=["PhiMoEForCausalLM"], original_max_position_embeddings=c["max_position_embeddings"])
        case "hunyuan_v1_moe":
            for key, x in {"moe_intermediate_size": c["intermediate_size"], "moe_topk": c["moe_topk"], "num_shared_expert": 1}.items():
                c[key] = [x] * layers if isinstance(x, int) else x


def families(llama_cpp, names=NAMES):
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(FAMILIES / name, folder, dirs_exist_ok=True)
            config = json.loads((pathlib.Path(folder) / "config.json").read_text())
            as_published(config)
            (pathlib.Path(folder) / "config.json").write_text(json.dumps(config))
            convert(llama_cpp, folder, OUT / f"{name}.gguf")


def wrapped(llama_cpp):
    """Models of text within models of pictures."""
    for name in ["paddleocr_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe"]:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(WRAPPED / name, folder, dirs_exist_ok=True)
            convert(llama_cpp, folder, OUT / f"{name}.gguf")


def encoders(llama_cpp):
    """Models that say how they pool, and what comes after that."""
    for name in ["eurobert", "gemma3"]:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(EMBED / name, folder, dirs_exist_ok=True)
            path = pathlib.Path(folder) / "config.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | {"classifier_pooling": "mean"}))  # the converter does not know "late"
            convert(llama_cpp, folder, EMBED / f"{name}.gguf", dense=True)


def quantised(llama_cpp):
    """Models of 256 in llama.cpp's types."""
    import llama_cpp as binding
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, LlamaConfig
    types = {"q8_0": binding.LLAMA_FTYPE_MOSTLY_Q8_0, "q4_0": binding.LLAMA_FTYPE_MOSTLY_Q4_0, "q4_k": binding.LLAMA_FTYPE_MOSTLY_Q4_K_M}
    torch.manual_seed(1)
    for name, kind in types.items():
        width = 256 if name == "q4_k" else 64
        config = LlamaConfig(vocab_size=48, hidden_size=width, intermediate_size=width, num_hidden_layers=1, num_attention_heads=4,
                             num_key_value_heads=1, max_position_embeddings=64, initializer_range=0.1, bos_token_id=None, eos_token_id=None,
                             tie_word_embeddings=name != "q8_0")
        with tempfile.TemporaryDirectory() as folder:
            AutoModelForCausalLM.from_config(config).save_pretrained(folder)
            convert(llama_cpp, folder, folder + "/f32.gguf")
            p = binding.llama_model_quantize_default_params()
            p.ftype, p.nthread = kind, 1
            out = str(OUT / f"{name}.gguf")
            assert binding.llama_model_quantize((folder + "/f32.gguf").encode(), out.encode(), ctypes.byref(p)) == 0
            (pathlib.Path(folder) / "f32.gguf").unlink()
            model = dequantised(folder, out)
            ids = torch.randint(0, 48, (2, 12))
            with torch.no_grad():
                logits = model(ids).logits
            save_file({"ids": ids, "logits": logits}, str(OUT / f"{name}.safetensors"))


def dequantised(folder, path):
    """The folder's model with the weights of the file."""
    import gguf
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    file = {t.name: t for t in gguf.GGUFReader(path).tensors}
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, model.config.num_hidden_layers)
    c = model.config
    with torch.no_grad():
        for key, p in model.named_parameters():
            t = file[names.get_name(key, try_suffixes=(".weight",))]
            w = torch.tensor(np.array(gguf.dequantize(t.data, t.tensor_type))).reshape(p.shape)
            for part, heads in (("q_proj", c.num_attention_heads), ("k_proj", c.num_key_value_heads)):
                if part in key:
                    w = w.reshape(heads, w.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(p.shape)
            p.copy_(w)
    return model


def words(llama_cpp):
    """Three tokenizers in models of 8, and what llama.cpp makes of texts."""
    import llama_cpp as binding
    import sentencepiece
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import AutoModelForCausalLM, Gemma4TextConfig, LlamaConfig, PreTrainedTokenizerFast, Qwen2Config
    random.seed(1)
    corpus = [" ".join(random.choice("the quick brown fox jumps over lazy dogs and 12 345 cats it's isn't Zürich 名古屋 naïve".split())
                       for _ in range(12)) for _ in range(300)]
    expected = {}
    with tempfile.TemporaryDirectory() as folder:
        t = Tokenizer(models.BPE())
        t.normalizer = normalizers.NFC()
        qwen = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(qwen), "isolated"),
                                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        t.decoder = decoders.ByteLevel()
        t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=340, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        fast = PreTrainedTokenizerFast(tokenizer_object=t, eos_token="<|endoftext|>", additional_special_tokens=["<|im_start|>", "<|im_end|>"])
        fast.chat_template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        fast.save_pretrained(folder)
        config = Qwen2Config(vocab_size=352, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
                             eos_token_id=fast.eos_token_id, bos_token_id=None, tie_word_embeddings=True)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        convert(llama_cpp, folder, OUT / "words-bpe.gguf", "q8_0", "qwen2")
        expected["words-bpe"] = tokens(binding, OUT / "words-bpe.gguf")
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "corpus.txt"
        text.write_text("\n".join(corpus))
        sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=folder + "/tokenizer", model_type="bpe", vocab_size=400,
                                                 byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
                                                 user_defined_symbols=["<turn>"], minloglevel=2)
        config = LlamaConfig(vocab_size=400, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
                             bos_token_id=1, eos_token_id=2, tie_word_embeddings=True)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        convert(llama_cpp, folder, OUT / "words-spm.gguf", "q8_0", "default")
        expected["words-spm"] = tokens(binding, OUT / "words-spm.gguf")
    with tempfile.TemporaryDirectory() as folder:  # Gemma 4's, of pairs of characters in a list
        t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
        t.normalizer = normalizers.Replace(" ", "▁")
        t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
        special, each = ["<pad>", "<eos>", "<bos>", "<unk>", "<|channel>"], [f"<0x{i:02X}>" for i in range(256)]
        t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
        t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=480, special_tokens=special + each))
        t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        t.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A $B", special_tokens=[("<bos>", 2)])
        content = json.loads(t.to_str())
        content["added_tokens"] = [a for a in content["added_tokens"] if a["content"] in special]
        fast = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(content)), pad_token="<pad>", eos_token="<eos>", bos_token="<bos>", unk_token="<unk>")
        fast.save_pretrained(folder)
        kinds = ["sliding_attention", "full_attention"]
        config = Gemma4TextConfig(vocab_size=len(fast), hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, layer_types=kinds, head_dim=16,
                                  global_head_dim=32, hidden_size_per_layer_input=0, num_kv_shared_layers=0, bos_token_id=2, eos_token_id=1, pad_token_id=0)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        convert(llama_cpp, folder, OUT / "words-gemma4.gguf", "q8_0", "default")
        expected["words-gemma4"] = tokens(binding, OUT / "words-gemma4.gguf")
    (OUT / "words.json").write_text(json.dumps({"texts": TEXTS, "tokens": expected}, ensure_ascii=False))


def tokens(binding, path):
    m = binding.Llama(str(path), vocab_only=True, verbose=False)
    return [m.tokenize(text.encode(), add_bos=True, special=True) for text in TEXTS]


def vectors(binding, path, expected):
    """How far llama.cpp's vectors of texts, of length 1, are from those that Go computed."""
    m = binding.Llama(path, embedding=True, n_ctx=64, n_batch=64, n_ubatch=64, n_threads=1, verbose=False, flash_attn=False,
                      type_k=binding.GGML_TYPE_F32, type_v=binding.GGML_TYPE_F32)
    for ids, want in zip(expected["ids"], expected["vectors"]):
        m._ctx.kv_cache_clear()
        m._batch.reset()
        m._batch.add_sequence([int(i) for i in ids], 0, True)
        m._ctx.decode(m._batch)
        got = np.array(binding.llama_get_embeddings_seq(m._ctx.ctx, 0)[:m.n_embd()])
        difference = np.abs(got / np.linalg.norm(got) - want).max()
        print(f"{os.path.basename(path)}: {difference:.2g}")
        yield difference


def check(paths):
    """Holds the scores of llama.cpp for files against the logits that Go computed."""
    import llama_cpp as binding
    from safetensors.numpy import load_file
    wrong = []
    for path in paths:
        expected = load_file(path.replace(".gguf", ".safetensors"))
        if "vectors" in expected:
            wrong += [path for d in vectors(binding, path, expected) if not d <= (1e-3 if "gemma" in path else 1e-5)]  # GELU is a table in f16
            continue
        try:
            m = binding.Llama(path, logits_all=True, n_ctx=192, n_batch=192, n_threads=1, verbose=False, flash_attn=False,
                              type_k=binding.GGML_TYPE_F32, type_v=binding.GGML_TYPE_F32)
        except ValueError:
            print(f"{os.path.basename(path)}: is not loaded")
            wrong.append(os.path.basename(path))
            continue
        for ids, want in zip(expected["ids"], expected["logits"]):
            m.reset()
            m.eval([int(i) for i in ids])
            got = np.array(m.scores[:len(ids)])
            difference = np.abs(got - want).max() / np.abs(want).max()
            name = os.path.basename(path)
            print(f"{name}: {difference:.2g}")
            # GELU is a table in f16, products with codes round the other factor to 8 bits, and the states of Nemotron-H have no least step there.
            if not difference <= (3e-2 if name.startswith("q8") or name.startswith("q4") else 2e-3 if name.startswith(("gemma", "phi", "starcoder", "falcon", "gpt2", "gpt_bigcode", "gpt_neox")) or "nemotron" in name else 1e-4):
                wrong.append(name)
    if wrong:
        sys.exit(f"scores differ: {wrong}")


def mixtures(folder, out=None):
    """Holds NAME.q4_k_m and NAME.q6_k of a folder against what llama.cpp makes of NAME.f32: types and numbers of all tensors."""
    import gguf
    import llama_cpp as binding
    found = {}
    for source in sorted(pathlib.Path(folder).glob("*.f32")):
        for kind, number in {"q4_k_m": binding.LLAMA_FTYPE_MOSTLY_Q4_K_M, "q6_k": binding.LLAMA_FTYPE_MOSTLY_Q6_K}.items():
            p = binding.llama_model_quantize_default_params()
            p.ftype, p.nthread = number, 2
            other, own = source.with_suffix("." + kind + ".other"), source.with_suffix("." + kind)
            assert binding.llama_model_quantize(str(source).encode(), str(other).encode(), ctypes.byref(p)) == 0
            want, got = gguf.GGUFReader(other), gguf.GGUFReader(own)
            found[own.name] = {t.name: t.tensor_type.name for t in want.tensors}
            field = "general.file_type"
            assert want.fields[field].contents() == got.fields[field].contents(), (own.name, got.fields[field].contents())
            read = {t.name: t for t in got.tensors}
            for t in want.tensors:
                g = read.pop(t.name)
                if out is None:
                    assert g.tensor_type == t.tensor_type, (own.name, t.name, g.tensor_type, t.tensor_type)
                    assert np.array_equal(gguf.dequantize(g.data, g.tensor_type), gguf.dequantize(t.data, t.tensor_type)), (own.name, t.name)
            assert not read, read
    if out:
        rows = (f"{json.dumps(name)}: {json.dumps(types)}" for name, types in found.items())
        pathlib.Path(out).write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    if sys.argv[1] == "check":
        check(sys.argv[2:])
    elif sys.argv[1] == "mixtures":
        mixtures(*sys.argv[2:])
    else:
        os.makedirs(OUT, exist_ok=True)
        llama_cpp, wanted = pathlib.Path(sys.argv[2]), sys.argv[3:]
        for step in (families, wrapped, encoders, quantised, words):
            if not wanted or step.__name__ in wanted:
                step(llama_cpp)
        families(llama_cpp, [name for name in wanted if name in NAMES])
