package yaegi

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// A call of an interpreted function costs as much as twenty sums, if the interpreter makes it: it makes each
// variable of the function with reflection, and calls a closure as compiled code would, with reflection, too.
// Here a call finds the function's variables described in one list, makes those without pointers at once, and
// calls closures directly. Calls of other functions, and arguments that the interpreter converts, are left to
// the interpreter's own step.

// A call is a node that calls an interpreted function.
type call struct {
	in       *Interp
	static   *node // the declaration of the function; nil: the function is a value
	callee   place // of that value
	args     []operand
	results  []place // of the results
	plain    step    // the interpreter's own
	next     step    // the next step
	unless   step    // the next step if the first result is false; nil: it does not matter
	declared atomic.Pointer[function]
}

// An operand is a constant, or the value at a place.
type operand struct {
	place
	constant reflect.Value
}

func (o *operand) of(f *frame) *value {
	if o.constant.IsValid() {
		return (*value)(unsafe.Pointer(&o.constant))
	}
	return o.place.of(f)
}

// calls makes the step of a call, or returns nil if that has to be the interpreter's own.
func (in *Interp) calls(n *node) step {
	fun, around := n.child[0], n.anc.kind
	if fun.typ == nil || fun.typ.cat != funcCat || fun.recv != nil || around == in.goroutine || around == in.deferred {
		return nil
	}
	c := &call{in: in, plain: n.exec, next: exec(n.tnext)}
	if n.fnext != nil {
		c.unless = exec(n.fnext)
	}
	if s := fun.sym; s != nil && s.index < 0 {
		if s.node == nil || s.node.kind != in.declaration {
			return nil
		}
		c.static = s.node
	} else if at, ok := placeOf(fun); ok {
		c.callee = at
	} else {
		return nil
	}
	if !c.takes(n, fun.typ) || !c.gives(n, fun.typ) {
		return nil
	}
	return c.step
}

// takes finds the arguments, each of which has a parameter of its own.
func (c *call) takes(n *node, t *typeOf) bool {
	args := n.child[1:]
	if len(args) != len(t.arg) || c.in.actions[n.action] == "call" && len(args) > 0 && t.arg[len(args)-1].cat == variadicCat {
		return false
	}
	for _, a := range args {
		o := operand{constant: a.rval}
		if !o.constant.IsValid() {
			ok := false
			if o.place, ok = placeOf(a); !ok {
				return false
			}
		}
		c.args = append(c.args, o)
	}
	return true
}

// nowhere is the index of the place of a result that nothing takes.
const nowhere = -1

// gives finds where the results go.
func (c *call) gives(n *node, t *typeOf) bool {
	level, several := n.level, n.anc.kind == c.in.assigned || n.anc.kind == c.in.defined
	if n.anc.kind == c.in.returned {
		level = 0
	}
	if len(t.ret) > 0 && (n.findex < 0 || level < rootLevel) {
		return false
	}
	for i := range t.ret {
		at := place{n.findex + i, level}
		if several && n.anc.child[i].ident == "_" {
			at.index = nowhere
		}
		c.results = append(c.results, at)
	}
	return true
}

// step makes the call.
func (c *call) step(f *frame) step {
	fn, around := c.function(f)
	if fn == nil {
		return c.plain(f)
	}
	nf := fn.frame(around)
	data := nf.data
	for i, at := range c.results {
		if at.index != nowhere {
			data[i] = *at.of(f)
		} else {
			data[i].ptr = reflect.New(fn.types[i]).UnsafePointer()
		}
	}
	params := data[len(c.results):]
	for i := range c.args {
		if !give(&params[i], c.args[i].of(f)) {
			return c.plain(f)
		}
	}
	fn.run(nf)
	if c.unless != nil && !*(*bool)(nf.data[0].ptr) {
		return c.unless
	}
	return c.next
}

// function returns the function that is called and the frame around its own, or nil if the interpreter has to
// make the call.
func (c *call) function(f *frame) (*function, *frame) {
	if c.static == nil {
		if closure := c.in.closureOf(c.callee.of(f)); closure != nil {
			return closure.function, closure.around
		}
		return nil, nil
	}
	fn := c.declared.Load()
	if fn == nil {
		fn = c.in.describe(c.static)
		c.declared.Store(fn)
	}
	if !fn.quick {
		return nil, nil
	}
	return fn, f
}

// give sets a parameter to an argument that is assignable to it. The interpreter has to give another one.
func give(param, arg *value) bool {
	if param.typ != arg.typ {
		p, a := reflectOf(param), reflectOf(arg)
		if !a.IsValid() { // nil, which the parameter is already
			return true
		}
		if p.Kind() != reflect.Interface || !a.Type().AssignableTo(p.Type()) {
			return false
		}
		p.Set(a)
		return true
	}
	if arg.bits&heldBit == 0 { // the value is the pointer
		*(*unsafe.Pointer)(param.ptr) = arg.ptr
		return true
	}
	switch reflect.Kind(arg.bits & kindMask) {
	case reflect.Int, reflect.Uint, reflect.Uintptr:
		*(*int)(param.ptr) = *(*int)(arg.ptr)
	case reflect.Float64, reflect.Int64, reflect.Uint64:
		*(*uint64)(param.ptr) = *(*uint64)(arg.ptr)
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		*(*uint8)(param.ptr) = *(*uint8)(arg.ptr)
	case reflect.String:
		*(*string)(param.ptr) = *(*string)(arg.ptr)
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		*(*unsafe.Pointer)(param.ptr) = *(*unsafe.Pointer)(arg.ptr)
	default:
		(*reflect.Value)(unsafe.Pointer(param)).Set(*(*reflect.Value)(unsafe.Pointer(arg)))
	}
	return true
}
