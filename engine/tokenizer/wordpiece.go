package tokenizer

import (
	"math"
	"unicode/utf8"
)

// A wordPiece takes the longest token that a word begins with, and goes on with the rest (Schuster and
// Nakajima 2012, as BERT has it). A word that cannot be cut so is unknown as a whole.
type wordPiece struct {
	vocab   map[string]int
	prefix  string // of tokens inside of a word
	unknown int
	longest int // runes of a word that is cut at all
}

func (w *wordPiece) tokens(ids []int, word string) []int {
	if word == "" {
		return ids
	}
	if utf8.RuneCountInString(word) > w.longest {
		return append(ids, w.unknown)
	}
	before := len(ids)
	for at := 0; at < len(word); {
		end := len(word)
		for ; end > at; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			text := word[at:end]
			if at > 0 {
				text = w.prefix + text
			}
			if id, ok := w.vocab[text]; ok {
				ids = append(ids, id)
				break
			}
		}
		if end == at {
			return append(ids[:before], w.unknown)
		}
		at = end
	}
	return ids
}

// A wordLevel has a token for each word.
type wordLevel struct {
	vocab   map[string]int
	unknown int // −1: what is unknown is left out
}

func (w *wordLevel) tokens(ids []int, word string) []int {
	if id, ok := w.vocab[word]; ok {
		return append(ids, id)
	}
	if w.unknown >= 0 && word != "" {
		return append(ids, w.unknown)
	}
	return ids
}

// A unigram cuts a word into the tokens whose logarithmic probabilities have the greatest sum (Kudo 2018).
type unigram struct {
	trie     trie
	scores   []float64
	unknown  int   // −1: what is unknown is left out
	fallback []int // tokens of the 256 bytes; nil: none
	least    float64
}

const unknownPenalty = 10 // below the least score

// A step is the best way to a place of a word.
type step struct {
	score float64
	from  int // −1: there is no way yet
	id    int
}

func (u *unigram) tokens(ids []int, word string) []int {
	best := make([]step, len(word)+1)
	for i := range best {
		best[i].from = -1
	}
	best[0] = step{}
	unknown := u.least - unknownPenalty
	for at := 0; at < len(word); {
		_, size := utf8.DecodeRuneInString(word[at:])
		known := false
		score := best[at].score
		u.trie.walk(word[at:], func(n, id int) {
			if s := score + u.scores[id]; best[at+n].from < 0 || s > best[at+n].score {
				best[at+n] = step{s, at, id}
			}
			known = known || n == size
		})
		if s := score + unknown; !known && (best[at+size].from < 0 || s > best[at+size].score) {
			best[at+size] = step{s, at, -1}
		}
		at += size
	}
	var back []int // places where tokens end, from the end
	for at := len(word); at > 0; at = best[at].from {
		back = append(back, at)
	}
	wasUnknown := false
	for i := len(back) - 1; i >= 0; i-- {
		s := best[back[i]]
		switch {
		case s.id >= 0:
			ids = append(ids, s.id)
		case u.fallback != nil:
			for _, c := range []byte(word[s.from:back[i]]) {
				ids = append(ids, u.fallback[c])
			}
		case u.unknown >= 0 && !wasUnknown:
			ids = append(ids, u.unknown)
		}
		wasUnknown = s.id < 0 && u.fallback == nil
	}
	return ids
}

// newUnigram makes a model of the pieces with their scores; ids are places in the list.
func newUnigram(pieces []string, scores []float64, unknown int, fallback []int, skip func(id int) bool) *unigram {
	u := &unigram{scores: scores, unknown: unknown, fallback: fallback, least: math.Inf(1)}
	for id, piece := range pieces {
		if id == unknown || skip != nil && skip(id) {
			continue
		}
		u.least = min(u.least, scores[id])
		u.trie.add(piece, id)
	}
	if math.IsInf(u.least, 1) {
		u.least = 0
	}
	return u
}

// A trie finds all tokens that a text begins with.
type trie struct {
	next map[uint64]int32 // from a node by a byte: node<<8 | byte
	ids  []int32          // of each node; −1: no token ends here
}

func (t *trie) add(text string, id int) {
	if t.next == nil {
		t.next, t.ids = map[uint64]int32{}, []int32{-1}
	}
	node := int32(0)
	for _, c := range []byte(text) {
		key := uint64(node)<<8 | uint64(c)
		to, ok := t.next[key]
		if !ok {
			to = int32(len(t.ids))
			t.ids = append(t.ids, -1)
			t.next[key] = to
		}
		node = to
	}
	t.ids[node] = int32(id)
}

// walk calls found with the length and the number of each token that text begins with, the short ones first.
func (t *trie) walk(text string, found func(n, id int)) {
	node := int32(0)
	for i := range len(text) {
		to, ok := t.next[uint64(node)<<8|uint64(text[i])]
		if !ok {
			return
		}
		if node = to; t.ids[node] >= 0 {
			found(i+1, int(t.ids[node]))
		}
	}
}
