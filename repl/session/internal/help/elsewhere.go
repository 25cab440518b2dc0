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
	return cmp.Or(a.inGo(), a.called(module, name), say)
}

// tableSays returns what the table has for a name that a line uses, or why there is nothing. It is a form to
// fill in where its names are not those of the line, or the line has more arguments.
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
	if strange || strings.ContainsAny(line, ",0123456789") || strings.Count(line, "=") > 1 {
		return "its Go is " + goText
	}
	return "write " + goText
}

// called returns the advice to call what stands for a name, with the arguments that the line has:
// tensor.Concat for tensor.Cat.
func (a *advisor) called(module, name string) string {
	goName := python.Callee(module, name)
	text, n := a.h.Text(a.pos)
	line := a.line()
	f := &foreign{h: a.h, st: a.st, before: statementsAbove(text, n)}
	for _, typed := range []string{module + "." + name, name} {
		if fixed := strings.Replace(line, typed+"(", goName+"(", 1); goName != "" && fixed != line && f.checks(strings.TrimSpace(fixed), line) {
			return "write " + strings.TrimSpace(fixed)
		}
	}
	return ""
}

// foreignModule returns the advice for the name in a module around the complaint: torch.cuda.is_available.
func (a *advisor) foreignModule() string {
	var outer *ast.SelectorExpr
	for _, n := range a.path() {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok && outer != nil || ok && outer != nil && sel.X != outer {
			break
		}
		if ok {
			outer = sel
		}
	}
	if outer == nil {
		return ""
	}
	return a.elsewhere(types.ExprString(outer.X), outer.Sel.Name, "")
}

// bare returns the advice for a name without its module, as after `from torch.nn import Linear`.
func (a *advisor) bare(name string) string {
	for _, module := range modulesOf(name) {
		if goText := elsewhere.Lookup(module, name); goText != "" && !strings.HasPrefix(goText, "// nothing") {
			return a.elsewhere(module, name, "")
		}
	}
	return ""
}

// modulesOf lists the modules from which people import a name to use it alone.
func modulesOf(name string) []string {
	if unicode.IsUpper(rune(name[0])) {
		return []string{"nn", "optim", "data", "", "hub"}
	}
	return []string{"", "hub"}
}

// callOf is a line that calls a name, of a module or alone, and may assign the result.
var callOf = lazy.Regexp(`^(?:\w+\s*:?=\s*)?(with\s+)?(?:(\w+(?:\.\w+)*)\.)?(\w+)\(`)

// foreignCall returns the advice for a line that calls a name of PyTorch, NumPy or MLX, but does not read as
// a line of Python that has its Go.
func foreignCall(line string) string {
	m := callOf().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	module, name := m[2], m[3]
	if module != "" {
		root, _, _ := strings.Cut(module, ".")
		return cmp.Or(tableSays(module, name, "", line), ForeignNames()[root])
	}
	for _, module := range modulesOf(name) {
		if module == "" && !unicode.IsUpper(rune(name[0])) || m[1] != "" { // Python's own: max, sum
			continue
		}
		if say := tableSays(module, name, "", line); say != "" {
			return say
		}
	}
	return ""
}
