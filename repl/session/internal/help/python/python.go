// Package python writes lines of Python as Go, for people whose fingers know Python:
//
//	for row in x:             [v*v for v in xs]       x[:, 0]
//	print(f"n is {n}")        np.zeros((2, 3))        a if c else b
//
// A little of JavaScript is understood as well: c ? a : b, v => v * 2.
//
// [Line] reads the line with a small parser of Python's expressions and asks the session for the types of
// its parts: `x * 2` stays unchanged for a number, and is x.Mul(2) for a tensor. Wrong Go is never suggested:
// the caller checks the result as it would check a cell, and drops a result that does not check.
//
// [Class] writes a model of PyTorch as a type.
//
// Reading order: python.go, line.go, loops.go, expr.go, value.go, index.go, calls.go, table.go (names of
// PyTorch, NumPy and MLX) with forms.go, modules.go, class.go, scan.go.
package python

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/notation"
)

// A Session answers questions about the session in which the line was typed.
type Session interface {
	// TypeOf returns the type of a Go expression between some statements, or nil. The statements before it
	// may open blocks, such as `for _, v := range xs {`, which those behind it close.
	TypeOf(before, expr, after string) types.Type
	// Exported returns the exported name of a package that equals name in any case, or "".
	Exported(pkg, name string) string
	// Stands returns what the session has for a name of package elsewhere's table, or "": m is its newest
	// model, opt its optimizer, lossfn its loss, loss a tensor of that name or the newest one
	// of one number, and weight what is trained, as arguments of tensor.Grad.
	Stands(name string) string
}

// Line returns the Go for one line of Python, on one line, or "" for a line that it does not understand. A
// line that only opens a block gets a body that shows its variables, so the result can run.
func Line(line string, s Session) (goLine string) {
	p := newReader(line, s)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case notUnderstood:
			goLine = ""
		case whole:
			goLine = string(r)
		default:
			panic(r)
		}
	}()
	text := p.statements()
	if !p.at(end) || text == "" {
		return ""
	}
	return text
}

// notUnderstood is the panic value that leaves the parser; Line recovers it.
type notUnderstood struct{}

// A reader translates the tokens of a line from the left to the right.
type reader struct {
	s      Session
	line   string
	toks   []token
	i      int
	scope  string          // the Go before the current expression: statements and open blocks
	open   int             // number of open blocks
	before []string        // statements that the current statement needs before it
	loops  int             // depth of comprehensions: their parts cannot put statements before the statement
	target string          // the variable that the expression is assigned to: a list can be made in it
	taken  map[string]bool // names that the translation has given
}

func newReader(text string, s Session) *reader {
	return &reader{s: s, line: text, toks: scan(text), taken: map[string]bool{}}
}

func (p *reader) tok() token          { return p.toks[p.i] }
func (p *reader) at(text string) bool { return p.toks[p.i].is(text) }
func (p *reader) peek(text string) bool {
	return p.i+1 < len(p.toks) && p.toks[p.i+1].is(text)
}

// take advances past a token if it comes next.
func (p *reader) take(text string) bool {
	if p.at(text) {
		p.i++
		return true
	}
	return false
}

func (p *reader) want(text string) {
	if !p.take(text) {
		giveUp()
	}
}

func giveUp() { panic(notUnderstood{}) }

func (p *reader) name() string {
	t := p.tok()
	if t.kind != word {
		giveUp()
	}
	p.i++
	return t.text
}

// typeOf returns the type of a Go expression here, or nil.
func (p *reader) typeOf(expr string) types.Type {
	if _, err := notation.ParseExpr(expr); err != nil {
		return nil
	}
	return p.s.TypeOf(p.scope, expr, strings.Repeat("\n}", p.open))
}

// first puts a statement before the current one.
func (p *reader) first(format string, args ...any) {
	if p.loops > 0 {
		giveUp()
	}
	s := fmt.Sprintf(format, args...)
	p.before = append(p.before, s)
	p.scope += s + "\n"
}

// fresh returns a name that the session does not use yet.
func (p *reader) fresh(name string) string {
	free := name
	for n := 2; p.taken[free] || p.typeOf(free) != nil; n++ {
		free = fmt.Sprint(name, n)
	}
	p.taken[free] = true
	return free
}

// inBlock calls f with a block opened around the text that f reads.
func (p *reader) inBlock(opening string, f func()) {
	scope, open := p.scope, p.open
	p.scope += opening + "\n"
	p.open += strings.Count(opening, "{") - strings.Count(opening, "}")
	f()
	p.scope, p.open = scope, open
}

// Block returns the first of some lines with the block that it opens, on one line: `for x in xs:` and
// below it ` print(x)`. It is empty if blocks are nested, because their Go needs more lines as well.
func Block(lines []string) string {
	lines = joined(lines)
	first := strings.TrimSpace(lines[0])
	if !strings.HasSuffix(first, ":") {
		return first
	}
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
	var body []string
	for _, line := range lines[1:] {
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case indent(line) <= indent(lines[0]):
			if strings.HasPrefix(text, "el") || strings.HasPrefix(text, "except") { // else, elif: part of the statement
				return ""
			}
			return first + " " + strings.Join(body, "; ")
		case strings.HasSuffix(text, ":"):
			return ""
		default:
			body = append(body, text)
		}
	}
	return first + " " + strings.Join(body, "; ")
}

// joined returns lines with the first one joined to those in which its brackets go on.
func joined(lines []string) []string {
	open := func(s string) int {
		return strings.Count(s, "(") + strings.Count(s, "[") + strings.Count(s, "{") - strings.Count(s, ")") - strings.Count(s, "]") - strings.Count(s, "}")
	}
	first := lines[0]
	for i := 1; i < len(lines) && open(first) > 0; i++ {
		if first += " " + strings.TrimSpace(lines[i]); open(first) == 0 {
			return append([]string{first}, lines[i+1:]...)
		}
	}
	return lines
}
