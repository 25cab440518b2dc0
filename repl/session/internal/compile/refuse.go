package compile

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// The interpreter may fail to compile code that the lowering accepts. Its messages are about lowered code,
// not about the person's, so each becomes the cause of a refusal that names the construct and its place.

// compilePlace matches a place in a message of the interpreter.
var compilePlace = lazy.Regexp(`\b(\d+)/cell:(\d+):(\d+): `)

// unrunnable refuses a unit that only the interpreter does not compile.
func (c *Compiler) unrunnable(u *Unit, file *ast.File, cause error) error {
	place := c.failingPlace(u, cause)
	if place == nil {
		place = c.failingStatement(file)
	}
	what, pos := "this code", u.pos
	if place != nil {
		pos = place.Pos()
		if x, ok := innermost(u.checked.Files, pos).(ast.Expr); ok && len(types.ExprString(x)) < 30 {
			what = types.ExprString(x)
		}
	}
	return &CheckError{Diags: []Diag{c.DiagAt(pos, 0, what+" is right, but cells cannot run it", "")}, cause: cause}
}

// A spot is a place without length.
type spot token.Pos

func (p spot) Pos() token.Pos { return token.Pos(p) }
func (p spot) End() token.Pos { return token.Pos(p) }

// failingPlace returns the place in the interpreter's message, or nil.
func (c *Compiler) failingPlace(u *Unit, cause error) ast.Node {
	m := compilePlace().FindStringSubmatch(cause.Error())
	if m == nil {
		return nil
	}
	n, _ := strconv.Atoi(m[1])
	line, _ := strconv.Atoi(m[2])
	col, _ := strconv.Atoi(m[3])
	for _, file := range u.checked.Files {
		var found ast.Node
		ast.Inspect(file, func(node ast.Node) bool {
			if node == nil || found != nil {
				return false
			}
			p := c.fset.Position(node.Pos())
			if yaegi.CellOf(p.Filename) == n && p.Line == line && p.Column == col {
				found = spot(node.Pos())
			}
			return true
		})
		if found != nil {
			return found
		}
	}
	return nil
}

// failingStatement finds the statement that the interpreter does not compile, by compiling less: each
// function alone, with the bodies of all others left out, then fewer and fewer statements of the one that
// fails. It is for programs only: in a session the attempts would replace the session's functions.
func (c *Compiler) failingStatement(file *ast.File) ast.Node {
	fails := func(f *ast.FuncDecl, n int) bool { // with the first n statements of f
		try := &ast.File{Package: file.Package, Name: file.Name}
		for _, d := range file.Decls {
			o, ok := d.(*ast.FuncDecl)
			if !ok {
				try.Decls = append(try.Decls, d)
				continue
			}
			part := *o
			part.Body = &ast.BlockStmt{Lbrace: o.Body.Lbrace, Rbrace: o.Body.Rbrace}
			if o == f {
				part.Body.List = f.Body.List[:n]
			}
			if o == f || c.Once {
				try.Decls = append(try.Decls, &part)
			}
		}
		_, err := c.Interp.Compile(try)
		return err != nil
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || !c.Once && f.Name.Name != "cell" || !fails(f, len(f.Body.List)) {
			continue
		}
		if n := sort.Search(len(f.Body.List), func(n int) bool { return fails(f, n+1) }); n < len(f.Body.List) {
			return spot(f.Body.List[n].Pos())
		}
	}
	return nil
}

// innermost returns the smallest node that begins at a place or contains it.
func innermost(files []*ast.File, pos token.Pos) (found ast.Node) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil || pos < n.Pos() || pos >= n.End() {
				return false
			}
			switch n.(type) {
			case *ast.Ident, *ast.BasicLit, *ast.File, *ast.BlockStmt, *ast.ExprStmt, *ast.FieldList, *ast.Field:
			default:
				found = n
			}
			return true
		})
	}
	return found
}

// NotRun refuses a unit that was compiled, but that the interpreter rejects before any of it runs.
func (c *Compiler) NotRun(u *Unit, cause error) error {
	return &CheckError{Diags: []Diag{c.diag(u.cell, 1, 1, 1, "this code is right, but cells cannot run it", "")}, cause: cause}
}

// Refusal is the complaint about a construct that cannot be lowered.
func (c *Compiler) Refusal(err error) error {
	if le, ok := errors.AsType[*lower.Error](err); ok {
		d := c.DiagAt(le.Pos, 0, le.Msg, "")
		if le.Handles && !strings.Contains(d.Source, "any(") { // a conversion says nothing of tensors
			_, d.Hint = c.Advice.Suggest(c.World.Stage(), &help.Facts{}, le.Pos, le.Msg)
		}
		return &CheckError{Diags: []Diag{d}}
	}
	return err
}
