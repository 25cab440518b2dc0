package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/chat"
)

// A Kind says what the records of a dataset are.
type Kind string

// The kinds, and the fields that their records have.
const (
	TextKind       Kind = "text"       // text
	CompletionKind Kind = "completion" // prompt, completion
	ChatKind       Kind = "chat"       // messages, and perhaps tools
	PreferenceKind Kind = "preference" // chosen, rejected, and perhaps prompt
	UnpairedKind   Kind = "unpaired"   // prompt, completion, and label: whether the completion is wanted
)

// kinds are all of them.
var kinds = []Kind{TextKind, CompletionKind, ChatKind, PreferenceKind, UnpairedKind}

// A Passage is a text, or turns of a conversation.
type Passage struct {
	Text     string
	Messages []chat.Message // nil: it is a text
}

// A Record is one example of a dataset, as its file has it.
type Record struct {
	Kind Kind
	File string // its name
	Line int    // where it begins, from 1; in Parquet the number of the row

	Text               string         // TextKind
	Messages           []chat.Message // ChatKind
	Prompt, Completion Passage        // CompletionKind, UnpairedKind; a prompt of PreferenceKind may be empty: chosen and rejected then begin with it
	Chosen, Rejected   Passage        // PreferenceKind
	Unwanted           bool           // UnpairedKind: its label is false

	Tools []json.RawMessage // that the assistant may call: for the template
	Extra map[string]any    // the field chat_template_kwargs: further variables of the template
}

// String says where the record is, and how it begins.
func (r Record) String() string {
	var list []string
	say := func(name string, p Passage) {
		if p.Messages == nil && p.Text != "" {
			list = append(list, name+" "+brief(p.Text))
		}
		for _, m := range p.Messages {
			list = append(list, name+" "+m.Role+" "+brief(m.Content))
		}
	}
	say("text", Passage{Text: r.Text})
	say("", Passage{Messages: r.Messages})
	say("prompt", r.Prompt)
	say("completion", r.Completion)
	say("chosen", r.Chosen)
	say("rejected", r.Rejected)
	if r.Unwanted {
		list = append(list, "not wanted")
	}
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return fmt.Sprintf("%s:%d: %s", r.File, r.Line, strings.Join(list, ", "))
}

// brief is a text in quotes, cut where it is long.
func brief(text string) string { return strconv.Quote(cut(text, 60)) }

// fields are the names of what is read.
type fields struct{ text, prompt, completion, messages, tools, chosen, rejected, extra, label string }

// A row is what a reader finds: the values of its fields, each a string or JSON. A field that is null is not
// there.
type row struct {
	line   int
	fields map[string]any
	names  []string // of all columns or fields, in the file's order; nil: those of fields
}

// A badRow is the error of a row after which the next one can be read.
type badRow struct {
	line, column int // column 0: of the whole line
	err          error
}

func (b *badRow) Error() string {
	if b.column > 0 {
		return fmt.Sprintf("%d:%d: %v", b.line, b.column, b.err)
	}
	return fmt.Sprintf("%d: %v", b.line, b.err)
}

func (b *badRow) Unwrap() error { return b.err }

// alpaca are the names of Stanford Alpaca's fields, the middle one of which may be missing.
var alpaca = []string{"instruction", "input", "output"}

// standard says whether prompts and completions have their common names.
func (f fields) standard() bool { return f.prompt == "prompt" && f.completion == "completion" }

// ofAlpaca makes a prompt and a completion of a row that has these fields, all of them texts.
func (f fields) ofAlpaca(r row) {
	prompt, ok := r.fields["instruction"].(string)
	output, ok2 := r.fields["output"].(string)
	if !ok || !ok2 || !f.standard() || r.fields["prompt"] != nil || r.fields["completion"] != nil {
		return
	}
	if input, _ := r.fields["input"].(string); input != "" {
		prompt += "\n" + input
	}
	r.fields["prompt"], r.fields["completion"] = prompt, output
}

