package compile

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

func (d *Diag) Place() string {
	if d.File != "" {
		return fmt.Sprintf("%s:%d:%d", d.File, d.Line, d.Col)
	}
	if d.Cell <= 0 {
		return fmt.Sprintf("%d:%d", d.Line, d.Col)
	}
	return fmt.Sprintf("In[%d]:%d:%d", d.Cell, d.Line, d.Col)
}

// String gives the message with its place, then the source line and a line of carets.
func (d *Diag) String() string {
	text := d.Place() + ": " + d.Message
	if d.Hint != "" {
		text += "; " + d.Hint
	}
	return text + d.pointer()
}

// pointer gives the source line and the carets below it.
func (d *Diag) pointer() string {
	if strings.TrimSpace(d.Source) == "" {
		return ""
	}
	src := strings.TrimRight(d.Source, " \t\r")
	col := min(max(d.Col-1, 0), len(src))
	indent := len(src) - len(strings.TrimLeft(src, " \t"))
	indent = min(indent, col)
	n := min(max(d.Len, 1), max(len(src)-col, 1))
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, src[indent:col])
	carets := strings.Repeat("^", max(len([]rune(src[col:min(col+n, len(src))])), 1))
	return "\n    " + src[indent:] + "\n    " + pad + carets
}

// Error lists the complaints.
func (e *CheckError) Error() string {
	var lines []string
	for i := range e.Diags {
		lines = append(lines, e.Diags[i].String())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the interpreter's error for code that only the interpreter refuses, otherwise nil.
func (e *CheckError) Unwrap() error { return e.cause }

// diag makes a complaint; line and col count in the cell.
func (c *Compiler) diag(n, line, col, length int, msg, hint string) Diag {
	text, file := c.Text(n)
	d := Diag{Cell: n, Line: line, Col: col, Len: length, Message: msg, Hint: hint, File: file, Source: cell.Line(text, line)}
	if file != "" {
		d.Cell = 0
	}
	return d
}

// DiagAt makes a complaint about a place in the file set.
func (c *Compiler) DiagAt(pos token.Pos, length int, msg, hint string) Diag {
	p := c.fset.Position(pos)
	d := c.diag(yaegi.CellOf(p.Filename), p.Line, p.Column, length, msg, hint)
	if length == 0 {
		d.Len = tokenLength(d.Source, d.Col)
	}
	return d
}

// tokenLength returns the length in bytes of the token that starts at a column.
func tokenLength(line string, col int) int {
	if col < 1 || col > len(line) {
		return 1
	}
	list := cell.Code(cell.ScanGo(line[col-1:]))
	if len(list) == 0 {
		return 1
	}
	return max(list[0].To-list[0].From, 1)
}

var (
	localPath = lazy.Regexp(`"` + lower.LocalPrefix + `[^"]*@\d+"`)
	outName   = lazy.Regexp(`__out_(\d+)(_\d+)?`)
	haveWant  = lazy.Regexp(`\n\thave (.*)\n\twant (.*)$`)
)

// complaints turns the checker's errors into diagnostics, sorted by place.
func (c *Compiler) complaints(st *world.Stage, facts *checked) *CheckError {
	e := &CheckError{}
	said := map[string]bool{}
	for _, te := range facts.Errs {
		switch {
		case strings.HasPrefix(te.Msg, "\t"), // it continues the previous error
			len(e.Diags) > 0 && strings.Contains(te.Msg, "unknown type"), // it follows from an error before
			said[te.Msg] && strings.HasPrefix(te.Msg, "undefined: "):
			continue
		}
		said[te.Msg] = true
		msg, hint := c.explain(st, facts, te)
		e.Diags = append(e.Diags, c.DiagAt(te.Pos, 0, msg, hint))
		if len(e.Diags) == 10 {
			break
		}
	}
	slices.SortStableFunc(e.Diags, func(a, b Diag) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	answers := map[Diag]bool{} // lines of which a complaint has the whole line to write: others are left out
	e.Diags = slices.DeleteFunc(e.Diags, func(d Diag) bool {
		answer := Diag{Cell: d.Cell, File: d.File, Line: d.Line, Hint: d.Hint}
		again := answers[answer]
		answers[answer] = strings.HasPrefix(d.Hint, "write ")
		return again
	})
	return e
}

// answerAll answers a cell of several statements of another language, where one of them is complained about:
// each has a complaint with what to write. Statements without an answer keep the checker's.
func (c *Compiler) answerAll(n int, src string, e *CheckError) {
	if _, file := c.Text(n); file != "" || !strings.Contains(strings.TrimSpace(src), "\n") {
		return
	}
	answers := c.Advice.Answers(c.World.Stage(), src)
	within := func(d Diag) func(help.Answer) bool {
		return func(a help.Answer) bool { return d.Cell == n && a.From <= d.Line && d.Line <= a.To }
	}
	if len(answers) < 2 || !slices.ContainsFunc(answers, within(e.Diags[0])) {
		return
	}
	var list []Diag
	for _, a := range answers {
		at := slices.IndexFunc(e.Diags, func(d Diag) bool { return within(d)(a) && d.Line == a.From })
		if at >= 0 {
			d := e.Diags[at]
			d.Hint = a.Hint
			list = append(list, d)
			continue
		}
		line := cell.Line(src, a.From)
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		list = append(list, c.diag(n, a.From, indent+1, len(line)-indent, "this is no Go", a.Hint))
	}
	for _, d := range e.Diags {
		if !slices.ContainsFunc(answers, within(d)) {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b Diag) int { return cmp.Compare(a.Line, b.Line) })
	e.Diags = list
}

// explain rewords a message of the checker for cells and finds a suggestion.
func (c *Compiler) explain(st *world.Stage, facts *checked, te types.Error) (msg, hint string) {
	msg = localPath().ReplaceAllStringFunc(te.Msg, func(path string) string {
		if p := c.packages[strings.Trim(path, `"`)]; p != nil {
			return p.Types.Name()
		}
		return path
	})
	msg = strings.ReplaceAll(msg, world.PkgPath+".", "")
	msg = strings.ReplaceAll(msg, " (declared at -)", "")
	msg = strings.ReplaceAll(msg, " value in argument to "+lower.Values, " value")
	msg = outName().ReplaceAllString(msg, "Out[$1]")
	msg = haveWant().ReplaceAllString(msg, ": have $1, want $2")
	msg, hint = c.Advice.Suggest(st, &facts.Facts, te.Pos, msg)
	if facts.calls != nil {
		hint = facts.calls.Suggested(hint)
	}
	return msg, hint
}

// A CheckError says why a cell was refused before any of it ran. The session has not changed.
type CheckError struct {
	Diags []Diag
	cause error // the interpreter's error, for code that only the interpreter refuses
}

// A Diag is one complaint about a place in the cell, or in a file that it imports.
type Diag struct {
	Cell      int    // cell number
	File      string // of an imported package; Cell is 0
	Line, Col int    // both from 1; Col counts bytes as Go does
	Len       int    // bytes to underline, at least 1
	Message   string
	Hint      string // "did you mean MatMul?", or empty
	Source    string // the line of the cell
}
