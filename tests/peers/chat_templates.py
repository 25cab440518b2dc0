"""Writes engine/chat/testdata: what transformers makes of chat templates in the shape of those of known models.

    python tests/peers/chat_templates.py
    python tests/peers/chat_templates.py real FILE [FOLDER]    all templates that trl has, or that lie in FOLDER, such as
                                                               llama.cpp's models/templates, for go test ./engine/chat -run Real -real FILE

families.json holds templates with conversations, language.json pieces of the language. real.json holds templates as models
ship them, word for word. They come from trl (Apache-2.0), which keeps them in trl/chat_templates; the models that they
are of are under Apache-2.0 or MIT.
"""
import datetime
import json
import os
import sys

from transformers.utils.chat_template_utils import _compile_jinja_template

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "engine", "chat", "testdata")
NOW = datetime.datetime(2025, 3, 9, 17, 5, 8)

TOOLCALL = """{% for c in m.tool_calls %}{% set f = c.function if c.function is defined else c %}<tool_call>
{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}
</tool_call>{% endfor %}"""

FAMILIES = {
    "chatml": """{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "llama2": """{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set sys = messages[0]['content'] %}{% else %}{% set rest = messages %}{% set sys = false %}{% endif %}{% for m in rest %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}{% if loop.index0 == 0 and sys != false %}{% set content = '<<SYS>>\\n' + sys + '\\n<</SYS>>\\n\\n' + m['content'] %}{% else %}{% set content = m['content'] %}{% endif %}{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif m['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}""",
    "llama3": """{% set loop_messages = messages %}{% for m in loop_messages %}{% set content = '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}""",
    "llama3.1": """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = strftime_now("%d %b %Y") %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("one tool call at once") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '{"name": "' + tool_call.name + '", "parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "mistral": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("roles must alternate user and assistant") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and loop.last %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
            {%- endfor %}
            {{- "][/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for c in message.tool_calls %}
            {%- set out = c.function|tojson %}
            {{- out[:-1] }}
            {%- if not c.id is defined or c.id|length != 9 %}
                {{- raise_exception("ids of tool calls have 9 characters") }}
            {%- endif %}
            {{- ', "id": "' + c.id + '"}' }}
        {%- endfor %}
        {{- "]" + eos_token }}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token }}
    {%- endif %}
{%- endfor %}
""",
    "qwen2.5": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'Be of use.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- endif %}
{%- for m in messages %}
    {%- if (m.role == "user") or (m.role == "system" and not loop.first) or (m.role == "assistant" and not m.tool_calls) %}
        {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' }}
    {%- elif m.role == "assistant" %}
        {{- '<|im_start|>' + m.role }}
        {%- if m.content %}
            {{- '\\n' + m.content }}
        {%- endif %}
        """ + TOOLCALL + """
        {{- '<|im_end|>\\n' }}
    {%- elif m.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- m.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "qwen3": """{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for m in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and m.role == "user" and m.content is string and not(m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for m in messages %}
    {%- if m.content is string %}
        {%- set content = m.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if m.role == "assistant" %}
        {%- set reasoning = '' %}
        {%- if m.reasoning_content is string %}
            {%- set reasoning = m.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or reasoning) %}
            {{- '<|im_start|>' + m.role + '\\n<think>\\n' + reasoning.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + m.role + '\\n' + content }}
        {%- endif %}
        {%- if m.tool_calls %}""" + TOOLCALL + """{%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + m.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    "gemma2": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}""",
    "gemma3": """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\\n' + (prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\\n'}}
{%- endif -%}
""",
    "phi3": """{% for message in messages %}{% if message['role'] in ['system', 'user', 'assistant'] %}{{'<|' ~ message['role'] ~ '|>\\n' ~ message['content'] ~ '<|end|>\\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}""",
    "zephyr": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{% generation %}{{ '<|assistant|>\\n'  + message['content'] + eos_token }}{% endgeneration %}

{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}""",
    "deepseek": """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=true, system='') %}{%- for m in messages if m.role == 'system' %}{% set ns.system = ns.system + ('' if ns.is_first else '\\n\\n') + m['content'] %}{% set ns.is_first = false %}{%- endfor %}{{ bos_token }}{{ ns.system }}{%- for m in messages %}{%- if m['role'] == 'user' %}{{ '<｜User｜>' + m['content'] }}{%- elif m['role'] == 'assistant' and m['content'] is not none %}{% set content = m['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{ '<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>' }}{%- endif %}{%- endfor %}{% if add_generation_prompt %}{{ '<｜Assistant｜><think>\\n' }}{% endif %}""",
    "macros": """{% macro turn(role, text='') %}[{{ role|upper }}]{{ text|default('', true)|trim|indent(2) }}{% if caller is defined %}{{ caller() }}{% endif %}
{% endmacro %}
{#- a comment -#}
{% for m in messages %}
{% if m.role == 'tool' %}{% continue %}{% endif %}
{{ loop.index }}/{{ loop.length }} {{ turn(m.role, text=m.content) }}
{%- else %}nothing{% endfor %}
{% set users %}{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|join('; ') }}{% endset %}
{{ users|length }}:{{ users }}
{% call turn('end') %}done{% endcall %}
{% for t in tools or [] %}{% for k, v in t.function|dictsort %}{{ k }}={{ v|tojson }},{% endfor %}{% endfor %}""",
}


def call(name, **arguments):
    return {"id": "abcdef123", "type": "function", "function": {"name": name, "arguments": arguments}}


CONVERSATIONS = [
    [{"role": "user", "content": "What is a tensor?"}],
    [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Hi\n"}, {"role": "assistant", "content": "  Hello."}, {"role": "user", "content": "Größe? 你好 <b>&'\""}],
    [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}],
    [{"role": "user", "content": "2+3?"}, {"role": "assistant", "content": "", "tool_calls": [call("add", b=2, a=3.5, note="ü\n")]}, {"role": "tool", "name": "add", "content": "5"}, {"role": "assistant", "content": "<think>\neasy\n</think>\n\nIt is 5."}],
    [{"role": "assistant", "content": "I begin"}, {"role": "assistant", "content": None}],
    [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " What is this? "}]}],
    [],
]
TOOL = {"type": "function", "function": {"name": "add", "description": "adds", "parameters": {"type": "object", "properties": {"b": {"type": "number"}, "a": {"type": "number", "enum": []}}, "required": ["b", "a"]}}}

# Conversations for templates as models ship them: what they tell apart.
MORE = [
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+3 and 4+5?"},
     {"role": "assistant", "content": "I add.", "reasoning_content": "two sums", "tool_calls": [call("add", b=2, a=3), call("add", b=4, a=[5, None, True])]},
     {"role": "tool", "name": "add", "content": "5"}, {"role": "tool", "name": "add", "content": "9", "tool_call_id": "abcdef123"},
     {"role": "assistant", "content": "5 and 9.", "reasoning_content": "done\n"}, {"role": "user", "content": "Thanks"}],
    [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "video"}, {"type": "text", "text": "b"}]},
     {"role": "assistant", "content": [{"type": "text", "text": "c <think>x</think> d"}]}, {"role": "user", "content": "e"}],
    [{"role": "developer", "content": "Do so."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "thinking": "t", "content": "Hello"}, {"role": "user", "content": "<tool_response>x</tool_response>"}],
]
REAL = ("deepseek_r1_distill deepseekv3 glm4moe gptoss idefics3 smolvlm llava_next phi3 phi3_5 qwen2_5 qwen2_5_vl qwen3 qwen3_instruct_2507 "
        "qwen3_vl qwen3_5_think").split()

