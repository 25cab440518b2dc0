package session

import (
	"fmt"
	"go/types"
	"reflect"
	"sort"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// Vars returns the declarations of cells with their current values, sorted by name.
func (s *Session) Vars() []Var {
	var list []Var
	for name, e := range s.compiler.World.Names {
		if e.Cell == 0 { // predeclared
			continue
		}
		v := Var{Name: name, Kind: e.Kind.String(), Type: world.TypeOf(e), Cell: e.Cell}
		if e.Kind == world.Var {
			v.Value, _ = s.value(e)
		}
		list = append(list, v)
	}
	for name, path := range s.compiler.World.Imports {
		list = append(list, Var{Name: name, Kind: "import", Type: s.packages.Title(path)})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// value returns the current value of a variable.
func (s *Session) value(e *world.Entity) (any, bool) {
	v := s.rt.Variable(e.Internal)
	if !v.IsValid() {
		return nil, false
	}
	if u := rt.Inner(v); u.IsValid() && u.CanInterface() {
		return u.Interface(), true
	}
	return nil, true
}

// Delete forgets a variable, function, type or import. The value of a variable can then be collected,
// unless a closure uses it.
func (s *Session) Delete(name string) error {
	e := s.compiler.World.Names[name]
	if e == nil || e.Cell == 0 {
		if _, ok := s.compiler.World.Imports[name]; ok {
			delete(s.compiler.World.Imports, name)
			s.past.generation++
			return nil
		}
		return fmt.Errorf("delete: no cell has declared %s", name)
	}
	delete(s.compiler.World.Names, name)
	delete(s.compiler.World.Methods, name)
	s.past.generation++
	if e.Kind != world.Var {
		return nil
	}
	if e.Kept || s.compiler.UsedByDecl(s.compiler.World.Stage(), name) {
		s.rt.Forget(e.Internal)
	} else {
		s.rt.Free(e.Internal)
	}
	return nil
}

// callMethod calls String or Error of a value whose type was declared in a cell.
func (s *Session) callMethod(v reflect.Value, t types.Type, name string) (text string, ok bool) {
	if t == nil {
		return "", false
	}
	base := t
	if p, isPointer := types.Unalias(t).(*types.Pointer); isPointer {
		base = p.Elem()
	}
	named, isNamed := types.Unalias(base).(*types.Named)
	if !isNamed || named.Obj().Pkg() == nil || !lower.Interpreted(named.Obj().Pkg()) || types.NewMethodSet(t).Lookup(named.Obj().Pkg(), name) == nil {
		return "", false
	}
	text, err := s.rt.CallText(s.compiler.Types.Key(types.Unalias(t)), name, v)
	return text, err == nil
}

// typeIn returns the type of the value in an interface, if it was declared in a cell.
func (s *Session) typeIn(v reflect.Value) types.Type {
	if _, t := s.rt.Dynamic(v); t != nil {
		return s.compiler.Types.Of(t.Key())
	}
	return nil
}
