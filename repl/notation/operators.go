package notation

import (
	"go/ast"
	"go/token"
	"go/types"
)

// methods are the operators as methods of the left operand.
var methods = map[token.Token]string{
	token.ADD: "Add", token.SUB: "Sub", token.MUL: "Mul", token.QUO: "Div", token.REM: "Mod",
	token.AND: "And", token.OR: "Or", token.XOR: "Xor", token.SHL: "Shl", token.SHR: "Shr",
	token.LSS: "Lt", token.LEQ: "Le", token.GTR: "Gt", token.GEQ: "Ge",
}

// mirrored are the methods of a tensor on the right beside a number on the left. The operators that are not
// here are functions of package tensor.
var mirrored = map[token.Token]string{
	token.ADD: "Add", token.MUL: "Mul", token.AND: "And", token.OR: "Or", token.XOR: "Xor",
	token.LSS: "Gt", token.LEQ: "Ge", token.GTR: "Lt", token.GEQ: "Le",
}

// assigning are the operators of the assignments with one.
var assigning = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO, token.REM_ASSIGN: token.REM,
	token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR, token.SHL_ASSIGN: token.SHL, token.SHR_ASSIGN: token.SHR,
}

func isComparison(op token.Token) bool {
	return op == token.LSS || op == token.LEQ || op == token.GTR || op == token.GEQ
}

// binary makes a call of an operator between tensors, or between a tensor and a number.
func (c *Calls) binary(n *ast.BinaryExpr) ast.Expr {
	left := c.isTensor(n.X)
	if !left && !c.isTensor(n.Y) || methods[n.Op] == "" {
		return nil
	}
	if left && !c.goesWith(n.Y, n.Op) || !left && !c.goesWith(n.X, n.Op) {
		return nil
	}
	if isComparison(n.Op) && (c.isCompared(n.X) || c.isCompared(n.Y)) { // 0 < x < 1 is a mistake
		return nil
	}
	var call ast.Expr
	switch method := mirrored[n.Op]; {
	case left:
		call = c.call(n.X, methods[n.Op], n.OpPos, n, n.Y)
	case method == "":
		call = &ast.CallExpr{Fun: inPackage(methods[n.Op], n.OpPos), Lparen: n.OpPos, Args: []ast.Expr{c.bare(n.X), c.bare(n.Y)}, Rparen: n.End() - 1}
	case c.acts(n.X) && c.acts(n.Y):
		call = inOrder(n, method)
	default:
		call = &ast.CallExpr{Fun: &ast.SelectorExpr{X: c.operand(n.Y), Sel: id(method, n.OpPos)}, Lparen: n.OpPos, Args: []ast.Expr{c.bare(n.X)}, Rparen: n.End() - 1}
	}
	if !left {
		call = c.placed(call, n)
	}
	c.made[call].compare = isComparison(n.Op)
	return call
}

// goesWith says whether an operator between a tensor and an expression is one of tensors.
func (c *Calls) goesWith(e ast.Expr, op token.Token) bool {
	if c.isTensor(e) {
		return true
	}
	return c.isNumber(e) && (c.kind(e)&types.IsBoolean == 0 || op == token.AND || op == token.OR || op == token.XOR)
}

// isCompared says whether an expression is a comparison without parentheses.
func (c *Calls) isCompared(e ast.Expr) bool {
	m := c.made[e]
	return m != nil && m.compare
}

// unary makes a call of an operator before a tensor.
func (c *Calls) unary(n *ast.UnaryExpr) ast.Expr {
	if !c.isTensor(n.X) {
		return nil
	}
	x, args := ast.Expr(nil), []ast.Expr(nil)
	switch n.Op {
	case token.ADD:
		x = n.X
	case token.SUB:
		x = &ast.SelectorExpr{X: c.operand(n.X), Sel: id("Neg", n.OpPos)}
	case token.XOR, token.TILDE:
		x = &ast.SelectorExpr{X: c.operand(n.X), Sel: id("Not", n.OpPos)}
	case token.NOT:
		x, args = &ast.SelectorExpr{X: c.operand(n.X), Sel: id("Eq", n.OpPos)}, []ast.Expr{id("false", n.OpPos)}
	default:
		return nil
	}
	if n.Op != token.ADD {
		x = &ast.CallExpr{Fun: x, Lparen: n.OpPos, Args: args, Rparen: n.End() - 1}
	}
	return c.placed(x, n)
}

// placed keeps a call that does not begin where the code did that it was made of, in parentheses that do.
func (c *Calls) placed(call ast.Expr, of ast.Expr) ast.Expr {
	p := &ast.ParenExpr{Lparen: of.Pos(), X: call, Rparen: of.End() - 1}
	c.note(p, of)
	return p
}

// inOrder calls a method of the right operand with the left one, which is evaluated first, as Go does.
func inOrder(n *ast.BinaryExpr, method string) ast.Expr {
	pos := n.OpPos
	typ := func() ast.Expr { return inPackage("Tensor", pos) }
	field := func(name string, t ast.Expr) *ast.Field {
		return &ast.Field{Names: []*ast.Ident{id(name, pos)}, Type: t}
	}
	body := &ast.CallExpr{Fun: &ast.SelectorExpr{X: id("b", pos), Sel: id(method, pos)}, Lparen: pos, Args: []ast.Expr{id("a", pos)}, Rparen: pos}
	lit := &ast.FuncLit{
		Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, List: []*ast.Field{field("a", id("any", pos)), field("b", typ())}, Closing: pos},
			Results: &ast.FieldList{List: []*ast.Field{{Type: typ()}}}},
		Body: &ast.BlockStmt{Lbrace: pos, List: []ast.Stmt{&ast.ReturnStmt{Return: pos, Results: []ast.Expr{body}}}, Rbrace: pos},
	}
	return &ast.CallExpr{Fun: lit, Lparen: pos, Args: []ast.Expr{ast.Unparen(n.X), ast.Unparen(n.Y)}, Rparen: n.End() - 1}
}

// acts says whether to evaluate an expression may do more than to give its value: it calls something, or
// receives. The calls that were made here do not, nor do conversions.
func (c *Calls) acts(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			found = found || c.made[n] == nil && !inTensor(n.Fun) && !c.info.Types[n.Fun].IsType() && !c.info.Types[n.Fun].IsBuiltin()
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

// inTensor says whether an expression is a name of package tensor that was made here.
func inTensor(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == Tensor
}
