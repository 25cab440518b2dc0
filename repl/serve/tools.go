package serve

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/internal/lazy"
)

// A tool is a function that an answer may call.
type tool struct {
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// texts says whether a parameter is a text by its schema.
func (t tool) texts(parameter string) bool {
	var of struct{ Properties map[string]struct{ Type any } }
	return json.Unmarshal(t.Function.Parameters, &of) == nil && of.Properties[parameter].Type == "string"
}

// A callForm is how a model writes calls.
type callForm struct {
	probe       func() *regexp.Regexp // finds it in a call that the chat template writes
	begin       string                // what stands before a call, for the tokenizer; %s is the function's name, if that is no part of the JSON
	open, close string                // what stands around it in the text of an answer, where special tokens are left out; "": the name of a tool
	anywhere    bool                  // not only at the beginning of an answer
	list        bool                  // calls are a list
	arguments   string                // their key

	call func() *regexp.Regexp // finds the name of a call that is no JSON object, behind which its arguments stand
	pair func() *regexp.Regexp // finds names and values of arguments; nil: they are JSON
}

// callForms are those that are known.
var callForms = []callForm{
	{probe: lazy.Regexp(`<tool_call>\s*\{"name": ?"probe", ?"arguments": ?\{"x": ?1`), begin: "<tool_call>\n", open: "<tool_call>", close: "</tool_call>", anywhere: true, arguments: "arguments"}, // Hermes, Qwen
	{probe: lazy.Regexp(`\[TOOL_CALLS\] ?\[\{"name": ?"probe", ?"arguments": ?\{"x": ?1`), begin: "[TOOL_CALLS]", open: "[", list: true, arguments: "arguments"},                                   // Mistral
	{probe: lazy.Regexp(`\{"name": ?"probe", ?"parameters": ?\{"x": ?1`), open: "{", arguments: "parameters"},                                                                                      // Llama 3
	{probe: lazy.Regexp(`\[TOOL_CALLS\]probe\[ARGS\]\{"x": ?1`), begin: "[TOOL_CALLS]%s[ARGS]", call: lazy.Regexp(`^\s*(?:\[TOOL_CALLS\])?([\w.-]+)(?:\[ARGS\])?`)},                                // Mistral since 2025
	{probe: lazy.Regexp(`<｜tool▁call▁begin｜>probe<｜tool▁sep｜>\{"x": ?1`), begin: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>%s<｜tool▁sep｜>", open: "<｜tool▁calls▁begin｜>", anywhere: true,
		call: lazy.Regexp(`<｜tool▁call▁begin｜>(.*?)<｜tool▁sep｜>`)}, // DeepSeek 3.1
	{probe: lazy.Regexp(`<tool_call>\s*<function=probe>\s*<parameter=x>\s*1\s*</parameter>`), open: "<tool_call>", anywhere: true,
		call: lazy.Regexp(`<function=([^>\s]+)>`), pair: lazy.Regexp(`(?s)<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>`)}, // Qwen3-Coder, Qwen 3.5
	{probe: lazy.Regexp(`<tool_call>probe\s*<arg_key>x</arg_key>\s*<arg_value>1</arg_value>`), open: "<tool_call>", anywhere: true,
		call: lazy.Regexp(`<tool_call>\s*([^<\s]+)`), pair: lazy.Regexp(`(?s)<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>`)}, // GLM 4.5
}

// formOf finds how a model writes calls: as its chat template writes one that it is given.
func formOf(m *llm.Model) (*callForm, error) {
	text, err := m.ChatText([]chat.Message{
		{Role: "user", Content: "a"},
		{Role: "assistant", Fields: json.RawMessage(`{"tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "probe", "arguments": {"x": 1}}}]}`)},
	}, chat.Options{Tools: []json.RawMessage{json.RawMessage(`{"type": "function", "function": {"name": "other", "description": "a", "parameters": {"type": "object", "properties": {}}}}`)}})
	if err != nil {
		return nil, wrong("tools", "%v", err)
	}
	for i := range callForms {
		if f := &callForms[i]; f.probe().MatchString(text) {
			return f, nil
		}
	}
	return nil, wrong("tools", "the model's chat template writes no calls, or not as Hermes, Qwen, Mistral, Llama 3, DeepSeek 3.1 or GLM 4.5 do")
}

// readTools reads which tools there are, and which of them the answer has to call.
func (q *question) readTools(s *server) error {
	if len(q.Tools) == 0 {
		return nil
	}
	choice, named := "auto", struct{ Function struct{ Name string } }{}
	if given := len(q.ToolChoice) > 0 && string(q.ToolChoice) != "null"; given && json.Unmarshal(q.ToolChoice, &choice) != nil {
		if choice = "named"; json.Unmarshal(q.ToolChoice, &named) != nil {
			return wrong("tool_choice", "got %s, want none, auto, required or a function", q.ToolChoice)
		}
	}
	switch {
	case choice == "none":
		q.Tools = nil
		return nil
	case !slices.Contains([]string{"auto", "required", "named"}, choice):
		return wrong("tool_choice", "got %q, want none, auto, required or a function", choice)
	case choice != "auto" && q.grammar != nil:
		return wrong("tool_choice", "got %s and a response_format, want one of them", choice)
	}
	var err error
	if q.form, err = formOf(s.o.Model); err != nil {
		return err
	}
	var calls []string
	for i, text := range q.Tools {
		var t tool
		if err := json.Unmarshal(text, &t); err != nil || t.Function.Name == "" {
			return wrong(fmt.Sprintf("tools[%d]", i), "got no function with a name")
		}
		q.tools = append(q.tools, t)
		if choice == "required" || t.Function.Name == named.Function.Name {
			calls, q.begin = append(calls, q.form.schema(t)), strings.Replace(q.form.begin, "%s", t.Function.Name, 1)
		}
	}
	if choice == "auto" {
		return nil
	}
	if len(calls) == 0 {
		return wrong("tool_choice", "got the function %q, which is not among the tools", named.Function.Name)
	}
	if q.form.pair != nil || q.form.call != nil && len(calls) > 1 {
		return wrong("tool_choice", "got %s, want auto: this model writes the name of a function, or all of a call, outside of JSON, which cannot be required of several, or of any", choice)
	}
	schema := `{"anyOf": [` + strings.Join(calls, ", ") + "]}"
	if q.form.list {
		schema = `{"type": "array", "minItems": 1, "maxItems": 1, "items": ` + schema + "}"
	}
	q.forced = true
	if q.grammar, err = s.compiled.get(json.RawMessage(schema)); err != nil {
		return wrong("tools", "%v", err)
	}
	return nil
}

// schema is that of a call, or of its arguments alone. Parameters are a document of their own, by $id, in
// which their references lead.
func (f *callForm) schema(t tool) string {
	parameters := bytes.TrimSpace(t.Function.Parameters)
	switch {
	case len(parameters) == 0 || string(parameters) == "null":
		parameters = []byte(`{"type": "object", "properties": {}}`)
	case parameters[0] == '{' && !bytes.HasSuffix(bytes.TrimSpace(parameters[:len(parameters)-1]), []byte("{")):
		parameters = append([]byte(`{"$id": "parameters", `), parameters[1:]...)
	}
	if f.call != nil {
		return string(parameters)
	}
	name, _ := json.Marshal(t.Function.Name)
	return fmt.Sprintf(`{"type": "object", "properties": {"name": {"const": %s}, "%s": %s}, "required": ["name", "%[2]s"]}`, name, f.arguments, parameters)
}

// A call is what an answer calls, as OpenAI has it.
type call struct {
	Index    *int   `json:"index,omitempty"` // of a stream
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// A caller finds calls in the text of an answer.
type caller struct {
	form  *callForm
	tools []tool
	must  bool   // the answer is a call
	begin string // of it, which is no part of the answer
	held  string // perhaps a call, or its beginning
	plain bool   // there is none
}

// take returns what is text for certain, and at last the calls.
func (c *caller) take(text string, last bool) (content string, calls []call) {
	if c.held += text; last {
		content, c.held = c.held, ""
		at := strings.Index(content, c.form.open)
		if c.must || !c.form.anywhere {
			at = 0
		}
		if at >= 0 && !c.plain {
			if calls = c.calls(content[at:]); calls != nil {
				content = strings.TrimSpace(content[:at])
			}
		}
		return content, calls
	}
	n := len(c.held)
	switch begun := strings.TrimSpace(c.held); {
	case c.plain:
	case c.must:
		n = 0
	case !c.form.anywhere:
		if c.plain = begun != "" && !c.opens(begun); !c.plain {
			n = 0
		}
	default:
		if n = strings.Index(c.held, c.form.open); n < 0 {
			for n = max(0, len(c.held)-len(c.form.open)); !strings.HasPrefix(c.form.open, c.held[n:]); {
				n++
			}
		}
	}
	content, c.held = c.held[:n], c.held[n:]
	return content, nil
}

// opens says whether a text is the beginning of a call, or begins with one.
func (c *caller) opens(text string) bool {
	if c.form.open != "" {
		return strings.HasPrefix(text, c.form.open)
	}
	return slices.ContainsFunc(c.tools, func(t tool) bool {
		open := t.Function.Name + "{"
		return strings.HasPrefix(text, open) || strings.HasPrefix(open, text)
	})
}

// calls reads calls from the text of an answer; nil where it is something else.
func (c *caller) calls(text string) (list []call) {
	f := c.form
	if f.call == nil {
		return f.objects(text)
	}
	if c.must && c.begin != "" {
		text = c.begin + text
	}
	for {
		at := f.call().FindStringSubmatchIndex(text)
		if at == nil {
			return list
		}
		one := call{ID: "call_" + rand.Text(), Type: "function"}
		one.Function.Name, text = text[at[2]:at[3]], text[at[1]:]
		var arguments bytes.Buffer
		if f.pair == nil {
			var raw json.RawMessage
			d := json.NewDecoder(strings.NewReader(text))
			if d.Decode(&raw) != nil || raw[0] != '{' || json.Compact(&arguments, raw) != nil {
				return nil
			}
			text = text[d.InputOffset():]
		} else {
			own := text
			if next := f.call().FindStringIndex(text); next != nil {
				own = text[:next[0]]
			}
			for i, p := range f.pair().FindAllStringSubmatch(own, -1) {
				fmt.Fprintf(&arguments, "%s%s:%s", map[bool]string{true: "{", false: ","}[i == 0], asJSON(p[1]), c.argument(one.Function.Name, p[1], p[2]))
			}
			if text = text[len(own):]; arguments.Len() == 0 {
				arguments.WriteByte('{')
			}
			arguments.WriteByte('}')
		}
		one.Function.Arguments = arguments.String()
		list = append(list, one)
	}
}

// argument is the value of a parameter: a text where the tool says so, or where it is no JSON.
func (c *caller) argument(function, parameter, value string) string {
	text := slices.ContainsFunc(c.tools, func(t tool) bool { return t.Function.Name == function && t.texts(parameter) })
	if text || !json.Valid([]byte(value)) {
		return asJSON(value)
	}
	return value
}

// asJSON is a string as JSON.
func asJSON(s string) string {
	b, _ := json.Marshal(s) // a string can be written
	return string(b)
}

// objects reads calls that are JSON.
func (f *callForm) objects(text string) (list []call) {
	if f.close != "" {
		text = strings.NewReplacer(f.open, "", f.close, "").Replace(text)
	}
	for text = strings.TrimSpace(text); text != ""; {
		var raw json.RawMessage
		d := json.NewDecoder(strings.NewReader(text))
		if d.Decode(&raw) != nil {
			return nil
		}
		text = strings.Trim(text[d.InputOffset():], "; \n\t\r")
		var several []map[string]json.RawMessage
		if json.Unmarshal(raw, &several) != nil {
			several = make([]map[string]json.RawMessage, 1)
			if json.Unmarshal(raw, &several[0]) != nil {
				return nil
			}
		}
		for _, o := range several {
			one := call{ID: "call_" + rand.Text(), Type: "function"}
			var arguments bytes.Buffer
			if json.Unmarshal(o["name"], &one.Function.Name) != nil || json.Compact(&arguments, o[f.arguments]) != nil {
				return nil
			}
			one.Function.Arguments = arguments.String()
			list = append(list, one)
		}
	}
	return list
}

// openCalls writes the arguments of calls in a message as templates want them: as objects, not as their text.
func openCalls(fields map[string]json.RawMessage) error {
	var calls []map[string]json.RawMessage
	if fields["tool_calls"] == nil || string(fields["tool_calls"]) == "null" {
		return nil
	}
	if err := json.Unmarshal(fields["tool_calls"], &calls); err != nil {
		return err
	}
	for _, c := range calls {
		var f map[string]json.RawMessage
		if err := json.Unmarshal(c["function"], &f); err != nil {
			return err
		}
		text := ""
		if json.Unmarshal(f["arguments"], &text) == nil {
			if f["arguments"] = json.RawMessage(text); !json.Valid(f["arguments"]) {
				return fmt.Errorf("got arguments of a call that are no JSON: %.40q", text)
			}
		}
		c["function"], _ = json.Marshal(f)
	}
	fields["tool_calls"], _ = json.Marshal(calls)
	return nil
}
