package llm

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"path/filepath"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
)

// conversation is what a folder says about chats.
type conversation struct {
	templates map[string]*chat.Template // by name; that of most is "default"
	wrong     error                     // of a template that cannot be read
	options   chat.Options              // the special tokens
}

// Chat answers a conversation: it writes the messages as the model's chat template has them, begins an answer
// of the assistant, and returns what the model says to its end. A model without a template, and messages that
// the template refuses, are errors. When ctx is done it returns the text so far, with the cause.
func (m *Model) Chat(ctx context.Context, messages []chat.Message, o Sampling) (string, error) {
	ids, err := m.ChatTokens(messages, chat.Options{})
	if err != nil {
		return "", err
	}
	return m.text(ctx, ids, o, m.StreamTokens(ctx, ids, o))
}

// StreamChat is Chat that gives the answer part by part, as [Model.Stream] does.
func (m *Model) StreamChat(ctx context.Context, messages []chat.Message, o Sampling) iter.Seq2[string, error] {
	return m.streamed(ctx, o, func() ([]int, error) { return m.ChatTokens(messages, chat.Options{}) })
}

// ChatText writes messages as the model's chat template has them, the special tokens of the model filled in.
// With o.Tools it is the template for tools, if the model has one of its own for that. Text that
// [Model.Generate] goes on from has AddGenerationPrompt set; the tokens of the text are those of the
// Tokenizer's Encode without special ones around, which the template writes.
func (m *Model) ChatText(messages []chat.Message, o chat.Options) (string, error) {
	t, err := m.ChatTemplate(len(o.Tools) > 0)
	if err != nil {
		return "", err
	}
	own := m.conversation.options
	o.BOS = cmp.Or(o.BOS, own.BOS)
	o.EOS = cmp.Or(o.EOS, own.EOS)
	extra := o.Extra
	o.Extra = map[string]any{}
	maps.Copy(o.Extra, own.Extra)
	maps.Copy(o.Extra, extra)
	return t.Render(messages, o)
}

// ChatTokens are the tokens of a conversation, as ChatText writes it, from which the assistant answers.
func (m *Model) ChatTokens(messages []chat.Message, o chat.Options) ([]int, error) {
	o.AddGenerationPrompt = true
	text, err := m.ChatText(messages, o)
	if err != nil {
		return nil, err
	}
	if m.Tokenizer == nil {
		return m.Encode(text)
	}
	ids := m.Tokenizer.Encode(text, false)
	if len(ids) == 0 {
		return nil, fmt.Errorf("chat: got no tokens of %d messages, want at least one", len(messages))
	}
	return ids, nil
}

// AnswerForm is how the model writes thoughts and calls of tools, as far as its chat template shows it. Calls
// says whether it shows any.
func (m *Model) AnswerForm() (f *chat.Form, calls bool) { return chat.FormOf(m.ChatText) }

// readChat reads the chat templates and special tokens of the folder.
func (m *Model) readChat(dir string) error {
	read := func(name string) (*pretrained.Settings, error) {
		text, ok := m.files[name]
		if !ok {
			text = []byte("{}")
		}
		return pretrained.ParseSettings(filepath.Join(dir, name), text)
	}
	s, err := read("tokenizer_config.json")
	if err != nil {
		return err
	}
	m.readMarks(s)
	from, sources := "tokenizer_config.json", templates(s)
	if m.files["chat_template.json"] != nil && s.Err() == nil {
		if s, err = read("chat_template.json"); err != nil {
			return err
		}
		from, sources = "chat_template.json", templates(s)
	}
	if text, ok := m.files["chat_template.jinja"]; ok {
		from, sources = "chat_template.jinja", []namedTemplate{{"default", string(text)}}
	}
	c := &m.conversation
	c.templates = map[string]*chat.Template{}
	for _, source := range sources {
		name := filepath.Join(dir, from)
		if source.Name != "default" {
			name += " (" + source.Name + ")"
		}
		if c.templates[source.Name], err = chat.Parse(name, source.Template); err != nil {
			c.wrong = err // for those who chat; the model can do all else
		}
	}
	return s.Err()
}

// readMarks reads the special tokens by the names that templates know them by.
func (m *Model) readMarks(s *pretrained.Settings) {
	o := &m.conversation.options
	o.BOS, o.EOS = mark(s, "bos_token"), mark(s, "eos_token")
	o.Extra = map[string]any{}
	for _, name := range []string{"unk_token", "sep_token", "pad_token", "cls_token", "mask_token"} {
		if text := mark(s, name); text != "" {
			o.Extra[name] = text
		}
	}
}

// mark reads a special token: its text, or an object with that.
func mark(s *pretrained.Settings, key string) string {
	var object struct{ Content string }
	if s.Try(key, &object) {
		return object.Content
	}
	return s.Text(key, "")
}

// A namedTemplate is an entry of a list of chat templates.
type namedTemplate struct{ Name, Template string }

// templates reads a chat template, or a list of several with names.
func templates(s *pretrained.Settings) []namedTemplate {
	const key = "chat_template"
	var list []namedTemplate
	if s.Try(key, &list) {
		return list
	}
	var one string
	if s.Read(key, &one, "a chat template or a list of them with names") {
		list = []namedTemplate{{"default", one}}
	}
	return list
}

// defaults reads how the model's makers want tokens to be chosen: as transformers, which takes the best one
// unless do_sample is set.
func defaults(s *pretrained.Settings) Sampling {
	o := Sampling{Repetition: s.Number("repetition_penalty", 0), Tokens: s.Int("max_new_tokens", 0)}
	if s.Bool("do_sample", false) {
		o.Temperature, o.TopK = s.Number("temperature", 1), s.Int("top_k", 50)
		o.TopP, o.MinP = s.Number("top_p", 0), s.Number("min_p", 0)
	}
	if wrong := o.wrong(); wrong != "" {
		s.Fail("", "%s", wrong)
	}
	return o
}
