package rt

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// How values of interpreted types are carried in interfaces. The interpreter makes the reflect type of `type F float64`
// the one of float64: == of two interfaces, the keys of a map, type switches and %T would take the one for the other. So
// lowered code knows two kinds of interfaces only: any, which also stands for the interfaces that cells declare, and
// compiled interfaces with methods. In an any, a value is what it seems, unless its type mentions one that was declared
// in a cell: then it is in a [Box] with the number of its type. Boxes compare, and hash, as the values would in Go. In a
// compiled interface with methods there is an [Err] or a generated wrapper around the box, whose methods are the type's.

// A Type stands for a Go type that reflection cannot tell from others.
type Type struct {
	r    *Runtime
	key  int // its number
	base int // the number of the named type that it is, or points to
}

// Key is the type's number, 0 for a nil Type.
func (t *Type) Key() int {
	if t == nil {
		return 0
	}
	return t.key
}

func (t *Type) String() string { return t.r.types.Name(t.key) }

// A Box is a value with its type. It has the methods through which package fmt and encoders ask a value about itself.
type Box struct {
	T *Type
	V any
}

var boxType = reflect.TypeFor[Box]()

// Box is the value v of the type with this number as the value of an interface.
func (r *Runtime) Box(key int, v any) any { return Box{r.typ(key), v} }

// typ is the type with this number.
func (r *Runtime) typ(key int) *Type {
	if list := r.numbered.Load(); list != nil && key < len(*list) && (*list)[key] != nil {
		return (*list)[key]
	}
	base := r.types.Base(key)
	r.tables.Lock()
	defer r.tables.Unlock()
	var list []*Type
	if old := r.numbered.Load(); old != nil {
		list = slices.Clone(*old)
	}
	for len(list) <= key {
		list = append(list, nil)
	}
	if list[key] == nil {
		list[key] = &Type{r, key, base}
		r.numbered.Store(&list)
	}
	return list[key]
}

// Format prints the value as its type would.
func (b Box) Format(f fmt.State, verb rune) {
	b.T.r.types.Format(f, verb, b.T.key, reflect.ValueOf(b.V))
}

// MarshalJSON calls the type's own method, or that for text, if it has one.
func (b Box) MarshalJSON() ([]byte, error) {
	if out, ok := b.text("MarshalJSON"); ok {
		return out.bytes, out.err
	}
	if out, ok := b.text("MarshalText"); ok {
		if out.err != nil {
			return nil, out.err
		}
		return json.Marshal(string(out.bytes))
	}
	return json.Marshal(b.T.r.Plain(b.V))
}

type marshalled struct {
	bytes []byte
	err   error
}

// text calls a method func() ([]byte, error).
func (b Box) text(name string) (m marshalled, ok bool) {
	f, ok := b.bound(name)
	if !ok || f.Type() != reflect.TypeFor[func() ([]byte, error)]() {
		return m, false
	}
	out := f.Call(nil)
	m.bytes = out[0].Bytes()
	m.err, _ = out[1].Interface().(error)
	return m, true
}

// bound is a method of the value as a function.
func (b Box) bound(name string) (f reflect.Value, ok bool) {
	m := b.T.r.method(b.T.base, name)
	if !m.IsValid() {
		return m, false
	}
	mt := m.Type()
	in := make([]reflect.Type, mt.NumIn()-1)
	for i := range in {
		in[i] = mt.In(i + 1)
	}
	out := make([]reflect.Type, mt.NumOut())
	for i := range out {
		out[i] = mt.Out(i)
	}
	return reflect.MakeFunc(reflect.FuncOf(in, out, mt.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		return b.invoke(m, name, args)
	}), true
}

// invoke calls a registered method, a function whose first parameter is the receiver or a pointer to it.
func (b Box) invoke(m reflect.Value, name string, args []reflect.Value) []reflect.Value {
	recv, want := reflect.ValueOf(b.V), m.Type().In(0)
	switch have := recv.Type(); {
	case have == want:
	case have.Kind() == reflect.Pointer && have.Elem() == want:
		if recv.IsNil() {
			panic(RuntimeError(fmt.Sprintf("value method %s.%s called using nil %s pointer", b.T.r.types.Name(b.T.base), name, b.T)))
		}
		recv = recv.Elem()
	case want.Kind() == reflect.Pointer && want.Elem() == have:
		recv = addressed(recv)
	default:
		copied := reflect.New(want).Elem()
		if !Move(copied, recv) {
			panic(RuntimeError(fmt.Sprintf("%s is not a receiver of %s", b.T, name)))
		}
		recv = copied
	}
	all := append([]reflect.Value{recv}, args...)
	if m.Type().IsVariadic() {
		return m.CallSlice(all)
	}
	return m.Call(all)
}

