package session

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/library"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// Assigned returns the session's variables that statements may assign to: in the statements themselves, or in
// functions, methods and closures of the session that they mention, directly or through others. The closures
// that a variable may hold are those in whatever cells have assigned to it. Changes through a pointer, a map
// or a slice are not found, nor are those of variables that only a closure knows.
func (s *Session) Assigned(stmts *notation.Statements) []string {
	f := &finder{methods: map[string][]*world.Decl{}, declared: map[string]*world.Decl{}, holders: map[string]bool{}, seen: map[*world.Decl]bool{}, names: map[string]bool{}}
	for name, e := range s.compiler.World.Names {
		if e.Kind == world.Var && holdsFunctions(e.Obj.Type(), 0) {
			f.holders[name] = true
		}
	}
	f.code = sync.OnceValue(s.code)
	for _, d := range s.compiler.World.Stage().Decls() {
		if d.Recv != "" {
			f.methods[d.Name] = append(f.methods[d.Name], d)
		} else {
			for _, name := range d.Names {
				f.declared[name] = d
			}
		}
	}
	stmts.Inspect(f.visit)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(f.names)) {
		if e := s.compiler.World.Names[name]; e != nil && e.Kind == world.Var && e.Cell > 0 {
			list = append(list, name)
		}
	}
	return list
}

// A finder follows mentions from code into functions of the session.
type finder struct {
	declared map[string]*world.Decl
	methods  map[string][]*world.Decl // by name, of all types
	holders  map[string]bool          // variables that may hold a closure, and are not followed yet
	code     func() []ast.Node        // of all cells
	seen     map[*world.Decl]bool
	names    map[string]bool // names that the code assigns to
}

// visit looks at a node, and at what it mentions.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			f.assign(n.Lhs...)
		}
	case *ast.IncDecStmt:
		f.assign(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			f.assign(n.Key, n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			f.assign(n.X)
		}
	case *ast.SelectorExpr:
		for _, d := range f.methods[n.Sel.Name] {
			f.follow(d)
		}
		if f.methods[n.Sel.Name] != nil {
			f.assign(n.X) // a method may have a pointer to it
		}
	case *ast.Ident:
		f.follow(f.declared[n.Name])
		if f.holders[n.Name] {
			f.holders[n.Name] = false
			f.followHolder(n.Name)
		}
	}
	return true
}

// followHolder reads what the session's code has assigned to a variable that may hold a closure.
func (f *finder) followHolder(name string) {
	values := func(places, values []ast.Expr) {
		for i, e := range places {
			switch {
			case rootOf(e) != name:
			case len(values) == len(places):
				ast.Inspect(values[i], f.visit)
			case len(values) > 0:
				ast.Inspect(values[0], f.visit)
			}
		}
	}
	for _, n := range f.code() {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				values(n.Lhs, n.Rhs)
			case *ast.ValueSpec:
				names := make([]ast.Expr, len(n.Names))
				for i, id := range n.Names {
					names[i] = id
				}
				values(names, n.Values)
			}
			return true
		})
	}
}

// code is what all cells have: statements and declarations, also those that a command has run.
func (s *Session) code() (list []ast.Node) {
	read := func(text string) {
		stmts, err := notation.ParseStatements(text)
		if err == nil {
			list = append(list, &ast.BlockStmt{List: stmts.List})
		} else {
			list = appendDecls(list, text)
		}
	}
	for _, c := range s.past.cells {
		for _, p := range cell.Split(c.Source) {
			switch text := p.Text(c.Source); p.Kind {
			case cell.Command:
				_, args, _ := cell.ParseCommand(text)
				read(args)
			case cell.Statement, cell.Declaration:
				read(text)
			}
		}
	}
	return list
}

// appendDecls appends the declarations in a text, if it has only such.
func appendDecls(list []ast.Node, text string) []ast.Node {
	decls, _ := notation.ParseDeclarations(text)
	for _, d := range decls {
		list = append(list, d)
	}
	return list
}

// maxHeld is how deep in a type functions are looked for.
const maxHeld = 4

// holdsFunctions says whether values of a type may hold a closure of a cell.
func holdsFunctions(t types.Type, depth int) bool {
	if depth > maxHeld {
		return false
	}
	if named, ok := types.Unalias(t).(*types.Named); ok && !types.IsInterface(t) {
		if pkg := named.Obj().Pkg(); pkg != nil && pkg.Path() != world.PkgPath {
			_, is := named.Underlying().(*types.Signature)
			return is // what compiled packages keep inside is not looked at
		}
	}
	switch t := t.Underlying().(type) {
	case *types.Signature, *types.Interface:
		return true
	case interface{ Elem() types.Type }:
		return holdsFunctions(t.Elem(), depth+1)
	case *types.Struct:
		for field := range t.Fields() {
			if holdsFunctions(field.Type(), depth+1) {
				return true
			}
		}
	}
	return false
}

// assign notes the variables that are assigned to, as a whole or in part.
func (f *finder) assign(places ...ast.Expr) {
	for _, e := range places {
		if name := rootOf(e); name != "" {
			f.names[name] = true
		}
	}
}

// rootOf returns the variable that a place is a part of: p of p, p.field and p[i], of a tensor also of p[i:j,
// k].
func rootOf(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.CallExpr:
			if e = notation.Indexed(x); e == nil {
				return ""
			}
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}

// follow reads the declaration of a function or method, once.
func (f *finder) follow(d *world.Decl) {
	if d == nil || f.seen[d] {
		return
	}
	f.seen[d] = true
	for _, n := range appendDecls(nil, d.Src) {
		ast.Inspect(n, f.visit)
	}
}

// A Snapshot has copies of the values of variables. It does not copy the targets of pointers, slices and
// maps.
type Snapshot struct {
	names     []string
	vars, was []reflect.Value
}

// Snapshot copies the current values of variables.
func (s *Session) Snapshot(names ...string) *Snapshot {
	p := new(Snapshot)
	for _, name := range names {
		e := s.compiler.World.Names[name]
		if e == nil || e.Kind != world.Var {
			continue
		}
		v := s.rt.Variable(e.Internal)
		if !v.IsValid() || !v.CanSet() {
			continue
		}
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		p.names, p.vars, p.was = append(p.names, name), append(p.vars, v), append(p.was, was)
	}
	return p
}

// Restore gives the variables their saved values, and returns the names of those that had changed.
func (p *Snapshot) Restore() (changed []string) {
	for i, v := range p.vars {
		if !slices.Equal(memory(v), memory(p.was[i])) {
			changed = append(changed, p.names[i])
			v.Set(p.was[i])
		}
	}
	return changed
}

// A Mute drops and counts the output of code within its context, while it is on.
type Mute = library.Mute

// Mute returns a context with a Mute.
func (s *Session) Mute(ctx context.Context) (context.Context, *Mute) { return s.streams.Mute(ctx) }

// memory returns the bytes of a variable itself, without the targets of its pointers.
func memory(v reflect.Value) []byte {
	return unsafe.Slice((*byte)(v.Addr().UnsafePointer()), v.Type().Size())
}
