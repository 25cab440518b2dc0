"""Writes engine/embed/testdata: small random encoders and tables, and the vectors that sentence-transformers gives.

usage: python tests/peers/embedding_models.py [NAME …]     (needs torch, transformers, sentence-transformers, model2vec)
       python tests/peers/embedding_models.py FOLDER OUT   writes OUT/expected.safetensors for one folder and for texts of
                                                           many lengths, for go test ./engine/embed -run Real -real OUT

Each folder is what sentence-transformers writes (model2vec for "model2vec"), and expected.safetensors:

  ids, seen   three texts of 12 tokens, and which of them are no padding
  hidden      the vectors of their tokens, in f32
  rounded     the same of the model in bf16, for the first of a family
  vectors     of the texts in texts.json
  short       their first five numbers, of length 1
  queries     the same texts with the prompt "query", where there is one
"""
import json
import os
import shutil
import sys
import warnings

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, StaticEmbedding, Transformer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

OUT = os.path.join(os.path.dirname(__file__), "../../engine/embed/testdata")
WORDS = "the a cat dog sat on mat ran to house red blue big small and is was in of it who where time day".split()
TEXTS = ["the cat sat on the mat", "A dog ran to the house!", "", "who", "the big red dog and the small blue cat sat in the house of the dog on the mat of the cat and ran",
         "cats", "time is a house", "where is it ?", "the cat sat on the mat", "xyz the"]
SMALL = dict(vocab_size=0, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, max_position_embeddings=24,
             initializer_range=0.4)
