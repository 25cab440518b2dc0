package notation

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/astutil"
)

// assign makes an assignment to a whole variable of one to a part of a tensor, x[0] = y, and of one with an
// operator, x += y. Only one place may stand on the left, and what is evaluated twice may call nothing but in
// the parts.
func (c *Calls) assign(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE || len(n.Lhs) != 1 || len(n.Rhs) != 1 {
		c.define(n)
		return
	}
	place, value := n.Lhs[0], n.Rhs[0]
	op, operates := assigning[n.Tok]
	if n.Tok != token.ASSIGN && !operates || !c.isTensor(place) || operates && !c.goesWith(value, op) || !c.isTensor(value) && !c.isNumber(value) {
		return
	}
	base, parts, isPart := c.partOf(place)
	twice := place // what is evaluated twice
	if !operates {
		twice = base
	}
	if twice == nil {
		return
	}
	text := types.ExprString(place) + " " + n.Tok.String() + " " + types.ExprString(value)
	var once ast.FieldList
	var acting []ast.Expr
	if whole := c.whole(place); c.acts(whole) {
		return
	} else if c.acts(twice) {
		c.once(place, &once, &acting)
		base, parts, isPart = c.partOf(place)
		twice = place
	}
	if _, ok := c.copy(twice); !ok {
		return
	}
	from, to := n.Pos(), n.End()
	keep := func(x ast.Expr, method string, args ...ast.Expr) ast.Expr {
		call := &ast.CallExpr{Fun: &ast.SelectorExpr{X: x, Sel: id(method, n.TokPos)}, Lparen: n.TokPos, Args: args, Rparen: to - 1}
		m := c.note(call, call)
		m.typed, m.from, m.to = text, from, to
		return call
	}
	again := func(x ast.Expr) ast.Expr {
		x, _ = c.copy(x)
		return x
	}
	if operates {
		value = keep(again(place), methods[op], c.bare(value))
	}
	for first := !operates; isPart; first = false {
		for i := range parts {
			if !first {
				parts[i] = again(parts[i])
			}
		}
		value = keep(again(base), "SetIndex", append([]ast.Expr{c.bare(value)}, parts...)...)
		place = base
		base, parts, isPart = c.partOf(base)
	}
	if len(acting) > 0 {
		once.Opening, once.Closing = n.TokPos, n.TokPos
		f := &ast.FuncType{Func: n.TokPos, Params: &once, Results: &ast.FieldList{List: []*ast.Field{{Type: inPackage("Tensor", n.TokPos)}}}}
		body := &ast.BlockStmt{Lbrace: n.TokPos, List: []ast.Stmt{&ast.ReturnStmt{Return: n.TokPos, Results: []ast.Expr{value}}}, Rbrace: to - 1}
		value = &ast.CallExpr{Fun: &ast.FuncLit{Type: f, Body: body}, Lparen: n.TokPos, Args: acting, Rparen: to - 1}
	}
	n.Lhs[0], n.Tok, n.Rhs[0] = place, token.ASSIGN, value
	c.stmts = append(c.stmts, written{n, from, to})
}

// whole is the variable that a place is a part of, x of x[0][1].
func (c *Calls) whole(place ast.Expr) ast.Expr {
	for {
		base, _, ok := c.partOf(place)
		if !ok {
			return place
		}
		place = base
	}
}

// once makes parameters of what acts in the parts of a place, x[f()], for a function around the assignment:
// it is evaluated once, and before the value.
func (c *Calls) once(place ast.Expr, params *ast.FieldList, acting *[]ast.Expr) {
	base, parts, ok := c.partOf(place)
	if !ok {
		return
	}
	c.once(base, params, acting)
	call := ast.Unparen(place).(*ast.CallExpr)
	for i, p := range parts {
		if c.acts(p) {
			name := fmt.Sprint("__part", len(*acting))
			*acting = append(*acting, p)
			params.List = append(params.List, &ast.Field{Names: []*ast.Ident{id(name, p.Pos())}, Type: inPackage("Part", p.Pos())})
			parts[i] = id(name, p.Pos())
		}
	}
	call.Args = parts
	call.Fun.(*ast.SelectorExpr).Sel.Name = "Index"
}

// define notes the variables that will be tensors.
func (c *Calls) define(n *ast.AssignStmt) {
	if n.Tok != token.DEFINE || len(n.Lhs) != len(n.Rhs) {
		return
	}
	for i, l := range n.Lhs {
		if name, ok := l.(*ast.Ident); ok && c.info.Defs[name] != nil && c.isTensor(n.Rhs[i]) {
			c.vars[c.info.Defs[name]] = true
		}
	}
}

// step makes an assignment of x++ and x--.
func (c *Calls) step(n *ast.IncDecStmt) ast.Stmt {
	if !c.isTensor(n.X) {
		return nil
	}
	one := &ast.BasicLit{Kind: token.INT, Value: "1", ValuePos: n.TokPos + 1}
	s := &ast.AssignStmt{Lhs: []ast.Expr{n.X}, TokPos: n.TokPos, Tok: token.ADD_ASSIGN, Rhs: []ast.Expr{one}}
	if n.Tok == token.DEC {
		s.Tok = token.SUB_ASSIGN
	}
	if c.assign(s); s.Tok != token.ASSIGN {
		return nil
	}
	return s
}

