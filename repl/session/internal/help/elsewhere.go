package help

import (
	"go/ast"
	"go/types"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
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
	switch {
	case operand == "":
	case module == "Module":
		goText = strings.ReplaceAll(goText, "(m", "("+operand)
	case module == "Optimizer":
		goText = operand + strings.TrimPrefix(goText, "opt")
	default:
		goText = strings.NewReplacer("x = x.", operand+" = "+operand+".", "x.", operand+".", "(x,", "("+operand+",", "{x,", "{"+operand+",", "(x)", "("+operand+")").Replace(goText)
	}
	return "write " + goText
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
	modules := []string{""}
	if unicode.IsUpper(rune(name[0])) {
		modules = []string{"nn", "optim", "data", ""}
	}
	for _, module := range modules {
		if goText := elsewhere.Lookup(module, name); goText != "" && !strings.HasPrefix(goText, "// nothing") {
			return a.elsewhere(module, name, "")
		}
	}
	return ""
}
