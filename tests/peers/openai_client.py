"""Asks mcs serve through OpenAI's own package: openai_client.py ADDRESS MODEL ADAPTER EMBEDDER. It prints what was
answered as JSON, for the test that runs it, after it has checked what the package can tell by itself."""

import asyncio
import json
import re
import sys

import openai

address, model, adapter, embedder = sys.argv[1:]
client = openai.OpenAI(base_url=address, api_key="secret", max_retries=0)
said = {}


def refused(kind, call, **settings):
    try:
        call(**settings)
    except kind as e:
        return e
    raise AssertionError(f"{settings}: want {kind.__name__}")


names = [m.id for m in client.models.list()]
assert names == [model, adapter, embedder], names
assert client.models.retrieve(adapter).id == adapter

messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "a fox"}]
chat = dict(messages=messages, temperature=0, max_tokens=24)
r = client.chat.completions.create(model=model, **chat)
assert r.choices[0].finish_reason in ("stop", "length") and r.usage.total_tokens == r.usage.prompt_tokens + r.usage.completion_tokens
said["chat"] = r.choices[0].message.content
said["adapter"] = client.chat.completions.create(model=adapter, **chat).choices[0].message.content

text, usage = "", None
for part in client.chat.completions.create(model=model, stream=True, stream_options={"include_usage": True}, **chat):
    usage = part.usage or usage
    text += "".join(c.delta.content or "" for c in part.choices)
assert text == said["chat"] and usage == r.usage, (text, usage)
with client.chat.completions.stream(model=model, **chat) as stream:  # which puts the parts together by itself
    assert [e.snapshot for e in stream if e.type == "content.delta"][-1] == text

r = client.chat.completions.create(model=model, logprobs=True, top_logprobs=3, **chat)
for token in r.choices[0].logprobs.content:
    best = token.top_logprobs
    assert len(best) == 3 and best[0].logprob >= best[1].logprob >= best[2].logprob and abs(best[0].logprob - token.logprob) < 1e-9
assert bytes(b for token in r.choices[0].logprobs.content for b in token.bytes or []).decode(errors="replace").startswith(text.rstrip("\ufffd"))

r = client.completions.create(model=model, prompt=["a fox", "the sea"], n=2, max_tokens=9, seed=5, temperature=1, stop=["e"])
assert [c.index for c in r.choices] == [0, 1, 2, 3] and not any("e" in c.text for c in r.choices)
again = client.completions.create(model=model, prompt="the sea", n=2, max_tokens=9, seed=5, temperature=1, stop=["e"])
assert [c.text for c in again.choices] == [c.text for c in r.choices[2:]]
r = client.completions.create(model=model, prompt="a fox", max_tokens=0, echo=True, logprobs=1)
l = r.choices[0].logprobs
assert r.choices[0].text == "a fox" and "".join(l.tokens) == "a fox" and l.token_logprobs[0] is None and r.usage.completion_tokens == 0
assert all(p <= max(top.values()) <= 0 for p, top in zip(l.token_logprobs[1:], l.top_logprobs[1:]))

r = client.completions.create(model=model, prompt="a fox", max_tokens=5, temperature=0, logit_bias={"40": 100}, logprobs=1)
assert len(r.choices[0].logprobs.tokens) == 5 and len(set(r.choices[0].logprobs.tokens)) == 1
assert "logit_bias" in refused(openai.BadRequestError, client.completions.create, model=model, prompt="a fox", logit_bias={"40": 101}).message

person = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}, "tall": {"type": "boolean"}}, "required": ["name", "tall"], "additionalProperties": False}
form = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": person}}
r = client.chat.completions.create(model=model, messages=messages, max_tokens=150, response_format=form)
made = json.loads(r.choices[0].message.content)
assert list(made) == ["name", "tall"] and len(made["name"]) <= 5 and isinstance(made["tall"], bool) and r.choices[0].finish_reason == "stop"
r = client.chat.completions.create(model=model, messages=messages, max_tokens=2, response_format=form)
assert r.choices[0].finish_reason == "length" and r.choices[0].message.content.startswith("{")
code = {"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"}, "year": {"type": "integer", "minimum": 1990, "maximum": 2025}}, "required": ["code", "year"]}
form["json_schema"]["schema"] = code
made = json.loads(client.chat.completions.create(model=model, messages=messages, max_tokens=150, response_format=form).choices[0].message.content)
assert re.fullmatch("[A-Z]{2}-[0-9]{3}", made["code"]) and 1990 <= made["year"] <= 2025
form["json_schema"]["schema"] = {"type": "integer", "not": {"const": 3}}
assert "not" in refused(openai.BadRequestError, client.chat.completions.create, model=model, messages=messages, response_format=form).message

floats = client.embeddings.create(model=embedder, input=["a fox", "the sea"], encoding_format="float")
packed = client.embeddings.create(model=embedder, input=["a fox", "the sea"])  # as base64
for a, b in zip(floats.data, packed.data):
    assert max(abs(x - y) for x, y in zip(a.embedding, b.embedding)) < 1e-6
short = client.embeddings.create(model=embedder, input="a fox", dimensions=4).data[0].embedding
task = client.embeddings.create(model=embedder, input="a fox", extra_body={"task": "where.query"}, encoding_format="float").data[0].embedding
said["task"] = task
assert "want one of" in refused(openai.BadRequestError, client.embeddings.create, model=embedder, input="a fox", extra_body={"task": "none"}).message
assert len(short) == 4 and abs(sum(x * x for x in short) - 1) < 1e-5

assert refused(openai.NotFoundError, client.chat.completions.create, model="none", messages=messages).code == "model_not_found"
assert refused(openai.BadRequestError, client.completions.create, model=model, prompt="a", temperature=-1).type == "invalid_request_error"
assert refused(openai.BadRequestError, client.completions.create, model=model, prompt="fox " * 4000).code == "context_length_exceeded"
assert refused(openai.AuthenticationError, openai.OpenAI(base_url=address, api_key="wrong").models.list).code == "invalid_api_key"


async def together():
    """Many at once, some of whom leave."""
    many = openai.AsyncOpenAI(base_url=address, api_key="secret", max_retries=0)
    ask = lambda: many.chat.completions.create(model=model, **chat)
    tasks = [asyncio.create_task(ask()) for _ in range(24)]
    await asyncio.sleep(0.05)
    for task in tasks[::4]:
        task.cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    stayed = [a for i, a in enumerate(answers) if i % 4]
    assert all(a.choices[0].message.content == text for a in stayed), stayed


asyncio.run(together())
print(json.dumps(said))
