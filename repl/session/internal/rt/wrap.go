package rt

import "reflect"

// The interpreter's own way to make an interpreted value a compiled interface loses the value and its type. So the
// session registers the methods of each interpreted type as compiled functions ([Runtime.Method]), and values are
// wrapped here, with the number of their type.

// An Object is a value of an interpreted type inside of a wrapper.
type Object struct {
	Value reflect.Value
	Key   int // the number of its named type; of what it points to, for a pointer
}

// A Types answers questions about interpreted types.
type Types struct {
	// Wrapper is the generated struct that carries values as a compiled interface, or nil.
	Wrapper func(iface reflect.Type) reflect.Type
	// Name is how Go writes the type with this number, or a pointer to it.
	Name func(key int, pointer bool) string
	// Implements says whether the type with this number, or a pointer to it, has the methods of the interface with the
	// other number.
	Implements func(key int, pointer bool, iface int) bool
	// Key is the number of the type that the interpreter knows by a name, or 0.
	Key func(name string) int
}

// Wrap sets *dst, a variable of a compiled interface type, to the value that p points to, which is of the interpreted
// type key, or a pointer to it.
func (r *Runtime) Wrap(key int, p, dst any) {
	d := reflect.ValueOf(dst).Elem()
	v := clone(reflect.ValueOf(p).Elem())
	w, ok := r.wrap(key, v, d.Type())
	if !ok {
		panic(RuntimeError("a value of this type cannot be passed as " + d.Type().String()))
	}
	d.Set(w)
}

func clone(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

func (r *Runtime) wrap(key int, v reflect.Value, iface reflect.Type) (w reflect.Value, ok bool) {
	if v.Type().Implements(iface) {
		return v, true
	}
	if iface == errorType {
		e, ok := r.makeError(key, v)
		return reflect.ValueOf(e), ok
	}
	t := r.types.Wrapper(iface)
	if t == nil {
		return w, false
	}
	w = reflect.New(t).Elem()
	w.Field(0).Set(reflect.ValueOf(&Object{v, key}))
	for i := 1; i < t.NumField(); i++ {
		m, ok := r.bound(key, v, t.Field(i).Name[1:])
		if !ok {
			return w, false
		}
		w.Field(i).Set(reflect.MakeFunc(t.Field(i).Type, m))
	}
	return w, true
}

// bound is a method of v.
func (r *Runtime) bound(key int, v reflect.Value, name string) (m func([]reflect.Value) []reflect.Value, ok bool) {
	f := r.method(key, name)
	if !f.IsValid() {
		return nil, false
	}
	return func(args []reflect.Value) []reflect.Value {
		recv := v
		if v.Type() != f.Type().In(0) {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			recv = p
		}
		args = append([]reflect.Value{recv}, args...)
		if f.Type().IsVariadic() {
			return f.CallSlice(args)
		}
		return f.Call(args)
	}, true
}

func (r *Runtime) makeError(key int, v reflect.Value) (*Err, bool) {
	e := &Err{Object: Object{v, key}}
	text, ok := r.bound(key, v, "Error")
	if !ok {
		return nil, false
	}
	e.text = func() string { return text(nil)[0].String() }
	if m, ok := r.bound(key, v, "Unwrap"); ok {
		e.unwrap = func() error {
			if out := m(nil); len(out) == 1 {
				err, _ := out[0].Interface().(error)
				return err
			}
			return nil
		}
	}
	if m, ok := r.bound(key, v, "Is"); ok {
		e.is = func(target error) bool {
			t := reflect.New(errorType).Elem()
			if target != nil {
				t.Set(reflect.ValueOf(target))
			}
			out := m([]reflect.Value{t})
			return len(out) == 1 && out[0].Kind() == reflect.Bool && out[0].Bool()
		}
	}
	return e, true
}

// An Err carries a value of an interpreted type as an error, with the methods that package errors asks for.
type Err struct {
	Object
	text   func() string
	unwrap func() error
	is     func(error) bool
}

func (e *Err) Error() string { return e.text() }

// Unwrap calls the type's own method, if it has one.
func (e *Err) Unwrap() error {
	if e.unwrap == nil {
		return nil
	}
	return e.unwrap()
}

// Is compares values, and calls the type's own method, if it has one.
func (e *Err) Is(target error) bool {
	if t, ok := target.(*Err); ok && t.Key == e.Key && e.Value.Comparable() && e.Value.Equal(t.Value) {
		return true
	}
	return e.is != nil && e.is(target)
}

// Dynamic is the value in an interface without any wrapper, and the number of its type if that is interpreted and
// known (0: it is not). The number is that of the named type, also for a pointer to it.
func (r *Runtime) Dynamic(v reflect.Value) (reflect.Value, int) {
	name := ""
	for v.IsValid() {
		if v.Kind() == reflect.Interface {
			if v.IsNil() {
				return reflect.Value{}, 0
			}
			v = v.Elem()
			continue
		}
		if isBox(v.Type()) {
			if n := boxedName(v); n != "" {
				name = n
			}
			v = boxed(v)
			continue
		}
		break
	}
	if !v.IsValid() {
		return v, 0
	}
	if o := objectOf(v); o != nil {
		return o.Value, o.Key
	}
	if tagged := tagName(v.Type()); tagged != "" {
		name = tagged
	}
	if name == "" {
		return v, 0
	}
	return v, r.types.Key(name)
}

// AsOwn sets *into, a variable of an interpreted interface type, to the value in *x and reports true if that has the
// methods; key is the number of the interface type.
func (r *Runtime) AsOwn(x, into any, key int) bool {
	dst := reflect.ValueOf(into).Elem()
	v, k := r.Dynamic(reflect.ValueOf(x).Elem())
	if k == 0 || !r.types.Implements(k, v.Kind() == reflect.Pointer, key) {
		return false
	}
	for b := reflect.ValueOf(x).Elem(); b.IsValid(); b = b.Elem() {
		if isBox(b.Type()) {
			if b.Type().AssignableTo(dst.Type()) {
				dst.Set(b)
				return true
			}
			return false
		}
		if b.Kind() != reflect.Interface {
			return false
		}
	}
	return false
}

// Unnamed says whether there is a value in the interface *x whose type only the interpreter may know.
func (r *Runtime) Unnamed(x any) bool {
	v, key := r.Dynamic(reflect.ValueOf(x).Elem())
	return v.IsValid() && key == 0
}

// objectOf is what a wrapper carries, or nil if v is none.
func objectOf(v reflect.Value) *Object {
	if !v.CanInterface() {
		return nil
	}
	if e, ok := v.Interface().(*Err); ok && e != nil {
		return &e.Object
	}
	if t := v.Type(); v.Kind() == reflect.Struct && v.NumField() > 0 && t.Field(0).Name == "IValue" {
		o, _ := v.Field(0).Interface().(*Object)
		return o
	}
	return nil
}

// tagName is the interpreter's name of an interpreted struct type, or of what a pointer to one points to.
func tagName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.NumField() == 0 || t.Name() != "" {
		return ""
	}
	return t.Field(0).Tag.Get("mcs")
}

func (r *Runtime) method(key int, name string) reflect.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.methods[methodID{key, name}]
}

type methodID struct {
	key  int
	name string
}
