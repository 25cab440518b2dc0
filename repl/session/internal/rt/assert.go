package rt

import (
	"fmt"
	"io"
	"reflect"
)

// An Err carries a value of an interpreted type as a compiled error: the interpreter's own wrapper loses the value.
type Err struct {
	value reflect.Value // of the interpreted type
	key   int           // which type that is
	text  func() string
	more  ErrMethods
}

// ErrMethods are the methods of an interpreted error type that package errors asks for; nil if it has not got them.
type ErrMethods struct {
	Unwrap func() error
	Is     func(error) bool
}

// MakeError makes the value that p points to an error. Key is the number of its type.
func (r *Runtime) MakeError(p any, key int, text func() string, unwrap func() error, is func(error) bool) error {
	v := reflect.ValueOf(p).Elem()
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return &Err{c, key, text, ErrMethods{unwrap, is}}
}

func (e *Err) Error() string { return e.text() }

// Unwrap calls the type's own method, if it has one.
func (e *Err) Unwrap() error {
	if e.more.Unwrap == nil {
		return nil
	}
	return e.more.Unwrap()
}

// Is calls the type's own method, if it has one, and compares values otherwise.
func (e *Err) Is(target error) bool {
	if t, ok := target.(*Err); ok && t.key == e.key && e.value.Comparable() && e.value.Equal(t.value) {
		return true
	}
	return e.more.Is != nil && e.more.Is(target)
}

// As is for errors.As with a pointer to the interpreted type.
func (e *Err) As(target any) bool {
	p := reflect.ValueOf(target)
	if p.Kind() != reflect.Pointer || p.Type().Elem() != e.value.Type() {
		return false
	}
	p.Elem().Set(e.value)
	return true
}

// concrete is the value in an interface as reflection sees it, without any box of the interpreter or of this package.
func concrete(x any) reflect.Value {
	if e, ok := x.(*Err); ok {
		return e.value
	}
	v := Inner(reflect.ValueOf(x))
	if v.IsValid() && v.CanInterface() {
		if e, ok := v.Interface().(*Err); ok {
			return e.value
		}
	}
	return v
}

// As sets *p to the value in x and reports true if it has p's element type.
func (r *Runtime) As(x, p any) bool {
	v, dst := concrete(x), reflect.ValueOf(p).Elem()
	if !v.IsValid() || v.Type() != dst.Type() {
		return false
	}
	dst.Set(v)
	return true
}

// AsKey is As for an interpreted type that reflection cannot tell from others: key is its number.
func (r *Runtime) AsKey(x, p any, key int) bool {
	e, ok := Unwrap(reflect.ValueOf(x)).Interface().(*Err)
	return ok && e.key == key && r.As(e, p)
}

// ErrorsAs is errors.As; key is the number of the type that target points to.
func (r *Runtime) ErrorsAs(err error, target any, key int) bool {
	dst := reflect.ValueOf(target)
	if dst.Kind() != reflect.Pointer || dst.IsNil() {
		panic(RuntimeError("errors: target must be a non-nil pointer"))
	}
	for err != nil {
		if e, ok := err.(*Err); ok {
			if e.key == key && e.value.Type() == dst.Type().Elem() {
				dst.Elem().Set(e.value)
				return true
			}
		}
		if reflect.TypeOf(err).AssignableTo(dst.Type().Elem()) && (dst.Type().Elem().Kind() == reflect.Interface || dst.Type().Elem().Implements(errorType)) {
			dst.Elem().Set(reflect.ValueOf(err))
			return true
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range x.Unwrap() {
				if r.ErrorsAs(e, target, key) {
					return true
				}
			}
			return false
		default:
			return false
		}
	}
	return false
}

var errorType = reflect.TypeFor[error]()

// AsInterface sets *p, a variable of a compiled interface type, to x and reports true if x has the methods.
func (r *Runtime) AsInterface(x, p any) bool {
	v, dst := Unwrap(reflect.ValueOf(x)), reflect.ValueOf(p).Elem()
	if !v.IsValid() || dst.Kind() != reflect.Interface || !v.Type().Implements(dst.Type()) {
		return false
	}
	dst.Set(v)
	return true
}

// Boxed says whether there is a value in x at all.
func (r *Runtime) Boxed(x any) bool { return Unwrap(reflect.ValueOf(x)).IsValid() }

// Equal is x == y for interfaces, and for an interface and another value.
func (r *Runtime) Equal(x, y any) bool {
	if a, ok := x.(*Err); ok {
		if b, ok := y.(*Err); ok && (a.key != b.key) {
			return false
		}
	}
	a, b := concrete(x), concrete(y)
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	if !a.Comparable() {
		panic(RuntimeError("runtime error: comparing uncomparable type " + a.Type().String()))
	}
	return a.Equal(b)
}

// AssertFailed panics as a type assertion does; from and to are the types as Go writes them.
func (r *Runtime) AssertFailed(x any, from, to string) {
	if from == "any" {
		from = "interface {}"
	}
	has := "nil"
	if v := concrete(x); v.IsValid() {
		has = v.Type().String()
	}
	panic(RuntimeError(fmt.Sprintf("interface conversion: %s is %s, not %s", from, has, to)))
}

// ClearMap empties a map.
func (r *Runtime) ClearMap(m any) {
	if v := reflect.ValueOf(m); !v.IsNil() {
		v.Clear()
	}
}

// Print is the predeclared print, which writes to the cell's output.
func (r *Runtime) Print(w io.Writer, args ...any) {
	for _, a := range args {
		fmt.Fprint(w, a)
	}
}

// Quit notes that a cell has executed a return statement: nothing that follows it in the cell runs.
func (r *Runtime) Quit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != nil {
		r.run.quit = true
	}
}
