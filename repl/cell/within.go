package cell

import (
	"go/token"
	"sort"
	"strings"
)

// Within returns the string, rune or comment around byte pos of the text: pos is behind its first byte and
// before its last one, or at its end if it is unfinished.
func Within(src string, list []Token, pos int) (Token, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].To >= pos })
	for ; i < len(list) && list[i].From < pos; i++ {
		switch t := list[i]; t.Tok {
		case token.STRING, token.CHAR, token.COMMENT:
			if pos < t.To || t.Open || strings.HasPrefix(t.Text(src), "//") {
				return t, true
			}
		}
	}
	return Token{}, false
}

// Indent returns the indentation, in steps, of a line after the text, if the text ends at the end of a
// line: one step for each line that has opened brackets, and 0 inside of a raw string.
func Indent(src string) int {
	if Foreign(src) {
		return foreignIndent(src)
	}
	list := Scan(src)
	if t, ok := Within(src, list, len(src)); ok && t.Raw(src) {
		return 0
	}
	depth := 0
	var steps []bool // of the open brackets: whether it indents
	openLine, line, at := -1, 0, 0
	for _, t := range list {
		line += strings.Count(src[at:t.From], "\n")
		at = t.From
		switch Nesting(t.Tok) {
		case 1:
			steps = append(steps, line != openLine) // several brackets of one line indent once
			if line != openLine {
				depth++
			}
			openLine = line
		case -1:
			if n := len(steps); n > 0 {
				if steps[n-1] {
					depth--
					openLine = -1
				}
				steps = steps[:n-1]
			}
		}
		if t.Command && t.Tok == LineEnd { // brackets that the command opens end with its line
			depth, steps = 0, nil
		}
	}
	return depth
}

// Partner returns the place of the bracket that belongs to the bracket at byte pos, or -1 if there is
// none. Bracket says whether there is a bracket at pos.
func Partner(list []Token, pos int) (at int, bracket bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].From >= pos })
	if i == len(list) || list[i].From != pos {
		return -1, false
	}
	step := Nesting(list[i].Tok)
	if step == 0 {
		return -1, false
	}
	command := list[i].Command
	var open []token.Token
	for ; i >= 0 && i < len(list) && list[i].Command == command; i += step {
		t := list[i].Tok
		if command && t == LineEnd {
			break
		}
		switch n := Nesting(t); {
		case n == step:
			open = append(open, t)
		case n == -step:
			if other := open[len(open)-1]; partners[other] != t && partners[t] != other {
				return -1, true
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return list[i].From, true
			}
		}
	}
	return -1, true
}
