package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/llm"
)

// llamaTemplate and mistralTemplate write calls as the templates of these models do.
const (
	llamaTemplate   = `{% for m in messages %}{{ m.role }}: {% if m.tool_calls %}{"name": "{{ m.tool_calls[0].function.name }}", "parameters": {{ m.tool_calls[0].function.arguments | tojson }}}{% else %}{{ m.content }}{% endif %}\n{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}`
	mistralTemplate = `{% for m in messages %}{% if m.tool_calls %}[TOOL_CALLS] [{% for c in m.tool_calls %}{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}, "id": "{{ c.id }}"}{% endfor %}]{% else %}[INST] {{ m.content }} [/INST]{% endif %}{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}`
)

// templated is the model of served with another chat template.
func templated(t *testing.T, template string) *llm.Model {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(served)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte(template), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := llm.Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Config.Context = 1 << 13
	return m
}

// real is a chat template that a model ships.
func real(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../engine/chat/testdata/real.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Templates []struct{ Name, Template string }
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, one := range all.Templates {
		if one.Name == name {
			return one.Template
		}
	}
	t.Fatalf("no template %s", name)
	return ""
}

// TestTools: an answer that has to call a tool does, with arguments as the tool's schema says, in the forms
// that templates have; what was called and what came of it can be told.
func TestTools(t *testing.T) {
	const tools = `[{"type": "function", "function": {"name": "weather", "description": "of a town", "parameters": {"$defs": {"d": {"type": "integer"}}, "type": "object", "properties": {"warm": {"type": "boolean"}, "day": {"$ref": "#/$defs/d"}}, "required": ["warm", "day"]}}}, {"type": "function", "function": {"name": "now"}}]`
	for name, template := range map[string]string{"qwen2_5": real(t, "qwen2_5"), "qwen3": real(t, "qwen3"), "llama": llamaTemplate, "mistral": mistralTemplate} {
		at, stop := start(t, Options{Name: "m", Model: templated(t, template)})
		for i, choice := range []string{`{"type": "function", "function": {"name": "weather"}}`, `"required"`, `"auto"`, `"none"`} {
			body := fmt.Sprintf(`{"model": "m", "messages": [{"role": "user", "content": "a fox"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "now", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "abcdefghi", "content": "9"}],
				"temperature": 1, "seed": 3, "max_tokens": 90, "tools": %s, "tool_choice": %s`, tools, choice)
			status, r := post(t, at+"/v1/chat/completions", body+"}")
			if status != http.StatusOK {
				t.Fatalf("%s: got %d %+v", name, status, r.Error)
			}
			c, streamed := r.Choices[0], events(t, at+"/v1/chat/completions", body+`, "stream": true}`)
			if i > 1 {
				if c.Message.Calls != nil || c.Message.Content == "" {
					t.Errorf("%s, %s: got %+v", name, choice, c)
				}
				continue
			}
			var v struct {
				Warm *bool
				Day  *int
			}
			if len(c.Message.Calls) != 1 || c.FinishReason != "tool_calls" || c.Message.Content != "" {
				t.Errorf("%s, %s: got %+v", name, choice, c)
				continue
			}
			f := c.Message.Calls[0].Function
			if err := json.Unmarshal([]byte(f.Arguments), &v); err != nil || f.Name == "weather" && (v.Warm == nil || v.Day == nil) || i == 0 && f.Name != "weather" {
				t.Errorf("%s, %s: got %+v, %v", name, choice, f, err)
			}
			last := streamed[len(streamed)-1].Choices[0]
			if len(last.Delta.Calls) != 1 || last.Delta.Calls[0].Function != f || last.Delta.Calls[0].Index == nil || last.FinishReason != "tool_calls" {
				t.Errorf("%s, %s: streamed %+v", name, choice, last)
			}
		}
		stop()
	}
	at, _ := start(t, Options{Name: "m", Model: load(t)})
	if status, r := post(t, at+"/v1/chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "a"}], "tools": `+tools+"}"); status != http.StatusBadRequest || r.Error.Param != "tools" {
		t.Errorf("a template without calls: got %d %+v", status, r.Error)
	}
}

// mistralNewTemplate and deepseekTemplate write calls as those of 2025 do: the name stands before the JSON.
const (
	mistralNewTemplate = `{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}{% endfor %}{% else %}[INST]{{ m.content }}[/INST]{% endif %}{% endfor %}`
	deepseekTemplate   = `{% for m in messages %}{% if m.tool_calls %}<｜tool▁calls▁begin｜>{% for c in m.tool_calls %}<｜tool▁call▁begin｜>{{ c.function.name }}<｜tool▁sep｜>{{ c.function.arguments | tojson }}<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>{% else %}{{ m.content }}{% endif %}{% endfor %}`
)

