package rt

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/repl/session/internal/gotype"
)

// How interfaces hold values of interpreted types. For `type F float64` the interpreter uses the reflect
// type float64, and it exports every field of a struct. Variables in interpreted code have such types, and
// other code never sees them. When a value goes into an interface, it gets the type that the compiler
// would have given it, with its name, its fields and its methods; package gotype makes that type. The
// value itself does not change, because both types have the same layout in memory. So a pointer still
// points to the interpreter's variable, and its target needs no conversion.
//
// Lowered code has two kinds of interfaces only: any, which also stands for the interfaces that cells
// declare, and compiled interfaces with methods. Both hold the same values as in a compiled program.

// A Type is a Go type that only the session knows.
type Type struct {
	r    *Runtime
	key  int // its number
	base int // the number of the named type: this type, or the target of this pointer type
	// made is the type of the values in interfaces, and like the type of the interpreter's variables.
	made, like atomic.Pointer[reflect.Type]
}

// Key returns the type's number, and 0 for a nil Type.
func (t *Type) Key() int {
	if t == nil {
		return 0
	}
	return t.key
}

func (t *Type) String() string { return t.r.types.Name(t.key) }

// Box returns v, a value of the type with this number, as an interface holds it.
func (r *Runtime) Box(key int, v any) any {
	t := r.typ(key)
	if r.plain() {
		return box{t, v}.held()
	}
	made := t.reflect()
	if v == nil {
		return reflect.Zero(made).Interface()
	}
	have := reflect.TypeOf(v)
	if have == made {
		return v
	}
	if like := t.like.Load(); like == nil || *like != have {
		if !gotype.SameLayout(have, made) {
			panic(fmt.Sprintf("internal error: the interpreter has a value of type %s as %s", t, have))
		}
		t.like.Store(&have)
	}
	return gotype.Retype(v, made)
}

// Reflect returns the type with this number, as values in interfaces have it.
func (r *Runtime) Reflect(key int) reflect.Type { return r.typ(key).reflect() }

// reflect is the type of the values in interfaces.
func (t *Type) reflect() reflect.Type {
	if made := t.made.Load(); made != nil {
		return *made
	}
	made := t.r.types.Made(t.key)
	t.made.Store(&made)
	t.r.madeTypes.Store(made, t)
	return made
}

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
		list[key] = &Type{r: r, key: key, base: base}
		r.numbered.Store(&list)
	}
	return list[key]
}

// Renew maps the numbers of types that were declared again with the same underlying type to the newer
// types. Earlier values and earlier compiled code then behave like new ones.
func (r *Runtime) Renew(numbers map[int]int) {
	for _, now := range numbers {
		r.typ(now)
	}
	r.tables.Lock()
	defer r.tables.Unlock()
	var list []*Type
	if have := r.numbered.Load(); have != nil {
		list = slices.Clone(*have)
	}
	for old, now := range numbers {
		for len(list) <= old {
			list = append(list, nil)
		}
		for key, t := range list {
			if key == old || t.Key() == old {
				list[key] = list[now]
			}
		}
	}
	r.numbered.Store(&list)
	r.madeTypes.Clear()
	r.renewed.Store(true)
}

// Open returns the value in an interface with the newest declaration of its type.
func (r *Runtime) Open(x any) any {
	if b, ok := r.boxIn(reflect.ValueOf(x)); ok {
		return b.held()
	}
	if x == nil || !r.renewed.Load() {
		return x
	}
	t := r.known(reflect.TypeOf(x))
	if t == nil {
		return x
	}
	if made := t.reflect(); made != reflect.TypeOf(x) {
		return gotype.Retype(x, made)
	}
	return x
}

// known returns the session's Type of a value in an interface, or nil for a type of compiled code.
func (r *Runtime) known(made reflect.Type) *Type {
	if r.plain() {
		return nil
	}
	if t, ok := r.madeTypes.Load(made); ok {
		return t.(*Type)
	}
	var t *Type
	if key := r.types.Find(made); key != 0 {
		t = r.typ(key)
		t.reflect()
	}
	r.madeTypes.Store(made, t)
	return t
}

