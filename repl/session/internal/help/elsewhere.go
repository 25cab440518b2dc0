package help

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
)

// elsewhere returns the advice for a public name of PyTorch, NumPy or MLX: the Go for module.name, or for
// operand.name.
func (a *advisor) elsewhere(module, name, operand string) string {
	say := tableSays(module, name, operand, a.line())
	if say == "" || strings.HasPrefix(elsewhere.Lookup(module, name), "// ") {
		return say
	}
	return cmp.Or(a.inGo(), a.called(module, name), a.h.pasteable(say, a.line()))
}

// tableSays returns what the table has for a name that a line uses, or why there is nothing. It is a form to
// fill in where its names are not those of the line, or the line has more arguments; what it has no place for
// is named.
func tableSays(module, name, operand, line string) string {
	goText := elsewhere.Lookup(module, name)
	if why, ok := strings.CutPrefix(goText, "// "); ok || goText == "" {
		return why
	}
	if operand != "" {
		goText = python.WithOperand(goText, operand)
	}
	words := namesIn(line)
	strange := slices.ContainsFunc(python.Operands(goText), func(name string) bool { return !slices.Contains(words, name) })
	left, alone := python.LeftOut(line, name, goText)
	if len(left) > 0 {
		return "its Go is " + goText + ", which has no place for " + strings.Join(left, ", ")
	}
	if strange || !alone || example().MatchString(goText) {
		return "its Go is " + goText
	}
	return "write " + goText
}

// example matches a number, which is one of the table's examples.
var example = lazy.Regexp(`\b\d`)

// called returns the advice to call what stands for a name of package tensor, with the arguments that the
// line has: tensor.Concat for tensor.Cat.
func (a *advisor) called(module, name string) string {
	goName := python.Callee(module, name)
	if module != "tensor" || goName == "" {
		return ""
	}
	text, n := a.h.Text(a.pos)
	line := a.line()
	f := &foreign{h: a.h, st: a.st, before: statementsAbove(text, n)}
	fixed := strings.Replace(line, module+"."+name+"(", goName+"(", 1)
	if fixed == line || !f.checks(strings.TrimSpace(fixed), line) {
		return ""
	}
	return "write " + strings.TrimSpace(fixed)
}

// foreignModule returns the advice for the name in a module around the complaint: torch.cuda.is_available.
func (a *advisor) foreignModule() string {
	var outer *ast.SelectorExpr
	for _, n := range a.path() {
		if sel, ok := n.(*ast.SelectorExpr); ok && (outer == nil || sel.X == outer) {
			outer = sel
		} else if outer != nil {
			break
		}
	}
	if outer == nil {
		return ""
	}
	return a.elsewhere(types.ExprString(outer.X), outer.Sel.Name, "")
}

// bare returns the advice for a name without its module, as after `from torch.nn import Linear`.
func (a *advisor) bare(name string) string {
	for _, module := range python.ModulesOf(name) {
		if goText := elsewhere.Lookup(module, name); goText != "" && !strings.HasPrefix(goText, "// nothing") {
			return a.elsewhere(module, name, "")
		}
	}
	return ""
}

// callOf is a line that calls a name, of a module or alone, and may assign the result.
var callOf = lazy.Regexp(`^(?:\w+\s*:?=\s*)?(with\s+)?(?:(\w+(?:\.\w+)*)\.)?(\w+)\(`)

// call returns the advice for a line that calls a name of PyTorch, NumPy or MLX, but does not read as
// a line of Python that has its Go.
func (f *foreign) call(line string) string {
	m := callOf().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	module, name := m[2], m[3]
	if module != "" {
		root, _, _ := strings.Cut(module, ".")
		say := tableSays(module, name, "", line)
		if say == "" && python.IsTensor(f.TypeOf("", module, "")) {
			say = tableSays("", name, module, line)
		}
		return cmp.Or(say, ForeignNames()[root])
	}
	for _, module := range python.ModulesOf(name) {
		if module == "torch" && !unicode.IsUpper(rune(name[0])) || m[1] != "" { // Python's own: max, sum
			continue
		}
		if say := tableSays(module, name, "", line); say != "" {
			return say
		}
	}
	return ""
}
