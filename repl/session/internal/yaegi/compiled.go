package yaegi

import (
	"reflect"
	"slices"
	"sync/atomic"
	"unsafe"
)

// The interpreter calls a compiled function with reflection, which makes objects for arguments and results
// and takes some 0.4 µs. Here the first call of a node finds out in which registers Go passes parameters and
// results of these types (registers.go), and later ones fill them directly. Functions as arguments or
// results, and arguments of other types than in the first call, are left to the interpreter's own step.

// A foreign is a node that calls a compiled function.
type foreign struct {
	callee  operand
	args    []operand
	spread  bool    // the last argument is the list of a variadic function
	nested  bool    // the only argument is a call, which may have several results
	to      place   // of the first result; the others follow
	several []place // of the results, if each has a place of its own
	plain   step    // the interpreter's own
	next    step    // the next step
	unless  step    // the next step if the result is false; nil: it does not matter
	known   atomic.Pointer[convention]
}

// callBin is the interpreter's: it makes the step of a call of a compiled function.
//
//go:linkname callBin github.com/traefik/yaegi/interp.callBin
func callBin(*node)

// callsCompiled makes the step of a call of a compiled function, or returns nil if that has to be the
// interpreter's own.
func (in *Interp) callsCompiled(n *node) step {
	around := n.anc
	if !inRegisters || reflect.ValueOf(n.gen).Pointer() != reflect.ValueOf(callBin).Pointer() || around.kind == in.goroutine || around.kind == in.deferred {
		return nil
	}
	c := &foreign{to: place{n.findex, n.level}, spread: in.actions[n.action] == "callSlice", plain: n.exec, next: exec(n.tnext)}
	if n.fnext != nil {
		c.unless = exec(n.fnext)
	}
	switch in.actions[around.action] {
	case "return":
		c.to = place{slices.Index(around.child, n), 0}
	case "X=":
		if around.kind != in.assigned {
			return nil
		}
		for _, to := range around.child[:len(around.child)-1] {
			at, ok := placeOf(to)
			if to.ident == "_" {
				at.index = nowhere
			} else if !ok {
				return nil
			}
			c.several = append(c.several, at)
		}
	}
	for i, a := range n.child {
		o, ok := operand{constant: a.rval}, true
		if !o.constant.IsValid() {
			o.place, ok = placeOf(a)
		}
		if i > 0 && (in.actions[a.action] == "call" || in.actions[a.action] == "callSlice") {
			c.nested = len(n.child) == 2
			ok = ok && a.level == 0
		}
		if !ok {
			return nil
		}
		c.args = append(c.args, o)
	}
	c.callee, c.args = c.args[0], c.args[1:]
	return c.step
}

// step makes the call.
func (c *foreign) step(f *frame) step {
	callee, k := c.callee.of(f), c.known.Load()
	if k == nil {
		k = c.convention(f)
		c.known.Store(k)
	}
	if !k.known || callee.typ != k.callee.typ || callee.bits&^(settableBit|heldBit) != k.callee.bits || !k.has(c, f) {
		return c.plain(f)
	}
	var r registers
	fn := k.method
	if fn != nil {
		r.load(k.receiver, callee.memory())
	} else if fn = *(*unsafe.Pointer)(callee.memory()); fn == nil {
		return c.plain(f)
	}
	for i := range k.params {
		if p, a := &k.params[i], c.args[i].of(f); p.boxed {
			box := reflectOf(a).Interface()
			r.load(p.words, unsafe.Pointer(&box))
		} else {
			r.load(p.words, a.memory())
		}
	}
	if k.list != nil {
		list := c.list(k, f)
		r.load(k.listed, unsafe.Pointer(&list))
	}
	r.call(fn, k.pointers)
	for i, result := range k.results {
		if at := c.result(i); at.index != nowhere {
			r.store(result.words, at.of(f).ptr)
		}
	}
	if c.unless != nil && !*(*bool)(c.to.of(f).ptr) {
		return c.unless
	}
	return c.next
}

// result is where result i goes.
func (c *foreign) result(i int) place {
	if c.several != nil {
		return c.several[i]
	}
	return place{c.to.index + i, c.to.level}
}