// TestToolsOutsideOfJSON: where the name of a function is no part of the JSON, one function can be required;
// where nothing is JSON, none.
func TestToolsOutsideOfJSON(t *testing.T) {
	const tools = `[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"warm": {"type": "boolean"}}, "required": ["warm"]}}}, {"type": "function", "function": {"name": "now"}}]`
	for name, c := range map[string]struct {
		template string
		named    bool
	}{"mistral": {mistralNewTemplate, true}, "deepseek": {deepseekTemplate, true}, "qwen3.5": {real(t, "qwen3_5_think"), false}, "glm4moe": {real(t, "glm4moe"), false}} {
		at, stop := start(t, Options{Name: "m", Model: templated(t, c.template)})
		ask := func(choice string) (int, reply) {
			return post(t, at+"/v1/chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "a fox"}], "temperature": 1, "seed": 3, "max_tokens": 40, "tools": `+tools+`, "tool_choice": `+choice+"}")
		}
		if status, r := ask(`"auto"`); status != http.StatusOK || r.Choices[0].Message.Calls != nil {
			t.Errorf("%s, auto: got %d %+v", name, status, r)
		}
		if status, r := ask(`"required"`); status != http.StatusBadRequest || r.Error.Param != "tool_choice" {
			t.Errorf("%s, required: got %d %+v", name, status, r)
		}
		status, r := ask(`{"type": "function", "function": {"name": "weather"}}`)
		if !c.named {
			if status != http.StatusBadRequest || r.Error.Param != "tool_choice" {
				t.Errorf("%s, a function: got %d %+v", name, status, r)
			}
		} else if status != http.StatusOK || len(r.Choices[0].Message.Calls) != 1 || r.Choices[0].Message.Calls[0].Function.Name != "weather" ||
			!slices.Contains([]string{`{"warm":true}`, `{"warm":false}`}, r.Choices[0].Message.Calls[0].Function.Arguments) {
			t.Errorf("%s, a function: got %d %+v", name, status, r)
		}
		stop()
	}
}

// TestCalls: calls are found in answers that come in parts, and other texts pass at once.
func TestCalls(t *testing.T) {
	hermes, mistral, llama, mistralNew, deepseek, coder, glm := &callForms[0], &callForms[1], &callForms[2], &callForms[3], &callForms[4], &callForms[5], &callForms[6]
	var f, g tool
	f.Function.Name, f.Function.Parameters = "f", json.RawMessage(`{"properties": {"b": {"type": "string"}}}`)
	g.Function.Name = "g"
	for _, c := range []struct {
		form             *callForm
		text, want, open string // open is what passes before the end
		calls            []string
	}{
		{hermes, "so <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>", "so ", "so ", []string{`f{"a":1}`, "g{}"}},
		{hermes, "a < b <tool", "a < b <tool", "a < b ", nil},
		{hermes, "<tool_call>{", "<tool_call>{", "", nil},
		{mistral, ` [{"name": "f", "arguments": {"a": [1]}, "id": "x"}, {"name": "g", "arguments": {}}]`, "", "", []string{`f{"a":[1]}`, "g{}"}},
		{mistral, "no [1]", "no [1]", "no [1]", nil},
		{llama, "\n{\"name\": \"f\", \"parameters\": {\"a\": \"b\"}}; {\"name\": \"g\", \"parameters\": {}}", "", "", []string{`f{"a":"b"}`, "g{}"}},
		{llama, `{"a": 1}`, `{"a": 1}`, "", nil},
		{mistralNew, `f{"b": "x", "a": {"c": 1}}g{}`, "", "", []string{`f{"b":"x","a":{"c":1}}`, "g{}"}},
		{mistralNew, "go on", "go on", "go on", nil},
		{mistralNew, `f{"b": `, `f{"b": `, "", nil},
		{deepseek, `so <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": [1]}<｜tool▁call▁end｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, "so ", "so ", []string{`f{"a":[1]}`, "g{}"}},
		{coder, "so\n<tool_call>\n<function=f>\n<parameter=b>\n12\n</parameter>\n<parameter=a>\n{\"c\": 1}\n</parameter>\n<parameter=d>\ntwo\nlines\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>", "so\n", "so\n", []string{`f{"b":"12","a":{"c": 1},"d":"two\nlines"}`, "g{}"}},
		{glm, "\n<tool_call>f\n<arg_key>b</arg_key>\n<arg_value>true</arg_value>\n<arg_key>a</arg_key>\n<arg_value>true</arg_value>\n</tool_call><tool_call>g\n</tool_call>", "\n", "\n", []string{`f{"b":"true","a":true}`, "g{}"}},
	} {
		r, text := &caller{form: c.form, tools: []tool{f, g}}, ""
		for _, char := range c.text {
			part, _ := r.take(string(char), false)
			text += part
		}
		open := text
		part, calls := r.take("", true)
		var got []string
		for _, one := range calls {
			got = append(got, one.Function.Name+one.Function.Arguments)
		}
		if text += part; text != c.want || open != c.open || fmt.Sprint(got) != fmt.Sprint(c.calls) {
			t.Errorf("%q: got %q (%q at once), %v", c.text, text, open, got)
		}
	}
}
