package term

import (
	"cmp"
	"go/token"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/formatters"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// palette is the style of source, typed and shown: of the 16 colours that a terminal's own theme has.
var palette = sync.OnceValue(func() *chroma.Style {
	return chroma.MustNewStyle("mcs", chroma.StyleEntries{
		chroma.Keyword:         "#ansipurple",
		chroma.KeywordConstant: "#ansiteal",
		chroma.KeywordType:     "#ansibrown",
		chroma.KeywordPseudo:   "#ansidarkblue",
		chroma.LiteralString:   "#ansidarkgreen",
		chroma.LiteralNumber:   "#ansiteal",
		chroma.Comment:         "#ansidarkgray",
		chroma.NameBuiltin:     "#ansidarkblue",
		chroma.NameFunction:    "bold",
	})
})

// predeclared are the universe's names that deserve a colour.
var predeclared = func() map[string]chroma.TokenType {
	m := map[string]chroma.TokenType{}
	for kind, names := range map[chroma.TokenType]string{
		chroma.KeywordType: "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string " +
			"uint uint8 uint16 uint32 uint64 uintptr",
		chroma.NameBuiltin:     "append cap clear close complex copy delete imag len make max min new panic print println real recover",
		chroma.KeywordConstant: "true false iota nil",
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = kind
		}
	}
	return m
}()

// classes are those of tokens, as chroma names them.
var classes = map[byte]chroma.TokenType{'k': chroma.Keyword, 's': chroma.LiteralString, 'n': chroma.LiteralNumber, 'c': chroma.Comment, 'm': chroma.KeywordPseudo}

// kindOf is a token of a cell as chroma names it.
func kindOf(t cell.Token, src string) chroma.TokenType {
	if kind := classes[t.Class()]; kind != 0 {
		return kind
	}
	return predeclared[t.Text(src)]
}

// A span is a coloured piece of source: bytes from…to.
type span struct {
	from, to int
	colour   colour
}

// spansOf returns the coloured spans of a cell that is being typed, from its tokens.
func spansOf(src string, tokens []cell.Token) (spans []span) {
	for _, t := range tokens {
		if kind := kindOf(t, src); kind != 0 {
			spans = append(spans, span{t.From, t.To, colours()[kind]})
		}
	}
	return spans
}

// colours are those of the palette, as chroma writes them for a terminal.
var colours = sync.OnceValue(func() map[chroma.TokenType]colour {
	m := map[chroma.TokenType]colour{}
	for _, kind := range palette().Types() {
		parameters, _, _ := strings.Cut(strings.TrimPrefix(highlighted(chroma.Token{Type: cmp.Or(kind, chroma.Text), Value: "x"}), "\x1b["), "m")
		m[kind] = colour(strings.TrimSuffix(parameters, "x"))
	}
	return m
})

func highlighted(tokens ...chroma.Token) string {
	var b strings.Builder
	_ = formatters.TTY16.Format(&b, palette(), chroma.Literator(tokens...)) // a builder has no errors
	return b.String()
}

// live colours src as it is coloured while it is typed, code as it is shown (name??, %history): with calls.
func (t theme) live(src string) string { return t.source(src, false) }
func (t theme) code(src string) string { return t.source(src, true) }

func (t theme) source(src string, calls bool) string {
	if !t.enabled {
		return src
	}
	var list []chroma.Token
	last := 0
	for _, tok := range cell.Scan(src) {
		kind := kindOf(tok, src)
		if calls && kind == 0 && tok.Tok == token.IDENT && strings.HasPrefix(src[tok.To:], "(") {
			kind = chroma.NameFunction
		}
		list = append(list, chroma.Token{Type: chroma.Text, Value: src[last:tok.From]}, chroma.Token{Type: cmp.Or(kind, chroma.Text), Value: tok.Text(src)})
		last = tok.To
	}
	return highlighted(append(list, chroma.Token{Type: chroma.Text, Value: src[last:]})...)
}
