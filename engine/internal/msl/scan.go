package msl

import (
	"fmt"
	"strconv"
	"strings"
)

// A Pos is a place in a text, as its #line directives number it. Line and Col count from 1, Col in bytes.
type Pos struct {
	File string
	Line int
	Col  int
}

// String returns file:line:column, as compilers write it.
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// A Problem is something that Metal, CUDA or the rules of this package refuse, and what to write instead.
type Problem struct {
	Pos  Pos
	Text string
}

// Error returns the place and the text.
func (p Problem) Error() string { return p.Pos.String() + ": " + p.Text }

type kind uint8

const (
	space  kind = iota // white space and comments
	name               // identifiers and keywords
	number             // with its suffix
	quoted             // a string or a character
	mark               // an operator or a bracket, the longest that C++ knows, but for >>
)

// A token is a piece of the text. All tokens together are the text.
type token struct {
	kind      kind
	directive bool // part of a line that begins with #
	text      string
	pos       Pos
}

// marks are the operators of more than one character, longest first. ">>" is not among them: it may close two
// template lists, and printing two tokens gives it back.
var marks = []string{"<<=", ">>=", "...", "->*", "::", "->", "++", "--", "<<", "<=", ">=", "==", "!=", "&&", "||",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", ".*"}

// A scanner cuts a text into tokens.
type scanner struct {
	text      string
	at        int
	pos       Pos
	directive bool
	fresh     bool // nothing but space on this line so far
	tokens    []token
}

// scan returns the tokens of text. It fails for a comment or a string without an end, and for a character
// that is no part of the language.
func scan(file, text string) ([]token, error) {
	s := scanner{text: text, pos: Pos{file, 1, 1}, fresh: true, tokens: make([]token, 0, len(text)/2)}
	for s.at < len(s.text) {
		k, n, err := s.next()
		if err != nil {
			return nil, err
		}
		s.take(k, n)
	}
	return s.tokens, nil
}

// next says what comes next and how long it is.
func (s *scanner) next() (kind, int, error) {
	rest := s.text[s.at:]
	c := rest[0]
	switch {
	case c == '/' && strings.HasPrefix(rest, "//"):
		return space, lineEnd(rest), nil
	case c == '/' && strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest[2:], "*/")
		if n < 0 {
			return 0, 0, Problem{s.pos, "the comment has no end: write */"}
		}
		return space, n + 4, nil
	case c == '\n':
		return space, 1, nil
	case c == ' ' || c == '\t' || c == '\r':
		return space, len(rest) - len(strings.TrimLeft(rest, " \t\r")), nil
	case c == '\\' && continues(rest):
		return space, strings.IndexByte(rest, '\n') + 1, nil
	case letter(c):
		return name, len(rest) - len(strings.TrimLeftFunc(rest, func(r rune) bool { return r < 128 && (letter(byte(r)) || digit(byte(r))) })), nil
	case digit(c) || c == '.' && len(rest) > 1 && digit(rest[1]):
		return number, numberEnd(rest), nil
	case c == '"' || c == '\'':
		n := quotedEnd(rest)
		if n < 0 {
			return 0, 0, Problem{s.pos, fmt.Sprintf("the %c has no end on its line", c)}
		}
		return quoted, n, nil
	}
	for _, m := range marks {
		if c == m[0] && strings.HasPrefix(rest, m) {
			return mark, len(m), nil
		}
	}
	if strings.IndexByte("{}[]()<>;:,.?~!%^&*-+=|/#", c) < 0 {
		return 0, 0, Problem{s.pos, fmt.Sprintf("%q is no character of the language outside of comments", []rune(rest)[0])}
	}
	return mark, 1, nil
}

// take appends the next n bytes as a token and moves on.
func (s *scanner) take(k kind, n int) {
	text := s.text[s.at : s.at+n]
	if text == "#" && s.fresh {
		s.directive = true
	}
	ends := text == "\n" && s.directive
	s.tokens = append(s.tokens, token{k, s.directive && !ends, text, s.pos})
	s.at += n
	if k != space {
		s.fresh = false
	}
	if (k == space || k == quoted) && strings.Contains(text, "\n") { // in a string behind a backslash
		s.pos.Line += strings.Count(text, "\n")
		s.pos.Col = len(text) - strings.LastIndexByte(text, '\n')
		s.fresh = s.fresh || text == "\n"
	} else {
		s.pos.Col += n
	}
	if ends {
		s.directive = false
		s.line()
	}
}

// line obeys a directive "#line 12" or "#line 12 "file"" that ended here.
func (s *scanner) line() {
	var words []string
	for i := len(s.tokens) - 2; i >= 0 && s.tokens[i].directive; i-- {
		if t := s.tokens[i]; t.kind != space {
			words = append([]string{t.text}, words...)
		}
	}
	if len(words) < 3 || words[1] != "line" {
		return
	}
	if n, err := strconv.Atoi(words[2]); err == nil && n > 0 {
		s.pos.Line = n
		if len(words) > 3 {
			s.pos.File = strings.Trim(words[3], `"`)
		}
	}
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// lineEnd is the length of a line comment: a backslash at the end of the line continues it, as in C.
func lineEnd(s string) int {
	for n := 0; ; n++ {
		if n == len(s) || s[n] == '\n' && (n == 0 || s[n-1] != '\\') {
			return n
		}
	}
}

// continues says whether the backslash at the beginning of s ends its line.
func continues(s string) bool {
	rest := strings.TrimLeft(s[1:], " \t\r")
	return rest != "" && rest[0] == '\n'
}

// numberEnd is the length of the number at the beginning of s, with its exponent and suffix.
func numberEnd(s string) int {
	hex := len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x'
	for n := 1; ; n++ {
		switch {
		case n == len(s):
			return n
		case (s[n] == '+' || s[n] == '-') && (s[n-1]|0x20 == 'e' && !hex || s[n-1]|0x20 == 'p' && hex):
		case !letter(s[n]) && !digit(s[n]) && s[n] != '.' && s[n] != '\'':
			return n
		}
	}
}

// quotedEnd is the length of the string or character at the beginning of s, or -1.
func quotedEnd(s string) int {
	for n := 1; n < len(s) && s[n] != '\n'; n++ {
		switch s[n] {
		case '\\':
			n++
		case s[0]:
			return n + 1
		}
	}
	return -1
}
