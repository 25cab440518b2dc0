package session

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// loadLocal loads the package in a folder and what it imports, unless they are loaded as they are. It returns
// the package and, in the order in which they must run, the units of those that have not run yet. Above are
// the packages whose imports have led here.
func (s *Session) loadLocal(dir string, above []*local) (*local, []*unit, error) {
	for i, p := range above {
		if p.dir == dir {
			var round []string
			for _, q := range append(above[i:len(above):len(above)], p) {
				round = append(round, q.shown)
			}
			return nil, nil, &badPackage{p.shown, "import cycle not allowed: " + strings.Join(round, " imports ")}
		}
	}
	ls := s.locals
	if !slices.Contains(ls.watched, dir) {
		ls.watched = append(ls.watched, dir)
	}
	p, err := s.readLocal(dir)
	if err != nil {
		return nil, nil, err
	}
	if old := ls.newest[dir]; old != nil && old.sum == p.sum {
		deps, units, err := s.loadDeps(old, above)
		if err != nil {
			return nil, nil, err
		}
		if maps.Equal(deps, old.deps) {
			if !old.ran {
				units = append(units, old.unit)
			}
			return old, units, nil
		}
	}
	name, err := s.parseLocal(p)
	if err != nil {
		return nil, nil, err
	}
	p.path = fmt.Sprintf("%s%s@%d", lower.LocalPrefix, dir, len(ls.byPath)+1)
	var units []*unit
	if p.deps, units, err = s.loadDeps(p, above); err != nil {
		return nil, nil, err
	}
	if p.unit, err = s.checkLocal(p, name); err != nil {
		return nil, nil, err
	}
	ls.byPath[p.path], ls.newest[dir] = p, p
	return p, append(units, p.unit), nil
}

// loadDeps loads what a package imports: the packages by their paths in its files, and the units of those
// that have not run yet.
func (s *Session) loadDeps(p *local, above []*local) (deps map[string]*local, units []*unit, err error) {
	deps = map[string]*local{}
	above = append(above[:len(above):len(above)], p)
	for _, f := range p.files {
		for _, spec := range f.ast.Imports {
			importPath := strings.Trim(spec.Path.Value, "\"`")
			dir, own := s.folder(p.dir, importPath)
			if !own {
				continue
			}
			dep, more, err := s.loadLocal(dir, above)
			if err != nil {
				return nil, nil, s.importError(spec, err)
			}
			deps[importPath] = dep
			for _, u := range more {
				if !slices.Contains(units, u) {
					units = append(units, u)
				}
			}
		}
	}
	return deps, units, nil
}

// importError gives an error about a package as a whole the place of the import that led to it.
func (s *Session) importError(spec *ast.ImportSpec, err error) error {
	var bad *badPackage
	if errors.As(err, &bad) {
		return s.refusal(&lower.Error{Pos: spec.Path.Pos(), Msg: bad.Error()})
	}
	return err
}

// checkLocal checks a package and makes the unit that runs its declarations and initial values.
func (s *Session) checkLocal(p *local, name string) (*unit, error) {
	p.world = world.New()
	p.world.Path, p.world.Name = p.path, name
	w := &whole{s: s, st: p.world.Stage(), deps: p.deps}
	for _, f := range p.files {
		if err := refuseDirectives(f.ast); err != nil {
			return nil, s.refusal(err)
		}
		w.files = append(w.files, wholeFile{f.n, f.text, f.ast})
	}
	u, _, err := w.check()
	if err != nil {
		return nil, err
	}
	p.pkg = u.checked.pkg
	p.world.Commit(&u.Change)
	for _, e := range u.Define {
		if e.Internal != "" && e.Kind != world.Type {
			s.locals.names[e.Obj] = e.Internal
		}
	}
	u.local, u.st = p, p.world.Stage()
	u.Change = world.Change{}
	u.runs = len(u.body) > 0
	return u, nil
}

