package cell

import (
	"go/token"
	"strings"
)

// A Fault is the reason why a text is not a complete cell.
type Fault struct {
	At      int    // the byte: of the bracket, the quote, the operator
	Message string // as the parser would say it: "unexpected )", "string literal not terminated", "missing }"
	Missing string // what a later line may add: a bracket, the end of a literal, "an operand"; empty: no line can help
}

// Check finds why a text is not a complete cell. That is the first error that no later line can mend (an
// extra closing bracket or one of another kind, a string or rune without its end), or else the missing
// text. It does not look for errors that the parser and the type checker find.
func Check(src string) (f Fault, ok bool) { return CheckTokens(src, Scan(src)) }

// Incomplete says whether a cell waits for another line.
func Incomplete(src string) bool {
	f, ok := Check(src)
	return !ok && f.Missing != ""
}

// CheckTokens is Check for a text that was scanned already.
func CheckTokens(src string, list []Token) (f Fault, ok bool) {
	if Whole(src) || Foreign(src) {
		if strings.HasSuffix(strings.TrimRight(src, " \t"), "\n") {
			return Fault{}, true
		}
		return missing(len(src), "an empty line")
	}
	var open []Token // brackets
	var literal, last Token
	for _, t := range list {
		if t.Command {
			continue
		}
		switch nesting := Nesting(t.Tok); {
		case nesting > 0:
			open = append(open, t)
		case nesting < 0 && len(open) == 0:
			return Fault{At: t.From, Message: "unexpected " + t.Tok.String()}, false
		case nesting < 0:
			want := partners[open[len(open)-1].Tok]
			if t.Tok != want {
				return Fault{At: t.From, Message: "unexpected " + t.Tok.String() + ", want " + want.String()}, false
			}
			open = open[:len(open)-1]
		case t.Open && t.Tok == token.CHAR:
			return Fault{At: t.From, Message: "rune literal not terminated"}, false
		case t.Open && t.Tok == token.STRING && !t.Raw(src):
			return Fault{At: t.From, Message: "string literal not terminated"}, false
		case t.Open:
			literal = t
		}
		if t.Tok != LineEnd && t.Tok != token.COMMENT {
			last = t
		}
	}
	switch {
	case literal.Tok == token.COMMENT:
		return Fault{literal.From, "comment not terminated", "*/"}, false
	case literal.Open:
		return Fault{literal.From, "raw string literal not terminated", "`"}, false
	case len(open) > 0:
		bracket := open[len(open)-1]
		return missing(bracket.From, partners[bracket.Tok].String())
	case neverGo(list):
		return Fault{}, true // the parser says what is wrong
	case last.Tok == token.PERIOD:
		return missing(last.From, "a name")
	case wantsOperand(last.Tok):
		return missing(last.From, "an operand")
	}
	return Fault{}, true
}

// neverGo says whether the last line cannot be the beginning of a statement of Go, whatever follows: it
// begins with a name, and has two names or two periods side by side, as commands of the shell do: ls .., cp a
// b/.
func neverGo(list []Token) bool {
	from := len(list)
	for from > 0 && list[from-1].Tok == LineEnd {
		from--
	}
	line := list[:from]
	for from > 0 && !list[from-1].Ends() {
		from--
	}
	line = line[from:]
	for i := 1; i < len(line); i++ {
		if a, b := line[i-1].Tok, line[i].Tok; a == b && (a == token.IDENT || a == token.PERIOD) {
			return line[0].Tok == token.IDENT
		}
	}
	return false
}

func missing(at int, what string) (Fault, bool) {
	return Fault{At: at, Message: "missing " + what, Missing: what}, false
}

var partners = map[token.Token]token.Token{token.LPAREN: token.RPAREN, token.LBRACK: token.RBRACK, token.LBRACE: token.RBRACE}

// wantsOperand says whether a token is an operator that something must follow.
func wantsOperand(t token.Token) bool {
	switch t {
	case token.INC, token.DEC, token.RPAREN, token.RBRACK, token.RBRACE, token.SEMICOLON, token.COLON, token.NOT, token.ELLIPSIS:
		return false
	}
	return t.IsOperator()
}
