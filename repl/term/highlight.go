package term

import (
	"go/token"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// A span is a coloured piece of source: bytes from…to.
type span struct {
	from, to int
	colour   colour
}

// spansOf returns the coloured spans of a cell that is being typed, from its tokens.
func spansOf(src string, tokens []cell.Token) (spans []span) {
	for _, t := range tokens {
		if c := tokenColour(t.Tok, t.Text(src)); c != none {
			spans = append(spans, span{t.From, t.To, c})
		}
	}
	return spans
}

func tokenColour(tok token.Token, text string) colour {
	switch {
	case tok.IsKeyword():
		return magenta
	case tok == token.STRING || tok == token.CHAR:
		return green
	case tok == token.INT || tok == token.FLOAT || tok == token.IMAG:
		return cyan
	case tok == token.COMMENT:
		return grey
	case tok == cell.Sign:
		return blue
	case tok == token.IDENT:
		return predeclared[text]
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
	for _, s := range spansOf(src, cell.Scan(src)) {
		b.WriteString(src[last:s.from])
		b.WriteString(t.paint(s.colour, src[s.from:s.to]))
		last = s.to
	}
	return b.String() + src[last:]
}
