package help

import (
	"go/ast"
	"go/token"
	"go/types"
)

// expectAt finds the type wanted at node i of the path, which is the cursor's name or contains it.
func (c *candidates) expectAt(i int) {
	x := c.path[i]
	for i > 0 {
		parent := c.path[i-1]
		if p, ok := parent.(*ast.ParenExpr); ok {
			x, i = p, i-1
			continue
		}
		if s, ok := parent.(*ast.StarExpr); ok && c.typePosition(s, i-1) {
			c.typing = true
			return
		}
		if c.typePosition(x, i) {
			c.typing = true
			return
		}
		c.want = c.wanted(parent, x, i-1)
		return
	}
}

// typePosition says whether node i of the path, x, stands in the place of a type.
func (c *candidates) typePosition(x ast.Node, i int) bool {
	if i == 0 {
		return false
	}
	switch p := c.path[i-1].(type) {
	case *ast.Field:
		return p.Type == x
	case *ast.ArrayType:
		return p.Elt == x
	case *ast.MapType, *ast.ChanType, *ast.Ellipsis:
		return true
	case *ast.ValueSpec:
		return p.Type == x
	case *ast.TypeSpec:
		return p.Type == x
	case *ast.TypeAssertExpr:
		return p.Type == x
	case *ast.CompositeLit:
		return p.Type == x
	case *ast.CallExpr:
		if o, ok := c.place.object(p.Fun).(*types.Builtin); ok && len(p.Args) > 0 && p.Args[0] == x {
			return o.Name() == "make" || o.Name() == "new"
		}
	case *ast.IndexExpr:
		return p.Index == x && c.generic(p.X)
	case *ast.IndexListExpr:
		return p.X != x
	case *ast.CaseClause:
		return i >= 3 && isTypeSwitch(c.path[i-3])
	}
	return false
}

func isTypeSwitch(n ast.Node) bool {
	_, ok := n.(*ast.TypeSwitchStmt)
	return ok
}

// generic says whether an expression names a generic function or type.
func (c *candidates) generic(x ast.Expr) bool {
	switch o := c.place.object(x).(type) {
	case *types.Func:
		return o.Signature().TypeParams().Len() > 0
	case *types.TypeName:
		n, ok := o.Type().(*types.Named)
		return ok && n.TypeParams().Len() > 0
	}
	return false
}

// wanted returns the type that parent, node i of the path, wants of its part x, or nil if any type will
// do.
func (c *candidates) wanted(parent, x ast.Node, i int) types.Type {
	switch p := parent.(type) {
	case *ast.CallExpr:
		return c.argument(p, x)
	case *ast.KeyValueExpr:
		return c.element(p, x, i)
	case *ast.CompositeLit:
		return c.element(nil, x, i+1)
	case *ast.AssignStmt:
		return c.assigned(p, x)
	case *ast.ValueSpec:
		if p.Type != nil {
			return c.typeOf(p.Type)
		}
	case *ast.BinaryExpr:
		return c.operand(p, x)
	case *ast.UnaryExpr:
		return c.unary(p, i)
	case *ast.ReturnStmt:
		return c.result(p, x, i)
	case *ast.CaseClause:
		return c.tag(i)
	case *ast.IfStmt, *ast.ForStmt:
		return types.Typ[types.Bool]
	case *ast.SendStmt:
		if p.Value == x {
			if ch, ok := underlying(c.typeOf(p.Chan)).(*types.Chan); ok {
				return ch.Elem()
			}
		}
	case *ast.IndexExpr:
		if p.Index == x {
			if m, ok := underlying(c.typeOf(p.X)).(*types.Map); ok {
				return m.Key()
			}
			return types.Typ[types.Int]
		}
	case *ast.SliceExpr:
		if p.X != x {
			return types.Typ[types.Int]
		}
	}
	return nil
}

func (c *candidates) typeOf(x ast.Expr) types.Type {
	if t := c.Info.Types[x].Type; known(t) {
		return t
	}
	if id, ok := x.(*ast.Ident); ok {
		if o := c.Info.Uses[id]; o != nil && known(o.Type()) {
			return o.Type()
		}
	}
	return nil
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.Underlying()
}

