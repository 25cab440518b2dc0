package help

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// expectAt finds the type wanted at node i of the path, which is the cursor's name or contains it.
func (c *candidates) expectAt(i int) {
	for ; i > 0; i-- {
		if c.typing = c.typePosition(i); c.typing {
			return
		}
		switch p := c.path[i-1].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.StarExpr:
			c.typing = c.typePosition(i - 1)
		default:
			c.want = c.wanted(p, c.path[i], i-1)
		}
		return
	}
}

// typePosition says whether node i of the path stands in the place of a type.
func (c *candidates) typePosition(i int) bool {
	if i == 0 {
		return false
	}
	x := c.path[i]
	switch p := c.path[i-1].(type) {
	case *ast.Field, *ast.ValueSpec, *ast.TypeSpec, *ast.TypeAssertExpr, *ast.CompositeLit:
		return reflect.ValueOf(p).Elem().FieldByName("Type").Interface() == any(x)
	case *ast.ArrayType:
		return p.Elt == x
	case *ast.MapType, *ast.ChanType, *ast.Ellipsis:
		return true
	case *ast.CallExpr:
		o, ok := c.place.object(p.Fun).(*types.Builtin)
		return ok && len(p.Args) > 0 && p.Args[0] == x && (o.Name() == "make" || o.Name() == "new")
	case *ast.IndexExpr:
		return p.Index == x && typeParamsOf(c.place.object(p.X)) != nil
	case *ast.IndexListExpr:
		return p.X != x
	case *ast.CaseClause:
		_, ok := c.path[i-3].(*ast.TypeSwitchStmt)
		return ok
	}
	return false
}

// typeParamsOf returns the parameters of a generic function or type, or nil.
func typeParamsOf(o types.Object) *types.TypeParamList {
	switch o := o.(type) {
	case *types.Func:
		return o.Signature().TypeParams()
	case *types.TypeName:
		if t, ok := o.Type().(interface{ TypeParams() *types.TypeParamList }); ok {
			return t.TypeParams()
		}
	}
	return nil
}

// wanted returns the type that parent, node i of the path, wants of its part x, or nil if any type will
// do.
func (c *candidates) wanted(parent, x ast.Node, i int) types.Type {
	switch p := parent.(type) {
	case *ast.CallExpr:
		return c.argument(p, x)
	case *ast.KeyValueExpr:
		if lit, ok := c.path[i-1].(*ast.CompositeLit); ok {
			return c.element(lit, p, x)
		}
	case *ast.CompositeLit:
		return c.element(p, nil, x)
	case *ast.AssignStmt:
		if at := indexOf(p.Rhs, x); p.Tok != token.DEFINE && len(p.Lhs) == len(p.Rhs) && at >= 0 {
			return c.typeOf(p.Lhs[at])
		}
	case *ast.ValueSpec:
		if p.Type != nil {
			return c.typeOf(p.Type)
		}
	case *ast.BinaryExpr:
		return c.operand(p, x)
	case *ast.UnaryExpr:
		return c.unary(p, i)
	case *ast.ReturnStmt:
		return c.result(max(indexOf(p.Results, x), 0), i)
	case *ast.CaseClause:
		s, ok := c.path[i-2].(*ast.SwitchStmt)
		if ok && s.Tag != nil {
			return c.typeOf(s.Tag)
		}
		if ok {
			return types.Typ[types.Bool]
		}
	case *ast.IfStmt, *ast.ForStmt:
		return types.Typ[types.Bool]
	case *ast.SendStmt:
		if ch, ok := underlying(c.typeOf(p.Chan)).(*types.Chan); ok && p.Value == x {
			return ch.Elem()
		}
	case *ast.IndexExpr:
		if m, ok := underlying(c.typeOf(p.X)).(*types.Map); ok && p.Index == x {
			return m.Key()
		}
		if p.Index == x {
			return types.Typ[types.Int]
		}
	case *ast.SliceExpr:
		if p.X != x {
			return types.Typ[types.Int]
		}
	}
	return nil
}

// indexOf returns the place of an expression in a list, or -1.
func indexOf(list []ast.Expr, x ast.Node) int {
	return slices.IndexFunc(list, func(e ast.Expr) bool { return e == x })
}