// Dynamic returns the value in an interface as the interpreter has it in variables, and its Type if only
// the session knows the type.
func (r *Runtime) Dynamic(v reflect.Value) (reflect.Value, *Type) {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if b, ok := r.boxIn(v); ok {
		return reflect.ValueOf(b.value), b.t
	}
	if !v.IsValid() {
		return v, nil
	}
	t := r.known(v.Type())
	if t == nil {
		return v, nil
	}
	if like := t.like.Load(); like != nil && v.CanInterface() {
		v = as(*like, v)
	}
	return v, t
}

// as returns v as a value of another type with the same layout in memory.
func as(t reflect.Type, v reflect.Value) reflect.Value {
	if v.Type() == t {
		return v
	}
	to := reflect.New(t).Elem()
	if !Move(to, v) {
		panic(fmt.Sprintf("internal error: a value of type %s is used as %s", v.Type(), t))
	}
	return to
}

// Invoke calls a method of the type with this number. The method is registered as a function whose first
// parameter is the receiver or a pointer to it; recv is a value of the type or a pointer to one. The
// results are the interpreter's.
func (r *Runtime) Invoke(key int, name string, recv reflect.Value, args []reflect.Value) []reflect.Value {
	m := r.method(key, name)
	if !m.IsValid() {
		panic(RuntimeError(fmt.Sprintf("%s has no method %s", r.types.Name(key), name)))
	}
	mt := m.Type()
	want := mt.In(0)
	switch pointer := recv.Kind() == reflect.Pointer; {
	case want.Kind() == reflect.Pointer && !pointer:
		p := reflect.New(recv.Type()) // to a copy
		p.Elem().Set(recv)
		recv = p
	case want.Kind() != reflect.Pointer && pointer:
		if recv.IsNil() {
			panic(RuntimeError(fmt.Sprintf("value method %s.%s called using nil *%[1]s pointer", r.types.Name(key), name)))
		}
		recv = recv.Elem()
	}
	all := make([]reflect.Value, len(args)+1)
	all[0] = as(want, recv)
	for i, a := range args {
		all[i+1] = as(mt.In(i+1), a)
	}
	return Call(m, all)
}

// InvokeFor is Invoke for a function type whose parameters and results have the same layout in memory as
// the method's.
func (r *Runtime) InvokeFor(f reflect.Type, key int, name string, recv reflect.Value, args []reflect.Value) []reflect.Value {
	results := r.Invoke(key, name, recv, args)
	for i, v := range results {
		results[i] = as(f.Out(i), v)
	}
	return results
}

// Dispatch sets *p, a function variable, to a function that calls a method by name. Its first parameter is
// an interface with the receiver.
func (r *Runtime) Dispatch(name string, p any) {
	f := reflect.ValueOf(p).Elem()
	f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		v := args[0].Elem()
		if !v.IsValid() {
			r.NilUsed()
		}
		if t := r.known(v.Type()); t != nil {
			return r.InvokeFor(f.Type(), t.base, name, v, args[1:])
		}
		if b, ok := r.boxIn(v); ok {
			return r.InvokeFor(f.Type(), b.t.base, name, reflect.ValueOf(b.value), args[1:])
		}
		m := v.MethodByName(name)
		if !m.IsValid() {
			panic(RuntimeError(fmt.Sprintf("%s has no method %s", v.Type(), name)))
		}
		return Call(m, args[1:])
	}))
}

// Method registers a method of an interpreted type, as a function whose first parameter is the receiver or
// a pointer to it.
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

// CallText calls the method Error or String of v, a value of the type with this number.
func (r *Runtime) CallText(key int, name string, v reflect.Value) (text string, err error) {
	x := r.Box(key, v.Interface())
	if b, ok := r.boxIn(reflect.ValueOf(x)); ok {
		if (name == "Error" || name == "String") && b.has(name) {
			return b.text(name), nil
		}
		return "", errNoText
	}
	var say func() string
	if e, ok := x.(error); ok && name == "Error" {
		say = e.Error
	} else if s, ok := x.(fmt.Stringer); ok && name == "String" {
		say = s.String
	} else {
		return "", errNoText
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return "<nil>", nil
	}
	return say(), nil
}

var errNoText = errors.New("no such method")
