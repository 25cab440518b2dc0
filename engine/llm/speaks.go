package llm

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/tokenizer"
)

// Speaks says how the model turns text into tokens: by its tokenizer (nil: bytes), with the special tokens
// that its chat template knows. Where the folder does not name the end of a text, it is the first token of
// Stop. data.Tokens asks for it.
func (m *Model) Speaks() (*tokenizer.Tokenizer, chat.Options) {
	o := m.conversation.options
	if o.EOS == "" && m.Tokenizer != nil && len(m.Stop) > 0 {
		o.EOS = m.Tokenizer.Token(m.Stop[0])
	}
	return m.Tokenizer, o
}

// ChatTemplate is the model's template for conversations, or for those in which tools can be called.
func (m *Model) ChatTemplate(tools bool) (*chat.Template, error) {
	c := &m.conversation
	t := c.templates["default"]
	if c.templates["tool_use"] != nil && tools {
		t = c.templates["tool_use"]
	}
	if c.wrong != nil {
		return nil, c.wrong
	}
	if t == nil {
		return nil, fmt.Errorf("chat: got a model without a chat template, want one whose folder has chat_template.jinja, " +
			"or tokenizer_config.json with chat_template; Generate goes on from any text")
	}
	return t, nil
}

// Unadapted says which layers PEFT refuses to adapt in models of the family, and why mlx-lm computes
// something else than this model, "" if it does not. Package lora asks for it.
func (m *Model) Unadapted() (layers []string, mlx string) {
	f := m.family
	switch {
	case f.folded:
		mlx = f.Type + ", which mlx-lm computes otherwise: it multiplies other weights by the factors than transformers does"
	case f.names.Of("layers") != "" || f.Type == gptNeoX.Type:
		mlx = f.Type + ", whose layers mlx-lm calls otherwise than transformers"
	}
	return f.unadapted, mlx
}
