package llm

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Encode turns a prompt into tokens, as Generate does: by the model's Tokenizer, with the special tokens that
// mark a beginning, or byte by byte where the vocabulary is the 256 bytes.
func (m *Model) Encode(prompt string) ([]int, error) {
	var ids []int
	switch {
	case m.Tokenizer != nil:
		ids = m.Tokenizer.Encode(prompt, true)
	case m.Config.Vocab != 256:
		return nil, fmt.Errorf("generate: got a vocabulary of %d and no tokenizer, want 256 (bytes); use GenerateTokens", m.Config.Vocab)
	default:
		for i := range len(prompt) {
			ids = append(ids, int(prompt[i]))
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("generate: got an empty prompt, want at least one token")
	}
	return ids, nil
}

// A decoder turns tokens into text as they come, and never gives a part of a character.
type decoder interface {
	Next(id int) string // what is complete with the next token
	End() string        // what is left when no token follows
}

// byteDecoder decodes tokens that are bytes.
type byteDecoder struct{ left []byte }

func (d *byteDecoder) Next(id int) string {
	d.left = append(d.left, byte(id))
	n := 0
	for n < len(d.left) && utf8.FullRune(d.left[n:]) {
		_, size := utf8.DecodeRune(d.left[n:])
		n += size
	}
	text := string(d.left[:n])
	d.left = d.left[n:]
	return text
}

func (d *byteDecoder) End() string {
	text := string(d.left)
	d.left = nil
	return text
}

// A speech is the text of the tokens that follow a prompt, to the first stop string.
type speech struct {
	decoder
	stop []string
	held string // the beginning of a stop string, perhaps
	over bool
}

// before is how many tokens of a prompt say how the next one is to be decoded.
const before = 16

func (m *Model) speech(prompt []int, o Sampling) *speech {
	s := &speech{stop: o.Stop}
	if m.Tokenizer == nil {
		s.decoder = &byteDecoder{}
		return s
	}
	s.decoder = m.Tokenizer.Showing(o.Marks...).Stream(false)
	for _, id := range prompt[max(0, len(prompt)-before):] {
		s.Next(id)
	}
	return s
}

// next returns the text that the next token completes, and whether a stop string has ended it. Text that may
// become a stop string is kept until that is clear.
func (s *speech) next(id int) (text string, over bool) {
	s.held += s.Next(id)
	return s.given(false), s.over
}

// end returns the text that is left when no token follows.
func (s *speech) end() string {
	if s.over {
		return ""
	}
	s.held += s.End()
	return s.given(true)
}

// given takes from held what is certain; all of it if it is the last.
func (s *speech) given(last bool) string {
	n, end := len(s.held), -1
	for _, stop := range s.stop { // the stop string that is complete first
		if i := strings.Index(s.held, stop); i >= 0 && (end < 0 || i+len(stop) < end || i+len(stop) == end && i < n) {
			n, end = i, i+len(stop)
			s.over = true
		}
	}
	if !s.over && !last {
		for _, stop := range s.stop {
			n = min(n, len(s.held)-beginning(s.held, stop))
		}
	}
	text := s.held[:n]
	s.held = s.held[n:]
	return text
}

// beginning is how many bytes at the end of text begin stop.
func beginning(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}
