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
	// of one number, weight the parameters that are variables, as arguments of tensor.Grad, rate the
	// learning rate, schedule an optim.Schedule, lm a language model, and tok a tokenizer.
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

	function *signature // around the current statement, or nil
	training training
	depth    int      // of blocks around the current statement
	base     int      // that of the function around it
	hoisted  []string // declarations before the outermost block of the function
	epoch    string   // the variable of the loop around the current statement
	epochs   string   // how often that loop goes round
}

func newReader(text string, s Session) *reader {
	return &reader{s: s, line: text, toks: scan(text), taken: map[string]bool{}, epochs: "1"}
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

// stands returns what the line, or else the session, has for a name of the table.
func (p *reader) stands(name string) string {
	switch name {
	case "loss":
		if p.training.loss != "" {
			return p.training.loss
		}
		if p.is(simple("loss"), tensorFamily) {
			return "loss"
		}
	case "m":
		if f := p.function; f != nil {
			for _, param := range f.params {
				if Kind(p.typeOf(param)) == "Module" {
					return param
				}
			}
		}
	case "weight":
		if m := p.stands("m"); m != "" {
			return "nn.Values(nn.Trainable(" + m + "))..."
		}
	case "rate":
		if p.is(simple("lr"), float) {
			return "lr"
		}
	}
	return p.s.Stands(name)
}

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
	scope, open, hoisted := p.scope, p.open, len(p.hoisted)
	p.scope += opening + "\n"
	p.open += strings.Count(opening, "{") - strings.Count(opening, "}")
	p.depth++
	f()
	p.depth--
	p.scope, p.open = scope, open
	for _, declaration := range p.hoisted[min(hoisted, len(p.hoisted)):] {
		p.scope += declaration + "\n"
	}
}

// hoist declares a variable before the outermost block, if it is used behind the block that assigns it first:
// in Python it lives as long as the function.
func (p *reader) hoist(name string, v value) bool {
	t := p.typeOf(v.text)
	if p.depth == p.base || p.loops > 0 || t == nil || !p.usedBehind(name) {
		return false
	}
	declaration := "var " + name + " " + typeText(t)
	p.hoisted = append(p.hoisted, declaration)
	p.scope += declaration + "\n"
	return true
}

// usedBehind says whether a name stands behind the block around the current statement.
func (p *reader) usedBehind(name string) bool {
	depth := 1
	for _, t := range p.toks[p.i:] {
		switch {
		case t.is(indent):
			depth++
		case t.is(dedent):
			depth--
		case depth <= 0 && (t.is(name) || t.kind == text && strings.Contains(t.prefix, "f") && strings.Contains(t.text, name)):
			return true
		}
	}
	return false
}

// The marks around the statements of an indented block, which Block writes and body reads.
const (
	indent = "\x01"
	dedent = "\x02"
)

// Block returns the first of some lines with the block that it opens, on one line. Marks stand for the
// indentation, so blocks may be nested.
func Block(lines []string) string {
	text, _ := Statement(lines)
	return text
}

// Statement is Block, with the lines behind it.
func Statement(lines []string) (text string, rest []string) { return block(lines) }

// block returns the text of the first statement, and the lines behind it.
func block(lines []string) (string, []string) {
	lines = joined(lines)
	first := strings.TrimSpace(uncommented(lines[0]))
	lines, depth := lines[1:], indentation(lines[0])
	if !strings.HasSuffix(first, ":") {
		return first, lines
	}
	var body []string
	for len(lines) > 0 {
		text := strings.TrimSpace(uncommented(lines[0]))
		if text == "" {
			lines = lines[1:]
			continue
		}
		if indentation(lines[0]) <= depth {
			break
		}
		text, lines = block(lines)
		body = append(body, text)
	}
	text := first
	if len(body) > 0 {
		text += indent + strings.Join(body, "; ") + dedent
	}
	if len(lines) > 0 && indentation(lines[0]) == depth && otherwise(lines[0]) {
		rest, after := block(lines)
		return text + " " + rest, after
	}
	return text, lines
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// otherwise says whether a line is a part of the statement above it.
func otherwise(line string) bool {
	word := strings.TrimSpace(line)
	return strings.HasPrefix(word, "else:") || strings.HasPrefix(word, "else :") || strings.HasPrefix(word, "elif ") || strings.HasPrefix(word, "except ") || strings.HasPrefix(word, "except:")
}

// uncommented returns a line without the comment at its end.
func uncommented(line string) string {
	if !strings.Contains(line, "#") {
		return line
	}
	tokens := scan(line)
	return line[:tokens[len(tokens)-1].off]
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
