package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/chat"
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
// pythonTemplate writes them in Python's syntax, as LFM 2's does.
const (
	mistralNewTemplate = `{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}{% endfor %}{% else %}[INST]{{ m.content }}[/INST]{% endif %}{% endfor %}`
	deepseekTemplate   = `{% for m in messages %}{% if m.tool_calls %}<｜tool▁calls▁begin｜>{% for c in m.tool_calls %}<｜tool▁call▁begin｜>{{ c.function.name }}<｜tool▁sep｜>{{ c.function.arguments | tojson }}<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>{% else %}{{ m.content }}{% endif %}{% endfor %}`
	pythonTemplate     = `{% for m in messages %}{% if m.tool_calls %}<|tool_call_start|>[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments|items %}{{ k }}={{ v }}{% endfor %}){% endfor %}]<|tool_call_end|>{% else %}{{ m.content }}{% endif %}{% endfor %}`
)

// TestToolsOutsideOfJSON: where the name of a function is no part of the JSON, one function can be required;
// where nothing is JSON, none.
func TestToolsOutsideOfJSON(t *testing.T) {
	const tools = `[{"type": "function", "function": {"name": "weather", "description": "of a town", "parameters": {"type": "object", "properties": {"warm": {"type": "boolean"}}, "required": ["warm"]}}}, {"type": "function", "function": {"name": "now", "description": "the time"}}]`
	for name, c := range map[string]struct {
		template string
		named    bool
	}{"mistral": {mistralNewTemplate, true}, "deepseek": {deepseekTemplate, true}, "deepseek v3": {real(t, "deepseekv3"), true}, "gpt-oss": {real(t, "gptoss"), true}, "qwen3.5": {real(t, "qwen3_5_think"), false}, "glm4moe": {real(t, "glm4moe"), false}, "lfm2": {pythonTemplate, false}} {
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

// TestThoughts: what a model thinks, says and calls comes back in fields of its own, whole or streamed, and
// goes back to the model as its template has it.
func TestThoughts(t *testing.T) {
	const text = "<|channel|>analysis<|message|>The tool.<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}"
	m := templated(t, real(t, "gptoss"))
	for _, stream := range []bool{false, true} {
		w := httptest.NewRecorder()
		q := &question{chat: true, Stream: stream, tools: []chat.Tool{{Name: "now"}}}
		q.form, _ = m.AnswerForm()
		a := newAnswer(q, words{m}, []*job{{}}, w)
		for _, c := range text {
			if err := a.add(&job{}, update{fresh: []llm.Token{{ID: 1, Text: string(c)}}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.add(&job{}, update{fresh: []llm.Token{{ID: -1}}, end: "stop"}); err != nil {
			t.Fatal(err)
		}
		var got, one said
		parts := []string{}
		if stream {
			parts = strings.Split(strings.TrimSpace(w.Body.String()), "\n\n")
		} else {
			whole, err := json.Marshal(a.whole())
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, string(whole))
		}
		for _, p := range parts {
			var r reply
			if err := json.Unmarshal([]byte(strings.TrimPrefix(p, "data: ")), &r); err != nil {
				t.Fatal(err)
			}
			if one = r.Choices[0].Message; stream {
				one = r.Choices[0].Delta
			}
			got = said{Content: got.Content + one.Content, Thought: got.Thought + one.Thought, Calls: one.Calls}
		}
		if got.Content != "I look." || got.Thought != "The tool." || len(got.Calls) != 1 || got.Calls[0].Function.Name != "now" || got.Calls[0].Function.Arguments != "{}" {
			t.Errorf("stream %v: got %+v", stream, got)
		}
	}
	q := &question{Effort: "high", Messages: []chat.Message{{Role: "user", Content: "x"}, {Role: "assistant", Content: "I look.", Fields: json.RawMessage(`{"reasoning": "The tool.", "tool_calls": [{"type": "function", "function": {"name": "now", "arguments": "{}"}}]}`)}, {Role: "tool", Content: "9"}}}
	q.form, _ = m.AnswerForm()
	if err := q.readMessages(m); err != nil {
		t.Fatal(err)
	}
	prompt := strings.Join(words{m}.of(q.prompts[0].ids), "")
	for _, want := range []string{"Reasoning: high", "<|channel|>analysis<|message|>The tool.\nI look.<|end|><|start|>assistant to=functions.now<|channel|>commentary json<|message|>{}<|call|><|start|>functions.now to=assistant<|channel|>commentary<|message|>\"9\"<|end|><|start|>assistant"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt is %q, want in it %q", prompt, want)
		}
	}
}
