package yaegi

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"unsafe"
)

// A function is the code of a declaration or of a literal, and the variables of its calls.
type function struct {
	in      *Interp
	code    *node   // the tree of its statements
	body    *node   // the first of its steps
	quick   bool    // it can be called without the interpreter
	results int     // how many of the slots are results
	slots   []value // the variables; ptr is that of nothing
	offsets []int32 // in words, of each variable among those without pointers; -1: it has pointers
	words   int     // of those without pointers together
	types   []reflect.Type
	typ     reflect.Type // of a literal
	uses    []int        // the places of the variables around a literal that its code uses
}

// describe finds the variables of the code of a declaration or a literal. Lowered code has no defer
// statements, and no interfaces but any and those of compiled code, whose values the interpreter does not
// convert.
func (in *Interp) describe(def *node) *function {
	fn := &function{in: in, code: def.child[3], body: def.child[3].start, results: len(def.typ.ret), types: def.types}
	if def.rval.IsValid() || fn.body == nil {
		return fn
	}
	for _, t := range def.types {
		zero := reflect.New(t).Elem()
		slot := *(*value)(unsafe.Pointer(&zero))
		slot.ptr = nil
		offset := int32(-1)
		if flat(t) && t.Size() > 0 {
			offset = int32(fn.words)
			fn.words += int(t.Size()+7) / 8
		}
		fn.slots, fn.offsets = append(fn.slots, slot), append(fn.offsets, offset)
	}
	fn.quick = true
	return fn
}

// flat says whether values of the type have no pointers.
func flat(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.Array:
		return flat(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if !flat(f.Type) {
				return false
			}
		}
		return true
	default:
		return k <= reflect.Complex128
	}
}

// frame makes the frame of a call in the frame of the function around, or of the caller if there is none. The
// results are left to the caller.
func (fn *function) frame(around *frame) *frame {
	f := &frame{id: atomic.LoadUint64(&around.id), anc: around, root: around.root, done: around.done, data: make([]value, len(fn.slots))}
	var flat unsafe.Pointer
	if fn.words > 0 {
		flat = unsafe.Pointer(unsafe.SliceData(make([]uint64, fn.words)))
	}
	copy(f.data, fn.slots)
	for i := fn.results; i < len(f.data); i++ {
		if at := fn.offsets[i]; at >= 0 {
			f.data[i].ptr = unsafe.Add(flat, 8*int(at))
		} else {
			f.data[i].ptr = reflect.New(fn.types[i]).UnsafePointer()
		}
	}
	return f
}

// run runs the code in the frame of a call, until it ends or the interpreter is halted. A panic that leaves
// it is told, as the interpreter does, but not recovered and made anew: that would take time with the square
// of the calls that it passes through.
func (fn *function) run(f *frame) {
	ended := false
	defer func() {
		if !ended {
			fn.in.hooks.Trace(fmt.Sprintf("%s: panic: %s(...)", fn.in.FileSet().Position(fn.body.pos), fn.in.nameIn(fn.body.scope)))
		}
	}()
	for s := fn.body.exec; s != nil && atomic.LoadUint64(&f.id) == atomic.LoadUint64(fn.in.id); {
		s = s(f)
	}
	ended = true
}

// nameIn is the name of the function that a scope is in.
func (in *Interp) nameIn(s *scope) string {
	switch {
	case s == nil:
		return ""
	case s.def == nil:
	case s.def.kind == in.declaration:
		return s.pkgID + "." + s.def.child[1].ident
	case s.def.kind == in.literal && s.def.anc != nil:
		return in.nameIn(s.def.anc.scope) + ".func"
	}
	return s.pkgID
}

// A closure is the value of a function literal.
type closure struct {
	*function
	around *frame
}

// encloses makes the step that makes a closure of a function literal. A closure keeps the variables that it
// uses and no others: one of them would be a closure that the same statement has made before, which keeps the
// one before that, and so all closures of a loop.
func (in *Interp) encloses(n *node) step {
	plain, next := n.exec, exec(n.tnext)
	to := place{n.findex, n.level}
	var known atomic.Pointer[function]
	return func(f *frame) step {
		fn := known.Load()
		if fn == nil {
			plain(f) // makes the type of the function, too
			fn = in.describe(n)
			fn.typ = (*reflect.Value)(unsafe.Pointer(to.of(f))).Type()
			fn.uses = in.uses(n)
			known.Store(fn)
		}
		kept := f.copied(fn.uses)
		var v value
		switch {
		case fn.quick:
			v = (&closure{fn, kept}).value()
		case to.level == 0: // the interpreter's own closure keeps the frame that it is made in
			kept.data = append(kept.data, make([]value, max(0, to.index+1-len(kept.data)))...)
			plain(kept)
			v = kept.data[to.index]
		default:
			return plain(f)
		}
		f.mutex.Lock()
		*to.of(f) = v
		f.mutex.Unlock()
		return next
	}
}

