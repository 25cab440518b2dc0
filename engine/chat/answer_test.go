package chat_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/chat"
)

// shapes write calls as the templates of models do that have one of these forms, and no more.
var shapes = map[string]string{
	"hermes":        `<tool_call>\n{"name": "@", "arguments": $}\n</tool_call>`,
	"mistral":       `[TOOL_CALLS] [{"name": "@", "arguments": $, "id": "x"}]`,
	"llama":         `{"name": "@", "parameters": $}`,
	"mistral 2025":  `[TOOL_CALLS]@[ARGS]$`,
	"deepseek 3.1":  `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>@<｜tool▁sep｜>$<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
	"deepseek":      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>@\n```json\n$\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	"kimi":          `<|tool_calls_section_begin|><|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>$<|tool_call_end|><|tool_calls_section_end|>`,
	"coder":         "<tool_call>\n<function=@>\n{% for k, v in c.function.arguments|items %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>",
	"seed":          "<seed:tool_call>\n<function=@>\n{% for k, v in c.function.arguments|items %}<parameter={{ k }}>{{ v }}</parameter>\n{% endfor %}</function>\n</seed:tool_call>",
	"minimax":       "<minimax:tool_call>\n<invoke name=\"@\">\n{% for k, v in c.function.arguments|items %}<parameter name=\"{{ k }}\">{{ v }}</parameter>\n{% endfor %}</invoke>\n</minimax:tool_call>",
	"glm":           "<tool_call>@\n{% for k, v in c.function.arguments|items %}<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>\n{% endfor %}</tool_call>",
	"nemotron":      `<TOOLCALL>[{"name": "@", "arguments": $}]</TOOLCALL>`,
	"phi":           `<|tool_call|>{"name": "@", "arguments": $}<|/tool_call|>`,
	"command":       `<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "@", "parameters": $}\n]<|END_ACTION|>`,
	"gpt-oss":       ` to=functions.@<|channel|>commentary json<|message|>$<|call|>`,
	"hunyuan":       `<tool_calls>[{"name": "@", "arguments": $}]</tool_calls>`,
	"hy3":           "<tool_calls>\n<tool_call>@<tool_sep>\n{% for k, v in c.function.arguments|items %}<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>\n{% endfor %}</tool_call>\n</tool_calls>",
	"lfm2":          "<|tool_call_start|>[" + pythonCall + "]<|tool_call_end|>",
	"olmo3":         "<function_calls>\n" + pythonCall + "\n</function_calls>",
	"llama list":    "[" + pythonCall + "]",
	"gemma4":        "<|tool_call>call:@{{ '{' }}{% for k, v in c.function.arguments|items %}{{ k }}:{{ v }}{% endfor %}{{ '}' }}<tool_call|>",
	"functiongemma": "<start_function_call>call:@{{ '{' }}{% for k, v in c.function.arguments|items %}{{ k }}:{{ v }}{% endfor %}{{ '}' }}<end_function_call>",
	"without calls": `{{ m.content }}`,
}

// pythonCall is a call as a template writes it in Python's syntax.
const pythonCall = `@({% for k, v in c.function.arguments|items %}{{ k }}={{ v }}{% endfor %})`