LANGUAGE = [
    "a\n{% if true %}\n  b\n{% endif %}\nc\n", "  {% if true %}x{% endif %}  \n y", "  {%+ if true %}x{% endif +%}\ny", "a {{- ' b ' -}} c", "a\n\n", "{# c #}\nx", "x {#- c -#} y",
    "{% raw %}{{ a }}{% endraw %}b", "{{ {'a': {'b': 1}} }}", "{{ [1, 2.0, 'x', none, true, \"it's\"] }}", "{{ (1,) }}{{ () }}", "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }}",
    "{{ 1 + 2 ~ 3 }}", "{{ 'a' ~ 1 + 2 }}", "{{ 'ab' * 3 }}", "{{ 'x' if false }}|", "{{ none }}{{ true }}", "{{ 1 < 2 < 3 }}", "{{ 'a' in 'abc' }} {{ 1 not in [1] }}", "{{ missing }}|{{ missing is defined }}",
    "{{ missing.x }}", "{{ missing + 'x' }}", "{{ missing|length }}", "{{ 'äbc'[0] }}{{ 'abc'[-1] }}{{ 'abcd'[1:3] }}{{ 'abcd'[::-1] }}{{ 'abc'[::2] }}", "{{ [1,2,3][-2:] }}{{ [1,2,3][:-1] }}{{ [1,2,3][9] }}",
    "{% for i in range(3) %}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ loop.revindex }}{% if not loop.last %},{% endif %}{% endfor %}", "{% for i in [] %}x{% else %}none{% endfor %}",
    "{% for i in range(9) if i is odd %}{{ i }}{% if i > 5 %}{% break %}{% endif %}{% endfor %}", "{% for a, b in {'x': 1, 'y': 2}.items() %}{{ a }}{{ b }}{% endfor %}", "{% for i in 'abc' %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('o', 'e') }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}", "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}", "{% set n = namespace(x=1) %}{% for i in [1,2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}",
    "{% set a, b = 1, 2 %}{{ b }}{{ a }}", "{% set x | upper %}abc{% endset %}{{ x }}", "{% filter upper %}abc{% endfilter %}", "{% with a = 1 %}{{ a }}{% endwith %}{{ a }}",
    "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }}{{ m(1, 3, 4, c=5) }}{{ m(b=1) }}", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
    "{{ 'a,b,c'.split(',') }}{{ ' a  b '.split() }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}", "{{ 'abc'.replace('b', 'x') }}{{ 'aaa'|replace('a', 'b', 2) }}", "{{ 'xxaxx'.strip('x') }}|{{ ' a '.lstrip() }}|{{ ' a '.rstrip() }}",
    "{{ 'hello world'.title() }}{{ 'HELLO'.capitalize() }}{{ 'abc'.find('c') }}{{ 'abc'.startswith(('x', 'a')) }}", "{{ {'b': 1, 'a': [1, {}]}|tojson }}", "{{ {'b': 1, 'a': [1, {}]}|tojson(indent=2) }}", "{{ {'b': 1, 'a': 2}|tojson(sort_keys=true, separators=(',', ':')) }}",
    "{{ 'ü<\\n\"\\\\'|tojson }}", "{{ [3, 1, 2]|sort }}{{ ['b', 'A']|sort }}{{ [1, 2]|sum }}{{ [1, 1, 2]|unique|list }}{{ [1, 2]|reverse|list }}{{ 'abc'|reverse }}", "{{ '12'|int }}{{ 'x'|int(7) }}{{ '1.5'|float }}{{ 3.7|int }}{{ 2.5|round }}{{ 1.25|round(1) }}",
    "{{ 1.115|round(2) }} {{ 2.675|round(2) }} {{ 1.5|round(400) }} {{ -0.4|round }} {{ 25.0|round(-1) }} {{ 7.5e22|round(-22) }} {{ 5|round }} {{ 25|round(-1) }} {{ (-35)|round(-1) }} {{ 7|round(-300) }} {{ true|round }}", "{{ 1.21|round(1, 'ceil') }} {{ 1.29|round(1, 'floor') }} {{ -1.5|round(method='ceil') }} {{ 42|round(method='floor') }} {{ 1234.5|round(-2, 'floor') }}", "{{ 1.5|round(0, 'up') }}",
    "{{ [{'a': 1}, {'a': 0}]|selectattr('a')|list }}{{ [{'a': 1}, {'a': 0}]|rejectattr('a')|list }}{{ [1, 2, 3]|select('gt', 1)|list }}{{ ['a']|map('upper')|list }}{{ [{}]|map(attribute='a', default='d')|list }}",
    "{% if []|select|list %}y{% else %}n{% endif %}{% if []|select %}y{% else %}n{% endif %}", "{{ []|first }}|{{ [1]|last }}", "{{ none|default('x') }}{{ none|default('x', true) }}{{ m|d }}", "{{ 'a\nb\n\nc'|indent }}{{ 'a\nb'|indent(2, true) }}", "{{ 'x' is string }}{{ 1 is number }}{{ true is integer }}{{ {} is mapping }}{{ [] is iterable }}{{ 'a' is sequence }}{{ none is none }}",
    "{{ 3 is divisibleby 3 }}{{ 3 is divisibleby(2) }}{{ 1 is not none and 2 is even }}", "{{ not 1 == 1 }}{{ 1 or 2 }}{{ '' or 'x' }}{{ 0 and 1 }}", "{{ 1.0 }} {{ 1e20 }} {{ 1e-5 }} {{ 0.1 + 0.2 }}", "{{ 1 == 1.0 }}{{ true == 1 }}{{ [1] == [1.0] }}", "{{ 'a' 'b' }}",
    "{{ '%s-%d' % ('a', 1) }}", "{{ strftime_now('%Y-%m-%d %H:%M:%S %B %b %A %a %j %I %p %y %%') }}", "{{ raise_exception('no') }}", "{% if x %}", "{{ 1 + }}", "{% endfor %}", "{{ 'a' | nope }}", "{{ [].append(1) }}", "{{ 1 / 0 }}", "{{ 'a' + 1 }}", "{% for i in none %}{% endfor %}", "{{ range(1000000)|length }}",
    "{% for i in [[1, [2]], 3] recursive %}{{ loop(i) if i is iterable else i }}{{ loop.depth }}{% endfor %}", "{{ dict(a=1, b=2) }}", "{{ {'a': 1}.get('b', 2) }}{{ {'items': 1}['items'] }}{{ {'a': 1}|items|list }}", "{{ -2 ** 2 }}{{ 2 ** 3 ** 2 }}", "{{ 1 if true else 2 if false else 3 }}", "{{ \"\\u00e9\\x41\\t|\" }}",
    "{{ [3, 1, 2]|min }}{{ [3, 1, 2]|max }}{{ ['b', 'A']|min }}{{ ['b', 'A']|min(case_sensitive=true) }}{{ [{'a': 2}, {'a': 1}]|min(attribute='a') }}{{ []|max }}|", "{{ '{}..{}'.format(1, 'b') }}{{ '{1}{0}{{x}}'.format('a', none) }}{{ '{a}'.format(a=2.0) }}", "{{ '{}'.format() }}", "{{ '<'|safe + '<\\'&\"' + '>' }}{{ '<' + '<'|safe }}{{ '<'|safe ~ '<' }}{{ ('<'|safe + '<')|upper }}{{ 3|safe + '<' }}", "{{ '<'|safe + 1 }}", "{{ [1]|select|tojson }}", "{{ '}'.format(1) }}", "{{ ['ü\\u2028😀', '\\x7f<']|tojson(ensure_ascii=true) }}{{ {'ä': 1}|tojson(true, 2) }}", "{{ none|selectattr('a')|list }}{{ none|select|list }}{{ none|rejectattr('a')|list }}{{ none|map('upper')|list }}{{ none|map(attribute='a')|list }}",
]


