package yaegi

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// Sums, products and comparisons of variables are the body of most loops. The interpreter makes a dozen
// calls for each: one for each operand, and more to reach its value. Here each is one step, which reads
// the variables directly, and leaves all operands but int, float64 and string to the interpreter's own
// step. The time that this saves pays for marks, and for checking memory when a string has become long.

// largeText is the least length in bytes of a sum of strings for which memory is checked. A string that is
// added to itself can take all memory before the memory guard runs.
const largeText = 16 << 20

// A value mirrors reflect.Value: bits has the kind and whether the value is a variable, ptr its place.
// [layout] checks this.
type value struct {
	typ  *opaque
	ptr  unsafe.Pointer
	bits uintptr
}

const (
	heldBit     = 1 << 7 // the value is in the memory at ptr
	settableBit = 1 << 8 // of a variable
	methodBit   = 1 << 9 // it is a method of the value at ptr
	methodShift = 10     // which one is in the bits from here on
	kindMask    = 1<<5 - 1

	unexportedBits = 1<<5 | 1<<6 // of a field that is not exported

	intBits    = uintptr(reflect.Int) | heldBit
	floatBits  = uintptr(reflect.Float64) | heldBit
	stringBits = uintptr(reflect.String) | heldBit
	boolBits   = uintptr(reflect.Bool) | heldBit
)

// memory is where the value is in memory.
func (v *value) memory() unsafe.Pointer {
	if v.bits&heldBit == 0 { // the value is the pointer
		return unsafe.Pointer(&v.ptr)
	}
	return v.ptr
}

// valuesFit says whether values are as they are taken for here.
func valuesFit() bool {
	n, x, s, ok := 1, 2.0, "3", true
	if reflect.TypeFor[value]().Size() != reflect.TypeFor[reflect.Value]().Size() {
		return false
	}
	fits := func(variable any, bits uintptr) bool {
		p := reflect.ValueOf(variable)
		v, c := p.Elem(), reflect.ValueOf(p.Elem().Interface())
		own, copied := (*value)(unsafe.Pointer(&v)), (*value)(unsafe.Pointer(&c))
		return own.bits == bits|settableBit && own.ptr == p.UnsafePointer() && copied.bits == bits && copied.ptr != nil
	}
	return fits(&n, intBits) && fits(&x, floatBits) && fits(&s, stringBits) && fits(&ok, boolBits)
}

// A place is where a node's value is: in the frame that is so many levels up, or the package's (-1).
type place struct{ index, level int }

const rootLevel = -1

var none value

// of returns the value at the place, or the zero Value if there is none.
func (p place) of(f *frame) *value {
	if p.level != 0 {
		f = p.up(f)
	}
	if uint(p.index) < uint(len(f.data)) {
		return &f.data[p.index]
	}
	return &none
}

func (p place) up(f *frame) *frame {
	if p.level == rootLevel {
		return f.root
	}
	for range p.level {
		f = f.anc
	}
	return f
}

// placeOf finds where a node has its value, as the interpreter does; nowhere if that is no frame.
func placeOf(n *node) (p place, ok bool) {
	switch {
	case n.rval.IsValid():
		return p, false
	case n.sym != nil && n.sym.global:
		p = place{n.sym.index, rootLevel}
	case n.sym != nil:
		p = place{n.sym.index, n.level}
	default:
		p = place{n.findex, n.level}
	}
	return p, p.index >= 0 && p.level >= rootLevel
}

// variable is placeOf for a node that is the name of a variable.
func variable(n *node) (place, bool) {
	if n.sym == nil {
		return place{}, false
	}
	return placeOf(n)
}

// An operation is a node of two operands: the first is at a place, the second may be a constant.
type operation struct {
	sign     byte // the first character of its sign
	equal    bool // there is a = behind it
	to, x, y place
	constant reflect.Value // y, if it is one
	grown    func()        // is called when a text has become long

	plain     step // the interpreter's own
	next      step // the next step
	otherwise step // the next step if a comparison is false
}

