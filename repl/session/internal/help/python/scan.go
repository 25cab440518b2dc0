package python

import (
	"strings"
	"unicode"
)

// A kind is the kind of a token.
type kind int

const (
	operator kind = iota
	word
	number
	text // of a string
)

// A token of a line. A string's token has its text between the quotes, unchanged, and its prefix.
type token struct {
	kind   kind
	text   string
	prefix string // f, r or b before a string, in small letters
	off    int
}

// end is the text of the token behind the last one.
const end = "\x00"

// is says whether a token is an operator or a word with this text.
func (t token) is(text string) bool { return t.kind <= word && t.text == text }

// operators of more than one letter, the longer ones first.
var operators = []string{"**=", "//=", "...", "===", "!==", "**", "//", "==", "!=", "<=", ">=", "->", "=>", ":=", "+=", "-=", "*=", "/=", "%=", "@=", "&&", "||", "<<", ">>", "++", "--"}

// scan cuts a line into tokens. A comment ends it.
func scan(line string) (list []token) {
	for i := 0; i < len(line); {
		c := rune(line[i])
		n, t := 1, token{off: i}
		switch {
		case unicode.IsSpace(c):
			i++
			continue
		case c == '#':
			return append(list, token{text: end, off: i})
		case c == '"' || c == '\'':
			n, t.text = quoted(line[i:])
			t.kind = text
		case isLetter(c):
			for i+n < len(line) && (isLetter(rune(line[i+n])) || unicode.IsDigit(rune(line[i+n]))) {
				n++
			}
			t.kind, t.text = word, line[i:i+n]
			prefix := strings.ToLower(t.text)
			if i+n < len(line) && (line[i+n] == '"' || line[i+n] == '\'') && strings.Trim(prefix, "frbu") == "" {
				m, body := quoted(line[i+n:])
				n, t.kind, t.text, t.prefix = n+m, text, body, prefix
			}
		case unicode.IsDigit(c) || c == '.' && i+1 < len(line) && unicode.IsDigit(rune(line[i+1])):
			n = numberLength(line[i:])
			t.kind, t.text = number, line[i:i+n]
		default:
			t.text = line[i : i+1]
			for _, op := range operators {
				if strings.HasPrefix(line[i:], op) {
					n, t.text = len(op), op
					break
				}
			}
		}
		i += n
		list = append(list, t)
	}
	return append(list, token{text: end, off: len(line)})
}

func isLetter(c rune) bool { return c == '_' || c >= 0x80 || unicode.IsLetter(c) }

// unclosed is the body of a string without an end, which no translation accepts.
const unclosed = "\x00unclosed"

// quoted reads a string with its quotes, one or three: its length and what stands between them.
func quoted(s string) (length int, body string) {
	quote := s[:1]
	if strings.HasPrefix(s, strings.Repeat(quote, 3)) {
		quote = s[:3]
	}
	for i := len(quote); i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if strings.HasPrefix(s[i:], quote) {
			return i + len(quote), s[len(quote):i]
		}
	}
	return len(s), unclosed
}

// numberLength returns the length in bytes of the number at the start of s.
func numberLength(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		exponent := (c == '+' || c == '-') && (s[n-min(n, 1)]|0x20) == 'e' && !strings.HasPrefix(s, "0x")
		if c != '.' && c != '_' && !unicode.IsDigit(rune(c)) && !unicode.IsLetter(rune(c)) && !exponent {
			break
		}
		n++
	}
	return n
}
