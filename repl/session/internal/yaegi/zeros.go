package yaegi

import (
	"reflect"
	"slices"
	"unsafe"
)

// The interpreter does not copy an argument that is zero, because the parameter is zero already. It asks
// reflection, for which -0 is zero, alone and in a struct or an array. Only where a function value is called
// all arguments are copied. So a call of a declared function that may get a -0 has two steps: the
// interpreter's, and one that calls the function as a value, about 1 us slower, for when an argument has one.

// genFunctionWrapper is the interpreter's: it returns a function that makes the value of a declared function.
//
//go:linkname genFunctionWrapper github.com/traefik/yaegi/interp.genFunctionWrapper
func genFunctionWrapper(decl *node) func(*frame) reflect.Value

// keepSigns makes the step of a call that passes -0 on, if its function has parameters that may be -0.
func (in *Interp) keepSigns(n *node) {
	called := n.child[0]
	if called.sym == nil || called.sym.node == nil || called.sym.node.kind != in.declaration || n.exec == nil {
		return
	}
	decl := called.sym.node
	if !slices.ContainsFunc(decl.types, in.holdsFloat) {
		return
	}
	f := genFunctionWrapper(decl)(in.top)
	places := in.floats(n, f.Type())
	if len(places) == 0 {
		return
	}
	plain := n.exec
	called.rval = f
	n.gen(n)
	called.rval = reflect.Value{}
	copies := n.exec
	n.exec = func(f *frame) step {
		for _, p := range places {
			if p.of(f).negativeZero() {
				return copies(f)
			}
		}
		return plain(f)
	}
}

// floats finds where the arguments of a call are that may hold a float. The interpreter copies those for a
// variadic parameter.
func (in *Interp) floats(n *node, f reflect.Type) (places []place) {
	args := n.child[1:]
	for i := range f.NumIn() {
		if f.IsVariadic() && i == f.NumIn()-1 || !in.holdsFloat(f.In(i)) {
			continue
		}
		var p place
		var ok bool
		if len(args) == 1 { // perhaps a call that gives all arguments
			p, ok = placeOf(args[0])
			p.index += i
		} else if i < len(args) {
			p, ok = placeOf(args[i])
		}
		if ok {
			places = append(places, p)
		}
	}
	return places
}

// holdsFloat says whether a value of a type has floating-point numbers in its own memory.
func (in *Interp) holdsFloat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return t.Len() > 0 && in.holdsFloat(t.Elem())
	case reflect.Struct:
		holds, known := in.floaty[t]
		if !known {
			for f := range t.Fields() {
				holds = holds || in.holdsFloat(f.Type)
			}
			in.floaty[t] = holds
		}
		return holds
	}
	return false
}

// negativeZero says whether a value is zero for reflection, but not all of its bits are.
func (v *value) negativeZero() bool {
	if v.bits&^settableBit == floatBits {
		return *(*uint64)(v.ptr) == 1<<63
	}
	r := *(*reflect.Value)(unsafe.Pointer(v))
	if !r.IsValid() || v.bits&heldBit == 0 || !r.IsZero() {
		return false
	}
	return slices.ContainsFunc(unsafe.Slice((*byte)(v.ptr), r.Type().Size()), func(b byte) bool { return b != 0 })
}
