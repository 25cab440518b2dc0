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

// Vars returns what cells have declared, sorted by name. Values are read as they are now.
func (s *Session) Vars() []Var {
	var list []Var
	for name, e := range s.world.Names {
		if e.Cell == 0 { // predeclared
			continue
		}
		v := Var{Name: name, Kind: e.Kind.String(), Type: world.TypeOf(e), Cell: e.Cell}
		if e.Kind == world.Var {
			v.Value, _ = s.value(e)
		}
		list = append(list, v)
	}
	for name, path := range s.world.Imports {
		list = append(list, Var{Name: name, Kind: "import", Type: s.packageTitle(path)})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// value is the value of a variable now.
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

// Delete forgets a variable, function, type or import. What a variable held can be collected unless a closure
// uses it.
func (s *Session) Delete(name string) error {
	e := s.world.Names[name]
	if e == nil || e.Cell == 0 {
		if _, ok := s.world.Imports[name]; ok {
			delete(s.world.Imports, name)
			s.generation++
			return nil
		}
		return fmt.Errorf("delete: no cell has declared %s", name)
	}
	delete(s.world.Names, name)
	delete(s.world.Methods, name)
	s.generation++
	if e.Kind != world.Var {
		return nil
	}
	if e.Kept || s.usedByDecl(s.world.Stage(), name) {
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
	text, err := s.rt.CallText(s.typeKey(types.Unalias(t)), name, v)
	return text, err == nil
}

// typeIn is the type of the value in an interface, if it was declared in a cell.
func (s *Session) typeIn(v reflect.Value) types.Type {
	if _, t := s.rt.Dynamic(v); t != nil {
		return s.typeOfKey(t.Key())
	}
	return nil
}

// typeOfKey is the type with a number.
func (s *Session) typeOfKey(key int) types.Type {
	s.keyMu.RLock()
	defer s.keyMu.RUnlock()
	return s.keyTypes[key-1]
}

// nameOf is how Go writes the type with a number.
func (s *Session) nameOf(key int) string { return goName(s.typeOfKey(key)) }

// baseOf is the number of the type that has the methods of the type with this number: its own, or what it
// points to.
func (s *Session) baseOf(key int) int {
	if p, ok := s.typeOfKey(key).(*types.Pointer); ok {
		return s.typeKey(types.Unalias(p.Elem()))
	}
	return key
}

// implements says whether a type has the methods of an interface.
func (s *Session) implements(key, iface int) bool {
	i, ok := s.typeOfKey(iface).Underlying().(*types.Interface)
	return ok && types.Implements(s.typeOfKey(key), i)
}

// ending are the methods that end the process; calls of them by their names are replaced.
var ending = map[string]bool{"*log.Logger.Fatal": true, "*log.Logger.Fatalf": true, "*log.Logger.Fatalln": true}

// satisfies says whether a compiled type has the methods of an interface.
func (s *Session) satisfies(t reflect.Type, iface int) bool {
	i, ok := s.typeOfKey(iface).Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for m := range i.Methods() {
		have, ok := t.MethodByName(m.Name())
		if !ok {
			return false
		}
		if name := t.String() + "." + m.Name(); ending[name] {
			panic(rt.RuntimeError(name + " would end the process: it cannot be called through an interface in cells"))
		}
		sig, ft := m.Signature(), have.Type
		if ft.NumIn() != sig.Params().Len()+1 || ft.NumOut() != sig.Results().Len() || ft.IsVariadic() != sig.Variadic() {
			return false
		}
		for k := range sig.Params().Len() {
			if !sameType(ft.In(k+1), sig.Params().At(k).Type()) {
				return false
			}
		}
		for k := range sig.Results().Len() {
			if !sameType(ft.Out(k), sig.Results().At(k).Type()) {
				return false
			}
		}
	}
	return true
}

// sameType says whether reflection's type of a compiled function's parameter is the checker's.
func sameType(r reflect.Type, t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return r.PkgPath() == "" && r.Name() == types.Typ[t.Kind()].Name() || t.Kind() == types.UnsafePointer && r.Kind() == reflect.UnsafePointer
	case *types.Named:
		if t.Obj().Pkg() == nil {
			return r.PkgPath() == "" && r.Name() == t.Obj().Name()
		}
		return t.TypeArgs().Len() == 0 && r.PkgPath() == t.Obj().Pkg().Path() && r.Name() == t.Obj().Name()
	case *types.Pointer:
		return r.Kind() == reflect.Pointer && r.Name() == "" && sameType(r.Elem(), t.Elem())
	case *types.Slice:
		return r.Kind() == reflect.Slice && r.Name() == "" && sameType(r.Elem(), t.Elem())
	case *types.Array:
		return r.Kind() == reflect.Array && r.Name() == "" && int64(r.Len()) == t.Len() && sameType(r.Elem(), t.Elem())
	case *types.Map:
		return r.Kind() == reflect.Map && r.Name() == "" && sameType(r.Key(), t.Key()) && sameType(r.Elem(), t.Elem())
	case *types.Chan:
		return r.Kind() == reflect.Chan && r.Name() == "" && sameType(r.Elem(), t.Elem())
	case *types.Interface:
		return r.Kind() == reflect.Interface && r.Name() == "" && r.NumMethod() == 0 && t.NumMethods() == 0
	case *types.Signature:
		return r.Kind() == reflect.Func && r.Name() == "" && r.NumIn() == t.Params().Len() && r.NumOut() == t.Results().Len()
	}
	return false
}
