package cell

import (
	"slices"
	"sort"
)

// Update returns the tokens of src. List has the tokens of old, an earlier state of the text. Typing
// changes a line or two, so Update scans only from the line break before the change to one behind it.
func Update(list []Token, old, src string) []Token {
	if Whole(old) != Whole(src) {
		return Scan(src)
	}
	n := min(len(old), len(src))
	same := 0 // bytes at the start that did not change
	for same < n && old[same] == src[same] {
		same++
	}
	tail := 0 // bytes at the end that did not
	for tail < n-same && old[len(old)-1-tail] == src[len(src)-1-tail] {
		tail++
	}
	r := newReader(src, nil)
	first := sort.Search(len(list), func(i int) bool { return list[i].From >= same })
	for first > 0 && !(list[first-1].breaks() && list[first-1].To <= same) {
		first--
	}
	from := 0
	if first > 0 {
		from, r.depth = list[first-1].To, list[first-1].Depth
	}
	shift := len(src) - len(old)
	var fresh []Token
	rest := len(list) // the old tokens from here on stay, behind the fresh ones
	r.take = func(t Token) bool {
		fresh = append(fresh, t)
		if t.From < len(src)-tail || !t.breaks() {
			return true
		}
		i := sort.Search(len(list), func(i int) bool { return list[i].From >= t.From-shift })
		if i == len(list) || list[i].From != t.From-shift || !list[i].breaks() || list[i].Depth != t.Depth {
			return true
		}
		rest = i + 1
		return false
	}
	r.read(from)
	for i := rest; i < len(list); i++ {
		list[i].From += shift
		list[i].To += shift
	}
	return slices.Replace(list, first, rest, fresh...)
}

// breaks says whether a token ends a statement at a line break. Of the text before it, only the open
// brackets affect the text behind it.
func (t Token) breaks() bool { return t.Tok == LineEnd && t.To > t.From }