// partOf returns the tensor and the parts of an index that was made a call.
func (c *Calls) partOf(place ast.Expr) (base ast.Expr, parts []ast.Expr, ok bool) {
	call, ok := ast.Unparen(place).(*ast.CallExpr)
	if !ok || c.made[call] == nil {
		return nil, nil, false
	}
	sel, ok := indexSelector(call)
	if !ok || sel.Sel.Name == "SetIndex" {
		return nil, nil, false
	}
	parts = slices.Clone(call.Args)
	if sel.Sel.Name == "At" {
		for i, x := range parts {
			parts[i] = at(x)
		}
	}
	return sel.X, parts, true
}

// copy copies an expression whose evaluation does nothing but give its value.
func (c *Calls) copy(e ast.Expr) (ast.Expr, bool) {
	ok := !c.acts(e)
	var copied func(e ast.Expr) ast.Expr
	list := func(from []ast.Expr) (to []ast.Expr) {
		for _, e := range from {
			to = append(to, copied(e))
		}
		return to
	}
	copied = func(e ast.Expr) ast.Expr {
		switch e := e.(type) {
		case nil:
			return nil
		case *ast.Ident:
			x := *e
			return &x
		case *ast.BasicLit:
			x := *e
			c.info.Types[&x] = c.info.Types[e]
			return &x
		case *ast.SelectorExpr:
			return &ast.SelectorExpr{X: copied(e.X), Sel: copied(e.Sel).(*ast.Ident)}
		case *ast.StarExpr:
			return &ast.StarExpr{Star: e.Star, X: copied(e.X)}
		case *ast.ParenExpr:
			return &ast.ParenExpr{Lparen: e.Lparen, X: copied(e.X), Rparen: e.Rparen}
		case *ast.UnaryExpr:
			return &ast.UnaryExpr{OpPos: e.OpPos, Op: e.Op, X: copied(e.X)}
		case *ast.BinaryExpr:
			return &ast.BinaryExpr{X: copied(e.X), OpPos: e.OpPos, Op: e.Op, Y: copied(e.Y)}
		case *ast.IndexExpr:
			return &ast.IndexExpr{X: copied(e.X), Lbrack: e.Lbrack, Index: copied(e.Index), Rbrack: e.Rbrack}
		case *ast.ArrayType:
			return &ast.ArrayType{Lbrack: e.Lbrack, Len: copied(e.Len), Elt: copied(e.Elt)}
		case *ast.CompositeLit: // of indices
			return &ast.CompositeLit{Type: copied(e.Type), Lbrace: e.Lbrace, Elts: list(e.Elts), Rbrace: e.Rbrace}
		case *ast.CallExpr:
			x := &ast.CallExpr{Fun: copied(e.Fun), Lparen: e.Lparen, Args: list(e.Args), Rparen: e.Rparen}
			if m := c.made[e]; m != nil {
				c.made[x] = m
			}
			return x
		}
		ok = false
		return e
	}
	x := copied(e)
	return x, ok
}

// written is an assignment that was made of another statement.
type written struct {
	stmt     ast.Stmt
	from, to token.Pos
}

// An Edit replaces the text of code by the calls that were made of it.
type Edit struct {
	From, To token.Pos
	Text     string
}

// Edits are the changes of the text that write the calls: name is what the text calls package tensor.
func (c *Calls) Edits(files []*ast.File, name string) ([]Edit, error) {
	for _, f := range files {
		astutil.Apply(f, nil, func(cur *astutil.Cursor) bool {
			switch x := cur.Node().(type) {
			case *ast.Ident:
				if x.Name == Tensor {
					x.Name = name
				}
			case *ast.ParenExpr:
				if _, call := x.X.(*ast.CallExpr); call && c.made[x] != nil {
					cur.Replace(x.X)
				}
			}
			return true
		})
	}
	type piece struct {
		node     ast.Node
		from, to token.Pos
	}
	var list []piece
	for _, s := range c.stmts {
		list = append(list, piece{s.stmt, s.from, s.to})
	}
	for _, m := range slices.Backward(c.order) {
		call := m.call
		if p, ok := call.(*ast.ParenExpr); ok {
			call = p.X
		}
		list = append(list, piece{call, m.from, m.to})
	}
	slices.SortStableFunc(list, func(a, b piece) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var edits []Edit
	end := token.NoPos
	for _, p := range list {
		if p.from < end { // within another one
			continue
		}
		var b bytes.Buffer
		if err := printer.Fprint(&b, token.NewFileSet(), p.node); err != nil {
			return nil, err
		}
		edits = append(edits, Edit{p.from, p.to, b.String()})
		end = p.to
	}
	return edits, nil
}
