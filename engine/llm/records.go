package llm

import "github.com/mcs-notebook/mcs/engine/data"

// Tokens says how records become tokens of the model: by its tokenizer, its chat template, and the tokens
// with which its texts begin and end. The other fields are free:
//
//	o := m.Tokens()
//	o.Length = 512
//	rows := o.Of(ctx, data.ReadRecords("chats.jsonl")).Padded(4)
func (m *Model) Tokens() data.Tokens {
	own := m.conversation.options
	o := data.Tokens{Tokenizer: m.Tokenizer, Template: m.conversation.templates["default"], BOS: own.BOS, EOS: own.EOS}
	if m.Tokenizer == nil {
		o.BOS, o.EOS = "", ""
	}
	return o
}