// quicken makes a quicker step of a node that has one, if it may.
func (in *Interp) quicken(n *node) {
	if n.action >= uint(len(in.actions)) || n.exec == nil {
		return
	}
	o := operation{plain: n.exec, next: exec(n.tnext), otherwise: exec(n.tnext), grown: in.hooks.Grown}
	if n.fnext != nil {
		o.otherwise = exec(n.fnext)
	}
	sign := in.actions[n.action]
	switch sign {
	case "call", "callSlice":
		if s := in.calls(n); s != nil {
			n.exec = s
		} else if s := in.callsCompiled(n); s != nil {
			n.exec = s
		}
	case "++", "--":
		if to, ok := variable(n.child[0]); ok {
			o.to = to
			n.exec = o.counts(sign == "++")
		}
	case "+=", "-=", "*=":
		if o.operands(n, sign) {
			o.to = o.x
			n.exec = o.calculates()
		} else if to, ok := placeOf(n.child[0]); ok && sign == "+=" {
			o.to = to
			n.exec = o.measures()
		}
	case "+", "-", "*":
		if o.operands(n, sign) {
			n.exec = o.calculates()
		} else if p, ok := placeOf(n.child[0]); ok && reflect.ValueOf(n.gen).Pointer() == reflect.ValueOf(deref).Pointer() {
			n.exec = o.follows(p)
		}
	case "/", "%":
		if o.operands(n, sign) {
			n.exec = o.divides()
		}
	case "<", "<=", ">", ">=", "==", "!=":
		if o.operands(n, sign) {
			n.exec = o.compares()
		}
	case "slice", "slice0":
		n.exec = in.explains(n)
	case "getIndex":
		if n.kind != in.index || len(n.child) != 2 {
			break
		}
		n.exec = in.explains(n)
		if s := in.indexes(n); s != nil {
			n.exec = s
		}
	case "range":
		if s := in.ranges(n); s != nil {
			n.exec = s
		}
	case "getFunc":
		n.exec = in.encloses(n)
	case "getMethod":
		if p, ok := placeOf(n.child[0]); ok && reflect.ValueOf(n.gen).Pointer() == reflect.ValueOf(getIndexBinMethod).Pointer() {
			o.x, o.to = p, place{n.findex, n.level}
			n.exec = o.binds()
		}
	case "branch":
		if to, ok := variable(n); ok {
			o.to = to
			n.exec = o.branches()
		}
	}
}

// exec is the step of a node that comes next; nil after the last.
func exec(n *node) step {
	if n == nil {
		return nil
	}
	return n.exec
}

// operands finds the places of an operation's result and operands.
func (o *operation) operands(n *node, sign string) (ok bool) {
	if len(n.child) != 2 { // of one operand
		return false
	}
	o.sign, o.equal = sign[0], len(sign) == 2
	if o.x, ok = placeOf(n.child[0]); !ok || n.child[0].sym == nil && (sign == "+=" || sign == "-=" || sign == "*=") {
		return false
	}
	if o.constant = n.child[1].rval; !o.constant.IsValid() {
		if o.y, ok = placeOf(n.child[1]); !ok {
			return false
		}
	}
	o.to, ok = placeOf(n)
	return ok
}

func (o operation) counts(up bool) step {
	by := 1
	if !up {
		by = -1
	}
	to, plain, next := o.to, o.plain, o.next
	return func(f *frame) step {
		if v := to.of(f); v.bits == intBits|settableBit {
			*(*int)(v.ptr) += by
			return next
		}
		return plain(f)
	}
}

func (o operation) calculates() step {
	switch c := o.constant; {
	case !c.IsValid():
		return o.calculatesBoth()
	case c.Kind() == reflect.Int:
		return calculatesWith(o, int(c.Int()), intBits)
	case c.Kind() == reflect.Float64:
		return calculatesWith(o, c.Float(), floatBits)
	case c.Kind() == reflect.String && o.sign == '+':
		return o.adds(c.String())
	}
	return o.plain
}

func calculatesWith[T int | float64](o operation, c T, bits uintptr) step {
	sign, to, x, plain, next := o.sign, o.to, o.x, o.plain, o.next
	return func(f *frame) step {
		if d, x := to.of(f), x.of(f); d.bits == bits|settableBit && x.bits&^settableBit == bits {
			*(*T)(d.ptr) = calculate(sign, *(*T)(x.ptr), c)
			return next
		}
		return plain(f)
	}
}

func (o operation) calculatesBoth() step {
	sign, to, x, y, plain, next := o.sign, o.to, o.x, o.y, o.plain, o.next
	return func(f *frame) step {
		d, x, y := to.of(f), x.of(f), y.of(f)
		if both := x.bits &^ settableBit; both == y.bits&^settableBit && d.bits == both|settableBit {
			switch both {
			case intBits:
				*(*int)(d.ptr) = calculate(sign, *(*int)(x.ptr), *(*int)(y.ptr))
				return next
			case floatBits:
				*(*float64)(d.ptr) = calculate(sign, *(*float64)(x.ptr), *(*float64)(y.ptr))
				return next
			case stringBits:
				o.add(d, *(*string)(x.ptr), *(*string)(y.ptr))
				return next
			}
		}
		return plain(f)
	}
}

// divides is for an int and a constant: that it is not 0 need be looked at once.
func (o operation) divides() step {
	if c := o.constant; !c.IsValid() || c.Kind() != reflect.Int || c.Int() == 0 {
		return o.plain
	}
	by, rest, to, x, plain, next := int(o.constant.Int()), o.sign == '%', o.to, o.x, o.plain, o.next
	return func(f *frame) step {
		d, x := to.of(f), x.of(f)
		switch {
		case d.bits != intBits|settableBit || x.bits&^settableBit != intBits:
			return plain(f)
		case rest:
			*(*int)(d.ptr) = *(*int)(x.ptr) % by
		default:
			*(*int)(d.ptr) = *(*int)(x.ptr) / by
		}
		return next
	}
}

func calculate[T int | float64](sign byte, x, y T) T {
	switch sign {
	case '+':
		return x + y
	case '-':
		return x - y
	}
	return x * y
}

