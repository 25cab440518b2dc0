"""Files that some works read, made once in .venv/built: a safetensors file of 1 GB, a tokenizer of 32,000 tokens and its text. Models in
GGUF are made by mcs's side."""
import glob
import json
import os
import struct

from sides import BUILT, HERE


def prepare(works):
    """Makes the files of these works, and says in the works where they are. A work whose file cannot be made goes without it."""
    for w in works:
        make = {"load": weights, "tokenise": tokenizer, "gguf": model}.get(w["kind"])
        if make:
            try:
                w["file"] = make(w)
            except ImportError as e:
                print(f"{w['name']}: {e}")
    return [w for w in works if w["kind"] not in ("load", "tokenise", "gguf") or "file" in w]


def model(w):
    """A model that mcs writes when it prepares the work, before all others."""
    return os.path.join(BUILT, w["name"].replace("/", "-").replace(" ", "-") + ".gguf")


def weights(w):
    """A file of so many tensors of 64 MB in bf16."""
    path = os.path.join(BUILT, f"weights-{w['count']}.safetensors")
    size = 64 << 20
    if not os.path.exists(path):
        header = {f"w{i}": {"dtype": "BF16", "shape": [size // 8192, 4096], "data_offsets": [i * size, (i + 1) * size]} for i in range(w["count"])}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path + ".part", "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for i in range(w["count"]):
                f.write(struct.pack("<H", 0x3F80 + i) * (size // 2))
        os.rename(path + ".part", path)
    with open(path, "rb") as f:  # into the page cache
        while f.read(1 << 24):
            pass
    return path


def tokenizer(w):
    """A tokenizer of byte pairs, cut as Qwen's, that learnt from this repository; its text is beside it."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    path = os.path.join(BUILT, "tokenizer.json")
    text = os.path.join(BUILT, "text.txt")
    if not os.path.exists(path):
        files = sorted(glob.glob(os.path.join(HERE, "../../docs/*.md")) + glob.glob(os.path.join(HERE, "../../engine/**/*.go"), recursive=True))
        lines = [line for f in files for line in open(f, encoding="utf-8", errors="replace").read().splitlines(keepends=True)]
        t = Tokenizer(models.BPE())
        pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        t.decoder = decoders.ByteLevel()
        t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=32000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
        with open(text, "w", encoding="utf-8") as f:
            f.write("".join(lines)[:w["bytes"]])
        t.save(path)
    return path
