package magics

import (
	"go/ast"
	"go/parser"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/notation"
)

// cheapest is a statement that costs the interpreter almost nothing.
const cheapest = "0"

// floor returns statements whose time is the cost of the interpreter alone: the same calls of session
// functions, with empty bodies. If the statements have no such calls, or also call compiled functions, which
// cannot be emptied, floor returns cheapest; so it does where the statements go another way, fail or never
// end because functions do nothing: see heedless.
func (c *call) floor(code *notation.Statements) string {
	signatures := map[string]string{}
	for _, v := range c.s.Vars() {
		if v.Kind == "func" {
			signatures[v.Name] = v.Type
		}
	}
	var text strings.Builder
	done, calls, others := 0, map[ast.Expr]bool{}, false
	code.Inspect(func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if _, literal := call.Fun.(*ast.FuncLit); literal {
			return true
		}
		id, ok := call.Fun.(*ast.Ident)
		if !ok || signatures[id.Name] == "" {
			others = true
			return true
		}
		empty := emptyFunction(signatures[id.Name])
		others = others || empty == ""
		calls[call] = true
		text.WriteString(code.Text[done:code.Offset(id.Pos())] + empty)
		done = code.Offset(id.End())
		return true
	})
	if len(calls) == 0 || others || !heedless(code, calls) {
		return cheapest
	}
	return text.String() + code.Text[done:]
}

// emptyFunction returns the text of a function of the type with an empty body; "" if typ is no function type.
func emptyFunction(typ string) string {
	e, err := parser.ParseExpr(typ)
	f, ok := e.(*ast.FuncType)
	if err != nil || !ok || f.TypeParams != nil {
		return ""
	}
	if f.Results == nil {
		return types.ExprString(f) + " { }"
	}
	for _, r := range f.Results.List {
		if len(r.Names) == 0 {
			r.Names = []*ast.Ident{ast.NewIdent("_")}
		}
	}
	return types.ExprString(f) + " { return }"
}