// Dispatch sets *p, a function variable, to the call of a method by its name: the first parameter is an interface with the
// receiver in it.
func (r *Runtime) Dispatch(name string, p any) {
	f := reflect.ValueOf(p).Elem()
	variadic := f.Type().IsVariadic()
	f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		v := args[0].Elem()
		if !v.IsValid() {
			r.NilUsed()
		}
		if b, ok := box(v); ok {
			if m := r.method(b.T.base, name); m.IsValid() {
				return b.invoke(m, name, args[1:])
			}
			panic(RuntimeError(fmt.Sprintf("%s has no method %s", b.T, name)))
		}
		m := v.MethodByName(name)
		if !m.IsValid() {
			panic(RuntimeError(fmt.Sprintf("%s has no method %s", v.Type(), name)))
		}
		if variadic {
			return m.CallSlice(args[1:])
		}
		return m.Call(args[1:])
	}))
}

// box is the box that v is, or that a wrapper carries.
func box(v reflect.Value) (b Box, ok bool) {
	if !v.IsValid() || !v.CanInterface() {
		return b, false
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == boxType {
			return v.Interface().(Box), true
		}
		if v.NumField() > 0 && v.Type().Field(0).Name == "IValue" {
			b, ok = v.Field(0).Interface().(Box)
			return b, ok
		}
	case reflect.Pointer, reflect.Interface:
	default:
		return b, false
	}
	if c, ok := v.Interface().(carrier); ok && !(v.Kind() == reflect.Pointer && v.IsNil()) {
		return c.carried(), true
	}
	return b, false
}

// Dynamic is the value in an interface without its box or wrapper, and its type if it was in one.
func (r *Runtime) Dynamic(v reflect.Value) (reflect.Value, *Type) {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if b, ok := box(v); ok {
		return reflect.ValueOf(b.V), b.T
	}
	return v, nil
}

// Open is the value in an interface as an any holds it: compiled wrappers are taken off.
func (r *Runtime) Open(x any) any {
	if b, ok := box(reflect.ValueOf(x)); ok {
		return b
	}
	return x
}

// Plain is a value for compiled code that looks at it by reflection: without its box, and with the values in the slices,
// arrays and maps of interfaces that it holds taken out of theirs. What is behind pointers and in structs stays as it is.
func (r *Runtime) Plain(x any) any {
	v, t := r.Dynamic(reflect.ValueOf(x))
	if !v.IsValid() {
		return nil
	}
	if t != nil && (v.Kind() == reflect.Struct || v.Kind() == reflect.Pointer) {
		return v.Interface()
	}
	return plain(r, v).Interface()
}

func plain(r *Runtime, v reflect.Value) reflect.Value {
	if !holdsInterfaces(v.Type()) {
		return v
	}
	inner := func(e reflect.Value) reflect.Value {
		if e.Kind() == reflect.Interface {
			if e.IsNil() || e.Type().NumMethod() > 0 {
				return e
			}
			return reflect.ValueOf(r.Plain(e.Interface()))
		}
		return plain(r, e)
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		if v.Kind() == reflect.Slice {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(inner(v.Index(i)))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(inner(it.Key()), inner(it.Value()))
		}
		return out
	}
	return v
}

// holdsInterfaces says whether t is a slice, array or map of interfaces, or of such.
func holdsInterfaces(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return t.Elem().Kind() == reflect.Interface || holdsInterfaces(t.Elem())
	case reflect.Map:
		return t.Elem().Kind() == reflect.Interface || t.Key().Kind() == reflect.Interface || holdsInterfaces(t.Elem())
	}
	return false
}

// Method tells of a method of an interpreted type, as a function that takes the receiver, or a pointer to it, first.
func (r *Runtime) Method(key int, name string, f any) {
	r.tables.Lock()
	defer r.tables.Unlock()
	r.methods[methodID{key, name}] = reflect.ValueOf(f)
}

func (r *Runtime) method(key int, name string) reflect.Value {
	r.tables.RLock()
	defer r.tables.RUnlock()
	return r.methods[methodID{key, name}]
}

type methodID struct {
	key  int
	name string
}

// CallText calls a method func() string of v, which is of the type with this number or a pointer to it.
func (r *Runtime) CallText(key int, name string, v reflect.Value) (text string, err error) {
	b := Box{r.typ(key), v.Interface()}
	m := r.method(b.T.base, name)
	if !m.IsValid() || m.Type().NumIn() != 1 || m.Type().NumOut() != 1 || m.Type().Out(0).Kind() != reflect.String {
		return "", errNoText
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return "<nil>", nil
	}
	return b.invoke(m, name, nil)[0].String(), nil
}

var errNoText = errors.New("no such method")

// addressed is a pointer to a copy of v.
func addressed(v reflect.Value) reflect.Value {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p
}

// TypeName is how Go writes the type of the value in an interface, if it is in a box or a wrapper.
func TypeName(x any) (name string, ok bool) {
	b, ok := box(reflect.ValueOf(x))
	if !ok {
		return "", false
	}
	return b.T.String(), true
}
