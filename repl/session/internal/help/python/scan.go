package python

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/internal/lazy"
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

// tokens matches a token: the prefix and the body of a string in one of four pairs of quotes, one without an
// end, which no translation accepts, a word, a number, or an operator.
var tokens = lazy.Regexp(`(?s)^(?:([fFrRbBuU]*)("""((?:\\.|[^\\])*?)"""|'''((?:\\.|[^\\])*?)'''|"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')|` +
	`["'].*|([\pL_][\pL\pN_]*)|(0[xX]\w*|\.?\d(?:[eE][-+]|[\w.])*)|\*\*=|//=|\.\.\.|[!=]==|\*\*|//|[-=!<>+*/%@:]=|[-=]>|&&|\|\||<<|>>|\+\+|--|.)`)

// scan cuts a line into tokens. A comment ends it.
func scan(line string) (list []token) {
	for rest := line; ; {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		t := token{text: end, off: len(line) - len(rest)}
		if rest == "" || rest[0] == '#' {
			return append(list, t)
		}
		m := tokens().FindStringSubmatch(rest)
		switch t.text = m[0]; {
		case m[2] != "":
			t.kind, t.prefix, t.text = text, strings.ToLower(m[1]), cmp.Or(m[3], m[4], m[5], m[6])
		case m[7] != "":
			t.kind = word
		case m[8] != "":
			t.kind = number
		}
		rest = rest[len(m[0]):]
		list = append(list, t)
	}
}