MODELS = {  # class, changes, pooling, normalised, prompts, other settings
    "bert": ("Bert", {}, "mean", True, None, {}),
    "bert-cls": ("Bert", dict(hidden_act="gelu_new", num_hidden_layers=1, layer_norm_eps=1e-5), "cls", True, {"query": "where is the "}, {}),
    "bert-max": ("Bert", dict(num_attention_heads=2, type_vocab_size=3), "max", False, {"query": "who ", "passage": "the "}, {"max_seq_length": 8}),
    "bert-both": ("Bert", dict(hidden_act="relu", num_hidden_layers=1), ("cls", "mean"), False, None, {"dense": True}),
    "roberta": ("Roberta", dict(pad_token_id=1), "mean", True, None, {}),
    "xlm-roberta": ("XLMRoberta", dict(pad_token_id=1, type_vocab_size=1), "lasttoken", True, None, {}),
    "camembert": ("Camembert", dict(pad_token_id=1), "mean", True, None, {}),
    "mpnet": ("MPNet", {}, "mean", True, None, {}),
    "distilbert": ("DistilBert", {}, "mean_sqrt_len_tokens", True, None, {}),
    "modernbert": ("ModernBert", dict(local_attention=4, num_hidden_layers=4), "cls", True, {"query": "where is the "}, {}),
    "modernbert-mean": ("ModernBert", dict(local_attention=7, hidden_activation="silu", norm_eps=1e-3), "mean", True, None, {}),
    "modernbert-biases": ("ModernBert", dict(local_attention=4, attention_bias=True, mlp_bias=True, norm_bias=True, num_attention_heads=2), "mean", False, None, {}),
    "modernbert-local": ("ModernBert", dict(local_attention=2, num_hidden_layers=3, layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
                         "lasttoken", True, None, {}),
    "modernbert-ropes": ("ModernBert", dict(local_attention=6, rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 50.0},
                                                                                "sliding_attention": {"rope_type": "default", "rope_theta": 7.0}}), "max", True, None, {}),
    "nomic": ("NomicBert", {}, "mean", True, {"search_query": "who ", "query": "the "}, {}),
    "nomic-gelu": ("NomicBert", dict(hidden_act="gelu", num_hidden_layers=1, layer_norm_eps=1e-5), "cls", True, None, {}),
    "nomic-rope": ("NomicBert", dict(rope_parameters={"rope_type": "default", "rope_theta": 11.0}, num_attention_heads=2), "mean", False, None, {}),
    "nomic-types": ("NomicBert", dict(type_vocab_size=3, intermediate_size=40), "max", True, None, {"max_seq_length": 8}),
    "nomic-deep": ("NomicBert", dict(num_hidden_layers=4, num_attention_heads=8), ("cls", "mean"), True, None, {"dense": True}),
    "gte": ("Gte", {}, "cls", True, None, {}),
    "gte-bare": ("Gte", dict(type_vocab_size=0, hidden_act="gelu_new", layer_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 11.0}), "mean", True, None, {}),
    "gte-types": ("Gte", dict(type_vocab_size=2, hidden_act="silu", num_attention_heads=2, num_hidden_layers=3), "cls", True, {"query": "who "}, {"max_seq_length": 8}),
    "gte-hub": ("New", dict(rope_theta=50.0, factor=8.0), "cls", True, None, {}),
    "gte-hub-types": ("New", dict(rope_theta=11.0, type_vocab_size=2, layer_norm_eps=1e-5, num_attention_heads=2), "mean", False, None, {}),
    "jina3": ("JinaEmbeddingsV3", {}, "mean", True, {"query": "the "}, {}),
    "jina3-tasks": ("JinaEmbeddingsV3", {"rope_parameters": {"rope_type": "default", "rope_theta": 30.0}}, "mean", True, {"query": "the "}, {"tasks": {"where.query": "who ", "other": ""}}),
    "jina3-relu": ("JinaEmbeddingsV3", dict(hidden_act="relu", num_attention_heads=2, type_vocab_size=2, rope_parameters={"rope_type": "default", "rope_theta": 7.0}), "max", True, None, {}),
    "eurobert": ("EuroBert", {}, "mean", True, {"query": "the "}, {}),
    "eurobert-groups": ("EuroBert", dict(num_key_value_heads=2, head_dim=8, num_hidden_layers=3, rms_norm_eps=1e-3), "cls", True, None, {}),
    "eurobert-biases": ("EuroBert", dict(attention_bias=True, mlp_bias=True, num_key_value_heads=1, hidden_act="gelu", rope_parameters={"rope_type": "default", "rope_theta": 9.0}), "lasttoken", False, None, {}),
    "qwen3": ("Qwen3", dict(head_dim=8, num_key_value_heads=2), "lasttoken", True, {"query": "where is the ", "document": ""}, {}),
    "qwen3-wide": ("Qwen3", dict(head_dim=16, num_key_value_heads=1, num_attention_heads=2), "lasttoken", True, None, {}),
    "qwen3-untied": ("Qwen3", dict(head_dim=4, num_key_value_heads=4, tie_word_embeddings=False, attention_bias=True), "mean", True, None, {}),
    "qwen3-window": ("Qwen3", dict(head_dim=4, num_key_value_heads=4, use_sliding_window=True, sliding_window=5, max_window_layers=1, num_hidden_layers=3), "lasttoken", False, None, {}),
    "qwen3-yarn": ("Qwen3", dict(head_dim=8, num_key_value_heads=2, rope_parameters={"rope_type": "yarn", "factor": 2.0, "rope_theta": 100.0, "original_max_position_embeddings": 12}),
                   "lasttoken", True, None, {"max_seq_length": 9}),
    "gemma3": ("Gemma3Text", dict(head_dim=8, num_key_value_heads=1, sliding_window=6, query_pre_attn_scalar=8, num_hidden_layers=7), "mean", True,
               {"query": "where is the ", "document": "the "}, {"dense": 2}),
    "gemma3-groups": ("Gemma3Text", dict(head_dim=4, num_key_value_heads=2, sliding_window=5, sliding_window_pattern=2), "mean", True, None, {}),
    "gemma3-wide": ("Gemma3Text", dict(head_dim=16, num_key_value_heads=4, sliding_window=3, sliding_window_pattern=3, num_hidden_layers=3), "cls", True, None, {}),
    "gemma3-full": ("Gemma3Text", dict(head_dim=8, num_key_value_heads=2, layer_types=["full_attention"] * 2), "mean", False, None, {"max_seq_length": 7}),
    "gemma3-causal": ("Gemma3Text", dict(head_dim=8, num_key_value_heads=2, sliding_window=4, use_bidirectional_attention=False), "lasttoken", True, None, {}),
}
KINDS = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}
RERANKERS = {  # class, changes, other settings: expected.safetensors has the scores of QUERY and each text, and the logits
    "rank-bert": ("Bert", {}, {"tokenizer": KINDS}),
    "rank-bert-raw": ("Bert", dict(type_vocab_size=3, hidden_act="relu"), {"activation": torch.nn.Identity(), "tokenizer": KINDS}),
    "rank-roberta": ("Roberta", dict(pad_token_id=1, type_vocab_size=1), {}),
    "rank-xlm": ("XLMRoberta", dict(pad_token_id=1, type_vocab_size=1, num_attention_heads=2), {}),
    "rank-mpnet": ("MPNet", {}, {}),
    "rank-distilbert": ("DistilBert", {}, {}),
    "rank-modernbert": ("ModernBert", dict(local_attention=6), {}),
    "rank-modernbert-mean": ("ModernBert", dict(local_attention=4, classifier_pooling="mean", classifier_bias=True, norm_bias=True, classifier_activation="relu"), {}),
    "rank-gte": ("Gte", dict(type_vocab_size=2, pad_token_id=0), {"tokenizer": KINDS}),
    "rank-jina3": ("JinaEmbeddingsV3", dict(pad_token_id=1), {}),
    "rank-nomic": ("NomicBert", {}, {"tokenizer": KINDS}),
    "rank-qwen3": ("Qwen3", dict(head_dim=8, num_key_value_heads=2, max_position_embeddings=400), {"asked": True}),
    "rank-qwen3-untied": ("Qwen3", dict(head_dim=8, num_key_value_heads=4, max_position_embeddings=270, tie_word_embeddings=False), {"asked": True}),
    "rank-qwen3-class": ("Qwen3", dict(head_dim=8, num_key_value_heads=2), {}),
}
QUERY = "where is the big cat"
DECODERS = {"Qwen3", "Gemma3Text"}


