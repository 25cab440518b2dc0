package compile

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A checked is the result of the type checker for some files, with the names that the interpreter needs.
type checked struct {
	help.Facts
	names map[types.Object]string // the interpreter's names of the session's objects that the files use
	// notation says that the files have an index of a tensor that became a call when they were parsed.
	notation bool
	calls    *notation.Calls // that were made in the files
}

func newChecked(pkg *types.Package, files []*ast.File) *checked {
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Instances: map[*ast.Ident]types.Instance{}, Implicits: map[ast.Node]types.Object{},
	}
	return &checked{Facts: help.Facts{Files: files, Pkg: pkg, Info: info}, names: map[types.Object]string{}}
}

// parse parses text, with prefix before it and suffix behind it. Line and col are the place of the text in
// the cell, and positions are those of the cell.
func (c *Compiler) parse(n, line, col int, prefix, text, suffix string) (*ast.File, error) {
	name := yaegi.FileName(n)
	src := prefix + text + suffix
	file, goErrs, err := notation.Parse(c.fset, name, src, parser.SkipObjectResolution|parser.AllErrors)
	if file != nil {
		tf := c.fset.File(file.FileStart)
		tf.AddLineColumnInfo(len(prefix), name, line, col)
		if len(goErrs) > 0 {
			c.notGo[tf] = goErrs
		}
	}
	if err == nil {
		return file, nil
	}
	// The parser has reported these positions before the place of the text was known to it.
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return nil, err
	}
	off, msg := max(list[0].Pos.Offset-len(prefix), 0), list[0].Msg
	fault, whole := cell.Check(text)
	switch {
	case !whole && !cell.Foreign(text) && (off >= len(text) || strings.HasPrefix(fault.Message, "unexpected")): // package cell knows which bracket
		off, msg = fault.At, fault.Message
	case off >= len(text):
		off = len(text)
		msg = strings.NewReplacer("found '}'", "found the end of the cell", "found 'EOF'", "found the end of the cell").Replace(msg)
	case strings.Contains(msg, "'ILLEGAL'"):
		msg = strings.Replace(msg, "'ILLEGAL'", fmt.Sprintf("%q", text[off]), 1)
	}
	l, column := cell.LineCol(text, off)
	if l == 1 {
		column += col - 1
	}
	return nil, &CheckError{Diags: []Diag{c.diag(n, line+l-1, column, 1, msg, c.Advice.SyntaxAdvice(text, off, msg))}}
}

// identifiers calls f for each identifier of the files.
func identifiers(files []*ast.File, f func(id *ast.Ident, qualifier bool)) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok {
					f(id, true)
				}
			case *ast.Ident:
				f(n, false)
			}
			return true
		})
	}
}

// check type-checks files of one package. Its scope gets only the names that occur in the files, so the
// cost of a cell does not grow with the session.
func (c *Compiler) check(st *world.Stage, files []*ast.File, extra ...types.Object) *checked {
	return c.checkAgain(&notation.Calls{}, st, files, extra...)
}

// checkAgain is check for files that may have been checked before, with the same calls.
func (c *Compiler) checkAgain(calls *notation.Calls, st *world.Stage, files []*ast.File, extra ...types.Object) *checked {
	return c.checkIn(calls, c.fset, st, files, extra...)
}

// checkIn is check for files that belong to another file set. Help uses it for unfinished cells, because it
// then leaves nothing in the session's own set. Operators and indices of tensors become calls in the files.
func (c *Compiler) checkIn(calls *notation.Calls, fset *token.FileSet, st *world.Stage, files []*ast.File, extra ...types.Object) *checked {
	facts := c.checkGo(fset, st, files, extra...)
	for (len(facts.Errs) > 0 || facts.notation) && calls.Replace(facts.Info, files) {
		facts = c.checkGo(fset, st, files, extra...)
	}
	facts.Errs, facts.calls = calls.Reword(facts.Errs, files, c.syntaxError), calls
	return facts
}

// syntaxError returns what Go's parser has complained about between two brackets.
func (c *Compiler) syntaxError(from, to token.Pos) (types.Error, bool) {
	tf := c.fset.File(from)
	for _, e := range c.notGo[tf] {
		if pos := tf.Pos(e.Pos.Offset); from <= pos && pos <= to {
			return types.Error{Fset: c.fset, Pos: pos, Msg: e.Msg}, true
		}
	}
	return types.Error{}, false
}

