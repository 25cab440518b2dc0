package llm

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Talk is a conversation with a model that keeps what the model has read of it, so that an answer needs to
// read only what was said since the last one.
type Talk struct {
	Messages []chat.Message // may be changed between answers: what follows the first change is read again
	Options  chat.Options   // what the template is told beside the messages

	m     *Model
	mem   *memory
	text  *text
	probe tensor.Tensor // what the model said then
}

// NewTalk begins a conversation; Messages may get one of the system.
func (m *Model) NewTalk() *Talk { return &Talk{m: m} }

// Say adds a message of the user to the conversation, and returns the model's answer, which it adds, too. If
// that fails, or ctx is done, the conversation is what it was before; the text so far is returned with the
// error. What a model that answers in channels (gpt-oss) thinks is no part of the answer, but a field of its
// message.
func (t *Talk) Say(ctx context.Context, content string, o Sampling) (string, error) {
	messages, ids, err := t.ask(ctx, content, &o)
	if err != nil {
		return "", err
	}
	answer, err := t.m.text(ctx, ids, o, t.tokens(ctx, o))
	said := t.read(o)(answer, true)
	t.hear(messages, said, err)
	return said.Text, err
}

// Stream is Say that gives the answer part by part, as [Model.Stream] does, with thoughts and a blank line
// before it. The conversation gets both messages when the answer is complete.
func (t *Talk) Stream(ctx context.Context, content string, o Sampling) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		messages, ids, err := t.ask(ctx, content, &o)
		if err != nil {
			yield("", err)
			return
		}
		var all chat.Said
		read, ended := t.read(o), true
		show := func(part chat.Said, failed error) bool {
			text := part.Thought + part.Text
			if all.Thought += part.Thought; part.Text != "" && all.Thought != "" && all.Text == "" {
				text = part.Thought + "\n\n" + part.Text
			}
			all.Text += part.Text
			ended = text == "" && failed == nil || yield(text, failed)
			return ended
		}
		t.m.stream(ids, o, t.tokens(ctx, o), func() {})(func(text string, failed error) bool {
			err = failed
			return show(read(text, false), failed)
		})
		if ended && err == nil {
			show(read("", true), nil)
		}
		if ended || err != nil {
			t.hear(messages, all, err)
		}
	}
}

// read returns what finds thoughts and text in an answer, which is all text but for models whose marks ask
// set.
func (t *Talk) read(o Sampling) func(text string, last bool) chat.Said {
	if o.Marks == nil {
		return func(text string, _ bool) chat.Said { return chat.Said{Text: text} }
	}
	f, _ := t.m.AnswerForm()
	return f.NewReader("", nil).Take
}

// ask returns the messages with one of the user, and the tokens from which the model answers. In channels it
// does so with marks.
func (t *Talk) ask(ctx context.Context, content string, own *Sampling) (messages []chat.Message, ids []int, err error) {
	if f, _ := t.m.AnswerForm(); f.Channels() {
		own.Marks = f.Marks()
	}
	o := *own
	messages = append(slices.Clip(t.Messages), chat.Message{Role: "user", Content: content})
	if ids, err = t.m.ChatTokens(messages, t.Options); err == nil {
		err = t.m.refuses(ids, o)
	}
	if err == nil {
		err = t.goBack(ctx, ids, o)
	}
	return messages, ids, err
}

// tokens generates the answer.
func (t *Talk) tokens(ctx context.Context, o Sampling) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) { t.mem.extend(ctx, t.text, o, yield) }
}

// hear adds an answer to the conversation, unless it failed.
func (t *Talk) hear(messages []chat.Message, said chat.Said, err error) {
	if err != nil {
		t.Free() // a step may have been stopped in the middle
		return
	}
	t.Messages = append(messages, said.Message())
}

// String shows who said what.
func (t *Talk) String() string {
	if len(t.Messages) == 0 {
		return "talk: nothing was said"
	}
	lines := make([]string, len(t.Messages))
	for i, m := range t.Messages {
		lines[i] = m.Role + ": " + m.Content
	}
	return strings.Join(lines, "\n")
}

// goBack keeps as much of what was read as the tokens of the conversation begin with.
func (t *Talk) goBack(ctx context.Context, ids []int, o Sampling) error {
	if t.mem != nil {
		same := true
		err := t.mem.within(ctx, func() { same = t.m.asBefore(t.probe) })
		switch {
		case err != nil:
			return err
		case !same || o.Cache != dtype.Invalid && o.Cache != t.mem.kept: // read by other weights, or kept in another type
			t.Free()
		}
	}
	var err error
	if t.mem == nil {
		if t.mem, err = t.m.begin(ctx, o, room{texts: 1, asked: len(ids) + o.count()}); err != nil {
			return err
		}
		if err = t.mem.within(ctx, func() { t.probe = t.m.probe() }); err == nil {
			t.text, err = t.mem.from(o.Prefix, ids)
		}
		if err != nil {
			t.Free()
		}
		return err
	}
	n := min(common(t.text.ids[:t.text.known], ids), len(ids)-1)
	for k, p := range t.mem.pools {
		if !p.sees(&t.text.held[k], n) {
			n = 0
		}
	}
	t.mem.goBack(t.text, n)
	t.text.ids = append([]int(nil), ids...)
	return nil
}

// Free gives the memory of what was read back at once. The conversation can go on: it is read again.
func (t *Talk) Free() {
	if t.mem != nil {
		t.mem.free()
	}
	t.mem, t.text = nil, nil
}
