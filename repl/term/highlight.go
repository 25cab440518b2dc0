package term

import (
	"go/token"
	"strings"

	"github.com/mcs-notebook/mcs/repl/term/syntax"
)

// A span is a coloured piece of source: bytes from…to.
type span struct {
	from, to int
	colour   colour
}

// goSpans finds what is coloured in the text of a cell while it is typed, from its tokens.
func goSpans(src string, tokens []syntax.Token) []span {
	var spans []span
	var command int // end of the command name that starts the line
	fresh := true   // the next token is the first one of its line
	for _, t := range tokens {
		if t.Tok == token.SEMICOLON && t.Lit == "\n" {
			fresh = true
			continue
		}
		first := fresh || (t.Tok == token.REM || t.Tok == token.NOT) && strings.TrimSpace(src[strings.LastIndexByte(src[:t.From], '\n')+1:t.From]) == ""
		fresh = false
		c := tokenColour(t.Tok, t.Lit)
		switch {
		case first && (t.Tok == token.REM || t.Tok == token.NOT): // %name, %%name, !command
			c, command = blue, t.To
		case t.From == command && command > 0 && (t.Tok == token.IDENT || t.Tok == token.REM || t.Tok.IsKeyword()):
			c, command = blue, t.To
		case t.Tok == token.ILLEGAL && t.Lit == "?":
			c = blue
		}
		if c != none {
			spans = append(spans, span{t.From, t.To, c})
		}
	}
	return spans
}

func tokenColour(tok token.Token, lit string) colour {
	switch {
	case tok.IsKeyword():
		return magenta
	case tok == token.STRING || tok == token.CHAR:
		return green
	case tok == token.INT || tok == token.FLOAT || tok == token.IMAG:
		return cyan
	case tok == token.COMMENT:
		return grey
	case tok == token.IDENT:
		return predeclared[lit]
	}
	return none
}

// predeclared are the universe's names that deserve a colour.
var predeclared = func() map[string]colour {
	m := map[string]colour{}
	for c, names := range map[colour]string{
		yellow: "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string " +
			"uint uint8 uint16 uint32 uint64 uintptr",
		blue: "append cap clear close complex copy delete imag len make max min new panic print println real recover",
		cyan: "true false iota nil",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = c
		}
	}
	return m
}()

// live colours src as it is coloured while it is typed.
func (t theme) live(src string) string {
	if !t.enabled {
		return src
	}
	var b strings.Builder
	last := 0
	for _, s := range goSpans(src, syntax.Tokens(src)) {
		if s.to <= last {
			continue
		}
		start := max(s.from, last)
		b.WriteString(src[last:start])
		b.WriteString(t.paint(s.colour, src[start:s.to]))
		last = s.to
	}
	return b.String() + src[last:]
}