// checkGo checks files as they are.
func (c *Compiler) checkGo(fset *token.FileSet, st *world.Stage, files []*ast.File, extra ...types.Object) *checked {
	if st.Ctx != nil && st.Ctx.Err() != nil {
		panic(GivenUp{})
	}
	facts := newChecked(types.NewPackage(st.Path, st.Name), files)
	declared := map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			for _, n := range world.DeclaredBy(d) {
				declared[n] = true
			}
		}
	}
	defer parenthesize(files, declared)()
	for _, o := range extra {
		if o != nil && !declared[o.Name()] {
			declared[o.Name()] = true
			if p, ok := o.(*types.PkgName); ok { // an import belongs to the package that is checked
				o = types.NewPkgName(token.NoPos, facts.Pkg, p.Name(), p.Imported())
			}
			facts.Pkg.Scope().Insert(o)
		}
	}
	identifiers(files, func(id *ast.Ident, qualifier bool) {
		if declared[id.Name] || id.Name == "_" {
			return
		}
		facts.notation = facts.notation || id.Name == notation.Tensor
		if o := c.resolve(st, facts.Pkg, id.Name, qualifier); o != nil {
			declared[id.Name] = true
			facts.Pkg.Scope().Insert(o)
			if e := st.Lookup(id.Name); e != nil && e.Obj == o {
				facts.names[o] = e.Internal
			}
		}
	})
	conf := types.Config{Importer: c.importer, Sizes: c.sizes, Error: func(err error) {
		var te types.Error
		// A variable or import that this cell does not use may be used by a later cell. The checker
		// compares unexported fields by package pointer, and each check has its own package, so such
		// complaints are wrong.
		if errors.As(err, &te) && !strings.Contains(te.Msg, "and not used") && !strings.HasPrefix(te.Msg, "implicit assignment to unexported field") {
			facts.Errs = append(facts.Errs, te)
		}
	}}
	_ = types.NewChecker(&conf, fset, facts.Pkg, facts.Info).Files(files) // errors went to conf.Error
	return facts
}

// parenthesize puts a type's definition into parentheses if it is only a name that the files do not
// declare. It returns a function that takes the parentheses off again. For type B A the checker looks for
// the declaration of A in its own files, to find cycles, and fails if there is no such declaration. For
// type B (A) it does not look.
func parenthesize(files []*ast.File, own map[string]bool) (undo func()) {
	var names map[*ast.TypeSpec]ast.Expr
	for _, f := range files {
		for _, d := range f.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				spec, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if id, ok := spec.Type.(*ast.Ident); ok && !own[id.Name] {
					if names == nil {
						names = map[*ast.TypeSpec]ast.Expr{}
					}
					names[spec] = id
					spec.Type = &ast.ParenExpr{Lparen: id.Pos(), X: id, Rparen: id.End()}
				}
			}
		}
	}
	return func() {
		for spec, name := range names {
			spec.Type = name
		}
	}
}

// resolve returns the meaning of a name that the cell uses but does not declare. It is nil if the name is
// predeclared or unknown. A package that was not imported is found only in front of a dot.
func (c *Compiler) resolve(st *world.Stage, pkg *types.Package, name string, qualifier bool) types.Object {
	if e := st.Lookup(name); e != nil {
		return e.Obj
	}
	path := st.ImportPath(name)
	if path == "" && qualifier {
		path, _ = stdlib.ImportFor(name)
	}
	if p := c.aliases[name]; p != "" {
		path = p
	}
	if path != "" {
		if p, err := c.importer.Import(path); err == nil {
			return types.NewPkgName(token.NoPos, pkg, name, p)
		}
	}
	for _, path := range st.Dots {
		if p, err := c.importer.Import(path); err == nil {
			if o := p.Scope().Lookup(name); o != nil && o.Exported() {
				return o
			}
		}
	}
	return nil
}

// namesIn returns the names of the session that code mentions: package-level names, methods as T.M, and
// paths of the user's packages.
func namesIn(info *types.Info, root ast.Node) map[string]bool {
	names := map[string]bool{}
	noteNames(info, root, names)
	return names
}

func noteNames(info *types.Info, root ast.Node, into map[string]bool) {
	ast.Inspect(root, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			o := info.Uses[id]
			if o != nil && o.Pkg() != nil && o.Pkg().Path() == world.PkgPath && topLevel(o) {
				into[o.Name()] = true
			}
			if f, ok := o.(*types.Func); ok && o.Pkg() != nil && o.Pkg().Path() == world.PkgPath {
				if n, ok := receiverType(f); ok {
					into[n.Obj().Name()+"."+f.Name()] = true
				}
			}
			if o != nil && o.Pkg() != nil && o.Pkg().Path() != world.PkgPath && lower.Interpreted(o.Pkg()) {
				into[o.Pkg().Path()] = true
			}
		}
		return true
	})
}

// receiverType returns the named type that a method was declared for.
func receiverType(f *types.Func) (n *types.Named, ok bool) {
	recv := f.Signature().Recv()
	if recv == nil {
		return nil, false
	}
	t := types.Unalias(recv.Type())
	if p, pointer := t.(*types.Pointer); pointer {
		t = types.Unalias(p.Elem())
	}
	n, ok = t.(*types.Named)
	return n, ok
}

// topLevel says whether an object is declared at the top level of the session, not inside of a function.
func topLevel(o types.Object) bool {
	switch v := o.(type) {
	case *types.PkgName, *types.Label:
		return false
	case *types.Var:
		if v.IsField() {
			return false
		}
	case *types.Func:
		if v.Signature().Recv() != nil {
			return false
		}
	}
	return o.Parent() == nil || o.Parent().Parent() == types.Universe
}

// Facts checks a file of another file set for package help. It leaves nothing in the session.
func (c *Compiler) Facts(fset *token.FileSet, st *world.Stage, file *ast.File, extra ...types.Object) *help.Facts {
	return &c.checkIn(&notation.Calls{}, fset, st, []*ast.File{file}, extra...).Facts
}
