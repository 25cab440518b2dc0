package runner

import (
	"go/token"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

// Complete lists ways to go on at a byte of a cell. Each replaces the bytes from…pos.
func (r *Runner) Complete(code string, pos int) (from int, list []session.Completion) {
	if r.o.Complete != nil {
		from, list = r.o.Complete(code, pos)
	}
	if list == nil {
		return r.session.Complete(code, pos)
	}
	return from, list
}

// Inspect describes what is at a byte of a cell: a name, with all in full, a command, or else the call around
// the byte; nil if there is none of them.
func (r *Runner) Inspect(code string, pos int, all bool) display.Bundle {
	name := nameAt(code, pos)
	if name == "" {
		if hint, ok := r.session.Hint(code, pos); ok {
			return display.Bundle{display.PlainText: strings.TrimSpace(hint.Signature + "\n" + hint.Doc)}
		}
		return nil
	}
	v, err := r.o.Inspect(name, all)
	if err != nil {
		return nil
	}
	return display.Bundled(v, TextWidth)
}

// nameAt is the name at a byte of a cell, with the names before its points, such as nn.Linear or m.Blocks, or
// the command in whose name the byte is, with its sign. It is "" where there is none.
func nameAt(code string, pos int) string {
	list := cell.Scan(code)
	at := slices.IndexFunc(list, func(t cell.Token) bool { return isName(t) && t.From <= pos && pos <= t.To })
	if at < 0 {
		return commandAt(code, pos)
	}
	from := at
	for from >= 2 && list[from-1].Tok == token.PERIOD && isName(list[from-2]) {
		from -= 2
	}
	return code[list[from].From:list[at].To]
}

func isName(t cell.Token) bool { return !t.Command && (t.Tok == token.IDENT || t.Tok.IsKeyword()) }

// commandAt is the command in whose name a byte of a cell is, with its sign, or what a line asks about.
func commandAt(code string, pos int) string {
	start := strings.LastIndexByte(code[:pos], '\n') + 1
	line, _, _ := strings.Cut(code[start:], "\n")
	name, _, _ := cell.ParseCommand(line)
	asked, isQuestion := strings.CutSuffix(strings.TrimSpace(line), "?")
	switch {
	case !strings.HasPrefix(asked, "%") && isQuestion:
		return strings.TrimRight(asked, "?")
	case strings.HasPrefix(asked, "%") && pos-start <= strings.Index(line, name)+len(name):
		return "%" + name
	}
	return ""
}
