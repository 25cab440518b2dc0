"""Writes engine/llm/testdata/chat: a folder with a tokenizer, a chat template and settings of generation, and what
transformers says in it.

usage: python tests/peers/chat_folder.py        (needs torch, transformers, tokenizers)

The model is a small random Qwen 2. chats.json has for each conversation:

  text      what apply_chat_template makes of it, with the beginning of an answer
  ids       its tokens
  greedy    the tokens that generate() adds, each the best one, to one that ends the text
  answer    their text without special tokens
"""
import json
import os
import shutil
import warnings

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

OUT = os.path.join(os.path.dirname(__file__), "../../engine/llm/testdata/chat")
TEMPLATE = """{%- if messages[0].role != 'system' -%}
{{ bos_token }}<|im_start|>system
You help.<|im_end|>
{% else -%}
{{ bos_token }}
{%- endif %}
{%- for m in messages %}
{{- '<|im_start|>' + m.role + '\\n' + m.content | trim + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
TEXT = ["the quick brown fox jumps over the lazy dog", "what is the name of the dog? it is a fox", "system user assistant",
        "a language model says what comes next, and next, and next", "you help people who ask: où, 日本, 🙂"]
CHATS = [
    [dict(role="user", content="what is the name of the fox?")],
    [dict(role="system", content="a dog."), dict(role="user", content="hello ")],
    [dict(role="user", content="one"), dict(role="assistant", content="two, 日本"), dict(role="user", content="three 🙂")],
]


def main():
    warnings.filterwarnings("ignore")
    shutil.rmtree(OUT, ignore_errors=True)
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<|begin|>", "<|im_start|>", "<|im_end|>"]
    t.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=320, special_tokens=special,
                                                    initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<|begin|>", eos_token="<|im_end|>", pad_token="<|im_end|>")
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(3)
    config = transformers.Qwen2Config(vocab_size=len(tokenizer), hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.4, tie_word_embeddings=True,
                                      bos_token_id=0, eos_token_id=2, pad_token_id=2)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    chats = []
    for messages in CHATS:
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)["input_ids"]
        out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=24, eos_token_id=[2, 5], repetition_penalty=1.2)
        greedy = out[0, ids.shape[1]:].tolist()
        chats.append(dict(messages=messages, text=tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False),
                          ids=ids[0].tolist(), greedy=greedy, answer=tokenizer.decode(greedy[:-1] if greedy[-1] in (2, 5) else greedy, skip_special_tokens=True)))
    model.generation_config = transformers.GenerationConfig(eos_token_id=[2, 5], do_sample=True, temperature=0.7, top_k=20, top_p=0.8,
                                                            repetition_penalty=1.2, bos_token_id=0, pad_token_id=2)
    model.save_pretrained(OUT)
    tokenizer.save_pretrained(OUT)
    with open(os.path.join(OUT, "chats.json"), "w") as f:
        json.dump(chats, f)
    print(json.dumps(chats, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
