// Package syntax says of the text of a cell what its tokens tell: how deep the next line is indented, which brackets
// belong together, whether a place is inside of a string.
//
// Cells are unfinished most of the time, so nothing here parses. One scan of a cell gives its [Token] list, which serves
// all questions about one state of the text; a screenful takes some 20 µs.
package syntax

import (
	"go/scanner"
	"go/token"
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
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), func(token.Position, string) {}, scanner.ScanComments)
	list := make([]Token, 0, len(src)/4+1)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return list
		}
		from := file.Offset(pos)
		length := len(lit)
		if length == 0 {
			length = len(tok.String())
		}
		list = append(list, Token{from, min(from+length, len(src)), tok, lit})
	}
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
