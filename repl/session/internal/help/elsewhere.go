package help

import (
	"go/ast"
	"go/types"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
)

// elsewhere returns the advice for a public name of PyTorch, NumPy or MLX: the Go for module.name. With an
// operand, it is the Go for operand.name. It is a form to fill in, unless the whole line reads as Python.
func (a *advisor) elsewhere(module, name, operand string) string {
	goText := elsewhere.Lookup(module, name)
	if goText == "" {
		return ""
	}
	if why, ok := strings.CutPrefix(goText, "// "); ok {
		return why
	}
	if goLine := a.inGo(); goLine != "" {
		return goLine
	}
	if replaced := a.called(module, name); replaced != "" {
		return replaced
	}
	if operand != "" {
		goText = python.WithOperand(goText, operand)
	}
	return sample(goText, a.line())
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

// bareName returns the advice for the call of a name without its module, in a line that does not parse.
func bareName(name, line string) string {
	for _, module := range modulesOf(name) {
		goText := elsewhere.Lookup(module, name)
		if module == "" && !unicode.IsUpper(rune(name[0])) { // Python's own: max, sum
			continue
		}
		if why, ok := strings.CutPrefix(goText, "// "); ok {
			return why
		}
		if goText != "" {
			return sample(goText, line)
		}
	}
	return ""
}
