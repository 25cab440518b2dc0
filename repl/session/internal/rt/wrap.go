package rt

import (
	"fmt"
	"reflect"
)

// A Types answers questions about interpreted types, which it knows by their numbers.
type Types struct {
	// Wrapper is the generated struct that carries values as a compiled interface, or nil.
	Wrapper func(iface reflect.Type) reflect.Type
	// Name is how Go writes the type.
	Name func(key int) string
	// Base is the number of the named type that the type is, or points to; its own for another.
	Base func(key int) int
	// Implements says whether the type has the methods of an interface type.
	Implements func(key, iface int) bool
	// Satisfies says it for a compiled type.
	Satisfies func(t reflect.Type, iface int) bool
	// Format prints a value of the type.
	Format func(f fmt.State, verb rune, key int, v reflect.Value)
}

// Wrap sets *dst, a variable of a compiled interface type, to v, which is of the type with this number.
func (r *Runtime) Wrap(key int, v, dst any) {
	d := reflect.ValueOf(dst).Elem()
	w, ok := wrap(Box{r.typ(key), v}, d.Type())
	if !ok {
		panic(RuntimeError(fmt.Sprintf("a value of type %s cannot be passed as %s", r.typ(key), d.Type())))
	}
	d.Set(w)
}

func wrap(b Box, iface reflect.Type) (w reflect.Value, ok bool) {
	if iface == errorType {
		e, ok := makeError(b)
		return reflect.ValueOf(e), ok
	}
	t := b.T.r.types.Wrapper(iface)
	if t == nil {
		return w, false
	}
	w = reflect.New(t).Elem()
	w.Field(0).Set(reflect.ValueOf(b))
	for i := 1; i < t.NumField(); i++ {
		m, ok := b.bound(t.Field(i).Name[1:])
		if !ok || !m.Type().AssignableTo(t.Field(i).Type) {
			return w, false
		}
		w.Field(i).Set(m)
	}
	return w, true
}

// A carrier is an error that carries a box.
type carrier interface {
	error
	carried() Box
}

// An Err carries a value of an interpreted type as an error, with the methods that package errors asks for. Two of them
// are equal if the values are, as in Go.
type Err struct{ box Box }

// An errs is an Err with several errors behind it.
type errs struct{ Err }

// makeError makes an error of a value with a method Error. One that cannot be compared comes as a pointer, so that
// nobody tries.
func makeError(b Box) (error, bool) {
	r := b.T.r
	if !r.method(b.T.base, "Error").IsValid() {
		return nil, false
	}
	e := Err{b}
	several := r.method(b.T.base, "Unwrap")
	many := several.IsValid() && several.Type().NumOut() == 1 && several.Type().Out(0) == reflect.TypeFor[[]error]()
	switch comparable := reflect.TypeOf(b.V).Comparable(); {
	case many && comparable:
		return errs{e}, true
	case many:
		return &errs{e}, true
	case comparable:
		return e, true
	}
	return &e, true
}

func (e Err) carried() Box { return e.box }

func (e Err) Error() string { return call[string](e.box, "Error") }

// Format prints the error as its type would.
func (e Err) Format(f fmt.State, verb rune) { e.box.Format(f, verb) }

// MarshalJSON encodes the value.
func (e Err) MarshalJSON() ([]byte, error) { return e.box.MarshalJSON() }

// Unwrap calls the type's own method, if it has one.
func (e Err) Unwrap() error { return call[error](e.box, "Unwrap") }

// Unwrap calls the type's own method.
func (e errs) Unwrap() []error { return call[[]error](e.box, "Unwrap") }

// Is calls the type's own method, if it has one.
func (e Err) Is(target error) bool { return call[bool](e.box, "Is", target) }

// As calls the type's own method, if it has one.
func (e Err) As(target any) bool { return call[bool](e.box, "As", target) }

// call calls a method with at most one argument and one result, or gives the zero value if there is no such method.
func call[T any](b Box, name string, args ...any) (result T) {
	m, ok := b.bound(name)
	if !ok || m.Type().NumIn() != len(args) || m.Type().NumOut() != 1 || m.Type().Out(0) != reflect.TypeFor[T]() {
		return result
	}
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = reflect.New(m.Type().In(i)).Elem()
		if a != nil {
			in[i].Set(reflect.ValueOf(a))
		}
	}
	reflect.ValueOf(&result).Elem().Set(m.Call(in)[0])
	return result
}
