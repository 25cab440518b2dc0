// Package syntax says of the text of a cell what its tokens tell: how deep the next line is indented, which brackets
// belong together, whether a place is inside of a string.
//
// Cells are unfinished most of the time, so nothing here parses. One scan of a cell gives its [Token] list, which serves
// all questions about one state of the text; a screenful takes some 20 µs.
package syntax

import (
	"go/scanner"
	"go/token"
	"slices"
	"sort"
	"strings"
)

// A Token is a token of Go, or a comment. It covers the bytes From…To.
type Token struct {
	From, To int
	Tok      token.Token
	Lit      string // as go/scanner gives it
}

// Tokens scans src, which has no carriage returns. Errors are left to whoever checks the cell.
func Tokens(src string) []Token {
	list := make([]Token, 0, len(src)/4+1)
	scan(src, 0, func(t Token) bool {
		list = append(list, t)
		return true
	})
	return list
}

// scan gives the tokens of src from byte from on, until f returns false.
func scan(src string, from int, f func(Token) bool) {
	file := token.NewFileSet().AddFile("", -1, len(src)-from)
	var s scanner.Scanner
	s.Init(file, []byte(src[from:]), func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return
		}
		at := from + file.Offset(pos)
		length := len(lit)
		if length == 0 {
			length = len(tok.String())
		}
		if !f(Token{at, min(at+length, len(src)), tok, lit}) {
			return
		}
	}
}

// Update gives the tokens of src, in the place of list, which are those of old. What was typed changes a line or two:
// only from the line break before it to one behind it is scanned again.
func Update(list []Token, old, src string) []Token {
	n := min(len(old), len(src))
	same := 0 // bytes at the start that did not change
	for same < n && old[same] == src[same] {
		same++
	}
	tail := 0 // bytes at the end that did not
	for tail < n-same && old[len(old)-1-tail] == src[len(src)-1-tail] {
		tail++
	}
	first := sort.Search(len(list), func(i int) bool { return list[i].From >= same })
	for first > 0 && !(breaksLine(list[:first], old) && list[first-1].To <= same) {
		first--
	}
	from := 0
	if first > 0 {
		from = list[first-1].To
	}
	shift := len(src) - len(old)
	var fresh []Token
	rest := len(list) // of the old tokens, what stays behind the fresh ones
	scan(src, from, func(t Token) bool {
		fresh = append(fresh, t)
		if t.From < len(src)-tail || !breaksLine(fresh, src) {
			return true
		}
		i := sort.Search(len(list), func(i int) bool { return list[i].From >= t.From-shift })
		if i == len(list) || list[i].From != t.From-shift || !breaksLine(list[:i+1], old) {
			return true
		}
		rest = i + 1
		return false
	})
	for i := rest; i < len(list); i++ {
		list[i].From += shift
		list[i].To += shift
	}
	return slices.Replace(list, first, rest, fresh...)
}

// breaksLine says whether the last token of a list is the end of a statement at a line break: what follows it does not
// depend on what is before. (One behind a comment of several lines has its place inside of the comment.)
func breaksLine(list []Token, src string) bool {
	n := len(list)
	t := list[n-1]
	return t.Tok == token.SEMICOLON && t.Lit == "\n" && t.From < len(src) && src[t.From] == '\n' && (n == 1 || list[n-2].To <= t.From)
}

// Within is the string, rune or comment that byte pos of the text is inside of: behind its first byte and before its
// last one, or at the end of one that has no end yet.
func Within(list []Token, pos int) (Token, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].To >= pos })
	for ; i < len(list) && list[i].From < pos; i++ {
		t := list[i]
		switch t.Tok {
		case token.STRING, token.CHAR:
			if pos < t.To || !closed(t.Lit) {
				return t, true
			}
		case token.COMMENT:
			if pos < t.To || !strings.HasSuffix(t.Lit, "*/") || len(t.Lit) < 4 {
				return t, true
			}
		}
	}
	return Token{}, false
}

// closed says whether a string or rune literal ends in the quote that it begins with.
func closed(lit string) bool {
	if len(lit) < 2 || lit[len(lit)-1] != lit[0] {
		return false
	}
	escapes := 0
	for i := len(lit) - 2; i > 0 && lit[0] != '`' && lit[i] == '\\'; i-- {
		escapes++
	}
	return escapes%2 == 0
}

// Raw says whether a token is a raw string: blanks in it are data.
func (t Token) Raw() bool { return t.Tok == token.STRING && strings.HasPrefix(t.Lit, "`") }

// Indent is how deep the line after the text is indented, in steps, if the text ends where the line does: one step for
// each line that has opened brackets, none inside of a raw string.
func Indent(src string) int {
	list := Tokens(src)
	if t, ok := Within(list, len(src)); ok && t.Raw() {
		return 0
	}
	depth := 0
	var steps []bool // of the open brackets: whether it indents
	openLine, line, at := -1, 0, 0
	for _, t := range list {
		line += strings.Count(src[at:t.From], "\n")
		at = t.From
		switch t.Tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			steps = append(steps, line != openLine) // several brackets of one line indent once
			if line != openLine {
				depth++
			}
			openLine = line
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if n := len(steps); n > 0 {
				if steps[n-1] {
					depth--
					openLine = -1
				}
				steps = steps[:n-1]
			}
		}
	}
	return depth
}

// Partner is the place of the bracket that belongs to the bracket at byte pos; at is -1 if there is none. Bracket says
// whether a bracket is at pos at all.
func Partner(list []Token, pos int) (at int, bracket bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].From >= pos })
	if i == len(list) || list[i].From != pos {
		return -1, false
	}
	step := nesting(list[i].Tok)
	if step == 0 {
		return -1, false
	}
	var open []token.Token
	for ; i >= 0 && i < len(list); i += step {
		t := list[i].Tok
		switch n := nesting(t); {
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

var partners = map[token.Token]token.Token{token.LPAREN: token.RPAREN, token.LBRACK: token.RBRACK, token.LBRACE: token.RBRACE}

func nesting(t token.Token) int {
	switch t {
	case token.LPAREN, token.LBRACK, token.LBRACE:
		return 1
	case token.RPAREN, token.RBRACK, token.RBRACE:
		return -1
	}
	return 0
}
