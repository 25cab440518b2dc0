package grammar

import (
	"cmp"
	"slices"
)

// A Vocabulary is the texts of a model's tokens, made for passes over all of them.
type Vocabulary struct {
	texts  []string // by token
	sorted []int32  // tokens in the order of their texts, without the empty ones
	common []int    // of each of these: with how many bytes of the one before it begins
	alone  [256]bool
}

// NewVocabulary reads the bytes of n tokens; nil are those of a token that is no text. A byte that is no
// token by itself is in no text of a grammar: so each text can go on.
func NewVocabulary(n int, bytes func(token int) []byte) *Vocabulary {
	v := &Vocabulary{texts: make([]string, n)}
	for i := range n {
		v.texts[i] = string(bytes(i))
		switch len(v.texts[i]) {
		case 0:
			continue
		case 1:
			v.alone[v.texts[i][0]] = true
		}
		v.sorted = append(v.sorted, int32(i))
	}
	slices.SortFunc(v.sorted, func(a, b int32) int {
		return cmp.Or(cmp.Compare(v.texts[a], v.texts[b]), cmp.Compare(a, b))
	})
	v.common = make([]int, len(v.sorted))
	for i := 1; i < len(v.sorted); i++ {
		a, b := v.texts[v.sorted[i-1]], v.texts[v.sorted[i]]
		for v.common[i] < min(len(a), len(b)) && a[v.common[i]] == b[v.common[i]] {
			v.common[i]++
		}
	}
	return v
}

// text is that of a token; "" of one that there is not.
func (v *Vocabulary) text(token int) string {
	if token < 0 || token >= len(v.texts) {
		return ""
	}
	return v.texts[token]
}

// allowed is the set of tokens that a state takes.
func (v *Vocabulary) allowed(s *State) []uint64 {
	mask := make([]uint64, (len(v.texts)+63)/64)
	path := []*State{s} // by bytes of the token before
	for i, token := range v.sorted {
		text := v.texts[token]
		if v.common[i] >= len(path) { // it begins with what is not allowed
			continue
		}
		path = path[:v.common[i]+1]
		for len(path) <= len(text) {
			next := path[len(path)-1].step(text[len(path)-1])
			if next == nil {
				break
			}
			path = append(path, next)
		}
		if len(path) == len(text)+1 {
			mask[token/64] |= 1 << (token % 64)
		}
	}
	return mask
}
