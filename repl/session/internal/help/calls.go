package help

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
)

// constructor explains nn.Linear(3, 4), where Linear is a type and NewLinear makes one, and nn.ReLU(x), which
// makes a layer.
func (a *advisor) constructor(msg string, m []string) (string, string) {
	if goLine := a.inGo(); goLine != "" {
		return msg, goLine
	}
	o, _ := a.c.Pkg.Scope().Lookup(m[1]).(*types.PkgName)
	if o == nil || o.Imported().Scope().Lookup("New"+m[2]) == nil {
		return msg, ""
	}
	return msg, fmt.Sprintf("did you mean %s.New%s?", m[1], m[2])
}

// parameters names the parameters of what is called with too few or too many arguments.
func (a *advisor) parameters(msg string, m []string) (string, string) {
	call := a.callAround()
	if goLine := a.inGo(); goLine != "" || call == nil {
		return msg, goLine
	}
	sig, _ := a.c.Info.TypeOf(call.Fun).(*types.Signature)
	if sig == nil || sig.TypeParams() != nil || sig.Params().Len() == 0 || sig.Params().At(0).Name() == "" {
		return msg, ""
	}
	return strings.TrimSuffix(msg, m[1]) + parameters(types.NewSignatureType(nil, nil, nil, sig.Params(), nil, sig.Variadic())), ""
}

// calledField is about a field that is called as if it were a method: one that sets it has a longer name, or
// a shorter one.
func (a *advisor) calledField(msg string, m []string) (string, string) {
	operand, field := m[1], m[2]
	say := fmt.Sprintf("%s is a field: write %s.%[1]s", field, operand)
	for _, n := range a.path() {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			continue
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != field {
			continue
		}
		for _, o := range python.Members(a.c.Info.TypeOf(sel.X)) {
			f, ok := o.(*types.Func)
			if ok && f.Signature().Params().Len() > 0 && (strings.HasPrefix(f.Name(), field) || strings.HasPrefix(field, f.Name())) {
				return msg, field + " is a field: did you mean " + f.Name() + detail(f) + "?"
			}
		}
		if token.IsIdentifier(operand) && len(call.Args) == 1 {
			say += " = " + types.ExprString(call.Args[0])
		}
		break
	}
	return msg, say
}

// element explains an element that cannot be assigned to.
func (a *advisor) element(msg string, m []string) (string, string) {
	for _, n := range a.path() {
		if call, ok := n.(*ast.CallExpr); ok && family(a.c.Info.Types[call].Type) == "tensor" {
			if goLine := a.inGo(); goLine != "" {
				return msg, goLine
			}
			return msg, "a statement writes one part of a tensor: x[0] = …"
		}
	}
	return msg, fmt.Sprintf("strings do not change: write b := []byte(%s); b[%s] = '…'; %[1]s = string(b)", m[1], m[2])
}

// spread is about a list of values for a parameter that takes several: f(xs...).
func (a *advisor) spread(msg string, m []string) (string, string) {
	call := a.callAround()
	if call == nil || m[2] != m[3] {
		return msg, ""
	}
	sig, _ := a.c.Info.TypeOf(call.Fun).(*types.Signature)
	if sig == nil || !sig.Variadic() || len(call.Args) != sig.Params().Len() || call.Args[len(call.Args)-1].Pos() > a.pos {
		return msg, ""
	}
	return msg, "three dots take it apart: " + m[1] + "..."
}

// callAround returns the innermost call around the complaint.
func (a *advisor) callAround() *ast.CallExpr {
	for _, n := range a.path() {
		if call, ok := n.(*ast.CallExpr); ok && !(call.Lparen < a.pos && call.Rparen < a.pos) && call.Lparen < a.pos {
			return call
		}
	}
	return nil
}