// formOf is the form of a model whose template writes calls in a shape.
func formOf(t *testing.T, shape string) *chat.Form {
	t.Helper()
	text := strings.NewReplacer(`\n`, "\n", "@", "{{ c.function.name }}", "$", "{{ c.function.arguments|tojson }}").Replace(shape)
	template, err := chat.Parse(shape, "{% for m in messages %}{{ m.role }}:{% for c in m.tool_calls or [] %}"+text+"{% endfor %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	f, calls := chat.FormOf(template.Render)
	if calls == (shape == shapes["without calls"]) {
		t.Fatalf("%s: calls %v", shape, calls)
	}
	return f
}

// tools are f, whose b is a text, and g.
var tools = []chat.Tool{{Name: "f", Parameters: json.RawMessage(`{"properties": {"b": {"type": "string"}}}`)}, {Name: "g"}}

// TestAnswers: thoughts, text and calls are found in answers that come in parts, and what is none passes at
// once. Cases of Kimi K2, MiniMax-M2 and gpt-oss are those of vLLM's parsers, and calls of LFM 2 what
// templates write.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		form, prompt, text string
		want, open         string // open is what passes before the end
		thought            string
		calls              []string
	}{
		{form: "hermes", text: "so <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>", want: "so ", open: "so ", calls: []string{`f{"a":1}`, "g{}"}},
		{form: "hermes", text: "a < b <tool", want: "a < b <tool", open: "a < b "},
		{form: "hermes", text: "<tool_call>{", want: "<tool_call>{"},
		{form: "mistral", text: ` [{"name": "f", "arguments": {"a": [1]}, "id": "x"}, {"name": "g", "arguments": {}}]`, calls: []string{`f{"a":[1]}`, "g{}"}},
		{form: "mistral", text: "no [1]", want: "no [1]", open: "no [1]"},
		{form: "llama", text: "\n{\"name\": \"f\", \"parameters\": {\"a\": \"b\"}}; {\"name\": \"g\", \"parameters\": {}}", calls: []string{`f{"a":"b"}`, "g{}"}},
		{form: "llama", text: `{"a": 1}`, want: `{"a": 1}`},
		{form: "mistral 2025", text: `f{"b": "x", "a": {"c": 1}}g{}`, calls: []string{`f{"b":"x","a":{"c":1}}`, "g{}"}},
		{form: "mistral 2025", text: "go on", want: "go on", open: "go on"},
		{form: "mistral 2025", text: `f{"b": `, want: `f{"b": `},
		{form: "deepseek 3.1", text: `so <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": [1]}<｜tool▁call▁end｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, want: "so ", open: "so ", calls: []string{`f{"a":[1]}`, "g{}"}},
		{form: "deepseek", prompt: "<｜Assistant｜><think>\n", text: "Which one?\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": [1]}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", thought: "Which one?", calls: []string{`f{"a":[1]}`, "g{}"}},
		{form: "coder", text: "so\n<tool_call>\n<function=f>\n<parameter=b>\n12\n</parameter>\n<parameter=a>\n{\"c\": 1}\n</parameter>\n<parameter=d>\ntwo\nlines\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>", want: "so\n", open: "so\n", calls: []string{`f{"b":"12","a":{"c": 1},"d":"two\nlines"}`, "g{}"}},
		{form: "glm", text: "\n<think></think>\n<tool_call>f\n<arg_key>b</arg_key>\n<arg_value>true</arg_value>\n<arg_key>a</arg_key>\n<arg_value>true</arg_value>\n</tool_call><tool_call>g\n</tool_call>", calls: []string{`f{"b":"true","a":true}`, "g{}"}},
		{form: "seed", text: "<seed:think>\nwhy\n</seed:think>\n<seed:tool_call>\n<function=f>\n<parameter=b>1</parameter>\n</function>\n</seed:tool_call>", thought: "why", calls: []string{`f{"b":"1"}`}},
		{form: "nemotron", text: `<TOOLCALL>[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]</TOOLCALL>`, calls: []string{`f{"a":1}`, "g{}"}},
		{form: "phi", text: `<|tool_call|>[{"name": "f", "arguments": {"a": 1}}]<|/tool_call|>`, calls: []string{`f{"a":1}`}},
		{form: "command", text: "<|START_THINKING|>I plan.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {\"a\": 1}}\n]<|END_ACTION|>", thought: "I plan.", calls: []string{`f{"a":1}`}},
		{form: "kimi", text: "I'll check. <|tool_calls_section_begin|> <|tool_call_begin|>\nfunctions.f:0 <|tool_call_argument_begin|> {\"city\": \"Beijing\"} <|tool_call_end|> <|tool_call_begin|>\nfunctions.g:1<|tool_call_argument_begin|>{\n \"html\": \"<div>x</div>\"}<|tool_call_end|><|tool_calls_section_end|>", want: "I'll check. ", open: "I'll check. ", calls: []string{`f{"city":"Beijing"}functions.f:0`, `g{"html":"<div>x</div>"}functions.g:1`}},
		{form: "minimax", prompt: "]~b]ai\n<think>\n", text: "Hm.\n</think>\n\n<minimax:tool_call><invoke name=\"f\"><parameter name=\"q\">[\"technology\", \"events\"]</parameter><parameter name=\"b\">12</parameter></invoke><invoke name=\"g\" description=\"x\"><parameter name=\"command\" type=\"string\">ls -la</parameter></invoke></minimax:tool_call>", thought: "Hm.", calls: []string{`f{"q":["technology", "events"],"b":"12"}`, `g{"command":"ls -la"}`}},
		{form: "gpt-oss", text: "<|channel|>final<|message|>This is a test", want: "This is a test", open: "This is a test"},
		{form: "gpt-oss", text: "<|channel|>analysis<|message|>User asks: we need f.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\n\"location\": \"Tokyo\"\n}<|call|>", thought: "User asks: we need f.", calls: []string{`f{"location":"Tokyo"}`}},
		{form: "gpt-oss", text: " to=functions.f<|channel|>commentary json<|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.g<|message|>foo<|call|><|start|>assistant to=functions.g<|channel|>commentary json<|message|>", calls: []string{"f{}", "gfoo", "g{}"}},
		{form: "gpt-oss", text: "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis to=python code<|message|>1+1<|end|><|start|>assistant<|channel|>commentary<|message|>I call f.<|end|><|start|>assistant<|channel|>final<|message|>5 <|x<|return|>", thought: "a\n1+1", want: "I call f.\n5 <|x", open: "I call f.\n5 <|x"},
		{form: "gpt-oss", text: "no marks", want: "no marks"},
		{form: "hunyuan", text: `I call. <tool_calls>[{"name": "f", "arguments": {"a": null}}, {"name": "g", "arguments": {}}]</tool_calls>`, want: "I call. ", open: "I call. ", calls: []string{`f{"a":null}`, "g{}"}},
		{form: "hy3", text: "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>b</arg_key>\n<arg_value>1</arg_value>\n</tool_call>\n<tool_call>g<tool_sep></tool_call></tool_calls>", calls: []string{`f{"b":"1"}`, "g{}"}},
		{form: "lfm2", text: "I look.<|tool_call_start|>[f(a=37, b='New York', c={'x': [None, True, 1.5e3], \"y\": {}}, d=(-2, .5, 07, 1_000),), user.g()]<|tool_call_end|>", want: "I look.", open: "I look.", calls: []string{`f{"a":37,"b":"New York","c":{"x":[null,true,1.5e3],"y":{}},"d":[-2,0.5,7,1000]}`, "user.g{}"}},
		{form: "lfm2", text: `<think>Which?</think><|tool_call_start|> [f(b='Martha\'s "\n\u00e9\x41\d]', c="it's")]<|tool_call_end|><|tool_call_start|>[g()]<|tool_call_end|>` + "\nI wait.", thought: "Which?", calls: []string{`f{"b":"Martha's \"\néA\\d]","c":"it's"}`, "g{}"}},
		{form: "lfm2", text: "<|tool_call_start|>[f(b='sed -n '360,450p' a.py\n')]<|tool_call_end|>", calls: []string{`f{"b":"sed -n '360,450p' a.py\n"}`}},
		{form: "lfm2", text: "<|tool_call_start|>[f(3)]<|tool_call_end|>", want: "<|tool_call_start|>[f(3)]<|tool_call_end|>"},
		{form: "lfm2", text: "<|tool_call_start|>[f(a=" + strings.Repeat("[", 1000), want: "<|tool_call_start|>[f(a=" + strings.Repeat("[", 1000)},
		{form: "olmo3", text: "<function_calls>\nf(b='x', a={\"c\": null})\ng(a=false)\n</function_calls>", calls: []string{`f{"b":"x","a":{"c":null}}`, `g{"a":false}`}},
		{form: "llama list", text: "[f(b=\"x\", a=[]), g()]\n", calls: []string{`f{"b":"x","a":[]}`, "g{}"}},
		{form: "llama list", text: "[f(a=1)] is what I call", want: "[f(a=1)] is what I call"},
		{form: "llama list", text: "I [f(a=1)]", want: "I [f(a=1)]", open: "I [f(a=1)]"},
		{form: "gemma4", prompt: "<|turn>model\n", text: "<|channel>thought\nSo.\n<channel|><|tool_call>call:f{b:<|\"|>a, \"b\"\\n}<|\"|>,c:{d:[<|\"|>x<|\"|>,108.],<|\"|>3<|\"|>:true},e:null}<tool_call|><|tool_call>call:g{}<tool_call|><|tool_response>", thought: "So.", calls: []string{`f{"b":"a, \"b\"\\n}","c":{"d":["x",108],"3":true},"e":null}`, "g{}"}},
		{form: "gemma4", prompt: "<|channel>thought\n<channel|>", text: "a <|tool_call>call:f{b:<|\"|>cut", want: "a <|tool_call>call:f{b:<|\"|>cut", open: "a "},
		{form: "functiongemma", text: "<start_function_call>call:f{b:<escape>Paris<escape>,n:2}<end_function_call><start_function_response>", calls: []string{`f{"b":"Paris","n":2}`}},
		{form: "without calls", text: "<think>\nI see:\n\n<tool_call>\n\n</think>\n\nyes <tool_call>", thought: "I see:\n\n<tool_call>", want: "yes <tool_call>", open: "yes <tool_call>"},
		{form: "without calls", text: " [THINK]cut", thought: "cut"},
		{form: "without calls", prompt: "<think>\n\n</think>\n\n", text: "I <think>", want: "I <think>", open: "I <think>"},
		{form: "without calls", text: "<thin", want: "<thin"},
	} {
		r := formOf(t, shapes[c.form]).NewReader(c.prompt, tools)
		var all chat.Said
		take := func(text string, last bool) {
			part := r.Take(text, last)
			all.Thought, all.Text, all.Calls = all.Thought+part.Thought, all.Text+part.Text, part.Calls
		}
		for _, char := range c.text {
			take(string(char), false)
		}
		open := all.Text
		take("", true)
		var got []string
		for _, one := range all.Calls {
			if strings.HasPrefix(one.ID, "call_") {
				one.ID = ""
			}
			got = append(got, one.Name+one.Arguments+one.ID)
		}
		if all.Text != c.want || open != c.open || all.Thought != c.thought || fmt.Sprint(got) != fmt.Sprint(c.calls) {
			t.Errorf("%s, %q: got %q (%q at once), thought %q, calls %v", c.form, c.text, all.Text, open, all.Thought, got)
		}
		if whole := formOf(t, shapes[c.form]).NewReader(c.prompt, tools).Take(c.text, true); whole.Thought != c.thought || len(whole.Calls) != len(c.calls) {
			t.Errorf("%s, %q at once: got %+v", c.form, c.text, whole)
		}
	}
}

// TestTemplatesAreRead: what chat templates that models ship write of an answer is read as that answer.
func TestTemplatesAreRead(t *testing.T) {
	text, err := os.ReadFile("testdata/real.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Templates []struct{ Name, Template string }
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	thinks := map[string]bool{"gptoss": true, "qwen3": true, "qwen3_5_think": true, "glm4moe": true}
	writes := map[string]bool{"deepseekv3": true, "deepseek_r1_distill": true, "qwen2_5": true, "qwen3_instruct_2507": true, "qwen3_vl": true}
	for _, one := range all.Templates {
		template, err := chat.Parse(one.Name, one.Template)
		if err != nil {
			t.Fatal(err)
		}
		f, calls := chat.FormOf(template.Render)
		if want := thinks[one.Name] || writes[one.Name]; calls != want {
			t.Errorf("%s: calls %v, want %v", one.Name, calls, want)
		}
		if !calls {
			continue
		}
		arguments, content := `{"a": 1, "b": "two words"}`, ""
		if f.Texts() {
			arguments, content = `"{\"a\": 1, \"b\": \"two words\"}"`, `, "content": null`
		}
		messages := []chat.Message{{Role: "user", Content: "x"}, {Role: "assistant", Fields: json.RawMessage(`{"reasoning_content": "deep", "thinking": "deep", "tool_calls": [{"id": "i", "type": "function", "function": {"name": "f", "arguments": ` + arguments + `}}]` + content + "}")}}
		prompt, err := template.Render(messages[:1], chat.Options{AddGenerationPrompt: true})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := template.Render(messages, chat.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Texts() { // which does not write thoughts back
			prompt = strings.TrimSuffix(prompt, "<think>\n")
		}
		answer, ok := strings.CutPrefix(whole, prompt)
		if !ok {
			t.Fatalf("%s: %q does not begin with %q", one.Name, whole, prompt)
		}
		s := f.NewReader(prompt, tools).Take(strings.TrimSuffix(answer, "<|im_end|>\n"), true)
		if want := map[bool]string{true: "deep"}[thinks[one.Name]]; s.Thought != want || s.Text != "" || len(s.Calls) != 1 || s.Calls[0].Name != "f" || s.Calls[0].Arguments != `{"a":1,"b":"two words"}` {
			t.Errorf("%s: %q is read as %+v", one.Name, answer, s)
		}
	}
}
