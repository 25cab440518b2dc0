package yaegi

import (
	"math"
	"reflect"
	"unsafe"
)

// The interpreter indexes and slices by reflection, whose panics do not say which index was out of range.
// Where a step panics, the same is done here once more, with values without size: that panics as compiled
// code does.

// explains makes the step of an index or slice expression, whose panic says which index was out of range.
func (in *Interp) explains(n *node) step {
	of := make([]operand, len(n.child))
	for i, c := range n.child {
		if of[i].constant = c.rval; c.rval.IsValid() {
			continue
		}
		p, ok := placeOf(c)
		if !ok {
			return n.exec
		}
		of[i].place = p
	}
	plain, sign := n.exec, in.actions[n.action]
	return func(f *frame) (next step) {
		done := false
		defer func() {
			if !done {
				explain(sign, of, f)
			}
		}()
		next = plain(f)
		done = true
		return next
	}
}

// explain panics if an index is out of range. The first operand is what is indexed or sliced.
func explain(sign string, of []operand, f *frame) {
	x := reflectOf(of[0].of(f))
	if x.Kind() == reflect.Pointer && !x.IsNil() {
		x = x.Elem()
	}
	switch x.Kind() {
	case reflect.Slice, reflect.Array, reflect.String:
	default:
		return
	}
	n := x.Len()
	if sign == "getIndex" {
		switch i := reflectOf(of[1].of(f)); {
		case i.CanInt():
			_ = make([]struct{}, n)[i.Int()]
		case i.CanUint():
			_ = make([]struct{}, n)[i.Uint()]
		}
		return
	}
	bounds := []int{0, n}
	for i, o := range of[1:] {
		b, ok := intOf(reflectOf(o.of(f)))
		if !ok {
			return
		}
		if sign == "slice0" { // no lower bound
			i++
		}
		bounds = append(bounds[:i], b)
	}
	if len(bounds) == 1 {
		bounds = append(bounds, n)
	}
	switch {
	case x.Kind() == reflect.Slice && len(bounds) == 3:
		_ = make([]struct{}, n, x.Cap())[bounds[0]:bounds[1]:bounds[2]]
	case x.Kind() == reflect.Slice:
		_ = make([]struct{}, n, x.Cap())[bounds[0]:bounds[1]]
	case len(bounds) == 2:
		var start byte
		_ = unsafe.String(&start, n)[bounds[0]:bounds[1]] // which reads nothing
	}
}

// reflectOf is the value that a mirrors.
func reflectOf(v *value) reflect.Value { return *(*reflect.Value)(unsafe.Pointer(v)) }

// intOf returns an integer that an int can hold.
func intOf(v reflect.Value) (n int, ok bool) {
	switch {
	case v.CanInt():
		return int(v.Int()), true
	case v.CanUint() && v.Uint() <= math.MaxInt:
		return int(v.Uint()), true
	}
	return 0, false
}
