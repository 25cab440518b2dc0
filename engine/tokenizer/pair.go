package tokenizer

import (
	"errors"
	"slices"
)

// A span is a part of what becomes of two texts.
type span struct {
	ids  []int // tokens that always stand there
	text int   // 1 or 2: all tokens of that text; 0: ids
	kind int   // of its tokens
}

// EncodePair returns the tokens of two texts, a question and an answer for example, as models see both at
// once, and the kind of each token (token_type_ids). If there are more than most the longer text is cut at
// its end, and then both, as Hugging Face's tokenizers do; 0: nothing is cut. It is an error if the
// tokenizer's file does not say how two texts are put together.
func (t *Tokenizer) EncodePair(first, second string, most int) (ids, kinds []int, err error) {
	if t.pair == nil {
		return nil, nil, errors.New("the tokenizer's file does not say how two texts are put together, want a post_processor with pairs")
	}
	a, b := t.Encode(first, false), t.Encode(second, false)
	if most > 0 {
		for _, s := range t.pair {
			most -= len(s.ids)
		}
		n, m := shared(len(a), len(b), max(0, most))
		a, b = a[:n], b[:m]
	}
	for _, s := range t.pair {
		part := [][]int{s.ids, a, b}[s.text]
		ids = append(ids, part...)
		kinds = append(kinds, slices.Repeat([]int{s.kind}, len(part))...)
	}
	return ids, kinds, nil
}

// shared says how much two texts of n and m tokens keep if together they have room for most.
func shared(n, m, most int) (int, int) {
	if n > m {
		m, n = shared(m, n, most)
		return n, m
	}
	if n+m <= most {
		return n, m
	}
	if n <= most && n < most-n {
		return n, most - n
	}
	return most / 2, most - most/2
}
