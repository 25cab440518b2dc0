package session

import (
	"fmt"
	"go/types"
	"reflect"
	"sort"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/stdlib"
)

// Vars returns what cells have declared, sorted by name. Values are read as they are now.
func (s *Session) Vars() []Var {
	var list []Var
	for name, e := range s.world.names {
		if e.cell == 0 { // predeclared
			continue
		}
		v := Var{Name: name, Kind: e.kind.String(), Type: s.typeOf(e), Cell: e.cell}
		if e.kind == varKind {
			v.Value, _ = s.value(e)
		}
		list = append(list, v)
	}
	for name, path := range s.world.imports {
		list = append(list, Var{Name: name, Kind: "import", Type: s.packageTitle(path)})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// typeOf is an entity's type as Go writes it.
func (s *Session) typeOf(e *entity) string {
	if t, ok := e.obj.(*types.TypeName); ok {
		return types.TypeString(t.Type().Underlying(), qualifier)
	}
	return typeString(e.obj.Type())
}

// value is the value of a variable now.
func (s *Session) value(e *entity) (any, bool) {
	v := s.rt.Variable(e.internal)
	if !v.IsValid() {
		return nil, false
	}
	if u := rt.Inner(v); u.IsValid() && u.CanInterface() {
		return u.Interface(), true
	}
	return nil, true
}

// Delete forgets a variable, function, type or import. What a variable held can be collected unless a closure uses it.
func (s *Session) Delete(name string) error {
	e := s.world.names[name]
	if e == nil || e.cell == 0 {
		if _, ok := s.world.imports[name]; ok {
			delete(s.world.imports, name)
			s.generation++
			return nil
		}
		return fmt.Errorf("delete: no cell has declared %s", name)
	}
	delete(s.world.names, name)
	delete(s.world.methods, name)
	s.generation++
	if e.kind != varKind {
		return nil
	}
	if e.kept || s.usedByDecl(s.world.stage(), name) {
		s.rt.Forget(e.internal)
	} else {
		s.rt.Free(e.internal)
	}
	return nil
}

// callMethod calls String or Error of a value whose type was declared in a cell.
func (s *Session) callMethod(v reflect.Value, t types.Type, name string) (text string, ok bool) {
	if t == nil {
		return "", false
	}
	pointer := false
	if p, isPointer := types.Unalias(t).(*types.Pointer); isPointer {
		t, pointer = p.Elem(), true
	}
	named, isNamed := types.Unalias(t).(*types.Named)
	if !isNamed || named.Obj().Pkg() == nil || !lower.Interpreted(named.Obj().Pkg()) {
		return "", false
	}
	if !pointer && types.NewMethodSet(named).Lookup(named.Obj().Pkg(), name) == nil {
		return "", false
	}
	k, known := s.typeKeys.At(named).(int)
	if !known {
		return "", false
	}
	return s.rt.CallText(k, name, v)
}

// typeIn is the type of the value in an interface, if it was declared in a cell.
func (s *Session) typeIn(v reflect.Value) types.Type {
	in, key := s.rt.Dynamic(v)
	if key == 0 {
		return nil
	}
	return s.dynamicType(in, key)
}

// keyOf is the number of the type that the interpreter knows by a name.
func (s *Session) keyOf(name string) int {
	if t := s.typeNamed[name]; t != nil {
		return s.typeKey(t)
	}
	return 0
}

// implements says whether a type declared in a cell, or a pointer to it, has the methods of an interface.
func (s *Session) implements(key int, pointer bool, iface int) bool {
	t := s.keyTypes[key-1]
	if pointer && !isPointer(t) {
		t = types.NewPointer(t)
	}
	i, ok := s.keyTypes[iface-1].Underlying().(*types.Interface)
	return ok && types.Implements(t, i)
}

// wrapper is the generated struct that carries values as a compiled interface.
func wrapper(iface reflect.Type) reflect.Type {
	symbols, ok := stdlib.Symbols(iface.PkgPath())
	if !ok || iface.Name() == "" {
		return nil
	}
	if v := symbols["_"+iface.Name()]; v.IsValid() {
		return v.Type().Elem()
	}
	return nil
}
