package notation

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// Calls are the calls that have taken the place of operators and indices in some files. The zero value is
// ready for files that were parsed by [ParseFile].
type Calls struct {
	made   map[ast.Expr]*made
	order  []*made // as they were made: the inner ones first
	info   *types.Info
	tensor types.Type            // tensor.Tensor, once an operand has shown it
	vars   map[types.Object]bool // variables that will be tensors: they are assigned a call that was made
	values map[ast.Expr]bool     // calls of methods that will be tensors
	change bool
	stmts  []written
}

// made is a call that was made, or the assignment that became one.
type made struct {
	call     ast.Expr
	from, to token.Pos // of what was typed
	of       ast.Expr  // what was typed, with the calls that were made of its parts
	typed    string    // the text of that; if it is empty, as the checker's messages show it
	index    bool
	compare  bool // a comparison: it has no meaning as an operand of another one
}

// text is what was typed.
func (m *made) text() string {
	if m.typed != "" {
		return m.typed
	}
	return types.ExprString(m.of)
}

// Replace makes calls of the operators and indices whose operands are tensors, as far as the facts of the
// checker tell. It reports false if there are none: then the checker's complaints are about Go. Otherwise the
// files have to be checked again, and may then need more calls.
func (c *Calls) Replace(info *types.Info, files []*ast.File) bool {
	c.info, c.change = info, false
	c.vars, c.values = map[types.Object]bool{}, map[ast.Expr]bool{}
	for _, f := range files {
		astutil.Apply(f, nil, func(cur *astutil.Cursor) bool {
			c.node(cur)
			return true
		})
	}
	return c.change
}

// node replaces a node whose parts have been replaced.
func (c *Calls) node(cur *astutil.Cursor) {
	var to ast.Expr
	switch n := cur.Node().(type) {
	case *ast.BinaryExpr:
		to = c.binary(n)
	case *ast.UnaryExpr:
		to = c.unary(n)
	case *ast.IndexExpr:
		to = c.index(n, n.X, n.Lbrack, n.Index)
	case *ast.IndexListExpr:
		to = c.index(n, n.X, n.Lbrack, n.Indices...)
	case *ast.SliceExpr:
		to = c.slice(n)
	case *ast.CallExpr:
		c.indexCall(n)
		c.method(n)
	case *ast.AssignStmt:
		c.assign(n)
	case *ast.IncDecStmt:
		if s := c.step(n); s != nil {
			cur.Replace(s)
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) && n.Type == nil && c.isTensor(n.Values[i]) {
				c.vars[c.info.Defs[name]] = true
			}
		}
	}
	if to != nil {
		cur.Replace(to)
	}
}

// note keeps a call that was made of code.
func (c *Calls) note(call ast.Expr, of ast.Expr) *made {
	if c.made == nil {
		c.made = map[ast.Expr]*made{}
	}
	m := &made{call: call, from: of.Pos(), to: of.End(), of: of}
	c.made[call] = m
	c.order = append(c.order, m)
	c.change = true
	return m
}

// Pos is where the code begins that was typed for an expression. A parenthesis that the call of an operator
// does not need is part of it.
func (c *Calls) Pos(e ast.Expr) token.Pos {
	if m := c.made[ast.Unparen(e)]; m != nil {
		return m.from
	}
	return e.Pos()
}

// call makes the call of a method of x with the place of an operator or bracket.
func (c *Calls) call(x ast.Expr, method string, pos token.Pos, of ast.Expr, args ...ast.Expr) ast.Expr {
	for i := range args {
		args[i] = c.bare(args[i])
	}
	call := &ast.CallExpr{Fun: &ast.SelectorExpr{X: c.operand(x), Sel: id(method, pos)}, Lparen: pos, Args: args, Rparen: of.End() - 1}
	c.note(call, of)
	return call
}

// bare takes off the parentheses that were typed around an argument.
func (c *Calls) bare(x ast.Expr) ast.Expr {
	for {
		p, ok := x.(*ast.ParenExpr)
		if !ok || c.made[p] != nil {
			return x
		}
		x = p.X
	}
}

// operand puts parentheses around what cannot stand before a dot, and takes off others.
func (c *Calls) operand(x ast.Expr) ast.Expr {
	plain := c.bare(x)
	switch plain.(type) {
	case *ast.StarExpr, *ast.UnaryExpr, *ast.BinaryExpr, *ast.FuncLit:
		return &ast.ParenExpr{Lparen: plain.Pos(), X: plain, Rparen: plain.End() - 1}
	}
	return plain
}

