package chat

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Call is what an answer calls. The arguments are JSON; in gpt-oss's form whatever the model wrote.
type Call struct{ ID, Name, Arguments string }

// Said is what a model says, or a part of it.
type Said struct {
	Thought, Text string
	Calls         []Call // come at the end of an answer
}

// Message is the one that a conversation has of an answer without calls: its thought is a field, under the
// names that templates know it by.
func (s Said) Message() Message {
	m := Message{Role: "assistant", Content: s.Text}
	if s.Thought != "" {
		m.Fields, _ = json.Marshal(map[string]string{"reasoning_content": s.Thought, "thinking": s.Thought}) // texts can be written
	}
	return m
}

// A Reader finds what an answer says in a text that comes in parts.
type Reader struct {
	form  *Form
	tools []Tool
	state state
	held  string // what is not clear yet
	close string // the mark that ends a thought
	trim  bool   // blanks at the beginning say nothing
	must  bool   // the answer is a call
	plain bool   // there is none

	heads           bool           // the answer is messages with heads
	begun           map[state]bool // which kinds of them there were
	head, arguments string
	calls           []Call
}

// A state is what comes next in a text.
type state int

const (
	starting state = iota // a thought or an answer
	thinking
	saying
	heading // the head of a message
	calling
)

// blanks are what thoughts and answers do not begin or end with.
const blanks = " \t\r\n"

// NewReader begins an answer to a prompt, of which the last characters are enough. Without tools there are no
// calls.
func (f *Form) NewReader(prompt string, tools []Tool) *Reader {
	r := &Reader{form: f, tools: tools, heads: f.channels, begun: map[state]bool{}}
	for _, m := range thoughts {
		if strings.HasSuffix(strings.TrimRight(prompt, blanks), m[0]) {
			r.state, r.close, r.trim = thinking, m[1], true
		}
	}
	if r.heads {
		r.state = heading
	}
	return r
}

// NewRequired begins an answer that is a call, and goes on from begin, as [Form.Required] said.
func (f *Form) NewRequired(begin string, tools []Tool) *Reader {
	r := f.NewReader("", tools)
	if r.must = true; !r.heads {
		r.state = saying
	}
	if f.call != nil {
		r.held = begin
	}
	return r
}

// Answering is what follows a prompt so that an answer begins at once, without a thought before it: with what
// begins a call, if that is given.
func (f *Form) Answering(prompt, call string) string {
	if f.channels {
		return cmp.Or(call, "<|channel|>final<|message|>")
	}
	if r := f.NewReader(prompt, nil); r.state == thinking {
		return "\n" + r.close + "\n\n" + call
	}
	return call
}

// Take returns what is clear with the next part of the text; with last what is left.
func (r *Reader) Take(text string, last bool) (s Said) {
	if r.held += text; r.heads {
		r.messages(&s, last)
		return s
	}
	if r.state == starting {
		r.start(last)
	}
	if r.state == thinking {
		r.think(&s, last)
	}
	if r.state != saying {
		return s
	}
	if r.trim {
		r.held = strings.TrimLeft(r.held, blanks)
		r.trim = r.held == ""
	}
	s.Text, s.Calls = r.say(last)
	return s
}

// start sees whether there is a thought.
func (r *Reader) start(last bool) {
	begun, open := strings.TrimLeft(r.held, blanks), false
	for _, m := range thoughts {
		if rest, ok := strings.CutPrefix(begun, m[0]); ok {
			r.held, r.close, r.state, r.trim = rest, m[1], thinking, true
			return
		}
		open = open || strings.HasPrefix(m[0], begun)
	}
	if !open || last {
		r.state = saying
	}
}

// think takes a thought, or a part of it that does not end in blanks.
func (r *Reader) think(s *Said, last bool) {
	if r.trim {
		r.held = strings.TrimLeft(r.held, blanks)
		r.trim = r.held == ""
	}
	thought, rest, ended := strings.Cut(r.held, r.close)
	if !ended && !last {
		thought = r.held[:certain(r.held, r.close)]
	}
	s.Thought = strings.TrimRight(thought, blanks)
	r.held = r.held[len(s.Thought):]
	if ended {
		r.held, r.state, r.trim = rest, saying, true
	}
}

// certain is how many bytes of a text come before what may become one of some marks.
func certain(text string, marks ...string) int {
	n := len(text)
	for _, m := range marks {
		at := max(0, len(text)-len(m)+1)
		for !strings.HasPrefix(m, text[at:]) {
			at++
		}
		n = min(n, at)
	}
	return n
}

// say returns what is text for certain, and at last the calls.
func (r *Reader) say(last bool) (content string, calls []Call) {
	f := r.form
	if r.plain = r.plain || len(r.tools) == 0; last {
		content, r.held = r.held, ""
		at := strings.Index(content, f.open)
		if r.must || !f.anywhere {
			at = 0
		}
		if at >= 0 && !r.plain {
			if calls = r.find(content[at:]); calls != nil {
				content = strings.TrimSpace(content[:at])
			}
		}
		return content, calls
	}
	n := len(r.held)
	switch begun := strings.TrimSpace(r.held); {
	case r.plain:
	case r.must:
		n = 0
	case !f.anywhere:
		if r.plain = begun != "" && !r.opens(begun); !r.plain {
			n = 0
		}
	default:
		if n = strings.Index(r.held, f.open); n < 0 {
			n = certain(r.held, f.open)
		}
	}
	content, r.held = r.held[:n], r.held[n:]
	return content, nil
}

