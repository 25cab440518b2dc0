package magics

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/mcs-notebook/mcs/repl/notation"
)

// cheapest is a statement that costs the interpreter almost nothing.
const cheapest = "0"

// floor returns statements whose time is the cost of the interpreter alone: the same calls of session
// functions, with empty bodies. If the text has no such calls, or also calls compiled functions, which
// cannot be emptied, floor returns cheapest; so it does where the statements go another way, fail or never
// end because functions do nothing: see heedless.
func (c *call) floor(text string) string {
	if _, err := notation.ParseExpr(text); err != nil && parseStatements(text) == nil {
		return cheapest
	}
	types := map[string]string{}
	for _, v := range c.s.Vars() {
		if v.Kind == "func" {
			types[v.Name] = v.Type
		}
	}
	file, err := notation.ParseFile(token.NewFileSet(), "", statementsBefore+text+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return cheapest
	}
	calls, others := map[ast.Expr]bool{}, false
	astutil.Apply(file.Decls[0].(*ast.FuncDecl).Body, nil, func(at *astutil.Cursor) bool {
		n, ok := at.Node().(*ast.CallExpr)
		if !ok {
			return true
		}
		if _, literal := n.Fun.(*ast.FuncLit); literal {
			return true
		}
		id, ok := n.Fun.(*ast.Ident)
		if empty := emptyFunction(types[identName(id)]); ok && empty != nil {
			n.Fun = empty
			calls[n] = true
		} else {
			others = true
		}
		return true
	})
	body := file.Decls[0].(*ast.FuncDecl).Body
	if len(calls) == 0 || others || !heedless(body, calls) {
		return cheapest
	}
	var out bytes.Buffer
	for _, s := range body.List {
		if err := printer.Fprint(&out, token.NewFileSet(), s); err != nil {
			return cheapest
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func identName(id *ast.Ident) string {
	if id == nil {
		return ""
	}
	return id.Name
}

// emptyFunction returns a function literal of the type with an empty body; nil if typ is no function type.
func emptyFunction(typ string) *ast.FuncLit {
	e, err := parser.ParseExpr(typ)
	f, ok := e.(*ast.FuncType)
	if err != nil || !ok || f.TypeParams != nil {
		return nil
	}
	body := &ast.BlockStmt{}
	if f.Results != nil {
		for _, r := range f.Results.List {
			if len(r.Names) == 0 {
				r.Names = []*ast.Ident{ast.NewIdent("_")}
			}
		}
		body.List = []ast.Stmt{&ast.ReturnStmt{}}
	}
	return &ast.FuncLit{Type: f, Body: body}
}