// kindOf says what a row is by the fields that it has; of several the one that says most.
func (f fields) kindOf(r row) (Kind, error) {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return r.fields[n] == nil })
	}
	switch {
	case has(f.chosen, f.rejected):
		return PreferenceKind, nil
	case has(f.messages):
		return ChatKind, nil
	case has(f.prompt, f.completion) && labelOf(r.fields[f.label]) != "":
		return UnpairedKind, nil
	case has(f.prompt, f.completion):
		return CompletionKind, nil
	case has(f.text):
		return TextKind, nil
	}
	names := r.names
	if names == nil {
		names = slices.Sorted(maps.Keys(r.fields))
	}
	names = slices.Clone(names)
	for i, n := range names {
		names[i] = fmt.Sprintf("%.40q", n)
	}
	got := "no fields"
	if len(names) > 0 {
		got = "the fields " + strings.Join(names[:min(len(names), 10)], ", ")
	}
	return "", fmt.Errorf("got %s, want %q, %q with %q, %q, or %q with %q; fields of other names have to be named", got, f.messages, f.prompt, f.completion, f.text, f.chosen, f.rejected)
}

// record makes a record of a row.
func (f fields) record(r row, kind Kind) (rec Record, err error) {
	rec = Record{Kind: kind, Line: r.line}
	take := func(name string, set func(value any) error) {
		if err != nil {
			return
		}
		if v := r.fields[name]; v == nil {
			err = fmt.Errorf("field %q is missing", name)
		} else if failed := set(v); failed != nil {
			err = fmt.Errorf("field %q: %w", name, failed)
		}
	}
	passage := func(p *Passage) func(any) error {
		return func(v any) (err error) { *p, err = toPassage(v); return err }
	}
	switch kind {
	case TextKind:
		take(f.text, func(v any) (err error) { rec.Text, err = toText(v); return err })
	case CompletionKind, UnpairedKind:
		take(f.prompt, passage(&rec.Prompt))
		take(f.completion, passage(&rec.Completion))
		label := labelOf(r.fields[f.label])
		switch rec.Unwanted = label == "false"; {
		case kind == UnpairedKind && label == "":
			take(f.label, func(v any) error { return fmt.Errorf("got %s, want true or false", what(v)) })
		case kind == CompletionKind && rec.Unwanted:
			err = fmt.Errorf("field %q is false: the completion is one that is not wanted, which records of kind %q learn (KTO); SkipBad leaves such records out", f.label, UnpairedKind)
		}
	case ChatKind:
		take(f.messages, func(v any) (err error) { rec.Messages, err = toMessages(v); return err })
	case PreferenceKind:
		if r.fields[f.prompt] != nil {
			take(f.prompt, passage(&rec.Prompt))
		}
		take(f.chosen, passage(&rec.Chosen))
		take(f.rejected, passage(&rec.Rejected))
	}
	if v := r.fields[f.tools]; v != nil && v != "" {
		take(f.tools, func(v any) (err error) { rec.Tools, err = toTools(v); return err })
	}
	if v := r.fields[f.extra]; v != nil && v != "" {
		take(f.extra, func(v any) error { return json.Unmarshal(jsonOf(v), &rec.Extra) })
	}
	if err == nil {
		err = rec.consistent()
	}
	return rec, err
}

// labelOf is "true" or "false" where a label is that, as JSON or as the text of a table's cell, and else "".
func labelOf(label any) string {
	text, ok := label.(string)
	if raw, isRaw := label.(json.RawMessage); isRaw {
		text, ok = string(raw), true
	}
	if text = strings.ToLower(text); ok && (text == "true" || text == "false") {
		return text
	}
	return ""
}

// consistent says whether the passages of a record go together.
func (r *Record) consistent() error {
	parts := []Passage{r.Prompt, r.Completion}
	if r.Kind == PreferenceKind {
		parts = []Passage{r.Chosen, r.Rejected}
		if r.Prompt.Text != "" || r.Prompt.Messages != nil {
			parts = append(parts, r.Prompt)
		}
	}
	for _, p := range parts {
		if (p.Messages == nil) != (parts[0].Messages == nil) {
			return errors.New("some of the fields are texts and others messages, want all of one kind")
		}
	}
	return nil
}

