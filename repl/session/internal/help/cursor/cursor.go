// Package cursor reads unfinished Go: it finds the construct around the cursor, and the text that
// completes the code before the cursor, so that it can be parsed and checked.
//
// It works on tokens alone. A stack has the open brackets. Each remembers its contents (a block, a
// composite literal, fields of a type, arguments) and its header (if, for, switch, case) that still waits
// for a body. Closing the stack from the inside out gives the rest of the text.
package cursor

import (
	"go/token"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// Name is the identifier at the cursor in a completed text.
const Name = "cursor__"

// A Kind is the kind of text around the cursor.
type Kind int

const (
	Code    Kind = iota
	Comment      // no completions there
	String       // in a string literal, interpreted or raw
	Literal      // in a number or a character
)

// Inside is the kind of an open bracket's contents.
type Inside int

const (
	Block    Inside = iota // statements
	Cases                  // the clauses of a switch or select
	Members                // of a struct or interface type
	Elements               // of a composite literal
	Parens                 // ( of arguments, parameters, a group of declarations, or an expression
	Brackets               // [
	TopLevel               // no bracket: the text itself
)

// A Level is an open bracket before the cursor.
type Level struct {
	Off    int // offset of the bracket; -1 for the text itself
	Inside Inside
	Call   bool // Parens that follow an operand: arguments
	Params bool // Parens of a function's parameters or results, or its receiver
	Commas int  // number of commas at this level in the current statement
	Keys   []string
	Key    string      // Elements: the key whose value the cursor is in
	First  token.Token // of the current statement
	Header token.Token // IF, FOR, SWITCH, SELECT, CASE: waits for its body

	clauses bool   // Cases: there was a clause
	start   bool   // the next token begins a statement
	count   int    // tokens of the current statement
	semis   int    // in the header
	assign  bool   // the statement has an assignment that is not a range clause
	ranged  bool   // the statement has a range clause
	fn      bool   // a func whose body may follow
	call    bool   // go or defer
	last    string // an identifier that may be a key
}

// A Place describes a cursor.
type Place struct {
	Kind   Kind
	From   int     // offset of the typed word: the identifier, or the contents of the string
	Prefix string  // the typed part of the word
	Levels []Level // the open brackets, the text itself first
	Rest   string  // completes the text before From; it contains Name unless an operand is already there
	Begins bool    // a statement may begin here
	Prev   token.Token
	// Literal is the offset at which a string literal begins.
	Literal int
}

// Inner returns the innermost level.
func (p *Place) Inner() *Level { return &p.Levels[len(p.Levels)-1] }

// At reads the text before a cursor.
func At(src string) *Place {
	r := &reader{src: src, levels: []Level{{Off: -1, Inside: TopLevel, start: true}}}
	p := &Place{From: len(src)}
	r.scan(p)
	if p.Kind == Code {
		p.From = len(src) - len(trailingName(src))
		p.Prefix = src[p.From:]
		if n := len(r.tokens); n > 0 && r.tokens[n-1].To > p.From {
			last := r.tokens[n-1]
			r.tokens = r.tokens[:n-1]
			if last.Tok.IsLiteral() && last.Tok != token.IDENT && last.Tok != token.STRING {
				p.Kind = Literal
			}
		}
		if n := len(r.tokens); n > 0 && r.tokens[n-1].To == len(src) && r.tokens[n-1].Tok == token.FLOAT {
			p.Kind = Literal // the dot of a number
		}
	}
	for i := range r.tokens {
		r.step(i)
	}
	p.Levels = r.levels
	p.Begins = p.Inner().start
	if n := len(r.tokens); n > 0 {
		p.Prev = r.tokens[n-1].Tok
	}
	p.Rest = r.rest(p)
	return p
}

// trailingName returns the identifier at the end of a text.
func trailingName(src string) string {
	return src[len(strings.TrimRightFunc(src, func(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) })):]
}

// Whole returns the completed text, and the offset of the cursor in it.
func (p *Place) Whole(src string) (text string, at int) {
	cut := p.From
	if p.Kind == String {
		cut = p.Literal
	}
	return src[:cut] + p.Rest, cut + max(strings.Index(p.Rest, Name), 0)
}

type reader struct {
	src    string
	tokens []cell.Token
	levels []Level
}