// passesClosures has a call pass the closures of the literals among its arguments. Otherwise the interpreter
// makes its own function of a literal for each call of compiled code.
func (in *Interp) passesClosures(n *node) {
	if n.action != in.call {
		return
	}
	for _, c := range n.child[1:] {
		if c.kind == in.literal {
			c.val = nil
		}
	}
}

// uses finds the variables of the frame around a literal that its code uses, in order: what a node is about
// is so many frames up as there are functions between it and them.
func (in *Interp) uses(literal *node) []int {
	used := map[int]bool{}
	var walk func(n *node, level int)
	walk = func(n *node, level int) {
		if n.level == level {
			used[n.findex] = true
			if n.sym != nil {
				used[n.sym.index] = true
			}
		}
		for _, c := range n.child {
			if n.kind == in.literal {
				walk(c, level+1)
			} else {
				walk(c, level)
			}
		}
	}
	walk(literal.child[3], 1)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(used)), func(i int) bool { return i < 0 })
}

// copied is a frame with the same variables at these places, which a closure keeps.
func (f *frame) copied(places []int) *frame {
	f.mutex.RLock()
	defer f.mutex.RUnlock()
	c := &frame{id: atomic.LoadUint64(&f.id), debug: f.debug, root: f.root, anc: f.anc, deferred: f.deferred, recovered: f.recovered, done: f.done}
	if len(places) > 0 {
		c.data = make([]value, places[len(places)-1]+1)
	}
	for _, i := range places {
		c.data[i] = f.data[i]
	}
	return c
}

// value returns the closure as Go has it.
func (c *closure) value() value {
	v := reflect.MakeFunc(c.typ, c.called)
	return *(*value)(unsafe.Pointer(&v))
}

// called is the closure for compiled code.
func (c *closure) called(args []reflect.Value) []reflect.Value {
	f := c.frame(c.around)
	results := make([]reflect.Value, c.results)
	for i := range results {
		results[i] = reflect.New(c.types[i]).Elem()
		f.data[i] = *(*value)(unsafe.Pointer(&results[i]))
	}
	for i, a := range args {
		p := &f.data[c.results+i]
		if !give(p, (*value)(unsafe.Pointer(&a))) {
			(*reflect.Value)(unsafe.Pointer(p)).Set(a)
		}
	}
	c.run(f)
	for i := range results { // the code may have put another value there
		results[i] = *(*reflect.Value)(unsafe.Pointer(&f.data[i]))
	}
	return results
}

// closureOf returns the closure that a value is, or nil.
func (k *kinds) closureOf(v *value) *closure {
	if reflect.Kind(v.bits&kindMask) != reflect.Func || v.bits&methodBit != 0 {
		return nil
	}
	p := *(*unsafe.Pointer)(v.memory())
	if p == nil || *(*uintptr)(p) != k.made {
		return nil
	}
	if call := (*made)(p).call; call.code == k.called {
		return call.of
	}
	return nil
}

// Captured returns the variables that a closure knows, and nothing for another function. Of a closure whose
// function the interpreter itself calls they are not known.
func (in *Interp) Captured(fn reflect.Value) (list []reflect.Value) {
	if in.hooks.Plain {
		return nil
	}
	c := in.closureOf((*value)(unsafe.Pointer(&fn)))
	if c == nil {
		return nil
	}
	var look func(n *node, depth int)
	look = func(n *node, depth int) { // depth is how many functions there are between c and n
		if n.sym != nil && !n.sym.global && n.sym.index >= 0 && n.level > depth {
			f := c.around
			for range n.level - depth - 1 {
				f = f.anc
			}
			if f != nil && n.sym.index < len(f.data) {
				list = append(list, *(*reflect.Value)(unsafe.Pointer(&f.data[n.sym.index])))
			}
		}
		if n.kind == in.literal {
			depth++
		}
		for _, child := range n.child {
			look(child, depth)
		}
	}
	look(c.code, 0)
	return list
}

// made is how package reflect keeps a function that it has made: it calls another one.
type made struct {
	code uintptr
	_    [4]uintptr
	call *method
}

// method is how Go keeps a method value of a closure.
type method struct {
	code uintptr
	of   *closure
}

// closuresFit says whether closures are as they are taken for here, and finds their code.
func (k *kinds) closuresFit() bool {
	c := &closure{function: &function{typ: reflect.TypeFor[func()]()}}
	called := c.called
	f := reflect.MakeFunc(c.typ, called)
	m, call := (*made)((*value)(unsafe.Pointer(&f)).ptr), *(**method)(unsafe.Pointer(&called))
	if m.call != call || call.of != c {
		return false
	}
	k.made, k.called = m.code, call.code
	v := c.value()
	return k.closureOf(&v) == c
}
