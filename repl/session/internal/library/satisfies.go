package library

import (
	"go/types"
	"reflect"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// Satisfies says whether a compiled type has the methods of an interface.
func Satisfies(t reflect.Type, i *types.Interface) bool {
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

// ending are the methods that end the process; calls of them by their names are replaced.
var ending = map[string]bool{"*log.Logger.Fatal": true, "*log.Logger.Fatalf": true, "*log.Logger.Fatalln": true}

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