// opens says whether a text is the beginning of a call, or begins with one.
func (r *Reader) opens(text string) bool {
	if r.form.open != "" {
		return strings.HasPrefix(text, r.form.open)
	}
	return slices.ContainsFunc(r.tools, func(t Tool) bool {
		open := t.Name + "{"
		return strings.HasPrefix(text, open) || strings.HasPrefix(open, text)
	})
}

// find reads calls from the text of an answer; nil where it is something else.
func (r *Reader) find(text string) (list []Call) {
	f := r.form
	if f.call == nil {
		return f.objects(text)
	}
	names := f.call()
	for {
		at := names.FindStringSubmatchIndex(text)
		if at == nil && !f.anywhere && f.close != "" && strings.TrimSpace(text) != f.close {
			return nil // not all of the answer
		}
		if at == nil {
			return list
		}
		group := func(i int) string { return text[at[2*i]:at[2*i+1]] }
		one := Call{Name: group(max(1, names.SubexpIndex("name")))}
		if k := names.SubexpIndex("id"); k > 0 {
			one.ID = group(k)
		}
		text = text[at[1]:]
		if is := f.literals; is[0] != "" {
			l := literal{text: text}
			if !l.items(is[0], is[1]) {
				return nil
			}
			one.Arguments, text = string(l.out), l.text
		} else if f.pair == nil {
			var raw json.RawMessage
			var arguments bytes.Buffer
			d := json.NewDecoder(strings.NewReader(text))
			if d.Decode(&raw) != nil || raw[0] != '{' || json.Compact(&arguments, raw) != nil {
				return nil
			}
			one.Arguments, text = arguments.String(), text[d.InputOffset():]
		} else {
			own := text
			if next := names.FindStringIndex(text); next != nil {
				own = text[:next[0]]
			}
			one.Arguments, text = r.pairs(one.Name, own), text[len(own):]
		}
		list = append(list, one.known())
	}
}

// known gives a call an ID, if the model gave it none.
func (c Call) known() Call {
	c.ID = cmp.Or(c.ID, "call_"+rand.Text())
	return c
}

// pairs makes an object of arguments that are no JSON.
func (r *Reader) pairs(function, text string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, p := range r.form.pair().FindAllStringSubmatch(text, -1) {
		if i > 0 {
			b.WriteByte(',')
		}
		value := p[2]
		if !json.Valid([]byte(value)) || slices.ContainsFunc(r.tools, func(t Tool) bool { return t.Name == function && t.texts(p[1]) }) {
			value = asJSON(value)
		}
		fmt.Fprintf(&b, "%s:%s", asJSON(p[1]), value)
	}
	b.WriteByte('}')
	return b.String()
}

// objects reads calls that are JSON.
func (f *Form) objects(text string) (list []Call) {
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
			var one Call
			var arguments bytes.Buffer
			if json.Unmarshal(o[f.key()], &one.Name) != nil || json.Compact(&arguments, o[f.arguments]) != nil {
				return nil
			}
			one.Arguments = arguments.String()
			list = append(list, one.known())
		}
	}
	return list
}

// messages takes an answer in channels: a head says for whom a message is, and of which channel. Those for a
// tool are calls, those of the analysis thoughts, and all others text.
func (r *Reader) messages(s *Said, last bool) {
	for mark := " "; mark != ""; {
		var part string
		part, mark = r.toMark(last)
		switch r.state {
		case heading:
			r.head += part
		case thinking:
			s.Thought += part
		case saying:
			s.Text += part
		case calling:
			r.arguments += part
		}
		switch {
		case mark == "" && (r.state != calling || !last):
		case r.state == calling:
			r.calls[len(r.calls)-1].Arguments = compact(r.arguments)
			r.state, r.head = heading, ""
		case r.state != heading || mark == "<|start|>":
			r.state, r.head = heading, ""
		case mark == "<|message|>":
			r.open(s)
		default:
			r.head += " "
		}
	}
	if last {
		if s.Calls = r.calls; len(r.begun) == 0 { // a text without a head
			s.Text, r.head = strings.TrimSpace(r.head), ""
		}
	}
}

// toMark cuts what is held at the next mark.
func (r *Reader) toMark(last bool) (part, mark string) {
	n := len(r.held)
	for _, m := range channelMarks {
		if at := strings.Index(r.held[:n], m); at >= 0 {
			n, mark = at, m
		}
	}
	if mark == "" && !last {
		n = certain(r.held, channelMarks...)
	}
	part, r.held = r.held[:n], r.held[n+len(mark):]
	return part, mark
}

// open begins a message after its head. Several of a kind stand in lines of their own.
func (r *Reader) open(s *Said) {
	r.state = saying
	name := r.form.call().FindStringSubmatch(r.head)
	switch {
	case name != nil && slices.ContainsFunc(r.tools, func(t Tool) bool { return t.Name == name[1] }):
		r.state, r.arguments = calling, ""
		r.calls = append(r.calls, Call{Name: name[1]}.known())
	case strings.Contains(r.head, "analysis"):
		r.state = thinking
	}
	if r.begun[r.state] && r.state == thinking {
		s.Thought += "\n"
	} else if r.begun[r.state] && r.state == saying {
		s.Text += "\n"
	}
	r.begun[r.state] = true
}

// compact is JSON without blanks, none as an object without members, and what is no JSON as it is.
func compact(text string) string {
	var b bytes.Buffer
	if text = strings.TrimSpace(text); json.Compact(&b, []byte(text)) == nil {
		return b.String()
	}
	return cmp.Or(text, "{}")
}
