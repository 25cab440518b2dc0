package term

import (
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// goLexer is chroma's kind of lexer for Go and command lines. It is made when code is shown for the first
// time: chroma's own package of lexers parses some 300 grammars when it is imported, which would take 5 ms of
// every start.
var goLexer = sync.OnceValue(func() chroma.Lexer {
	return chroma.Coalesce(chroma.MustNewLexer(&chroma.Config{Name: "Go", EnsureNL: true}, goRules))
})

func goRules() chroma.Rules {
	return chroma.Rules{"root": {
		{Pattern: `^\s*(%%?\w*|!)`, Type: chroma.KeywordPseudo},
		{Pattern: `\s+`, Type: chroma.TextWhitespace},
		{Pattern: `//[^\n]*`, Type: chroma.CommentSingle},
		{Pattern: `/\*[\s\S]*?(\*/|\z)`, Type: chroma.CommentMultiline},
		{Pattern: chroma.Words(``, `\b`, `break`, `case`, `chan`, `const`, `continue`, `default`, `defer`, `else`, `fallthrough`, `for`, `func`, `go`,
			`goto`, `if`, `import`, `interface`, `map`, `package`, `range`, `return`, `select`, `struct`, `switch`, `type`, `var`), Type: chroma.Keyword},
		{Pattern: `(true|false|iota|nil)\b`, Type: chroma.KeywordConstant},
		{Pattern: "`[^`]*(`|\\z)", Type: chroma.LiteralString},
		{Pattern: `"(\\.|[^"\\\n])*"`, Type: chroma.LiteralString},
		{Pattern: `'(\\.|[^'\\\n])+'`, Type: chroma.LiteralStringChar},
		{Pattern: `(0[xX][0-9a-fA-F_.]+([pP][+-]?\d+)?|0[bB][01_]+|(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][+-]?\d+)?)i?`, Type: chroma.LiteralNumber},
		{Pattern: `[\pL_][\pL\pN_]*(?=\()`, Type: chroma.NameFunction},
		{Pattern: `[\pL_][\pL\pN_]*`, Type: chroma.Name},
		{Pattern: `.`, Type: chroma.Operator},
	}}
}

// chromaColour gives the theme's colour of a token.
func chromaColour(t chroma.Token) colour {
	switch {
	case t.Type == chroma.KeywordPseudo:
		return blue
	case t.Type == chroma.KeywordConstant:
		return cyan
	case t.Type.InCategory(chroma.Keyword):
		return magenta
	case t.Type.InCategory(chroma.Comment):
		return grey
	case t.Type.InSubCategory(chroma.LiteralString):
		return green
	case t.Type.InSubCategory(chroma.LiteralNumber):
		return cyan
	}
	if c, ok := predeclared[t.Value]; ok {
		return c
	}
	if t.Type == chroma.NameFunction {
		return bold
	}
	return none
}

// code colours source that is shown (name??, %history), as opposed to source that is typed.
func (t theme) code(src string) string {
	if !t.enabled {
		return src
	}
	tokens, err := goLexer().Tokenise(nil, src)
	if err != nil {
		return src
	}
	var b strings.Builder
	for token := range tokens.Stdlib() {
		c := chromaColour(token)
		// A colour that spans lines would also colour text that a front end puts at the start of a line.
		for i, line := range strings.Split(token.Value, "\n") {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(t.paint(c, line))
		}
	}
	coloured := b.String()
	if !strings.HasSuffix(src, "\n") {
		coloured = strings.TrimSuffix(coloured, "\n")
	}
	return coloured
}
