package lower

import (
	"go/ast"
	"go/token"
	"go/types"
)

// guarded is the function of the receiver and the arguments that stands for a method of a compiled type that would end
// the process. The tables of package stdlib have it.
func guarded(m *types.Func) (name string, ok bool) {
	if m.Pkg() == nil || m.Pkg().Path() != "log" && m.Pkg().Path() != "flag" {
		return "", false
	}
	switch m.FullName() {
	case "(*log.Logger).Fatal", "(*log.Logger).Fatalf", "(*log.Logger).Fatalln":
		return "Logger_" + m.Name(), true
	case "(*flag.FlagSet).Parse":
		return "FlagSet_Parse", true
	}
	return "", false
}

// refuseEnd refuses a conversion to an interface through which a guarded method could be called.
func (l *Lowerer) refuseEnd(pos token.Pos, from, to types.Type) {
	if from == nil || to == nil || !types.IsInterface(to) || types.IsInterface(from) || !hasMethods(to) {
		return
	}
	for m := range to.Underlying().(*types.Interface).Methods() {
		o, _, _ := types.LookupFieldOrMethod(from, true, m.Pkg(), m.Name())
		f, ok := o.(*types.Func)
		if !ok {
			continue
		}
		if _, ok := guarded(f); ok {
			l.refuse(pos, "%s would end the process: it cannot be called through an interface in cells", f.FullName())
		}
	}
}

// callbacks are the functions that call one of their arguments in a goroutine of their own, with its index: a panic
// there would end the process.
var callbacks = map[string]int{"time.AfterFunc": 1, "context.AfterFunc": 1, "(*sync.WaitGroup).Go": 0}

// guardedCall writes x.Fatal(…).
func (l *Lowerer) guardedCall(e *ast.CallExpr, f *ast.SelectorExpr) ast.Expr {
	sel := l.info.Selections[f]
	if sel == nil || sel.Kind() != types.MethodVal {
		return nil
	}
	args, spread := l.arguments(e, sel.Type().(*types.Signature))
	call := l.invoke(l.expr(f.X), l.typeOf(f.X), sel, args...)
	if spread || e.Ellipsis.IsValid() {
		call.Ellipsis = e.Rparen
	}
	return call
}

// contained writes a call whose i-th argument is called in another goroutine: a panic in it is reported like that of
// a goroutine of the cell.
func (l *Lowerer) contained(e *ast.CallExpr, i int) ast.Expr {
	args, _ := l.arguments(e, l.typeOf(e.Fun).Underlying().(*types.Signature))
	mark := l.env.Mark(Mark{Pos: e.Pos(), End: e.End(), Func: l.fn.name})
	args[i] = l.rt("Contain", l.int(mark), args[i])
	return &ast.CallExpr{Fun: l.callee(e.Fun), Lparen: e.Lparen, Args: args, Rparen: e.Rparen}
}