def tokenizer(pad, special=True, ending=False, extra=()):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if pad:
        tokens[:2] = ["[UNK]", "[PAD]"]
    tokens += WORDS + list(extra) + list("abcdefghijklmnopqrstuvwxyz!?.") + ["##" + c for c in "abcdefghijklmnopqrstuvwxyz"]
    tokens = list(dict.fromkeys(tokens))
    t = Tokenizer(models.WordPiece({w: i for i, w in enumerate(tokens)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    if special:
        ids = {w: tokens.index(w) for w in ("[CLS]", "[SEP]")}
        t.post_processor = processors.TemplateProcessing(single="$A [SEP]" if ending else "[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=list(ids.items()))
        t.add_special_tokens(tokens[:5])
    return t, len(tokens)


def write(folder, expected):
    save_file({k: torch.as_tensor(v).contiguous() for k, v in expected.items()}, os.path.join(folder, "expected.safetensors"))


def prune(folder):
    for name in ("README.md", "special_tokens_map.json", ".gitattributes", "vocab.txt"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            os.remove(path)


def ntk(theta, factor, width):
    """Rates of heads as Alibaba-NLP's own code turns them (new-impl/modeling.py: NTKScalingRotaryEmbedding, without mixed_b)."""
    return (theta * factor) ** (-torch.arange(0, width, 2) / width) / factor ** (2 / width)


def as_published(folder, theta, factor):
    """Makes of a folder of transformers one as Alibaba-NLP has them."""
    path = os.path.join(folder, "config.json")
    with open(path) as f:
        c = json.load(f)
    c.pop("rope_parameters")
    c |= {"model_type": "new", "architectures": ["NewModel"], "rope_theta": theta, "layer_norm_type": "layer_norm", "logn_attention_clip1": False,
          "logn_attention_scale": False, "pack_qkv": True, "position_embedding_type": "rope", "unpad_inputs": False, "use_memory_efficient_attention": False,
          "rope_scaling": {"factor": factor, "type": "ntk"} if factor > 1 else None,
          "auto_map": {"AutoModel": "Alibaba-NLP/new-impl--modeling.NewModel"}}
    with open(path, "w") as f:
        json.dump(c, f, indent=2)
    path = os.path.join(folder, "model.safetensors")
    tensors = {"new." + key: t for key, t in load_file(path).items()}
    save_file(tensors | {"classifier.weight": torch.zeros(1, c["hidden_size"]), "classifier.bias": torch.zeros(1)}, path, metadata={"format": "pt"})


def with_tasks(folder, instructions, theta, rank=3, alpha=2.0):
    """Makes of a folder of transformers one as Jina has it, with an adapter for each task, and computes the vectors of texts for each.

    Weights and names are those of jinaai/xlm-roberta-flash-implementation: modeling_lora.py, LoRAParametrization."""
    path, names, expected = os.path.join(folder, "model.safetensors"), list(instructions), {}
    tensors, published = load_file(path), {}
    adapters = {}
    for key, w in tensors.items():
        if key.endswith(".weight") and w.dim() == 2:
            (out, width), n = w.shape, len(names)
            shapes = ((n, out, rank), (n, rank, width)) if key.startswith("embeddings.") else ((n, rank, width), (n, out, rank))
            adapters[key] = a, b = [0.3 * torch.randn(s) for s in shapes]
            own = "roberta." + key.removesuffix("weight") + "parametrizations.weight."
            published |= {own + "original": w, own + "0.lora_A": a, own + "0.lora_B": b}
        else:
            published["roberta." + key] = w
    for i, name in enumerate(names):
        merged = dict(tensors)
        for key, (a, b) in adapters.items():
            delta = a[i] @ b[i] if key.startswith("embeddings.") else b[i] @ a[i]
            merged[key] = tensors[key] + delta * alpha / rank
        save_file(merged, path, metadata={"format": "pt"})
        expected["task." + name] = SentenceTransformer(folder, device="cpu").encode([instructions[name] + text for text in TEXTS], convert_to_tensor=True, prompt="")
    save_file(published, path, metadata={"format": "pt"})
    path = os.path.join(folder, "config.json")
    with open(path) as f:
        c = json.load(f)
    c.pop("rope_parameters")
    c |= {"model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], "position_embedding_type": "rotary", "rotary_emb_base": theta, "lora_adaptations": names,
          "lora_rank": rank, "lora_alpha": alpha, "lora_dropout_p": 0.0, "lora_main_params_trainable": False, "task_instructions": instructions,
          "auto_map": {"AutoModel": "jinaai/xlm-roberta-flash-implementation--modeling_lora.XLMRobertaLoRA"}}
    with open(path, "w") as f:
        json.dump(c, f, indent=2)
    with open(os.path.join(folder, "modules.json")) as f:
        modules = json.load(f)
    modules[0]["type"] = "custom_st.Transformer"
    with open(os.path.join(folder, "modules.json"), "w") as f:
        json.dump(modules, f, indent=2)
    return expected


def encoder(name, kind, changes, pooling, normalize, prompts, other):
    published = kind == "New"
    if published:
        theta, factor, kind = changes["rope_theta"], changes.get("factor", 1.0), "Gte"
        changes = {k: v for k, v in changes.items() if k not in ("rope_theta", "factor")} | {"rope_parameters": {"rope_type": "default", "rope_theta": theta}}
    torch.manual_seed(sum(map(ord, name)))
    t, vocab = tokenizer(changes.get("pad_token_id", 0) == 1, ending=kind in DECODERS)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                                                mask_token="[MASK]", model_max_length=20)
    settings = {**SMALL, **changes, "vocab_size": vocab}
    if kind in DECODERS or kind in ("ModernBert", "EuroBert"):
        settings = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, **settings}
    if kind == "ModernBert":
        settings |= {"cls_token_id": 2, "sep_token_id": 3}
    if kind == "EuroBert":
        settings |= {"mask_token_id": 4}
    if kind == "Gemma3Text":
        settings = {"use_bidirectional_attention": True, **settings}
    if kind == "DistilBert":
        names = dict(hidden_size="dim", num_hidden_layers="n_layers", num_attention_heads="n_heads", intermediate_size="hidden_dim")
        settings = {names.get(k, k): v for k, v in settings.items()}
    model = getattr(transformers, kind + "Model")(getattr(transformers, kind + "Config")(**settings)).float().eval()
    with torch.no_grad():  # so that norms and biases matter
        for key, p in model.named_parameters():
            if "norm" in key.lower() or "bias" in key:
                p.add_(0.2 * torch.randn_like(p))
    folder, plain = os.path.join(OUT, name), os.path.join(OUT, "plain")
    model.save_pretrained(plain)
    fast.save_pretrained(plain)
    width = model.config.hidden_size if kind != "DistilBert" else model.config.dim
    modules = [Transformer(plain, max_seq_length=other.get("max_seq_length")), Pooling(width, pooling)]
    if published:
        for m in (model, modules[0].auto_model):
            m.rotary_emb.inv_freq = ntk(theta, factor, width // m.config.num_attention_heads)
    if other.get("dense") == 2:
        modules += [Dense(width, 24, bias=False, activation_function=torch.nn.Identity()), Dense(24, 12, bias=False, activation_function=torch.nn.Identity())]
    elif other.get("dense"):
        modules.append(Dense(modules[-1].pooling_output_dimension, 6))
    if normalize:
        modules.append(Normalize())
    st = SentenceTransformer(modules=modules, prompts=prompts, device="cpu").eval()
    st.save(folder, create_model_card=False)
    shutil.rmtree(plain)
    ids = torch.randint(5, vocab, (3, 12))
    seen = torch.ones_like(ids)
    seen[1, 7:] = 0
    seen[2, 1:] = 0
    ids[seen == 0] = settings.get("pad_token_id", 0) if kind != "MPNet" else 1
    if kind == "MPNet":
        ids[(ids == 1) & (seen == 1)] = 5
    with torch.no_grad():
        expected = {"ids": ids, "seen": seen.bool(), "hidden": model(ids, attention_mask=seen).last_hidden_state}
        expected["vectors"] = st.encode(TEXTS, convert_to_tensor=True, prompt="")
        if prompts:
            expected["queries"] = st.encode(TEXTS, convert_to_tensor=True, prompt_name="query")
        expected["short"] = st.encode(TEXTS, convert_to_tensor=True, prompt="", truncate_dim=5, normalize_embeddings=True)
        if "-" not in name:
            expected["rounded"] = model.bfloat16()(ids, attention_mask=seen).last_hidden_state.float()
    if other.get("tasks"):
        expected |= with_tasks(folder, other["tasks"], changes["rope_parameters"]["rope_theta"])
    if published:
        as_published(folder, theta, factor)
    write(folder, expected)
    prune(folder)


def reranker(name, kind, changes, other):
    torch.manual_seed(sum(map(ord, name)))
    t, vocab = tokenizer(changes.get("pad_token_id", 0) == 1, extra=["yes", "no"])
    asked = other.get("asked")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                                                mask_token="[MASK]", model_max_length=400 if asked else 18, **other.get("tokenizer", {}))
    settings = {**SMALL, **changes, "vocab_size": vocab}
    if kind in DECODERS or kind in ("ModernBert", "EuroBert"):
        settings = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, **settings}
    if kind == "ModernBert":
        settings |= {"cls_token_id": 2, "sep_token_id": 3}
    if kind == "DistilBert":
        names = dict(hidden_size="dim", num_hidden_layers="n_layers", num_attention_heads="n_heads", intermediate_size="hidden_dim")
        settings = {names.get(k, k): v for k, v in settings.items()}
    if not asked:
        settings["num_labels"] = 1
    model = getattr(transformers, kind + ("ForCausalLM" if asked else "ForSequenceClassification"))(getattr(transformers, kind + "Config")(**settings)).float().eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "norm" in key.lower() or "bias" in key:
                p.add_(0.2 * torch.randn_like(p))
    folder, plain = os.path.join(OUT, name), os.path.join(OUT, "plain")
    model.save_pretrained(folder if asked else plain)
    fast.save_pretrained(folder if asked else plain)
    with torch.no_grad():
        if asked:
            expected = {"scores": torch.stack([answered(fast, model, text) for text in TEXTS])}
        else:
            ce = CrossEncoder(plain, device="cpu", activation_fn=other.get("activation"))
            ce.save(folder)
            ce = CrossEncoder(folder, device="cpu")
            expected = {"scores": ce.predict([(QUERY, text) for text in TEXTS], convert_to_tensor=True, batch_size=4),
                        "logits": ce.predict([(QUERY, text) for text in TEXTS], convert_to_tensor=True, activation_fn=torch.nn.Identity())}
            shutil.rmtree(plain)
    write(folder, expected)
    prune(folder)


def answered(fast, model, text):
    """How Qwen3-Reranker's page computes its score."""
    before = ("<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "
              "Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n")
    after = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    before, after = fast.encode(before, add_special_tokens=False), fast.encode(after, add_special_tokens=False)
    task = "Given a web search query, retrieve relevant passages that answer the query"
    pair = fast.encode(f"<Instruct>: {task}\n<Query>: {QUERY}\n<Document>: {text}", add_special_tokens=False)
    most = min(400, model.config.max_position_embeddings) - len(before) - len(after)
    assert most > 10, most
    logits = model(torch.tensor([before + pair[:most] + after])).logits[0, -1]
    two = logits[[fast.convert_tokens_to_ids("no"), fast.convert_tokens_to_ids("yes")]]
    return torch.log_softmax(two, 0)[1].exp()


def tables():
    rng = np.random.default_rng(3)
    t, vocab = tokenizer(False, special=False)
    st = SentenceTransformer(modules=[StaticEmbedding(t, embedding_weights=rng.standard_normal((vocab, 12)).astype(np.float32)), Normalize()], device="cpu")
    folder = os.path.join(OUT, "static")
    st.save(folder, create_model_card=False)
    write(folder, {"vectors": st.encode(TEXTS, convert_to_tensor=True)})
    prune(folder)
    from model2vec import StaticModel
    mapping = rng.integers(0, 20, vocab)
    m = StaticModel(rng.standard_normal((20, 8)).astype(np.float32), t, normalize=True, weights=rng.random(vocab), token_mapping=mapping)
    folder = os.path.join(OUT, "model2vec")
    m.save_pretrained(folder)
    write(folder, {"vectors": torch.from_numpy(m.encode(TEXTS).astype(np.float32))})
    prune(folder)
    os.remove(os.path.join(folder, "modules.json"))


def real(folder, out):
    """The vectors of one folder, for texts of many lengths and scripts. A folder of wordllama has weights/ and tokenizers/."""
    words = open(__file__, encoding="utf-8").read().split() + "Привет мир 你好世界 こんにちは 🙂 naïve café".split()
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(words, n)) for n in [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 400] * 4]
    os.makedirs(out, exist_ok=True)
    if os.path.exists(os.path.join(folder, "weights")):
        from safetensors.numpy import load_file
        from wordllama.inference import WordLlamaInference
        matrix = load_file(os.path.join(folder, "weights/l2_supercat_256.safetensors"))["embedding.weight"]
        t = Tokenizer.from_file(os.path.join(folder, "tokenizers/l2_supercat_tokenizer_config.json"))
        vectors = torch.from_numpy(WordLlamaInference(matrix, t).embed(texts, norm=True))
        shutil.copy(os.path.join(folder, "weights/l2_supercat_256.safetensors"), os.path.join(out, "model.safetensors"))
        shutil.copy(os.path.join(folder, "tokenizers/l2_supercat_tokenizer_config.json"), os.path.join(out, "tokenizer.json"))
    else:
        shutil.copytree(folder, out, dirs_exist_ok=True)
        vectors = SentenceTransformer(folder, device="cpu").encode(texts, convert_to_tensor=True)
    write(out, {"vectors": vectors})
    with open(os.path.join(out, "texts.json"), "w") as f:
        json.dump(texts, f)


def main():
    warnings.filterwarnings("ignore")
    if len(sys.argv) == 3 and sys.argv[1] not in [*MODELS, *RERANKERS]:
        return real(*sys.argv[1:])
    some = [name for name in sys.argv[1:] if name in MODELS or name in RERANKERS]
    for name in some or [*MODELS, *RERANKERS]:
        shutil.rmtree(os.path.join(OUT, name), ignore_errors=True)
        if name in MODELS:
            encoder(name, *MODELS[name])
        else:
            reranker(name, *RERANKERS[name])
    if some:
        return
    tables()
    with open(os.path.join(OUT, "texts.json"), "w") as f:
        json.dump(TEXTS, f, indent=1)


if __name__ == "__main__":
    main()
