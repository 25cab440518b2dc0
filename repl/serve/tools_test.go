package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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

// TestCalls: calls are found in answers that come in parts, and other texts pass at once.
func TestCalls(t *testing.T) {
	hermes, mistral, llama := &callForms[0], &callForms[1], &callForms[2]
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
	} {
		r, text := &caller{form: c.form}, ""
		for _, b := range []byte(c.text) {
			part, _ := r.take(string(b), false)
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
