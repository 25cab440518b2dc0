package notation

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// index makes a call of x[i], or of x[i, j] where Go reads that as an instantiation.
func (c *Calls) index(n, x ast.Expr, lbrack token.Pos, list ...ast.Expr) ast.Expr {
	if !c.isTensor(x) {
		return nil
	}
	parts := make([]ast.Expr, len(list))
	numbers := true
	for i, e := range list {
		parts[i], _ = c.fit(at(e))
		numbers = numbers && c.isInteger(e)
	}
	method := "Index"
	if numbers {
		method = "At"
		for i, p := range parts {
			parts[i] = p.(*ast.CallExpr).Args[0]
		}
	}
	call := c.call(x, method, lbrack, n, parts...)
	c.made[call].index = true
	return call
}

// slice makes a call of x[i:j] and x[i:j:k].
func (c *Calls) slice(n *ast.SliceExpr) ast.Expr {
	if !c.isTensor(n.X) {
		return nil
	}
	part, _ := c.fit(span([3]ast.Expr{n.Low, n.High, n.Max}, n.Lbrack))
	call := c.call(n.X, "Index", n.Lbrack, n, part)
	c.made[call].index = true
	return call
}

// fit gives a Part the form that the types of its arguments ask for, once they are known: an index that is a
// tensor or a list of integers or booleans is a Pick, nil is NewAxis, and other integers are converted to
// int.
func (c *Calls) fit(p ast.Expr) (fitting ast.Expr, changed bool) {
	call, ok := p.(*ast.CallExpr)
	if !ok || !inTensor(call.Fun) {
		return p, false
	}
	sel := call.Fun.(*ast.SelectorExpr)
	switch sel.Sel.Name {
	case "At", "Span", "SpanStep":
	default:
		return p, false
	}
	for i, x := range call.Args {
		tv, pos := c.info.Types[ast.Unparen(x)], x.Pos()
		b, basic := types.Type(nil), false
		if tv.Type != nil {
			b, basic = tv.Type.Underlying(), true
		}
		switch {
		case sel.Sel.Name == "At" && c.isTensor(x):
			return part1("Pick", x), true
		case sel.Sel.Name == "At" && tv.IsNil():
			return inPackage("NewAxis", pos), true
		case sel.Sel.Name == "At" && basic && picks(b):
			return part1("Pick", part1("From", x)), true
		case basic && tv.IsValue():
			if b, ok := b.(*types.Basic); ok && b.Info()&types.IsInteger != 0 && b.Info()&types.IsUntyped == 0 && !types.Identical(tv.Type, types.Typ[types.Int]) && !isInt(x) {
				call.Args[i] = &ast.CallExpr{Fun: id("int", pos), Lparen: pos, Args: []ast.Expr{x}, Rparen: x.End() - 1}
				changed = true
			}
		}
	}
	return p, changed
}

// isInt says whether an expression is int(…), whatever a cell means by that.
func isInt(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.Ident)
	return ok && f.Name == "int"
}

// picks says whether tensor.From makes indices or a mask of values of a type: of integers or booleans in
// slices.
func picks(t types.Type) bool {
	s, ok := t.(*types.Slice)
	if !ok {
		return false
	}
	switch e := s.Elem().(type) {
	case *types.Slice:
		return picks(e)
	case *types.Basic:
		return e.Kind() == types.Bool || e.Kind() == types.Int || e.Kind() == types.Int32 || e.Kind() == types.Int64
	}
	return false
}

// indexCall looks at an index again that is a call already: one that [ParseFile] has made, or one whose parts
// were of unknown types.
func (c *Calls) indexCall(n *ast.CallExpr) {
	sel, ok := indexSelector(n)
	if !ok || c.made[n] == nil && !marked(n) {
		return
	}
	numbers := sel.Sel.Name == "Index"
	for i, p := range n.Args {
		changed := false
		if n.Args[i], changed = c.fit(p); changed {
			c.change = true
		}
		part, ok := n.Args[i].(*ast.CallExpr)
		numbers = numbers && ok && inTensor(part.Fun) && part.Fun.(*ast.SelectorExpr).Sel.Name == "At" && c.isInteger(part.Args[0])
	}
	if c.made[n] == nil && c.isTensor(sel.X) {
		text, change := bracketed(n), c.change
		sel.X = c.operand(sel.X)
		m := c.note(n, n)
		m.typed, m.index = text, true
		c.change = change // the call was there
	}
	if numbers && c.made[n] != nil {
		sel.Sel.Name = "At"
		for i, p := range n.Args {
			n.Args[i] = p.(*ast.CallExpr).Args[0]
		}
		c.change = true
	}
}

// indexSelector returns what a call of Index, At or SetIndex calls.
func indexSelector(n *ast.CallExpr) (*ast.SelectorExpr, bool) {
	sel, ok := n.Fun.(*ast.SelectorExpr)
	return sel, ok && (sel.Sel.Name == "Index" || sel.Sel.Name == "At" || sel.Sel.Name == "SetIndex")
}

// Indexed returns what an index of several axes that [ParseFile] has made a call is an index of, or nil.
func Indexed(n *ast.CallExpr) ast.Expr {
	if sel, ok := indexSelector(n); ok && marked(n) {
		return sel.X
	}
	return nil
}

// marked says whether a call was made here: its arguments have the name that only this package uses.
func marked(n *ast.CallExpr) bool {
	return slices.ContainsFunc(n.Args, func(p ast.Expr) bool {
		call, ok := p.(*ast.CallExpr)
		return ok && inTensor(call.Fun) || inTensor(p)
	})
}

// bracketed writes a call of Index as it was typed.
func bracketed(n *ast.CallExpr) string {
	parts := make([]string, len(n.Args))
	for i, p := range n.Args {
		call, ok := p.(*ast.CallExpr)
		switch {
		case !ok && inTensor(p):
			parts[i] = map[string]string{"All": ":", "Rest": "...", "NewAxis": "nil"}[p.(*ast.SelectorExpr).Sel.Name]
		case !ok || !inTensor(call.Fun):
			parts[i] = types.ExprString(p)
		default:
			var bounds []string
			for _, x := range call.Args {
				if inTensor(x) { // Open
					bounds = append(bounds, "")
				} else {
					bounds = append(bounds, types.ExprString(x))
				}
			}
			parts[i] = strings.Join(bounds, ":")
		}
	}
	return types.ExprString(n.Fun.(*ast.SelectorExpr).X) + "[" + strings.Join(parts, ", ") + "]"
}