// scan reads the tokens, and finds whether the text ends inside of a literal or comment.
func (r *reader) scan(p *Place) {
	for _, t := range cell.ScanGo(r.src) {
		last := t.To == len(r.src)
		switch text := t.Text(r.src); {
		case t.Tok == token.COMMENT:
			if last && (text[1] == '/' || t.Open) {
				p.Kind, p.From, p.Prefix = Comment, len(r.src), ""
				return
			}
			continue
		case t.Tok == token.STRING && t.Open && last:
			p.Kind, p.Literal, p.From, p.Prefix = String, t.From, t.From+1, text[1:]
			return
		case t.Tok == token.CHAR && t.Open && last:
			p.Kind = Literal
			return
		case t.Tok == cell.LineEnd && t.From == len(r.src): // package cell ends the last line, but it is unfinished
			continue
		}
		r.tokens = append(r.tokens, t)
	}
}

func (r *reader) top() *Level { return &r.levels[len(r.levels)-1] }

// at returns the token with index i, or an illegal token if there is none.
func (r *reader) at(i int) token.Token {
	if i < 0 || i >= len(r.tokens) {
		return token.ILLEGAL
	}
	return r.tokens[i].Tok
}

// operandEnd says whether a token can end an operand.
func operandEnd(t token.Token) bool {
	return t.IsLiteral() || t == token.RPAREN || t == token.RBRACK || t == token.RBRACE
}

// step updates the stack for one token.
func (r *reader) step(i int) {
	l, t := r.top(), r.tokens[i]
	if l.start && !t.Ends() && l.Inside != Brackets {
		l.First, l.start = t.Tok, false
	}
	l.count++
	switch t.Tok {
	case token.SEMICOLON, cell.LineEnd:
		r.semicolon(l, t)
	case token.IF, token.FOR, token.SWITCH, token.SELECT:
		l.Header, l.semis, l.assign, l.ranged, l.Commas = t.Tok, 0, false, false, 0
	case token.CASE, token.DEFAULT:
		l.Header, l.start, l.Commas, l.clauses = token.CASE, false, 0, true
	case token.FUNC:
		l.fn = true
	case token.GO, token.DEFER:
		l.call = true
	case token.DEFINE, token.ASSIGN:
		l.assign, l.fn = true, false
	case token.RANGE:
		l.assign, l.ranged = false, true
	case token.COMMA:
		l.Commas++
		l.Key, l.fn = "", false
	case token.COLON:
		r.colon(l)
	case token.LPAREN:
		decl := l.First == token.IMPORT || l.First == token.VAR || l.First == token.CONST || l.First == token.TYPE
		params := l.fn || l.Inside == Members
		group := decl && r.at(i-1) == l.First
		r.push(Level{Off: t.From, Inside: Parens, Call: !params && !group && operandEnd(r.at(i-1)), Params: params, start: group, First: l.First})
	case token.LBRACK:
		r.push(Level{Off: t.From, Inside: Brackets, Call: operandEnd(r.at(i - 1)), First: r.at(i - 1)})
	case token.LBRACE:
		r.brace(i)
	case token.RPAREN, token.RBRACK, token.RBRACE:
		if len(r.levels) > 1 {
			r.levels = r.levels[:len(r.levels)-1]
		}
	}
	if l.Inside == Elements && t.Tok == token.IDENT {
		l.last = t.Text(r.src)
	}
}

func (r *reader) push(l Level) { r.levels = append(r.levels, l) }

func (r *reader) semicolon(l *Level, t cell.Token) {
	if t.Tok == token.SEMICOLON && (l.Header == token.IF || l.Header == token.FOR || l.Header == token.SWITCH) {
		l.semis++
		l.assign, l.Commas = false, 0
		return
	}
	*l = Level{Off: l.Off, Inside: l.Inside, Call: l.Call, Params: l.Params, Keys: l.Keys, clauses: l.clauses, start: true}
	if l.Inside == Parens && !l.Call { // a group of declarations keeps its keyword
		l.First = token.VAR
	}
}

// colon ends a case, makes a label or a key.
func (r *reader) colon(l *Level) {
	switch {
	case l.Header == token.CASE:
		l.Header, l.start, l.Commas, l.count = token.ILLEGAL, true, 0, 0
	case l.Inside == Elements:
		l.Key = l.last
		l.Keys = append(l.Keys, l.last)
	case l.First == token.IDENT && l.count == 2 && l.Inside != Brackets: // a label
		l.start, l.count = true, 0
	}
}

