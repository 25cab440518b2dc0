package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An addedToken is found in text before the text is cut into words.
type addedToken struct {
	text              string
	id                int
	word, left, right bool // only as a whole word; takes the blanks on its left, on its right
}

// added are tokens by their first byte.
type added struct {
	first [256]alike
	any   bool
}

// alike are tokens that begin with the same byte. Some models have thousands.
type alike struct {
	lengths []int // that tokens have, the longest first
	tokens  map[string]*addedToken
}

// add adds a token. Of several with the same text the first counts.
func (a *added) add(t addedToken) {
	if t.text == "" {
		return
	}
	list := &a.first[t.text[0]]
	if list.tokens == nil {
		list.tokens, a.any = map[string]*addedToken{}, true
	}
	if list.tokens[t.text] != nil {
		return
	}
	list.tokens[t.text] = &t
	longest := func(x, y int) int { return y - x }
	if at, ok := slices.BinarySearchFunc(list.lengths, len(t.text), longest); !ok {
		list.lengths = slices.Insert(list.lengths, at, len(t.text))
	}
}

// encode appends the tokens in a text, and what part appends for the text between.
func (a *added) encode(ids []int, text string, first bool, part func(ids []int, text string, first bool) []int) []int {
	a.cut(text, func(id int, between string) {
		if id >= 0 {
			ids = append(ids, id)
		} else {
			ids = part(ids, between, first)
		}
		first = false
	})
	return ids
}

// cut calls found for each token, and with −1 for the text between.
func (a *added) cut(text string, found func(id int, between string)) {
	if !a.any {
		if text != "" {
			found(-1, text)
		}
		return
	}
	begin := 0
	for at := 0; at < len(text); {
		t := a.at(text, at)
		if t == nil {
			at++
			continue
		}
		start, end := at, at+len(t.text)
		if t.left {
			start = begin + len(strings.TrimRightFunc(text[begin:at], unicode.IsSpace))
		}
		if t.right {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		if start > begin {
			found(-1, text[begin:start])
		}
		found(t.id, "")
		begin, at = end, end
	}
	if begin < len(text) {
		found(-1, text[begin:])
	}
}

// at returns the longest token at a place of the text, nil if there is none.
func (a *added) at(text string, at int) *addedToken {
	list := &a.first[text[at]]
	for _, n := range list.lengths {
		if n > len(text)-at {
			continue
		}
		t := list.tokens[text[at:at+n]]
		if t == nil {
			continue
		}
		if t.word {
			before, _ := utf8.DecodeLastRuneInString(text[:at])
			after, _ := utf8.DecodeRuneInString(text[at+len(t.text):])
			if at > 0 && wordRune(before) || at+len(t.text) < len(text) && wordRune(after) {
				return nil
			}
		}
		return t
	}
	return nil
}

// wordRune says whether a rune is one of \w (Unicode's technical standard 18, annex C).
func wordRune(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
