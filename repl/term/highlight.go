package term

import (
	"go/scanner"
	"go/token"
	"strings"
)

// A span is a coloured piece of source: bytes from…to.
type span struct {
	from, to int
	colour   colour
}

// goSpans finds what is coloured in the text of a cell while it is typed. A token scan of a screenful takes
// microseconds, so it can be done at every key; it does not mind unfinished code.
func goSpans(src string) []span {
	var spans []span
	var command int // end of the command name that starts the line
	fresh := true   // the next token is the first one of its line
	scan(src, func(from, to int, tok token.Token, lit string) {
		if tok == token.SEMICOLON && lit == "\n" {
			fresh = true
			return
		}
		first := fresh || strings.TrimSpace(src[strings.LastIndexByte(src[:from], '\n')+1:from]) == ""
		fresh = false
		c := tokenColour(tok, lit)
		switch {
		case first && (tok == token.REM || tok == token.NOT): // %name, %%name, !command
			c, command = blue, to
		case from == command && command > 0 && (tok == token.IDENT || tok == token.REM || tok.IsKeyword()):
			c, command = blue, to
		case tok == token.ILLEGAL && lit == "?":
			c = blue
		}
		if c != none {
			spans = append(spans, span{from, to, c})
		}
	})
	return spans
}

// scan calls f for each token of src with its place in bytes. Errors are left to the session.
func scan(src string, f func(from, to int, tok token.Token, lit string)) {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return
		}
		from := file.Offset(pos)
		length := len(lit)
		if length == 0 {
			length = len(tok.String())
		}
		f(from, min(from+length, len(src)), tok, lit)
	}
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

// live colours src as it is typed, but gives only what starts at byte from.
func (t theme) live(src string, from int) string {
	if !t.enabled {
		return src[from:]
	}
	var b strings.Builder
	last := from
	for _, s := range goSpans(src) {
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