def render(template, **names):
    try:
        return {"text": _compile_jinja_template(template).render(strftime_now=NOW.strftime, **names)}
    except Exception as e:
        return {"error": str(e)}


def real(names, folder=None):
    """What transformers makes of a folder's templates of these names, trl's where none is given; no names: of all."""
    import trl
    folder = folder or os.path.join(os.path.dirname(trl.__file__), "chat_templates")
    names = names or sorted(f[:-6] for f in os.listdir(folder) if f.endswith(".jinja"))
    cases = [{"messages": m, "prompt": tools is None, "tools": tools, "extra": {"enable_thinking": False} if n % 2 else {}}
             for n, m in enumerate(CONVERSATIONS + MORE) for tools in (None, [TOOL])]
    templates = []
    for name in names:
        with open(os.path.join(folder, name + ".jinja"), encoding="utf-8") as f:
            template = f.read()
        made = [render(template, messages=c["messages"], tools=c["tools"], documents=None, add_generation_prompt=c["prompt"],
                       bos_token="<s>", eos_token="</s>", **c["extra"]) for c in cases]
        templates.append({"name": name, "template": template, "made": made})
    return {"source": "trl " + trl.__version__, "cases": cases, "templates": templates}


def main():
    if sys.argv[1:2] == ["real"]:
        with open(sys.argv[2], "w") as f:
            json.dump(real(None, *sys.argv[3:]), f, ensure_ascii=False)
        return
    os.makedirs(OUT, exist_ok=True)
    families = []
    for name, template in FAMILIES.items():
        cases = []
        for messages in CONVERSATIONS:
            for prompt in False, True:
                for tools in None, [TOOL]:
                    case = {"messages": messages, "prompt": prompt, "tools": tools, "extra": {"enable_thinking": False} if tools else {}}
                    case |= render(template, messages=messages, tools=tools, documents=None, add_generation_prompt=prompt, bos_token="<s>", eos_token="</s>", **case["extra"])
                    cases.append(case)
        families.append({"name": name, "template": template, "cases": cases})
    language = [{"template": t} | render(t, messages=[]) for t in LANGUAGE]
    for name, what in ("families", families), ("language", language), ("real", real(REAL)):
        with open(os.path.join(OUT, name + ".json"), "w") as f:
            json.dump(what, f, ensure_ascii=False, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
