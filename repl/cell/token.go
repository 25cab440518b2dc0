package cell

import (
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Token is a token of Go, a comment, or a part of a command line. It covers the bytes From…To; between two
// tokens stand only blanks.
type Token struct {
	From, To int
	Tok      token.Token // of Go, or one of those below; [token.ILLEGAL] for a character that Go has not
	Depth    int         // how many brackets are open behind it
	Open     bool        // a literal or comment that has no end
	Command  bool        // on a command line
}

// Tokens that Go has not.
const (
	LineEnd token.Token = 1000 + iota // the end of a line that ends a statement; empty at the end of the text
	Sign                              // the sign of a command line: %name, %%name, !name, and ? or ?? at the end
	Words                             // the text behind !name
)

// Text returns the text of a token.
func (t Token) Text(src string) string { return src[t.From:t.To] }

// Raw says whether a token is a raw string, in which blanks are data.
func (t Token) Raw(src string) bool { return t.Tok == token.STRING && src[t.From] == '`' }

// Class is the letter of the colour that a token of Go, a comment or the sign of a command has: k of
// keywords, s of strings, n of numbers, c of comments, m of signs, 0 of the rest.
func (t Token) Class() byte {
	switch {
	case t.Tok.IsKeyword():
		return 'k'
	case t.Tok == token.STRING || t.Tok == token.CHAR:
		return 's'
	case t.Tok == token.INT || t.Tok == token.FLOAT || t.Tok == token.IMAG:
		return 'n'
	case t.Tok == token.COMMENT:
		return 'c'
	case t.Tok == Sign:
		return 'm'
	}
	return 0
}

// Ends says whether a token can end a statement: a semicolon, typed or implied. A command extends to the
// end of its line, with the semicolons in it.
func (t Token) Ends() bool { return t.Tok == LineEnd || t.Tok == token.SEMICOLON && !t.Command }

// Nesting returns 1 for an opening bracket, -1 for a closing one, 0 for any other token.
func Nesting(t token.Token) int {
	switch t {
	case token.LPAREN, token.LBRACK, token.LBRACE:
		return 1
	case token.RPAREN, token.RBRACK, token.RBRACE:
		return -1
	}
	return 0
}

// Scan returns the tokens of a text.
func Scan(src string) []Token {
	list := make([]Token, 0, len(src)/4+1)
	newReader(src, func(t Token) bool {
		list = append(list, t)
		return true
	}).read(0)
	return list
}

// ScanGo returns the tokens of Go, in which no line is a command.
func ScanGo(src string) (list []Token) {
	r := newReader(src, func(t Token) bool {
		list = append(list, t)
		return true
	})
	r.plain = true
	r.golang(0)
	return list
}

// Code returns the tokens without the comments.
func Code(list []Token) []Token {
	if !slices.ContainsFunc(list, func(t Token) bool { return t.Tok == token.COMMENT }) {
		return list
	}
	code := make([]Token, 0, len(list))
	for _, t := range list {
		if t.Tok != token.COMMENT {
			code = append(code, t)
		}
	}
	return code
}

// A reader gives the tokens of a text, one after the other.
type reader struct {
	src   string
	bytes []byte // of src
	plain bool   // no line is a command but the first of a cell that is one
	depth int
	ended bool             // no statement is open
	to    int              // where the last token ended
	take  func(Token) bool // false: no more are wanted
}

func newReader(src string, take func(Token) bool) *reader {
	b := []byte(src)
	if strings.HasPrefix(src, "\xfe\xff") || strings.HasPrefix(src, "\xff\xfe") {
		b[0] = 0x80 // behind a mark of UTF-16 the scanner would read nothing
	}
	return &reader{src: src, bytes: b, plain: Whole(src), ended: true, take: take}
}

// read gives the tokens from a byte on: the start of the text, or of a line that does not begin in a literal.
func (r *reader) read(from int) {
	if r.plain && from == 0 {
		from = r.command(strings.IndexByte(r.src, '%'))
	}
	for from >= 0 {
		from = r.golang(from)
	}
}

// golang gives tokens of Go until there are no more, or past a command line. It returns where to go on, or
// -1.
func (r *reader) golang(from int) int {
	base := max(from-1, 0) // at a line break: only the start of the text may be a byte order mark
	file := token.NewFileSet().AddFile("", -1, len(r.src)-base)
	var s scanner.Scanner
	open := false
	s.Init(file, r.bytes[base:], func(_ token.Position, msg string) {
		open = open || strings.HasSuffix(msg, "not terminated")
	}, scanner.ScanComments)
	r.to = from
	for {
		open = false
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return -1
		}
		t := Token{From: base + file.Offset(pos), Tok: tok, Open: open}
		if tok == token.SEMICOLON && lit == "\n" {
			t.Tok = LineEnd
		}
		if r.ended && r.depth == 0 && !r.plain && r.startsCommand(t.From) {
			return r.command(t.From)
		}
		r.extend(&t, lit)
		r.depth = max(r.depth+Nesting(tok), 0)
		t.Depth = r.depth
		if tok != token.COMMENT && tok != token.ILLEGAL {
			r.ended = t.Ends() || tok == token.COLON // of a label
		}
		r.to = t.To
		if !r.take(t) {
			return -1
		}
	}
}