// jsonOf is a value as JSON; a string holds it.
func jsonOf(v any) json.RawMessage {
	if s, ok := v.(string); ok {
		return json.RawMessage(s)
	}
	return v.(json.RawMessage)
}

// what names a value for an error.
func what(v any) string {
	if _, ok := v.(string); ok {
		return "a text"
	}
	switch raw := v.(json.RawMessage); raw[0] {
	case '[':
		return "a list"
	case '{':
		return "an object"
	default:
		return fmt.Sprintf("%.40s", raw)
	}
}

func toText(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	return "", fmt.Errorf("got %s, want a text", what(v))
}

// toPassage takes a list as messages; all else has to be a text.
func toPassage(v any) (Passage, error) {
	if raw, ok := v.(json.RawMessage); ok && raw[0] == '[' {
		m, err := toMessages(v)
		return Passage{Messages: m}, err
	}
	s, err := toText(v)
	return Passage{Text: s}, err
}

// toMessages reads a list of messages; in a text, as a table's cell is, the list is JSON.
func toMessages(v any) (messages []chat.Message, err error) {
	raw := jsonOf(v)
	if _, text := v.(string); text {
		raw = bytes.TrimSpace(raw)
		if !json.Valid(raw) {
			raw = nil
		}
	}
	if len(raw) == 0 || raw[0] != '[' {
		return nil, fmt.Errorf("got %s, want a list of messages", what(v))
	}
	err = each(raw, func(_, value []byte) error {
		var m chat.Message
		if err := toMessage(value, &m); err != nil {
			return fmt.Errorf("message %d: %w", len(messages)+1, err)
		}
		messages = append(messages, m)
		return nil
	})
	if err == nil && len(messages) == 0 {
		err = errors.New("got no messages, want at least 1")
	}
	return messages, err
}

// speakers are the names that the conversations of ShareGPT have for roles.
var speakers = map[string]string{"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant"}

// toMessage reads {"role": …, "content": …}, or {"from": …, "value": …} as ShareGPT has it. What is null
// counts as missing, as tables fill with null what other rows have; but for the content, which may be null
// beside the calls of tools.
func toMessage(raw []byte, m *chat.Message) error {
	if raw[0] != '{' {
		return fmt.Errorf("got %.40s, want an object with role and content", raw)
	}
	texts, nulls, others := map[string]string{}, false, false
	err := each(raw, func(key, value []byte) error {
		name, err := unquote(key)
		switch {
		case err != nil:
		case value[0] == '"' && (name == "role" || name == "content" || name == "from" || name == "value"):
			texts[name], err = unquote(value)
		case string(value) == "null" && name != "content":
			nulls = true
		default:
			others = true
		}
		return err
	})
	_, role := texts["role"]
	from, said := texts["from"]
	value, values := texts["value"]
	switch {
	case err != nil:
		return err
	case !role && said && values:
		if name, ok := speakers[from]; ok {
			from = name
		}
		*m = chat.Message{Role: from, Content: value}
		return nil
	case role && !others && !said && !values:
		*m = chat.Message{Role: texts["role"], Content: texts["content"]}
	case nulls:
		err = m.UnmarshalJSON(withoutNulls(raw))
	default:
		err = m.UnmarshalJSON(raw)
	}
	if err == nil && m.Role == "" {
		err = errors.New("got no role, want user, assistant, system or what the template knows")
	}
	return err
}

// withoutNulls is an object, in the order of its keys, without those that are null but for the content.
func withoutNulls(raw []byte) []byte {
	b := []byte{'{'}
	each(raw, func(key, value []byte) error { // f returns no error
		if string(value) != "null" || string(key) == `"content"` {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(append(b, key...), ':'), value...)
		}
		return nil
	})
	return append(b, '}')
}

// toTools reads a list of objects; in a text the list is JSON.
func toTools(v any) (list []json.RawMessage, err error) {
	if err := json.Unmarshal(jsonOf(v), &list); err != nil {
		return nil, fmt.Errorf("got %s, want a list of tools", what(v))
	}
	return list, nil
}