func (c *candidates) typeOf(x ast.Expr) types.Type {
	if t := c.Info.TypeOf(x); known(t) {
		return t
	}
	return nil
}

// underlying returns the underlying type of a type, or of what a pointer points to; that of nil is nil.
func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return walk.Deref(t).Underlying()
}

// compiled says whether an object belongs to a package, and not to cells.
func compiled(o types.Object) bool { return o.Pkg() != nil && o.Pkg().Path() != world.PkgPath }

// argument returns the type of the parameter for an argument of a call.
func (c *candidates) argument(call *ast.CallExpr, x ast.Node) types.Type {
	at := indexOf(call.Args, x)
	if at < 0 {
		return nil
	}
	if b, ok := c.place.object(call.Fun).(*types.Builtin); ok {
		t := c.typeOf(call.Args[0])
		if at == 0 || t == nil {
			return nil
		}
		switch u := t.Underlying().(type) {
		case *types.Slice:
			if b.Name() == "append" {
				return u.Elem()
			}
		case *types.Map:
			return u.Key()
		}
		return t
	}
	sig, ok := underlying(c.typeOf(call.Fun)).(*types.Signature)
	if !ok || c.Info.Types[call.Fun].IsType() {
		return nil
	}
	p, variadic := parameterAt(sig, at)
	if p == nil {
		return nil
	}
	if u, ok := p.Type().Underlying().(*types.Slice); ok && variadic {
		return u.Elem()
	}
	if _, ok := types.Unalias(p.Type()).(*types.TypeParam); ok {
		return nil
	}
	return p.Type()
}

// parameterAt returns the parameter of argument i, and whether it is the last of a variadic function.
func parameterAt(sig *types.Signature, i int) (p *types.Var, variadic bool) {
	last := sig.Params().Len() - 1
	if variadic = sig.Variadic() && i >= last; variadic {
		i = last
	}
	if i < 0 || i > last {
		return nil, false
	}
	return sig.Params().At(i), variadic
}

// element returns the type of a value in a composite literal, or of a key of a map.
func (c *candidates) element(lit *ast.CompositeLit, kv *ast.KeyValueExpr, x ast.Node) types.Type {
	switch u := underlying(c.typeOf(lit)).(type) {
	case *types.Struct:
		at := c.Inner().Commas
		if kv != nil {
			id, _ := kv.Key.(*ast.Ident)
			if at = -1; id != nil && kv.Value == x {
				at = fieldIndex(u, id.Name)
			}
		}
		if at >= 0 && at < u.NumFields() {
			return u.Field(at).Type()
		}
	case *types.Map:
		if kv == nil || kv.Key == x {
			return u.Key()
		}
		return u.Elem()
	case interface{ Elem() types.Type }:
		return u.Elem()
	}
	return nil
}

// operand returns the type of the other operand.
func (c *candidates) operand(p *ast.BinaryExpr, x ast.Node) types.Type {
	switch p.Op {
	case token.LAND, token.LOR:
		return types.Typ[types.Bool]
	case token.SHL, token.SHR:
		return nil
	}
	other := p.X
	if p.X == x {
		other = p.Y
	}
	if t := c.typeOf(other); t != nil {
		return types.Default(t)
	}
	return nil
}

func (c *candidates) unary(p *ast.UnaryExpr, i int) types.Type {
	if p.Op == token.NOT {
		return types.Typ[types.Bool]
	}
	want := c.wanted(c.path[i-1], p, i-1)
	switch p.Op {
	case token.AND:
		if ptr, ok := want.(*types.Pointer); ok {
			return ptr.Elem()
		}
	case token.SUB, token.ADD:
		return want
	}
	return nil
}

// result returns the type of a result of the function around node i.
func (c *candidates) result(at, i int) types.Type {
	for ; i >= 0; i-- {
		var sig *types.Signature
		switch f := c.path[i].(type) {
		case *ast.FuncLit:
			sig, _ = c.typeOf(f).(*types.Signature)
		case *ast.FuncDecl:
			sig, _ = c.typeOf(f.Name).(*types.Signature)
		default:
			continue
		}
		if sig != nil && at < sig.Results().Len() {
			return sig.Results().At(at).Type()
		}
		break
	}
	return nil
}