// argument returns the type of the parameter for an argument of a call.
func (c *candidates) argument(call *ast.CallExpr, x ast.Node) types.Type {
	at := -1
	for i, a := range call.Args {
		if a == x {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	if b, ok := c.place.object(call.Fun).(*types.Builtin); ok {
		if t := c.typeOf(call.Args[0]); t != nil && at > 0 {
			switch u := t.Underlying().(type) {
			case *types.Slice:
				if b.Name() == "append" {
					return u.Elem()
				}
				if b.Name() == "copy" {
					return t
				}
			case *types.Map:
				if b.Name() == "delete" {
					return u.Key()
				}
			case *types.Basic:
				return t
			}
		}
		return nil
	}
	t := c.typeOf(call.Fun)
	if t == nil || c.Info.Types[call.Fun].IsType() {
		return nil
	}
	sig, ok := coreSignature(t)
	if !ok {
		return nil
	}
	p, variadic := parameterAt(sig, at)
	if p == nil || !variadic && isTypeParam(p.Type()) {
		return nil
	}
	if u, ok := p.Type().Underlying().(*types.Slice); ok && variadic {
		return u.Elem()
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

func isTypeParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

// element returns the type of a value in a composite literal, or of a key of a map. I is the index of the
// element in the path.
func (c *candidates) element(kv *ast.KeyValueExpr, x ast.Node, i int) types.Type {
	lit, ok := c.path[i-1].(*ast.CompositeLit)
	if !ok {
		return nil
	}
	switch u := underlying(c.typeOf(lit)).(type) {
	case *types.Struct:
		at := -1
		if kv != nil {
			if id, ok := kv.Key.(*ast.Ident); ok && kv.Value == x {
				at = fieldIndex(u, id.Name)
			}
		} else {
			at = c.Inner().Commas
		}
		if at >= 0 && at < u.NumFields() {
			return u.Field(at).Type()
		}
	case *types.Slice:
		return u.Elem()
	case *types.Array:
		return u.Elem()
	case *types.Map:
		if kv == nil || kv.Key == x {
			return u.Key()
		}
		return u.Elem()
	}
	return nil
}

func (c *candidates) assigned(p *ast.AssignStmt, x ast.Node) types.Type {
	if p.Tok == token.DEFINE || len(p.Lhs) != len(p.Rhs) {
		return nil
	}
	for i, r := range p.Rhs {
		if r == x {
			return c.typeOf(p.Lhs[i])
		}
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
	t := c.typeOf(other)
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		return types.Default(t)
	}
	return t
}

func (c *candidates) unary(p *ast.UnaryExpr, i int) types.Type {
	switch p.Op {
	case token.NOT:
		return types.Typ[types.Bool]
	case token.AND:
		if i > 0 {
			if ptr, ok := c.wantedType(i).(*types.Pointer); ok {
				return ptr.Elem()
			}
		}
	case token.SUB, token.ADD:
		return c.wantedType(i)
	}
	return nil
}

// wantedType returns the type that is wanted of node i of the path.
func (c *candidates) wantedType(i int) types.Type {
	if i == 0 {
		return nil
	}
	return c.wanted(c.path[i-1], c.path[i], i-1)
}

// result returns the type of a result of the function around a return statement.
func (c *candidates) result(p *ast.ReturnStmt, x ast.Node, i int) types.Type {
	at := 0
	for k, r := range p.Results {
		if r == x {
			at = k
		}
	}
	for ; i >= 0; i-- {
		var sig *types.Signature
		switch f := c.path[i].(type) {
		case *ast.FuncLit:
			sig, _ = c.typeOf(f).(*types.Signature)
		case *ast.FuncDecl:
			if o := c.Info.Defs[f.Name]; o != nil {
				sig, _ = o.Type().(*types.Signature)
			}
		default:
			continue
		}
		if sig != nil && at < sig.Results().Len() {
			return sig.Results().At(at).Type()
		}
		return nil
	}
	return nil
}

// tag returns the type of the value that a switch compares; path[i] is the clause.
func (c *candidates) tag(i int) types.Type {
	if i < 2 {
		return nil
	}
	s, ok := c.path[i-2].(*ast.SwitchStmt)
	if !ok {
		return nil
	}
	if s.Tag == nil {
		return types.Typ[types.Bool]
	}
	return c.typeOf(s.Tag)
}
