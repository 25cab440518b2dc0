// Package python writes lines of Python as Go, for people whose fingers know Python:
//
//	for row in x:             [v*v for v in xs]       x[:, 0]
//	print(f"n is {n}")        np.zeros((2, 3))        a if c else b
//
// A little of JavaScript is understood as well: c ? a : b, v => v * 2.
//
// [Line] reads a line, or a block that [Block] has put on one, as a tree. A part of it is written in Go by
// the first rule of rules.txt that it looks like, then by the table of package elsewhere for names of
// PyTorch, NumPy and MLX, or else as it stands. The session tells the types of parts: `x * 2` stays unchanged
// for a number, and is x.Mul(2) for a tensor. Wrong Go is never suggested: the caller checks the result as it
// would check a cell, and drops a result that does not check.
//
// Reading order: parse.go and statements.go, translate.go, rules.go and rules.txt, calls.go with forms.go,
// then write.go, functions.go and training.go for statements.
package python

import (
	"go/types"
	"strings"
)

// A Session answers questions about the session in which the line was typed.
type Session interface {
	// TypeOf returns the type of a Go expression between some statements, or nil. The statements before it
	// may open blocks, such as `for _, v := range xs {`, which those behind it close.
	TypeOf(before, expr, after string) types.Type
	// Exported returns the exported name of a package that equals name in any case, or "".
	Exported(pkg, name string) string
	// Rank returns the number of axes of the tensor that a variable holds, or -1.
	Rank(name string) int
	// Stands returns what the session has for a name of package elsewhere's table, or "": m is its newest
	// model, opt its optimizer, lossfn its loss, loss a tensor of that name or the newest one
	// of one number, weight the parameters that are variables, as arguments of tensor.Grad, rate the
	// learning rate, schedule an optim.Schedule, lm a language model, and tok a tokenizer.
	Stands(name string) string
}

// Line returns the Go for one line of Python, on one line, or "" for a line that it does not understand. A
// line that only opens a block gets a body that shows its variables, so the result can run. A class of
// layers, with __init__ and forward, is a type with its methods.
func Line(line string, s Session) (goLine string) {
	t := &translator{s: s, done: map[*node]string{}, taken: map[string]bool{}, epochs: "1"}
	if !understood(func() {
		t.root, t.toks = parsed(line)
		goLine = t.block(t.root)
	}) {
		return t.whole
	}
	return goLine
}

// notUnderstood is the panic value that ends a translation.
type notUnderstood struct{}

// understood says whether f ends, and does not give up.
func understood(f func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, gaveUp := r.(notUnderstood); !gaveUp {
				panic(r)
			}
			ok = false
		}
	}()
	f()
	return true
}

func giveUp() { panic(notUnderstood{}) }

// need gives up unless something is so.
func need(so bool) {
	if !so {
		giveUp()
	}
}

// The marks around the statements of an indented block, which Block writes and the parser reads.
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
func Statement(lines []string) (text string, rest []string) {
	lines = joined(lines)
	text = strings.TrimSpace(uncommented(lines[0]))
	lines, depth := lines[1:], Indentation(lines[0])
	if !strings.HasSuffix(text, ":") {
		return text, lines
	}
	var body []string
	for len(lines) > 0 {
		if strings.TrimSpace(uncommented(lines[0])) == "" {
			lines = lines[1:]
			continue
		}
		if Indentation(lines[0]) <= depth {
			break
		}
		var inner string
		inner, lines = Statement(lines)
		body = append(body, inner)
	}
	if len(body) > 0 {
		text += indent + strings.Join(body, "; ") + dedent
	}
	if len(lines) > 0 && Indentation(lines[0]) == depth && goesOn(lines[0]) {
		more, after := Statement(lines)
		return text + " " + more, after
	}
	return text, lines
}

// Indentation returns the number of blanks and tabs that a line begins with.
func Indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// goesOn says whether a line is a part of the statement above it.
func goesOn(line string) bool {
	word := strings.TrimRight(strings.SplitN(strings.TrimSpace(line)+" ", " ", 2)[0], ":")
	return word == "else" || word == "elif" || word == "except"
}

// uncommented returns a line without the comment at its end.
func uncommented(line string) string {
	tokens := scan(line)
	return line[:tokens[len(tokens)-1].off]
}

// joined returns lines with the first one joined to those in which its brackets go on.
func joined(lines []string) []string {
	open := func(s string) bool { // text in quotes counts, too
		return strings.Count(s, "(")+strings.Count(s, "[")+strings.Count(s, "{") > strings.Count(s, ")")+strings.Count(s, "]")+strings.Count(s, "}")
	}
	first := lines[0]
	for i := 1; i < len(lines) && open(first); i++ {
		if first += " " + strings.TrimSpace(lines[i]); !open(first) {
			return append([]string{first}, lines[i+1:]...)
		}
	}
	return lines
}
