package rt

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// As sets *into to the value in the interface x and returns true if the value has into's element type. Key
// is the number of that type if its values come in boxes, otherwise 0.
func (r *Runtime) As(x, into any, key int) bool {
	v, t := r.Dynamic(reflect.ValueOf(x))
	if !v.IsValid() || t == nil && key != 0 || t != nil && (key == 0 || r.typ(key) != t) {
		return false
	}
	dst := reflect.ValueOf(into).Elem()
	if key == 0 && v.Type() != dst.Type() {
		return false
	}
	return Move(dst, v)
}

// AsInterface sets *into, a variable of a compiled interface type, to the value in x, and returns true if
// the value has the methods.
func (r *Runtime) AsInterface(x, into any) bool {
	dst := reflect.ValueOf(into).Elem()
	if dst.Kind() != reflect.Interface || x == nil {
		return false
	}
	v := reflect.ValueOf(r.Open(x))
	ok := v.Type().Implements(dst.Type())
	if b, boxed := r.boxIn(v); boxed {
		v, ok = r.wrap(b, dst.Type())
	}
	if ok {
		dst.Set(v)
	}
	return ok
}

// Become sets *into, a variable of a compiled interface type, to the value in x, which must have the
// methods.
func (r *Runtime) Become(x, into any) {
	if x != nil && !r.AsInterface(x, into) {
		v, t := r.Dynamic(reflect.ValueOf(x))
		panic(RuntimeError(fmt.Sprintf("a value of type %s cannot be passed as %s", typeName(v, t), reflect.TypeOf(into).Elem())))
	}
}

// AsOwn sets *into, a variable of an interface type that a cell has declared, to the value in x, and
// returns true if the value has the methods. Key is the number of the interface type.
func (r *Runtime) AsOwn(x any, into *any, key int) bool {
	if !r.has(x, key) {
		return false
	}
	*into = r.Open(x)
	return true
}

// has says whether the value in x has the methods of an interface type.
func (r *Runtime) has(x any, iface int) bool {
	v, t := r.Dynamic(reflect.ValueOf(x))
	switch {
	case !v.IsValid():
		return false
	case t != nil:
		return r.types.Implements(t.key, r.typ(iface).key)
	}
	return r.types.Satisfies(v.Type(), iface)
}

// ErrorsAs is errors.As for a target that is a variable of a cells' interface type; iface is the number of
// that type.
func (r *Runtime) ErrorsAs(err error, target *any, iface int) bool {
	if target == nil {
		panic(RuntimeError("errors: target must be a non-nil pointer"))
	}
	return chain(err, target, func(err error) bool { return r.AsOwn(err, target, iface) })
}

// ErrorsAsType is errors.As for a target that is a variable of a cells' type; elem is the number of the
// type, and pointer the number of the target's type.
func (r *Runtime) ErrorsAsType(err error, target any, elem, pointer int) bool {
	boxed := r.Box(pointer, target)
	if !r.plain() && (!r.renewed.Load() || reflect.ValueOf(target).IsNil()) {
		return errors.As(err, boxed)
	}
	return chain(err, boxed, func(err error) bool { return r.As(err, target, elem) })
}

// chain looks for the first error for which is returns true, in the order of package errors.
func chain(err error, target any, is func(error) bool) bool {
	for err != nil {
		if is(err) {
			return true
		}
		if x, ok := err.(interface{ As(any) bool }); ok && x.As(target) {
			return true
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			return slices.ContainsFunc(x.Unwrap(), func(e error) bool { return chain(e, target, is) })
		default:
			return false
		}
	}
	return false
}

// typeName returns the type of a value as Go writes it.
func typeName(v reflect.Value, t *Type) string {
	if t != nil {
		return t.String()
	}
	return v.Type().String()
}

// AssertFailed panics like a failed type assertion of x. From and to are the types as Go writes them.
// Methods are those of the wanted interface type, of which the value's type may lack one; empty for
// another type.
func (r *Runtime) AssertFailed(x any, from, to string, methods string) {
	if from == "any" {
		from = "interface {}"
	}
	has := "nil"
	if v, t := r.Dynamic(reflect.ValueOf(x)); v.IsValid() {
		has = typeName(v, t)
		if methods != "" {
			panic(RuntimeError(fmt.Sprintf("interface conversion: %s is not %s: missing method %s", has, to, r.missing(v, t, methods))))
		}
		if has == to {
			panic(RuntimeError(fmt.Sprintf("interface conversion: %s is %s, not %s (types from different scopes)", from, has, to)))
		}
	} else if methods != "" {
		panic(RuntimeError("interface conversion: interface is nil, not " + to))
	}
	panic(RuntimeError(fmt.Sprintf("interface conversion: %s is %s, not %s", from, has, to)))
}

// plainName returns the name of a method as Go writes it: the name of an unexported method is stored with
// its package.
func plainName(id string) string { return id[strings.LastIndexByte(id, '.')+1:] }

// missing returns the first of the methods, whose names are separated by spaces, that a value does not
// have.
func (r *Runtime) missing(v reflect.Value, t *Type, methods string) string {
	names := strings.Fields(methods)
	for _, name := range names {
		if t != nil && !r.method(t.base, name).IsValid() || t == nil && !v.MethodByName(name).IsValid() {
			return plainName(name)
		}
	}
	return plainName(names[0])
}

// ClearMap empties a map.
func (r *Runtime) ClearMap(m any) {
	if v := reflect.ValueOf(m); !v.IsNil() {
		v.Clear()
	}
}

// Print is the predeclared print, and with a separator and an end println. Go prints the addresses of
// slices and maps, which are different in every run and of no use to a person who expects the print of
// another language. Unless raw is set, they are printed as package fmt does.
func (r *Runtime) Print(w io.Writer, separator, end string, raw bool, args ...any) {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteString(separator)
		}
		v, _ := r.Dynamic(reflect.ValueOf(a))
		switch {
		case raw && v.Kind() == reflect.Slice:
			fmt.Fprintf(&b, "[%d/%d]%#x", v.Len(), v.Cap(), v.Pointer())
		case raw && v.Kind() == reflect.Map:
			fmt.Fprintf(&b, "%#x", v.Pointer())
		default:
			b.WriteString(printed(v))
		}
	}
	fmt.Fprint(w, b.String()+end)
}

// printed formats a value as the Go runtime prints it, except slices and maps.
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
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return fmt.Sprintf("%#x", v.Pointer())
	}
	return fmt.Sprint(v)
}

func printedFloat(f float64, bits int) string { return strconv.FormatFloat(f, 'g', -1, bits) }

// Quit notes that a cell has executed a return statement: the rest of the cell does not run.
func (r *Runtime) Quit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != nil {
		r.run.quit = true
	}
}
