package compile

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// Package checks a package of the user's and makes the unit that runs its declarations and initial values.
// Deps are those of the user's packages that it imports, by import path. Cells can import the package from
// then on.
func (c *Compiler) Package(p *Package, files []File, deps map[string]*Package) (*Unit, error) {
	p.World = world.New()
	p.World.Path, p.World.Name = p.Path, files[0].Syntax.Name.Name
	for _, f := range files {
		if err := refuseDirectives(f.Syntax); err != nil {
			return nil, c.Refusal(err)
		}
	}
	w := &whole{compiler: c, st: p.World.Stage(), files: files, deps: deps}
	u, _, err := w.check()
	if err != nil {
		return nil, err
	}
	p.Types = u.checked.Pkg
	p.World.Commit(&u.Change)
	for _, e := range u.Define {
		if e.Internal != "" && e.Kind != world.Type {
			c.names[e.Obj] = e.Internal
		}
	}
	u.Own, u.st = p, p.World.Stage()
	u.Change = world.Change{}
	u.Runs = len(u.body) > 0
	c.packages[p.Path] = p
	return u, nil
}

// Program checks a program and makes the unit that runs it: its initial values, then main.
func (c *Compiler) Program(files []File, deps map[string]*Package) (*Unit, error) {
	w := &whole{compiler: c, st: c.World.Stage(), files: files, deps: deps}
	u, main, err := w.check()
	if err != nil {
		return nil, err
	}
	if main == nil {
		return nil, c.Refusal(&lower.Error{Pos: u.pos, Msg: "function main is undeclared in the main package"})
	}
	w.call(u, main)
	c.World.Commit(&u.Change)
	u.Change = world.Change{}
	return u, nil
}

// refuseDirectives refuses comments that only a compiler obeys.
func refuseDirectives(f *ast.File) error {
	for _, group := range f.Comments {
		for _, c := range group.List {
			for _, name := range []string{"//go:embed ", "//go:linkname "} {
				if strings.HasPrefix(c.Text, name) {
					return &lower.Error{Pos: c.Pos(), Msg: strings.TrimSpace(name[2:]) + " is for the compiler: it is not available in packages that cells import"}
				}
			}
		}
	}
	return nil
}

// A whole is a package that is checked from complete files: a program, or a package of the user's.
type whole struct {
	compiler *Compiler
	st       *world.Stage
	files    []File
	deps     map[string]*Package
}

// A File is a source file of a package or program. Its number is used like a cell's.
type File struct {
	N      int
	Text   string
	Syntax *ast.File
}

// check checks the package as the compiler would, and makes a unit of it. The unit's statements initialise
// the variables in Go's order and call the init functions. Main is the object of func main.
func (w *whole) check() (u *Unit, main types.Object, err error) {
	c := w.compiler
	facts := newChecked(types.NewPackage(w.st.Path, w.files[0].Syntax.Name.Name), nil)
	for _, f := range w.files {
		facts.Files = append(facts.Files, f.Syntax)
	}
	conf := types.Config{Importer: relativeImporter{c.importer, w.deps}, Sizes: c.sizes, Error: func(err error) {
		if te, ok := errors.AsType[types.Error](err); ok {
			facts.Errs = append(facts.Errs, te)
		}
	}}
	_ = types.NewChecker(&conf, c.fset, facts.Pkg, facts.Info).Files(facts.Files) // errors went to conf.Error
	if len(facts.Errs) > 0 {
		return nil, nil, c.complaints(w.st, facts)
	}
	u = &Unit{cell: w.files[0].N, pos: facts.Files[0].Package, checked: facts, Runs: true, vars: map[types.Object]string{}, Change: world.Change{Imports: map[string]string{}}}
	for _, f := range w.files {
		imports, err := w.imports(u, f.Syntax)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range c.userDecls(w.st, f.Syntax, f.N, f.Text, 0, f.Text, 0) {
			if d.Tok != token.VAR && d.Tok != token.IMPORT {
				d.Imports = imports
				u.decls = append(u.decls, d)
			}
		}
	}
	w.variables(u)
	if err := c.defineDecls(w.st, u, nil); err != nil {
		return nil, nil, err
	}
	return u, w.body(u), nil
}

