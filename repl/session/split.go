package session

import (
	"go/scanner"
	"go/token"
	"strings"
)

// A piece is a stretch of a cell of one kind.
type piece struct {
	kind     pieceKind
	off, end int  // bytes of the cell
	quiet    bool // ends with an explicit semicolon: what it makes is not shown
}

type pieceKind int

const (
	stmtPiece    pieceKind = iota // statements, expressions and var declarations
	declPiece                     // const, type and func declarations
	importPiece                   // one import declaration
	commandPiece                  // one line for Options.Commands
)

// lexeme is a token of a cell.
type lexeme struct {
	off int
	tok token.Token
	lit string
}

// lex scans Go. Open says that a raw string or a comment has no end yet.
func lex(src string) (list []lexeme, open bool) {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), func(_ token.Position, msg string) {
		if msg == "raw string literal not terminated" || msg == "comment not terminated" {
			open = true
		}
	}, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return list, open
		}
		list = append(list, lexeme{file.Offset(pos), tok, lit})
	}
}

// Incomplete says whether a cell wants another line: a bracket, a comment or a raw string is open, or the last line
// ends in an operator.
func Incomplete(cell string) bool {
	if strings.HasPrefix(strings.TrimSpace(cell), "%%") {
		return !strings.HasSuffix(cell, "\n")
	}
	for _, p := range split(cell) {
		if p.kind != commandPiece && incompleteGo(cell[p.off:p.end]) {
			return true
		}
	}
	text, _ := blankCommands(cell)
	_, open := lex(text) // a comment is in no piece
	return open
}

func incompleteGo(src string) bool {
	list, open := lex(src)
	if open {
		return true
	}
	depth, last := 0, token.SEMICOLON
	for _, t := range list {
		depth += nesting(t.tok)
		if t.tok != token.SEMICOLON || t.lit == ";" {
			last = t.tok
		}
	}
	if depth > 0 {
		return true
	}
	switch last {
	case token.INC, token.DEC, token.RPAREN, token.RBRACK, token.RBRACE, token.SEMICOLON, token.ILLEGAL, token.COLON, token.NOT, token.ELLIPSIS:
		return false
	}
	return last.IsOperator()
}

func nesting(t token.Token) int {
	switch t {
	case token.LPAREN, token.LBRACK, token.LBRACE:
		return 1
	case token.RPAREN, token.RBRACK, token.RBRACE:
		return -1
	}
	return 0
}

// commandLine says whether a line at the top level of a cell is a command: it starts with % or !, or it is an operand
// and ends in a question mark.
func commandLine(line string) bool {
	line = strings.TrimSpace(line)
	if line == "" {
		return false
	}
	return line[0] == '%' || line[0] == '!' || strings.HasSuffix(line, "?") && !strings.ContainsAny(line, "\"'`/")
}

// blankCommands replaces the command lines of a cell by blanks of the same length, so that the rest can be scanned as
// Go, and returns where they were. Only lines outside of brackets, raw strings and comments count.
func blankCommands(cell string) (text string, commands []piece) {
	if strings.HasPrefix(strings.TrimSpace(cell), "%%") {
		return strings.Repeat(" ", len(cell)), []piece{{kind: commandPiece, off: 0, end: len(cell)}}
	}
	b := []byte(cell)
	start := 0 // of the Go text since the last command
	for off := 0; off < len(cell); {
		end := len(cell)
		if i := strings.IndexByte(cell[off:], '\n'); i >= 0 {
			end = off + i
		}
		if commandLine(cell[off:end]) && (off == start || !incompleteGo(string(b[start:off]))) {
			commands = append(commands, piece{kind: commandPiece, off: off, end: end})
			for i := off; i < end; i++ {
				b[i] = ' '
			}
			start = end
		}
		off = end + 1
	}
	return string(b), commands
}

// split cuts a cell into pieces: neighbouring statements are one piece, neighbouring declarations too.
func split(cell string) []piece {
	text, commands := blankCommands(cell)
	var pieces []piece
	add := func(p piece) {
		for len(commands) > 0 && commands[0].off < p.off {
			pieces = append(pieces, commands[0])
			commands = commands[1:]
		}
		if n := len(pieces); n > 0 && pieces[n-1].kind == p.kind && p.kind != importPiece {
			pieces[n-1].end, pieces[n-1].quiet = p.end, p.quiet
			return
		}
		pieces = append(pieces, p)
	}
	list, _ := lex(text)
	depth, start := 0, -1
	flush := func(end int, quiet bool) {
		if start >= 0 {
			add(piece{kind: kindOf(list[start:], end), off: list[start].off, end: end, quiet: quiet})
		}
		start = -1
	}
	for i, t := range list {
		depth += nesting(t.tok)
		if t.tok == token.SEMICOLON && depth <= 0 {
			end := t.off
			if t.lit == ";" && start < 0 && len(pieces) > 0 {
				pieces[len(pieces)-1].quiet = true
			}
			flush(end, t.lit == ";")
			continue
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(text), false)
	return append(pieces, commands...)
}

// kindOf looks at the first tokens of a statement or declaration that ends before the given offset.
func kindOf(list []lexeme, end int) pieceKind {
	at := func(i int) token.Token {
		if i < len(list) && list[i].off < end {
			return list[i].tok
		}
		return token.EOF
	}
	switch at(0) {
	case token.IMPORT:
		return importPiece
	case token.TYPE, token.CONST:
		return declPiece
	case token.FUNC:
		if at(1) == token.IDENT {
			return declPiece
		}
		if at(1) != token.LPAREN {
			return stmtPiece
		}
		depth := 0
		for i := 1; at(i) != token.EOF; i++ { // past the receiver, or past the parameters of a literal
			depth += nesting(at(i))
			if depth == 0 {
				if at(i+1) == token.IDENT && at(i+2) == token.LPAREN {
					return declPiece
				}
				break
			}
		}
	}
	return stmtPiece
}

// lineCol is the position of a byte of src, both counted from 1.
func lineCol(src string, off int) (line, col int) {
	line = 1 + strings.Count(src[:off], "\n")
	return line, off - strings.LastIndexByte(src[:off], '\n')
}

// lineOf is the n-th line of src, counted from 1.
func lineOf(src string, n int) string {
	lines := strings.Split(src, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}
