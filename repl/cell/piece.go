package cell

import "go/token"

// A Piece is a stretch of a cell of one kind: a command line, declarations, or statements.
type Piece struct {
	Kind     Kind
	From, To int     // bytes of the cell, without the semicolon or line break that ends the piece
	Quiet    bool    // ends in a typed semicolon: its value is not shown
	Tokens   []Token // without the end
}

// A Kind is the kind of a piece.
type Kind int

const (
	Statement   Kind = iota // a statement, an expression or a var declaration
	Declaration             // of a const, type, func or method
	Import                  // an import declaration
	Command                 // a line for the table of commands, or a whole cell of that kind
)

func (k Kind) String() string {
	return [...]string{"statement", "declaration", "import", "command"}[k]
}

// Text returns the text of a piece.
func (p Piece) Text(src string) string { return src[p.From:p.To] }

// Split cuts a cell into pieces at the ends of its statements, outside of brackets. A comment between two
// pieces belongs to neither; a comment behind a statement, on its line, belongs to the statement.
func Split(src string) []Piece { return SplitTokens(src, Scan(src)) }

// SplitTokens is Split for a text that was scanned already.
func SplitTokens(src string, list []Token) (pieces []Piece) {
	if Whole(src) {
		return []Piece{{Kind: Command, To: len(src), Tokens: list}}
	}
	start := -1
	flush := func(end, to int, quiet bool) {
		if start >= 0 {
			tokens := list[start:end]
			pieces = append(pieces, Piece{kindOf(tokens), tokens[0].From, to, quiet, tokens})
		}
		start = -1
	}
	for i, t := range list {
		if t.Command && start >= 0 && !list[start].Command { // a label is before it
			flush(i, list[i-1].To, false)
		}
		switch written := t.Tok == token.SEMICOLON; {
		case t.Ends() && t.Depth == 0 && !(t.Command && written): // a command has the whole line
			if n := len(pieces); written && start < 0 && n > 0 {
				pieces[n-1].Quiet = true
			}
			to := t.From
			if t.Command && i > 0 { // without the blanks behind it
				to = list[i-1].To
			}
			flush(i, to, written)
		case start < 0 && t.Tok != token.COMMENT:
			start = i
		}
	}
	flush(len(list), len(src), false)
	return pieces
}

// Join makes one piece of neighbouring statements, and one of neighbouring declarations.
func Join(list []Piece) (pieces []Piece) {
	for _, p := range list {
		n := len(pieces) - 1
		if n < 0 || pieces[n].Kind != p.Kind || p.Kind == Import || p.Kind == Command {
			pieces = append(pieces, p)
			continue
		}
		last := &pieces[n]
		last.To, last.Quiet = p.To, p.Quiet
		last.Tokens = append(last.Tokens[:len(last.Tokens):len(last.Tokens)], p.Tokens...)
	}
	return pieces
}

// Name returns the name that a piece declares with func, and "" for a method and for all other pieces.
func (p Piece) Name(src string) string {
	if code := p.code(); p.Kind == Declaration && code(0).Tok == token.FUNC && code(1).Tok == token.IDENT {
		return code(1).Text(src)
	}
	return ""
}

// code gives the n-th token of a piece, without comments.
func (p Piece) code() func(n int) Token {
	list := Code(p.Tokens)
	return func(n int) Token {
		if n >= len(list) {
			return Token{Tok: token.EOF}
		}
		return list[n]
	}
}

// kindOf finds the kind of a piece from its first tokens. Func and a bracket begin a method if a name and
// a bracket follow the closing bracket, and otherwise a function value.
func kindOf(list []Token) Kind {
	if list[0].Command {
		return Command
	}
	switch list[0].Tok {
	case token.IMPORT:
		return Import
	case token.TYPE, token.CONST:
		return Declaration
	case token.FUNC:
	default:
		return Statement
	}
	at := Piece{Tokens: list}.code()
	if at(1).Tok == token.IDENT {
		return Declaration
	}
	if at(1).Tok != token.LPAREN {
		return Statement
	}
	depth := 0
	for i := 1; at(i).Tok != token.EOF; i++ {
		if depth += Nesting(at(i).Tok); depth == 0 {
			if at(i+1).Tok == token.IDENT && at(i+2).Tok == token.LPAREN {
				return Declaration
			}
			break
		}
	}
	return Statement
}
