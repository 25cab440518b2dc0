package gofile

import (
	"go/scanner"
	"go/token"
	"strings"
)

// A unit is one declaration, statement or command of a cell, with the comments before it.
type unit struct {
	kind  unitKind
	text  string
	name  string // of a declared function that is no method
	quiet bool   // ends with a semicolon that somebody wrote
	last  bool   // of its cell: an expression is shown
}

type unitKind int

const (
	statement unitKind = iota
	importDecl
	decl    // func and type, which stand outside of main
	command // a line that is not Go
)

type lexeme struct {
	off, end int
	tok      token.Token
	lit      string
}

func lex(src string) []lexeme {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), func(token.Position, string) {}, 0)
	var list []lexeme
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return list
		}
		off := file.Offset(pos)
		text := lit
		if text == "" {
			text = tok.String()
		}
		list = append(list, lexeme{off, min(off+len(text), len(src)), tok, lit})
	}
}

// split takes a cell apart at the semicolons outside of brackets.
func split(cell string) []unit {
	var units []unit
	text, commands := hideCommands(cell)
	start, depth := 0, 0
	var tokens []lexeme
	flush := func(end int, quiet bool) {
		for line, c := range commands {
			if start <= c.off && c.off < end {
				units = append(units, unit{kind: command, text: cell[c.off:c.end]})
				delete(commands, line)
			}
		}
		if len(tokens) > 0 {
			u := unit{text: strings.TrimSpace(text[start:end]), quiet: quiet}
			u.kind, u.name = classify(tokens)
			units = append(units, u)
		}
		start, tokens = end, nil
	}
	for _, t := range lex(text) {
		switch t.tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.SEMICOLON:
			if depth == 0 {
				flush(endOfLine(text, t), t.lit == ";")
				continue
			}
		}
		tokens = append(tokens, t)
	}
	flush(len(text), false)
	if n := len(units); n > 0 {
		units[n-1].last = true
	}
	return units
}

// endOfLine is where a unit ends: behind a comment that closes its line.
func endOfLine(text string, semicolon lexeme) int {
	end := semicolon.off
	if semicolon.lit == ";" {
		end++
	}
	rest := text[end:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	if strings.HasPrefix(strings.TrimSpace(rest), "//") {
		return end + len(rest)
	}
	return end
}

// hideCommands blanks the lines that are commands, so that the rest can be read as Go.
func hideCommands(cell string) (text string, commands map[int]lexeme) {
	commands = map[int]lexeme{}
	if strings.HasPrefix(strings.TrimSpace(cell), "%%") {
		commands[0] = lexeme{off: 0, end: len(cell)}
		return strings.Repeat(" ", len(cell)), commands
	}
	b := []byte(cell)
	off := 0
	for n, line := range strings.SplitAfter(cell, "\n") {
		code := strings.TrimSpace(line)
		if code != "" && (code[0] == '%' || code[0] == '!' || strings.HasSuffix(code, "?")) && !open(string(b[:off])) {
			commands[n] = lexeme{off: off, end: off + len(strings.TrimRight(line, "\n"))}
			for i := range code {
				b[off+strings.Index(line, code)+i] = ' '
			}
		}
		off += len(line)
	}
	return string(b), commands
}

// open says whether a bracket is open at the end of the text.
func open(text string) bool {
	depth := 0
	for _, t := range lex(text) {
		switch t.tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		}
	}
	return depth > 0
}

// classify says what a unit is from its first tokens. `func (` begins a method if a name follows the receiver, and
// otherwise a function value.
func classify(tokens []lexeme) (unitKind, string) {
	switch tokens[0].tok {
	case token.IMPORT:
		return importDecl, ""
	case token.TYPE, token.CONST:
		return decl, ""
	case token.FUNC:
		if len(tokens) > 1 && tokens[1].tok == token.IDENT {
			return decl, tokens[1].lit
		}
		depth := 0
		for i, t := range tokens[1:] {
			switch t.tok {
			case token.LPAREN:
				depth++
			case token.RPAREN:
				depth--
			}
			if depth == 0 {
				if i+2 < len(tokens) && tokens[i+2].tok == token.IDENT {
					return decl, ""
				}
				return statement, ""
			}
		}
	}
	return statement, ""
}

// rename replaces an identifier that is no member of something.
func (u *unit) rename(from, to string) {
	var b strings.Builder
	at := 0
	member := false
	for _, t := range lex(u.text) {
		if t.tok == token.IDENT && t.lit == from && !member {
			b.WriteString(u.text[at:t.off] + to)
			at = t.end
		}
		member = t.tok == token.PERIOD
	}
	u.text = b.String() + u.text[at:]
}