// list makes the list of a variadic function's last arguments.
func (c *foreign) list(k *convention, f *frame) header {
	rest := c.args[len(k.params):]
	if len(rest) == 0 {
		return header{}
	}
	array := reflect.New(k.list)
	for i := range rest {
		array.Elem().Index(i).Set(reflectOf(rest[i].of(f)))
	}
	return header{array.UnsafePointer(), len(rest), len(rest)}
}

// A convention says how a node's function is called, with arguments of the types of its first call.
type convention struct {
	known    bool
	callee   value          // its type, and which method it is
	method   unsafe.Pointer // the function that has the receiver as its first parameter; nil: it is no method
	receiver []word
	types    []*opaque // of the arguments
	params   []param
	list     reflect.Type // of the array under a variadic function's list; nil: it has none
	listed   []word       // of that list
	results  []param
	pointers int // which words of the results are pointers, in bits
}

// A param is a parameter or a result.
type param struct {
	typ   *opaque
	boxed bool // an argument becomes an any
	words []word
}

// has says whether arguments and places of results have the types of the convention.
func (k *convention) has(c *foreign, f *frame) bool {
	for i := range c.args {
		if a := c.args[i].of(f); a.typ != k.types[i] || a.bits&unexportedBits != 0 {
			return false
		}
	}
	for i := range k.results {
		if at := c.result(i); at.index != nowhere {
			if v := at.of(f); v.typ != k.results[i].typ || v.bits&settableBit == 0 {
				return false
			}
		}
	}
	return true
}

// convention finds out how the function is called, which has its first call.
func (c *foreign) convention(f *frame) *convention {
	v, k := c.callee.of(f), &convention{}
	fn := reflectOf(v)
	if fn.Kind() != reflect.Func || v.bits&unexportedBits != 0 {
		return k
	}
	t, full, ok := fn.Type(), count{}, true
	if k.callee = (value{typ: v.typ, bits: v.bits &^ (settableBit | heldBit)}); v.bits&methodBit != 0 {
		receiver := reflectOf(&value{typ: v.typ, bits: v.bits & kindMask}).Type()
		if receiver.Kind() == reflect.Interface {
			return k
		}
		method := receiver.Method(int(v.bits >> methodShift)).Func
		k.method = *(*unsafe.Pointer)((*value)(unsafe.Pointer(&method)).memory())
		if k.receiver, ok = full.words(receiver); !ok {
			return k
		}
	}
	fixed := t.NumIn()
	if t.IsVariadic() && !c.spread {
		fixed--
		k.list = reflect.ArrayOf(max(0, len(c.args)-fixed), t.In(fixed).Elem())
	}
	if len(c.args) < fixed || k.list == nil && len(c.args) > fixed || k.list != nil && c.nested || c.several != nil && len(c.several) != t.NumOut() {
		return k
	}
	for i := range c.args {
		a := c.args[i].of(f)
		switch k.types = append(k.types, a.typ); {
		case a.typ == nil:
			return k
		case i >= fixed:
			_, ok = new(count).param(a, k.list.Elem())
		default:
			var p param
			p, ok = full.param(a, t.In(i))
			k.params = append(k.params, p)
		}
		if !ok {
			return k
		}
	}
	if k.list != nil {
		k.listed, _ = full.words(t.In(fixed))
	}
	back := count{}
	for out := range t.Outs() {
		words, ok := back.words(out)
		if !ok || out.Kind() == reflect.Func {
			return k
		}
		zero := reflect.Zero(out)
		k.results = append(k.results, param{typ: (*value)(unsafe.Pointer(&zero)).typ, words: words})
	}
	k.pointers, k.known = back.pointers, full.ints <= maxInts && full.floats <= maxFloats && back.ints <= maxResults && back.floats <= 1
	return k
}

// param says how an argument becomes a parameter of the type.
func (c *count) param(a *value, to reflect.Type) (p param, ok bool) {
	from := reflectOf(a).Type()
	kind := from.Kind()
	p.words, ok = c.words(to)
	if from == to {
		return p, ok && kind != reflect.Func
	}
	_, known := new(count).words(from)
	p.boxed = true
	return p, to.Kind() == reflect.Interface && to.NumMethod() == 0 && known &&
		(kind <= reflect.Complex128 || kind == reflect.String || kind == reflect.Pointer || kind == reflect.Struct)
}