// imports returns the names under which a file imports packages.
func (w *whole) imports(u *Unit, file *ast.File) (map[string]string, error) {
	names := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, "\"`")
		pkg, err := relativeImporter{w.compiler.importer, w.deps}.Import(path)
		if err != nil {
			return nil, err
		}
		name := pkg.Name()
		if spec.Name != nil {
			name = spec.Name.Name
		}
		switch name {
		case "_":
			if w.deps[path] == nil {
				err = w.compiler.know(path)
			}
		case ".":
			u.Dots = append(u.Dots, pkg.Path())
		default:
			names[name] = pkg.Path()
		}
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// variables makes session variables of the package's variables.
func (w *whole) variables(u *Unit) {
	scope := u.checked.Pkg.Scope()
	for _, name := range scope.Names() {
		v, ok := scope.Lookup(name).(*types.Var)
		if !ok {
			continue
		}
		e := &world.Entity{Name: name, Kind: world.Var, Obj: v, Internal: w.compiler.World.Fresh(name), Kept: true}
		u.vars[v] = e.Internal
		u.slots = append(u.slots, e)
		u.Define = append(u.Define, e)
	}
}

// body makes the unit's statements. It returns the object of func main.
func (w *whole) body(u *Unit) (main types.Object) {
	info := u.checked.Info
	for _, in := range info.InitOrder {
		a := &ast.AssignStmt{TokPos: in.Rhs.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{in.Rhs}}
		for _, v := range in.Lhs {
			a.Lhs = append(a.Lhs, w.ident(info, v, v.Pos()))
		}
		u.body = append(u.body, a)
	}
	for _, d := range u.decls {
		f, ok := d.node.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		switch o := info.Defs[f.Name]; f.Name.Name {
		case "init":
			d.ents = []*world.Entity{{Name: "init", Kind: world.Func, Obj: o, Internal: w.compiler.World.Fresh("init")}}
			w.call(u, o)
		case "main":
			main = o
		}
	}
	return main
}

// ident makes an identifier for an object.
func (w *whole) ident(info *types.Info, o types.Object, pos token.Pos) *ast.Ident {
	id := &ast.Ident{Name: o.Name(), NamePos: pos}
	if o.Name() != "_" {
		info.Uses[id] = o
		info.Types[id] = types.TypeAndValue{Type: o.Type()}
	}
	return id
}

// call adds a call of a function of the package to the unit's statements.
func (w *whole) call(u *Unit, o types.Object) {
	c := &ast.CallExpr{Fun: w.ident(u.checked.Info, o, o.Pos()), Lparen: o.Pos(), Rparen: o.Pos()}
	u.checked.Info.Types[c] = types.TypeAndValue{Type: (*types.Tuple)(nil)}
	u.body = append(u.body, &ast.ExprStmt{X: c})
}

// A relativeImporter imports for files whose imports of the user's packages are known.
type relativeImporter struct {
	types.Importer
	deps map[string]*Package
}

func (im relativeImporter) Import(path string) (*types.Package, error) {
	if p := im.deps[path]; p != nil {
		return p.Types, nil
	}
	return im.Importer.Import(path)
}

// ParseFile parses a whole file; n is the number that stands for it.
func (c *Compiler) ParseFile(n int, text string) (*ast.File, error) {
	file, err := parser.ParseFile(c.fset, yaegi.FileName(n), text, parser.SkipObjectResolution|parser.ParseComments)
	if list, ok := errors.AsType[scanner.ErrorList](err); ok {
		e := &CheckError{}
		for _, le := range list {
			e.Diags = append(e.Diags, c.diag(n, le.Pos.Line, le.Pos.Column, 1, le.Msg, ""))
		}
		return nil, e
	}
	return file, err
}