func (o operation) adds(c string) step {
	return func(f *frame) step {
		if d, x := o.to.of(f), o.x.of(f); d.bits == stringBits|settableBit && x.bits&^settableBit == stringBits {
			o.add(d, *(*string)(x.ptr), c)
			return o.next
		}
		return o.plain(f)
	}
}

// add sets a string to a sum and asks whether memory is left if that has become long.
func (o *operation) add(d *value, x, y string) {
	s := x + y
	if *(*string)(d.ptr) = s; len(s) > largeText && o.grown != nil {
		o.grown()
	}
}

// measures checks memory after a sum of strings that is not assigned to a variable: an element, a field.
func (o operation) measures() step {
	return func(f *frame) step {
		next := o.plain(f)
		if v := o.to.of(f); v.bits&^settableBit == stringBits && len(*(*string)(v.ptr)) > largeText && o.grown != nil {
			o.grown()
		}
		return next
	}
}

func (o operation) compares() step {
	switch c := o.constant; {
	case !c.IsValid():
		return o.comparesBoth()
	case c.Kind() == reflect.Int:
		return comparesWith(o, int(c.Int()), intBits)
	case c.Kind() == reflect.Float64:
		return comparesWith(o, c.Float(), floatBits)
	}
	return o.plain
}

func comparesWith[T int | float64](o operation, c T, bits uintptr) step {
	sign, equal, to, x, plain, next, otherwise := o.sign, o.equal, o.to, o.x, o.plain, o.next, o.otherwise
	return func(f *frame) step {
		d, x := to.of(f), x.of(f)
		if d.bits != boolBits|settableBit || x.bits&^settableBit != bits {
			return plain(f)
		}
		holds := compare(sign, equal, *(*T)(x.ptr), c)
		if *(*bool)(d.ptr) = holds; holds {
			return next
		}
		return otherwise
	}
}

func (o operation) comparesBoth() step {
	sign, equal, to, x, y, plain, next, otherwise := o.sign, o.equal, o.to, o.x, o.y, o.plain, o.next, o.otherwise
	return func(f *frame) step {
		d, x, y := to.of(f), x.of(f), y.of(f)
		var holds bool
		switch both := x.bits &^ settableBit; {
		case both != y.bits&^settableBit || d.bits != boolBits|settableBit:
			return plain(f)
		case both == intBits:
			holds = compare(sign, equal, *(*int)(x.ptr), *(*int)(y.ptr))
		case both == floatBits:
			holds = compare(sign, equal, *(*float64)(x.ptr), *(*float64)(y.ptr))
		default:
			return plain(f)
		}
		if *(*bool)(d.ptr) = holds; holds {
			return next
		}
		return otherwise
	}
}

// deref is the interpreter's: it makes the step of *p, where that is no type.
//
//go:linkname deref github.com/traefik/yaegi/interp.deref
func deref(*node)

// follows is for *p. The interpreter finds nothing where a nil pointer points to, and goes on with that.
func (o operation) follows(p place) step {
	return func(f *frame) step {
		if v := p.of(f); v.bits&kindMask == uintptr(reflect.Pointer) && (v.ptr == nil || v.bits&heldBit != 0 && *(*unsafe.Pointer)(v.ptr) == nil) {
			_ = *(*int)(nil)
		}
		return o.plain(f)
	}
}

// getIndexBinMethod is the interpreter's: it makes the step of x.f, where f is a compiled method.
//
//go:linkname getIndexBinMethod github.com/traefik/yaegi/interp.getIndexBinMethod
func getIndexBinMethod(*node)

// binds is for x.f. The interpreter looks the method up for the first x, and for one of another type.
func (o operation) binds() step {
	var last atomic.Pointer[value] // the method, of no x
	return func(f *frame) step {
		x := *o.x.of(f)
		if m := last.Load(); m != nil && m.typ == x.typ && x.bits&(unexportedBits|methodBit) == 0 {
			*o.to.of(f) = value{x.typ, x.ptr, m.bits | x.bits&heldBit}
			return o.next
		}
		next := o.plain(f)
		if m := o.to.of(f); x.bits&unexportedBits == 0 && x.bits&kindMask != uintptr(reflect.Interface) {
			last.Store(&value{typ: m.typ, bits: m.bits &^ heldBit})
		}
		return next
	}
}

// branches is for a variable that is a condition.
func (o operation) branches() step {
	to, plain, next, otherwise := o.to, o.plain, o.next, o.otherwise
	return func(f *frame) step {
		switch v := to.of(f); {
		case v.bits&^settableBit != boolBits:
			return plain(f)
		case *(*bool)(v.ptr):
			return next
		}
		return otherwise
	}
}

// compare returns the result of a comparison. Sign is the first character of its operator, equal says that
// = follows.
func compare[T int | float64](sign byte, equal bool, x, y T) bool {
	switch sign {
	case '<':
		return x < y || equal && x == y
	case '>':
		return x > y || equal && x == y
	case '=':
		return x == y
	}
	return x != y
}