// isTensor says whether an expression is a tensor, or will be one once it is checked again.
func (c *Calls) isTensor(e ast.Expr) bool {
	e = c.bare(e)
	if c.made[e] != nil || c.values[e] {
		return true
	}
	if tv, ok := c.info.Types[e]; ok && tv.IsValue() && isTensor(tv.Type) {
		c.tensor = tv.Type
		return true
	}
	name, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	o := c.info.Uses[name]
	if o == nil {
		return false
	}
	if v, ok := o.(*types.Var); ok && isTensor(v.Type()) {
		c.tensor = v.Type()
		return true
	}
	return c.vars[o]
}

// isNumber says whether an expression is a number, constant or not, or a bool.
func (c *Calls) isNumber(e ast.Expr) bool {
	if _, ok := e.(*ast.BasicLit); ok && c.info.Types[e].Type == nil { // the 1 of x++
		return true
	}
	return c.kind(e)&(types.IsNumeric|types.IsBoolean) != 0
}

// kind is the kind of a value of a basic type, or 0.
func (c *Calls) kind(e ast.Expr) types.BasicInfo {
	tv, ok := c.info.Types[ast.Unparen(e)]
	if !ok || !tv.IsValue() {
		return 0
	}
	if b, ok := tv.Type.Underlying().(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

// isInteger says whether an expression is an integer, or a constant that can be one.
func (c *Calls) isInteger(e ast.Expr) bool {
	kind := c.kind(e)
	return kind&types.IsInteger != 0 || kind&types.IsNumeric != 0 && c.info.Types[ast.Unparen(e)].Value != nil
}

// method notes that the call of a method of a tensor which is yet to be checked will give a tensor.
func (c *Calls) method(n *ast.CallExpr) {
	sel, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || c.tensor == nil || !c.isTensor(sel.X) {
		return
	}
	o, _, _ := types.LookupFieldOrMethod(c.tensor, false, nil, sel.Sel.Name)
	f, ok := o.(*types.Func)
	if !ok {
		return
	}
	if r := f.Signature().Results(); r.Len() == 1 && isTensor(r.At(0).Type()) {
		c.values[n] = true
	}
}

// Reword makes the messages of the checker show what was typed. It adds the complaints that Go has about
// operators and indices as statements, and not about calls. Where what is indexed is no tensor, it asks for
// the complaint that Go's parser had about that code.
func (c *Calls) Reword(errs []types.Error, files []*ast.File, syntax func(from, to token.Pos) (types.Error, bool)) []types.Error {
	for i := range errs {
		if call := c.noTensor(errs[i].Pos, files); call != nil {
			errs[i].Msg = "invalid operation: " + bracketed(call) + ": only a tensor has several axes or steps"
			if e, ok := syntax(call.Lparen, call.Rparen); ok {
				errs[i] = e
			}
		}
		if c.indexed(errs[i].Pos) {
			errs[i].Msg = asArgument().ReplaceAllString(errs[i].Msg, "as an index of a tensor")
		}
		errs[i].Msg = c.typed(errs[i].Msg, len(c.order))
	}
	if len(c.order) == 0 {
		return errs
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.ExprStmt)
			if !ok {
				return true
			}
			if m := c.made[ast.Unparen(s.X)]; m != nil {
				text := c.typed(types.ExprString(m.call), len(c.order))
				errs = append(errs, types.Error{Pos: m.from, Msg: text + " (value of type tensor.Tensor) is not used"})
			}
			return true
		})
	}
	return errs
}

// asArgument is what the checker says of an index or a bound that became an argument of a call.
var asArgument = lazy.Regexp(`as int value in argument to \S+\.(?:At|Span|SpanStep)\b`)

// indexed says whether a place is in the brackets of an index that became a call.
func (c *Calls) indexed(pos token.Pos) bool {
	return slices.ContainsFunc(c.order, func(m *made) bool { return m.index && m.from <= pos && pos < m.to })
}

// typed writes the first n calls in a text as they were typed, the outer ones first.
func (c *Calls) typed(text string, n int) string {
	for _, m := range slices.Backward(c.order[:n]) {
		text = strings.ReplaceAll(text, types.ExprString(m.call), m.text())
	}
	return strings.ReplaceAll(text, Tensor+".", "tensor.")
}

// Suggested writes the indices in code that is suggested as they were typed. Calls of operators stay, because
// something may be selected from them.
func (c *Calls) Suggested(text string) string {
	for _, m := range slices.Backward(c.order) {
		if m.index {
			text = strings.ReplaceAll(text, types.ExprString(m.call), m.text())
		}
	}
	return strings.ReplaceAll(text, Tensor+".", "tensor.")
}

// noTensor returns the index of several axes that a complaint is about, if what it indexes is no tensor.
func (c *Calls) noTensor(pos token.Pos, files []*ast.File) (found *ast.CallExpr) {
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && c.made[call] == nil && marked(call) {
				if sel, ok := indexSelector(call); ok && sel.Sel.Pos() == pos {
					found = call
				}
			}
			return found == nil
		})
	}
	return found
}