// brace opens a block, a type or a composite literal.
func (r *reader) brace(i int) {
	l := r.top()
	inside := Elements
	prev := r.at(i - 1)
	switch {
	case prev == token.STRUCT || prev == token.INTERFACE:
		inside = Members
	case l.fn:
		inside, l.fn = Block, false
	case l.Header == token.IF || l.Header == token.FOR || l.Header == token.SWITCH || l.Header == token.SELECT:
		if r.literalType(i) {
			break
		}
		inside = Block
		if l.Header == token.SWITCH || l.Header == token.SELECT {
			inside = Cases
		}
		l.Header = token.ILLEGAL
	case l.First == token.LBRACE || prev == token.ELSE:
		inside = Block
	}
	r.push(Level{Off: r.tokens[i].From, Inside: inside, start: inside != Elements})
}

// literalType says whether the tokens before token i, a brace in a header, are the type of a composite
// literal that may stand there without parentheses: []T, map[K]V, struct{…}. An index expression ends with
// a bracket; these types do not.
func (r *reader) literalType(i int) bool {
	i--
	if r.at(i) == token.RBRACE {
		before := r.at(r.opening(i) - 1)
		return before == token.STRUCT || before == token.INTERFACE
	}
	names := 0
	for ; r.at(i) == token.IDENT || r.at(i) == token.PERIOD || r.at(i) == token.MUL; i-- {
		if r.at(i) == token.IDENT {
			names++
		}
	}
	return names > 0 && r.at(i) == token.RBRACK
}

// wanted says whether an operand can stand at the cursor.
func (r *reader) wanted(p *Place) bool {
	if p.Prefix != "" {
		return true
	}
	l, n := r.top(), len(r.tokens)
	prev := r.at(n - 1)
	if !operandEnd(prev) {
		return true
	}
	if l.Inside == TopLevel || l.Inside == Block || l.Inside == Cases || l.Inside == Members {
		if l.start || l.Inside == Members || l.fn || l.First == token.VAR || l.First == token.CONST || l.First == token.TYPE {
			return true
		}
	}
	return l.Params || prev == token.RBRACK && !operandEnd(r.at(r.opening(n-1)-1)) // of a type: there is nothing to index
}

// opening returns the index of the bracket that token i closes, or -1.
func (r *reader) opening(i int) int {
	for depth := 0; i >= 0; i-- {
		if depth += cell.Nesting(r.at(i)); depth == 0 {
			break
		}
	}
	return i
}

// rest returns the text that completes the code.
func (r *reader) rest(p *Place) string {
	var b strings.Builder
	b.WriteString([...]string{String: `""`, Comment: "\n", Literal: p.Prefix}[p.Kind])
	if p.Kind == Code && r.wanted(p) {
		if l := r.top(); l.Inside == Cases && !l.clauses {
			b.WriteString("default: ") // only a clause can stand there
		}
		b.WriteString(Name)
	}
	for i := len(r.levels) - 1; i >= 0; i-- {
		r.levels[i].finish(&b)
	}
	return b.String()
}

// list says whether the current statement is a list of operands, to be assigned to.
func (l *Level) list() bool {
	if l.Commas == 0 || l.assign || l.ranged {
		return false
	}
	switch l.Inside {
	case Block, Cases, TopLevel:
		return l.Header == token.ILLEGAL && l.First == token.IDENT || l.Header == token.IF || l.Header == token.FOR || l.Header == token.SWITCH
	}
	return false
}

// finish ends the current statement of a level, and the level.
func (l *Level) finish(b *strings.Builder) {
	if l.call && !strings.HasSuffix(b.String(), ")") {
		b.WriteString("()")
	}
	if l.list() {
		b.WriteString(" = 0")
		l.assign = true
	}
	switch {
	case l.Header == token.FOR && l.semis == 1:
		b.WriteString(";")
	case l.Header == token.FOR && l.assign && l.semis == 0:
		b.WriteString(";;")
	case l.Header == token.IF && l.assign:
		b.WriteString("; true")
	case l.Header == token.SWITCH && l.assign:
		b.WriteString(";")
	}
	switch {
	case l.Header == token.CASE:
		b.WriteString(":")
	case l.Header != token.ILLEGAL:
		b.WriteString(" {}")
	}
	if b.WriteString(closing[l.Inside]); l.Inside == Brackets && l.First == token.MAP {
		b.WriteString("int")
	}
}

// closing has what ends the contents of a bracket.
var closing = [...]string{Block: "}", Cases: "}", Members: "}", Elements: "}", Parens: ")", Brackets: "]", TopLevel: "\n"}