// extend finds where a token ends. The scanner tells its text, but without carriage returns, and with another
// character for bytes that are no text.
func (r *reader) extend(t *Token, lit string) {
	rest := r.src[t.From:]
	size := len(lit)
	switch {
	case t.Tok == LineEnd && t.From < r.to: // that of a line break in a comment follows the comment
		t.From, size = r.to, 0
	case t.Tok == LineEnd:
		size = min(len(rest), 1)
	case t.Tok == token.ILLEGAL:
		_, size = utf8.DecodeRuneInString(rest)
	case t.Tok == token.COMMENT && rest[1] == '/':
		if size = strings.IndexByte(rest, '\n'); size < 0 {
			size = len(rest)
		}
	case t.Open && (t.Tok == token.COMMENT || rest[0] == '`'):
		size = len(rest)
	case t.Tok == token.COMMENT:
		size = strings.Index(rest[2:], "*/") + 4
	case t.Tok == token.STRING && rest[0] == '`':
		size = strings.IndexByte(rest[1:], '`') + 2
	case size == 0:
		size = len(t.Tok.String())
	}
	t.To = t.From + size
}

const blanks = " \t\r"

// lineAt is the line around a byte, without blanks around it: its bytes from…to.
func (r *reader) lineAt(off int) (from, to int) {
	from = strings.LastIndexByte(r.src[:off], '\n') + 1
	to = len(r.src)
	if i := strings.IndexByte(r.src[off:], '\n'); i >= 0 {
		to = off + i
	}
	from += len(r.src[from:to]) - len(strings.TrimLeft(r.src[from:to], blanks))
	return from, from + len(strings.TrimRight(r.src[from:to], blanks))
}

// startsCommand says whether a command line begins at a byte where a statement may: the byte is the first of
// its line, and % or !, or the line assigns the output of a !command, or it is Go without comments and ends
// in a question mark, which Go has not.
func (r *reader) startsCommand(off int) bool {
	if before := strings.TrimRight(r.src[:off], blanks); before != "" && before[len(before)-1] != '\n' {
		return false
	}
	if c := r.src[off]; c == '%' || c == '!' {
		return true
	}
	from, to := r.lineAt(off)
	if captures(r.src[from:to]) {
		return true
	}
	if r.src[to-1] != '?' {
		return false
	}
	list := r.part(from, to)
	for _, t := range list {
		if t.Tok == token.COMMENT || t.Open {
			return false
		}
	}
	return len(list) > 0 && list[len(list)-1].Tok == token.ILLEGAL
}

// part are the tokens of a part of a command line, which follows a blank or a line break.
func (r *reader) part(from, to int) (list []Token) {
	if from == to {
		return nil
	}
	sub := &reader{src: r.src[:to], bytes: r.bytes[:to], plain: true, take: func(t Token) bool {
		if t.Command = true; t.Tok != LineEnd {
			list = append(list, t)
		}
		return true
	}}
	sub.golang(from)
	return list
}

// command gives the tokens of the command line that begins at a byte, and returns where the next line does,
// or -1.
func (r *reader) command(off int) int {
	from, to := r.lineAt(off)
	sign := func(from, to int) Token { return Token{From: from, To: to, Tok: Sign, Command: true} }
	var list []Token
	if c := r.src[off]; c == '%' || c == '!' {
		name := to
		if i := strings.IndexAny(r.src[from:to], blanks); i >= 0 {
			name = from + i
		}
		list = append(list, sign(from, name))
		args := to - len(strings.TrimLeft(r.src[name:to], blanks))
		if c == '%' {
			list = append(list, r.part(args, to)...)
		} else if args < to {
			list = append(list, Token{From: args, To: to, Tok: Words, Command: true})
		}
	} else if captures(r.src[from:to]) {
		_, words, _ := Capture(r.src[from:to])
		bang := from + strings.IndexByte(r.src[from:to], '!')
		list = append(r.part(from, bang), sign(bang, bang+1), Token{From: to - len(words), To: to, Tok: Words, Command: true})
	} else {
		operand := to - 1
		if strings.HasSuffix(r.src[from:operand], "?") {
			operand--
		}
		list = append(r.part(from, operand), sign(operand, to))
	}
	end, next := len(r.src), -1
	if i := strings.IndexByte(r.src[to:], '\n'); i >= 0 {
		end, next = to+i, to+i+1
	}
	list = append(list, Token{From: end, To: max(end, next), Tok: LineEnd, Command: true})
	r.depth, r.ended = 0, true
	for _, t := range list {
		if !r.take(t) {
			return -1
		}
	}
	return next
}