// refuseDirectives refuses what only a compiler does for a comment.
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
	s     *Session
	st    *world.Stage
	files []wholeFile
	deps  map[string]*local
}

type wholeFile struct {
	n    int
	text string
	ast  *ast.File
}

// check checks the package as the compiler would and makes a unit of it, whose statements give the variables
// their initial values, in the order that Go gives them, and call the init functions. Main is the object of
// func main.
func (w *whole) check() (u *unit, main types.Object, err error) {
	s := w.s
	c := &checked{pkg: types.NewPackage(w.st.Path, w.files[0].ast.Name.Name), info: newInfo(), names: map[types.Object]string{}}
	for _, f := range w.files {
		c.files = append(c.files, f.ast)
	}
	conf := types.Config{Importer: relativeImporter{s.importer, w.deps}, Sizes: s.sizes, Error: func(err error) {
		var te types.Error
		if errors.As(err, &te) {
			c.errs = append(c.errs, te)
		}
	}}
	_ = types.NewChecker(&conf, s.fset, c.pkg, c.info).Files(c.files) // errors went to conf.Error
	if len(c.errs) > 0 {
		return nil, nil, s.complaints(w.st, c)
	}
	u = &unit{pos: c.files[0].Package, checked: c, runs: true, vars: map[types.Object]string{}, Change: world.Change{Imports: map[string]string{}}}
	for _, f := range w.files {
		imports, err := w.imports(u, f.ast)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range s.userDecls(w.st, f.ast, f.n, f.text, 0, f.text, 0) {
			if d.Tok != token.VAR && d.Tok != token.IMPORT {
				d.Imports = imports
				u.decls = append(u.decls, d)
			}
		}
	}
	w.variables(u)
	if err := s.defineDecls(w.st, u, nil); err != nil {
		return nil, nil, err
	}
	return u, w.body(u), nil
}

// imports are the names under which a file imports packages.
func (w *whole) imports(u *unit, file *ast.File) (map[string]string, error) {
	names := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, "\"`")
		pkg, err := relativeImporter{w.s.importer, w.deps}.Import(path)
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
				err = w.s.use(path)
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
func (w *whole) variables(u *unit) {
	scope := u.checked.pkg.Scope()
	for _, name := range scope.Names() {
		v, ok := scope.Lookup(name).(*types.Var)
		if !ok {
			continue
		}
		e := &world.Entity{Name: name, Kind: world.Var, Obj: v, Internal: w.s.world.Fresh(name), Kept: true}
		u.vars[v] = e.Internal
		u.slots = append(u.slots, e)
		u.Define = append(u.Define, e)
	}
}

// body makes the unit's statements. It returns the object of func main.
func (w *whole) body(u *unit) (main types.Object) {
	info := u.checked.info
	for _, in := range info.InitOrder {
		a := &ast.AssignStmt{TokPos: in.Rhs.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{in.Rhs}}
		for _, v := range in.Lhs {
			a.Lhs = append(a.Lhs, w.use(info, v, v.Pos()))
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
			d.ents = []*world.Entity{{Name: "init", Kind: world.Func, Obj: o, Internal: w.s.world.Fresh("init")}}
			w.call(u, o)
		case "main":
			main = o
		}
	}
	return main
}

// use is an identifier for an object.
func (w *whole) use(info *types.Info, o types.Object, pos token.Pos) *ast.Ident {
	id := &ast.Ident{Name: o.Name(), NamePos: pos}
	if o.Name() != "_" {
		info.Uses[id] = o
		info.Types[id] = types.TypeAndValue{Type: o.Type()}
	}
	return id
}

// call adds a call of a function of the package to the unit's statements.
func (w *whole) call(u *unit, o types.Object) {
	c := &ast.CallExpr{Fun: w.use(u.checked.info, o, o.Pos()), Lparen: o.Pos(), Rparen: o.Pos()}
	u.checked.info.Types[c] = types.TypeAndValue{Type: (*types.Tuple)(nil)}
	u.body = append(u.body, &ast.ExprStmt{X: c})
}
