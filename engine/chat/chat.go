// Package chat turns a conversation into the text that a language model was trained on, by the chat template
// that comes with the model.
//
// A chat template is a program in Jinja, and anybody may have written it. [Parse] reads the part of Jinja
// that templates use, with the settings of Hugging Face's transformers: a block takes the newline after it
// and the blanks before it, loops have break and continue, raise_exception, strftime_now and tojson are
// known, and nothing that a template is given can be changed. [Template.Render] stops a template that
// computes, recurses or writes too much.
//
// Reading order: chat.go; lex.go, parse.go, statement.go (text to functions); value.go, expression.go,
// execute.go (what these do); method.go, filter.go, test.go, format.go, json.go (what templates call). The
// way back is form.go (how models write thoughts and calls) and answer.go (a [Reader] finds them).
package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Message is one turn of a conversation.
type Message struct {
	Role    string // system, user, assistant, tool; what the template knows
	Content string
	// Fields is nil or a JSON object of further fields, in the order in which a template sees them, as
	// {"tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}]}. A field
	// "content" takes the place of Content: null, or a list of parts.
	Fields json.RawMessage
}

// Options are what a template is told beside the messages.
type Options struct {
	AddGenerationPrompt bool              // end with what begins an answer of the assistant
	BOS, EOS            string            // bos_token and eos_token; "" if the model has none
	Tools               []json.RawMessage // JSON objects that describe functions; their keys keep their order
	Extra               map[string]any    // further variables, as enable_thinking; values that JSON can say
	Now                 time.Time         // for strftime_now; zero is the time of the call
}

// A Template can be used by many goroutines.
type Template struct {
	name  string
	body  []statement
	marks bool
	print string
}

// A Span is part of a text, in bytes.
type Span struct{ From, To int }

// An Error says where a template is wrong, or why it gave up.
type Error struct {
	Template string
	Line     int // from 1
	Reason   string
	Raised   bool // the template itself refused, by raise_exception
}

func (e *Error) Error() string { return fmt.Sprintf("chat: %s:%d: %s", e.Template, e.Line, e.Reason) }

// Parse reads a template. The name is for errors, which are of type [*Error].
func Parse(name, template string) (t *Template, err error) {
	defer recoverFailure(name, &err)
	body, marks := parseTemplate(template)
	t = &Template{name: name, body: body, marks: marks}
	if !strings.Contains(template, "strftime_now") {
		sum := sha256.Sum256([]byte(template))
		t.print = hex.EncodeToString(sum[:16])
	}
	return t, nil
}

// Fingerprint is made of the template's text: what has the same one writes a conversation in the same way. It
// is empty for a template that knows the time.
func (t *Template) Fingerprint() string { return t.print }

// Marks says whether the template marks what the assistant said, by {% generation %}.
func (t *Template) Marks() bool { return t.marks }

// Render writes the conversation as the template has it. An error is a [*Error] or says which message, tool
// or variable isn't JSON.
func (t *Template) Render(messages []Message, o Options) (text string, err error) {
	text, _, err = t.RenderMarked(messages, o)
	return text, err
}

// RenderMarked is Render, and says which parts of the text the assistant said, as far as the template
// [Template.Marks] them.
func (t *Template) RenderMarked(messages []Message, o Options) (text string, said []Span, err error) {
	globals, err := variables(messages, o)
	if err != nil {
		return "", nil, fmt.Errorf("chat: %s: %w", t.name, err)
	}
	defer recoverFailure(t.name, &err)
	r := &run{now: o.Now}
	if r.now.IsZero() {
		r.now = time.Now()
	}
	s := &scope{names: globals, outer: &scope{names: builtins}}
	r.block(t.body, s)
	return r.out.String(), r.said, nil
}

// variables returns what a template can name. A token that the model lacks is undefined, as with
// transformers.
func variables(messages []Message, o Options) (map[string]any, error) {
	said, err := listOf("message", messages, Message.value)
	if err != nil {
		return nil, err
	}
	vars := map[string]any{
		"messages": said, "add_generation_prompt": o.AddGenerationPrompt, "tools": nil, "documents": nil,
	}
	if o.BOS != "" {
		vars["bos_token"] = o.BOS
	}
	if o.EOS != "" {
		vars["eos_token"] = o.EOS
	}
	if len(o.Tools) > 0 {
		if vars["tools"], err = listOf("tool", o.Tools, func(tool json.RawMessage) (any, error) { return fromJSON(tool) }); err != nil {
			return nil, err
		}
	}
	for name, v := range o.Extra {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", name, err)
		}
		if vars[name], err = fromJSON(text); err != nil {
			return nil, fmt.Errorf("variable %s: %w", name, err)
		}
	}
	return vars, nil
}

// listOf is a list of what value makes of each; what names one for an error.
func listOf[T any](what string, all []T, value func(T) (any, error)) (*list, error) {
	l := &list{}
	for i, x := range all {
		v, err := value(x)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i, err)
		}
		l.items = append(l.items, v)
	}
	return l, nil
}

func (m Message) value() (any, error) {
	d := newDict()
	d.set("role", m.Role)
	d.set("content", m.Content)
	if len(m.Fields) == 0 {
		return d, nil
	}
	v, err := fromJSON(m.Fields)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(*dict)
	if !ok {
		return nil, fmt.Errorf("fields: got %s, want a JSON object", typeName(v))
	}
	for i, k := range fields.keys {
		d.set(k, fields.values[i])
	}
	return d, nil
}

// UnmarshalJSON reads a message of the common form {"role": …, "content": …, …}. What is more than a role and
// a text stays in Fields.
func (m *Message) UnmarshalJSON(text []byte) error {
	v, err := fromJSON(text)
	if err != nil {
		return err
	}
	d, ok := v.(*dict)
	if !ok {
		return fmt.Errorf("chat: message: got %s, want a JSON object", typeName(v))
	}
	*m = Message{}
	rest := newDict()
	for i, k := range d.keys {
		s, isText := d.values[i].(string)
		switch {
		case k == "role" && isText:
			m.Role = s
		case k == "content" && isText:
			m.Content = s
		default:
			rest.set(k, d.values[i])
		}
	}
	if len(rest.keys) > 0 {
		m.Fields = slices.Clone([]byte(toJSON(&run{}, rest, jsonStyle{item: ", ", key: ": "})))
	}
	return nil
}

// failure is how the parser and a running template stop: a panic that [Parse] and [Template.Render] turn into
// an error, so that no step of an expression needs to pass errors on.
type failure struct {
	line   int
	reason string
	raised bool
}

func recoverFailure(name string, err *error) {
	switch f := recover().(type) {
	case nil:
	case failure:
		*err = &Error{name, f.line, f.reason, f.raised}
	default:
		panic(f)
	}
}
