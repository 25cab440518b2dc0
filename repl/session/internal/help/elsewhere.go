package help

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

// modulesInCells are the names under which people import modules of arrays, besides those of Modules.
var modulesInCells = map[string]bool{"F": true, "mx": true, "jnp": true}

// elsewhere returns the advice for a public name of PyTorch, NumPy or MLX: the Go for module.name. With an
// operand, it is the Go for operand.name. It is a form to fill in, unless the whole line reads as Python.
func (a *advisor) elsewhere(module, name, operand string) string {
	goText := elsewhere.Lookup(module, name)
	if goText == "" || module == "-" {
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

// kindOf returns the module of package elsewhere whose names the methods of a type have, or "-".
func kindOf(t types.Type) string {
	has := func(name string) bool {
		o, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		_, ok := o.(*types.Func)
		return ok
	}
	switch {
	case family(t) == "tensor":
		return ""
	case has("Members"):
		return "Module"
	case has("Update") && has("SetState"):
		return "Optimizer"
	}
	return "-"
}

// parent returns the node around the identifier of the complaint, or nil.
func (a *advisor) parent() ast.Node {
	if path := a.path(); len(path) > 1 {
		return path[1]
	}
	return nil
}
