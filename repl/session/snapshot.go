package session

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/repl/session/internal/library"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// Assigned returns the session's variables that statements may assign to: in the statements themselves, or
// in functions and methods of the session that they mention, directly or through others. Assignments in a
// closure that a variable holds are not found, nor are changes through a pointer, a map or a slice.
func (s *Session) Assigned(stmts string) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func _() {"+stmts+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	f := &finder{methods: map[string][]*world.Decl{}, declared: map[string]*world.Decl{}, seen: map[*world.Decl]bool{}, names: map[string]bool{}}
	for _, d := range s.compiler.World.Stage().Decls() {
		if d.Recv != "" {
			f.methods[d.Name] = append(f.methods[d.Name], d)
		} else {
			for _, name := range d.Names {
				f.declared[name] = d
			}
		}
	}
	f.look(file)
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
	seen     map[*world.Decl]bool
	names    map[string]bool // names that the code assigns to
}

func (f *finder) look(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
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
		}
		return true
	})
}

// assign notes the variables at the root of assigned expressions: p of p, p.field and p[i].
func (f *finder) assign(places ...ast.Expr) {
	for _, e := range places {
		for e != nil {
			switch x := e.(type) {
			case *ast.Ident:
				f.names[x.Name] = true
				e = nil
			case *ast.SelectorExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			default:
				e = nil
			}
		}
	}
}

// follow reads the declaration of a function or method, once.
func (f *finder) follow(d *world.Decl) {
	if d == nil || f.seen[d] {
		return
	}
	f.seen[d] = true
	if file, err := parser.ParseFile(token.NewFileSet(), "", "package p; "+d.Src, parser.SkipObjectResolution); err == nil {
		f.look(file)
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
