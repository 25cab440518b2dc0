package rt

import (
	"fmt"
	"reflect"
)

// A Types answers questions about interpreted types, which it knows by their numbers.
type Types struct {
	// Name is how Go writes the type.
	Name func(key int) string
	// Base is the number of the named type that the type is, or points to; its own for another.
	Base func(key int) int
	// Implements says whether the type has the methods of an interface type.
	Implements func(key, iface int) bool
	// Satisfies says it for a compiled type.
	Satisfies func(t reflect.Type, iface int) bool
	// Made is the type as the compiler would have made it; nil: such types cannot be made, see plain.go.
	Made func(key int) reflect.Type
	// Wrapper is the struct that stands for a compiled interface where there are no made types, or nil.
	Wrapper func(iface reflect.Type) reflect.Type
	// Find is the number of a type that reflection has made of made types, such as a slice of one; 0 for
	// another.
	Find func(t reflect.Type) (key int)
}

// Wrap sets *dst, a variable of a compiled interface type, to v, which is of the type with this number.
func (r *Runtime) Wrap(key int, v, dst any) {
	d, x := reflect.ValueOf(dst).Elem(), reflect.ValueOf(r.Box(key, v))
	ok := x.Type().Implements(d.Type())
	if b, boxed := r.boxIn(x); boxed {
		x, ok = r.wrap(b, d.Type())
	}
	if !ok {
		panic(RuntimeError(fmt.Sprintf("a value of type %s cannot be passed as %s", r.typ(key), d.Type())))
	}
	d.Set(x)
}
