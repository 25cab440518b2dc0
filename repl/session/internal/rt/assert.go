package rt

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// As sets *into to the value in *x and reports true if it has into's element type; key is the number of that type if it
// is interpreted.
func (r *Runtime) As(x, into any, key int) bool {
	dst := reflect.ValueOf(into).Elem()
	v, k := r.Dynamic(reflect.ValueOf(x).Elem())
	if !v.IsValid() || v.Type() != dst.Type() || k != key {
		return false
	}
	dst.Set(v)
	return true
}

// ErrorsAs is errors.As; key is the number of the type that target points to.
func (r *Runtime) ErrorsAs(err error, target any, key int) bool {
	dst := reflect.ValueOf(target)
	if dst.Kind() != reflect.Pointer || dst.IsNil() {
		panic(RuntimeError("errors: target must be a non-nil pointer"))
	}
	for err != nil {
		if e, ok := err.(*Err); ok && e.Key == key && e.Value.Type() == dst.Type().Elem() {
			dst.Elem().Set(e.Value)
			return true
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

// AsInterface sets *into, a variable of a compiled interface type, to the value in *x and reports true if that has the
// methods.
func (r *Runtime) AsInterface(x, into any) bool {
	dst := reflect.ValueOf(into).Elem()
	src := Unwrap(reflect.ValueOf(x).Elem())
	if !src.IsValid() || dst.Kind() != reflect.Interface {
		return false
	}
	if src.Type().Implements(dst.Type()) && objectOf(src) == nil {
		dst.Set(src)
		return true
	}
	v, key := r.Dynamic(reflect.ValueOf(x).Elem())
	if key == 0 {
		return false
	}
	if w, ok := r.wrap(key, v, dst.Type()); ok {
		dst.Set(w)
		return true
	}
	return false
}

// Full says whether there is a value in the interface *x.
func (r *Runtime) Full(x any) bool { return Unwrap(reflect.ValueOf(x).Elem()).IsValid() }

// Equal is x == y for interfaces, and for an interface and another value; both come as pointers.
func (r *Runtime) Equal(x, y any) bool {
	a, ka := r.Dynamic(reflect.ValueOf(x).Elem())
	b, kb := r.Dynamic(reflect.ValueOf(y).Elem())
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if ka != kb || a.Type() != b.Type() {
		return false
	}
	if !a.Comparable() {
		panic(RuntimeError("runtime error: comparing uncomparable type " + a.Type().String()))
	}
	return a.Equal(b)
}

// AssertFailed panics as a type assertion of *x does; from and to are the types as Go writes them.
func (r *Runtime) AssertFailed(x any, from, to string) {
	if from == "any" {
		from = "interface {}"
	}
	has := "nil"
	if v, key := r.Dynamic(reflect.ValueOf(x).Elem()); v.IsValid() {
		has = v.Type().String()
		if key != 0 {
			has = r.types.Name(key, v.Kind() == reflect.Pointer)
		}
	}
	panic(RuntimeError(fmt.Sprintf("interface conversion: %s is %s, not %s", from, has, to)))
}

// ClearMap empties a map.
func (r *Runtime) ClearMap(m any) {
	if v := reflect.ValueOf(m); !v.IsNil() {
		v.Clear()
	}
}

// Print is the predeclared print, and with a separator and an end println.
func (r *Runtime) Print(w io.Writer, separator, end string, args ...any) {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(printed(Inner(reflect.ValueOf(a))))
	}
	fmt.Fprint(w, b.String()+end)
}

// printed is a value as the Go runtime prints it.
func printed(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Invalid:
		return "(0x0,0x0)" // an interface
	case reflect.Float32, reflect.Float64:
		return printedFloat(v.Float(), v.Type().Bits())
	case reflect.Complex64, reflect.Complex128:
		re, im := printedFloat(real(v.Complex()), v.Type().Bits()/2), printedFloat(imag(v.Complex()), v.Type().Bits()/2)
		if im[0] != '-' && im[0] != '+' {
			im = "+" + im
		}
		return "(" + re + im + "i)"
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.Map, reflect.UnsafePointer:
		return fmt.Sprintf("%#x", v.Pointer())
	case reflect.Slice:
		return fmt.Sprintf("[%d/%d]%#x", v.Len(), v.Cap(), v.Pointer())
	}
	return fmt.Sprint(v)
}

func printedFloat(f float64, bits int) string { return strconv.FormatFloat(f, 'g', -1, bits) }

// Quit notes that a cell has executed a return statement: nothing that follows it in the cell runs.
func (r *Runtime) Quit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != nil {
		r.run.quit = true
	}
}
