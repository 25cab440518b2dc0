package rt

import (
	"fmt"
	"reflect"
)

// With another Go, whose descriptions of types are not known, package gotype makes no types. Then a value of
// a cell's type is in a box in an any, and in a wrapper around the box in a compiled interface. Compiled code
// finds the methods of wrappers, and prints boxes like their values; reflection sees the box.

// A box is a value of a type that only the session knows.
type box struct {
	t     *Type
	value any
}

// plain says whether values are in boxes.
func (r *Runtime) plain() bool { return r.types.Made == nil }

// boxIn is the box in an interface, or in a wrapper in one, with the newest declaration of its type.
func (r *Runtime) boxIn(v reflect.Value) (b box, ok bool) {
	if !r.plain() {
		return b, false
	}
	if v = Inner(v); !v.IsValid() || v.Kind() != reflect.Struct || !v.CanInterface() {
		return b, false
	}
	if b, ok = reflect.TypeAssert[box](v); !ok && v.NumField() > 0 && v.Type().Field(0).Name == wrapped {
		b, ok = reflect.TypeAssert[box](v.Field(0))
	}
	if ok {
		b.t = r.typ(b.t.key)
	}
	return b, ok
}

// held is a box as an any has it: of an error in the wrapper of errors, because compiled code asks for these.
func (b box) held() any {
	if b.has("Error") {
		return errorBox{b}
	}
	return b
}

// wrapped is the name of the field of a wrapper that has the box.
const wrapped = "IValue"

// errorBox is the wrapper of errors.
type errorBox struct{ IValue any }

func (e errorBox) Error() string { return e.IValue.(box).text("Error") }

// Unwrap is that of the error, if it has the method.
func (e errorBox) Unwrap() error {
	b := e.IValue.(box)
	if !b.has("Unwrap") {
		return nil
	}
	err, _ := reflect.TypeAssert[error](b.call("Unwrap")[0])
	return err
}

// wrap returns the value in a box as a compiled interface has it, if it has the methods.
func (r *Runtime) wrap(b box, iface reflect.Type) (v reflect.Value, ok bool) {
	if iface == reflect.TypeFor[error]() {
		return reflect.ValueOf(errorBox{b}), b.has("Error")
	}
	wrapper := r.types.Wrapper(iface)
	if wrapper == nil {
		return v, false
	}
	v = reflect.New(wrapper).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Func {
			f.Set(reflect.ValueOf(b))
			continue
		}
		name := wrapper.Field(i).Name[len("W"):]
		if !b.has(name) {
			return v, false
		}
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			return r.InvokeFor(f.Type(), b.t.base, name, reflect.ValueOf(b.value), args)
		}))
	}
	return v, true
}

// has says whether the value has a method.
func (b box) has(name string) bool {
	m := b.t.r.method(b.t.base, name)
	return m.IsValid() && (m.Type().In(0).Kind() != reflect.Pointer || reflect.TypeOf(b.value).Kind() == reflect.Pointer)
}

func (b box) call(name string) []reflect.Value {
	return b.t.r.Invoke(b.t.base, name, reflect.ValueOf(b.value), nil)
}

func (b box) text(name string) string { return b.call(name)[0].String() }

// Format prints the value as package fmt prints one with its methods.
func (b box) Format(s fmt.State, verb rune) {
	var x = b.value
	if !s.Flag('#') {
		switch {
		case b.has("Error"):
			x = b.text("Error")
		case b.has("String"):
			x = b.text("String")
		}
	}
	fmt.Fprintf(s, fmt.FormatString(s, verb), x)
}
