"""A decoder with LoRA in transformers and PEFT: training step and greedy decode. Weights come from their names."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from inputs import BITS, Absent, named, seed, words
from peer_torch import multiply_codes, pack_codes, values_on


def decoder(w, device="cpu"):
    # transformers would draw random weights first, which takes longer than all the rest of a large model
    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(
            vocab_size=w["vocab"], hidden_size=w["width"], intermediate_size=w["hidden"], num_hidden_layers=w["layers"],
            num_attention_heads=w["heads"], num_key_value_heads=w["kv"], max_position_embeddings=2048,
            rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=True))
    model = model.to_empty(device=device)
    model.tie_weights()
    rotary = model.model.rotary_emb
    frequencies = type(rotary)(config=model.config).inv_freq.to(device)
    rotary.inv_freq, rotary.original_inv_freq = frequencies, frequencies
    fill(model, BITS.get(w.get("dtype")))
    return model


def fill(model, bits=None):
    with torch.no_grad():
        for name, p in model.named_parameters():
            name = name.removeprefix("base_model.model.").replace(".base_layer", "").replace(".default", "")
            if "norm" in name:
                p.fill_(1)
            elif "lora_B" in name:
                p.zero_()
            elif bits:
                p.copy_(torch.from_numpy(named(name, *p.shape, bits=bits)))
            else:
                p.copy_(values_on(p.device, seed(name), *p.shape) / 32)


def train(w, compile, device="cpu"):
    base = decoder(w, device)
    if w.get("dtype", "f32") != "f32":
        base = base.to({"f16": torch.float16, "bf16": torch.bfloat16}[w["dtype"]])  # PEFT keeps the adapters in f32 then
    model = get_peft_model(base, LoraConfig(r=w["r"], lora_alpha=2 * w["r"], target_modules="all-linear", task_type="CAUSAL_LM"))
    fill(model)
    model.train()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=1e-3, weight_decay=0.0, fused=True)
    ids, targets = (torch.from_numpy(words(s, w["batch"] * w["t"], w["vocab"])).reshape(w["batch"], w["t"]).to(device) for s in (1, 2))
    forward = compile(model)
    half = w.get("dtype", "f32") != "f32"

    def step():
        with torch.autocast(torch.device(device).type, dtype=next(base.parameters()).dtype if half else None, enabled=half):
            logits = forward(input_ids=ids, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.float().reshape(-1, w["vocab"]), targets.reshape(-1))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return [loss, norm]
    for _ in range(2):  # so that the loss that is compared is one after updates
        step()
    return step


class Codes(torch.nn.Module):
    """A linear layer with PyTorch's own weight-only kernels."""

    def __init__(self, weight, bits):
        super().__init__()
        scale = 2.0 ** (1 - bits) / 32  # of inputs.named
        self.out, self.bits = weight.shape[0], bits
        self.weight = pack_codes((weight.float() / scale).to(torch.int32), scale, bits)

    def forward(self, x):
        return multiply_codes(x.reshape(-1, x.shape[-1]), *self.weight, self.bits).reshape(*x.shape[:-1], self.out)


def quantise(model, bits):
    for name, layer in list(model.named_modules()):
        if isinstance(layer, torch.nn.Linear):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, Codes(layer.weight.detach(), bits))


def decode(w, compile, device="cpu"):
    if compile and w["dtype"] in BITS:
        raise Absent("the kernels for weights in codes are PyTorch's own either way")
    if w["dtype"] in BITS and torch.device(device).type != "cpu":
        raise Absent("no weights in codes on a GPU without packages beside PyTorch")
    model = decoder(w, device).eval()
    if w["dtype"] != "f32":
        model = model.to(torch.bfloat16)
    if w["dtype"] in BITS:
        quantise(model, BITS[w["dtype"]])
    model.generation_config.eos_token_id = None
    prompt = torch.from_numpy(words(1, w["prompt"], w["vocab"])[None]).to(device)
    cache = {}
    if compile:  # as transformers has it: a cache of fixed size, and the forward pass compiled
        cache = {"cache_implementation": "static"}
        model.forward = compile(model.forward)

    def run():
        with torch.inference_mode():
            out = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=w["tokens"], do_sample=False, pad_token_id=0, **cache)
        return [out[0, w["prompt"]:]]
    return run
