// Package tokenizer turns text into the tokens of a language model, and back.
//
// [Load] reads what models come with: tokenizer.json of Hugging Face's tokenizers (byte pairs, WordPiece,
// unigram), SentencePiece's tokenizer.model, ranks of tiktoken, Mistral's tekken.json. All become one
// pipeline: added tokens are found in the text, what lies between is normalised and cut into words, and a
// model cuts words into tokens. A file with a part that is not known here is an error that names it.
//
// Reading order: tokenizer.go, pair.go, added.go; file.go (tokenizer.json), normalize.go, words.go,
// pattern.go, compile.go, class.go; bpe.go, wordpiece.go (and unigram); decode.go; sentencepiece.go,
// ranks.go.
package tokenizer

import (
	"fmt"
	"maps"
	"slices"
)

// A Tokenizer belongs to a model. It can be used by many goroutines.
type Tokenizer struct {
	tokens    []string // by their numbers, "" where there is none
	ids       map[string]int
	added     added // found in text as it is
	later     added // found in normalised text
	special   map[int]bool
	normalize func(string) string // nil: nothing
	words     []cutter
	model     model
	before    []int // what Encode puts around a text, if asked
	after     []int
	pair      []span // what EncodePair makes of two texts; nil: nothing is known
	decoders  []decoder
	spaced    bool // without decoders tokens are joined by spaces
	about     string
	print     string
}

// A model cuts a word into tokens.
type model interface {
	tokens(ids []int, word string) []int
}

// Encode returns the tokens of a text. With special it puts those around it with which the model marks
// beginning and end. Special tokens that are spelled in the text are found in any case, so text that somebody
// else wrote should go through [Tokenizer.EncodePlain].
func (t *Tokenizer) Encode(text string, special bool) []int {
	var ids []int
	if special {
		ids = slices.Clone(t.before)
	}
	ids = t.added.encode(ids, text, true, t.encodePart)
	if special {
		ids = append(ids, t.after...)
	}
	return ids
}

// EncodePlain is Encode of text in which special tokens are ordinary text: nobody can write an end of turn
// into a message.
func (t *Tokenizer) EncodePlain(text string) []int {
	return t.encodeWords(nil, t.normalized(text), true)
}

func (t *Tokenizer) normalized(text string) string {
	if t.normalize == nil {
		return text
	}
	return t.normalize(text)
}

func (t *Tokenizer) encodePart(ids []int, text string, first bool) []int {
	return t.later.encode(ids, t.normalized(text), first, t.encodeWords)
}

// encodeWords cuts normalised text into words, and these into tokens.
func (t *Tokenizer) encodeWords(ids []int, text string, first bool) []int {
	if text == "" {
		return ids
	}
	t.cut(0, piece{text, first}, func(p piece) { ids = t.model.tokens(ids, p.text) })
	return ids
}

// cut applies the cutters from number n on.
func (t *Tokenizer) cut(n int, p piece, emit func(piece)) {
	if n == len(t.words) {
		emit(p)
		return
	}
	t.words[n](p, func(q piece) {
		if q.text != "" {
			t.cut(n+1, q, emit)
		}
	})
}

// Vocab is the number of tokens, with those that are added: one more than the greatest number.
func (t *Tokenizer) Vocab() int { return len(t.tokens) }

// Token returns the text of a token as the vocabulary has it, "" if there is none of that number.
func (t *Tokenizer) Token(id int) string {
	if id < 0 || id >= len(t.tokens) {
		return ""
	}
	return t.tokens[id]
}

// ID returns the number of a token of the vocabulary, −1 if there is none.
func (t *Tokenizer) ID(token string) int {
	if id, ok := t.ids[token]; ok {
		return id
	}
	return -1
}

// Showing returns the tokenizer with some special tokens as text, which Decode and Stream do not leave out.
func (t *Tokenizer) Showing(marks ...string) *Tokenizer {
	if len(marks) == 0 {
		return t
	}
	own := *t
	own.special = maps.Clone(t.special)
	for _, m := range marks {
		if id, ok := t.ids[m]; ok {
			delete(own.special, id)
		}
	}
	return &own
}

// IsSpecial says whether a token marks something (the end of a turn), and is no text.
func (t *Tokenizer) IsSpecial(id int) bool { return t.special[id] }

// Fingerprint is made of the file from which the tokenizer is: what has the same one cuts texts in the same
// way.
func (t *Tokenizer) Fingerprint() string { return t.print }

// String says what the tokenizer is.
func (t *Tokenizer) String() string {
	return fmt.Sprintf("tokenizer: %s, %d tokens, %d of them special", t.about, len(t.tokens), len(t.special))
}

// name puts a token into the tables. Numbers beyond limit are refused: a number makes room for all below it.
func (t *Tokenizer) name(id int, token string, limit int) error {
	if id < 0 || id >= limit {
		return fmt.Errorf("token %q: got the number %d, want one in 0…%d", brief(token, 40), id, limit-1)
	}
	for len(t.tokens) <= id {
		t.tokens = append(t.tokens, "")
	}
	t.tokens[id] = token
	t.ids[token] = id
	return nil
}
