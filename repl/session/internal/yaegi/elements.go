package yaegi

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// A sliceType is what is needed of a type of slices to find an element.
type sliceType struct {
	typ     *opaque
	size    uintptr
	element value // with the type and the bits of an element that is a variable
}

// elements finds the elements of the slices that one node has, which are of one type.
type elements struct{ known atomic.Pointer[sliceType] }

// of returns the type of a slice, or nil if the value is no slice in memory.
func (e *elements) of(slice *value) *sliceType {
	if slice.bits&^settableBit != uintptr(reflect.Slice)|heldBit {
		return nil
	}
	t := e.known.Load()
	if t == nil || t.typ != slice.typ {
		typ := (*reflect.Value)(unsafe.Pointer(slice)).Type().Elem()
		zero := reflect.New(typ).Elem()
		t = &sliceType{slice.typ, typ.Size(), *(*value)(unsafe.Pointer(&zero))}
		e.known.Store(t)
	}
	return t
}

// at returns element i, which the slice has.
func (t *sliceType) at(data unsafe.Pointer, i int) value {
	v := t.element
	v.ptr = unsafe.Add(data, uintptr(i)*t.size)
	return v
}

// A header is how Go keeps a slice.
type header struct {
	data     unsafe.Pointer
	len, cap int
}

// indexes makes the step that finds an element of a slice, or returns nil if that has to be the
// interpreter's own.
func (in *Interp) indexes(n *node) step {
	if len(n.child) != 2 || n.kind != in.index || n.child[0].typ == nil || n.child[0].typ.cat != sliceCat {
		return nil
	}
	slice, ok := placeOf(n.child[0])
	index := operand{constant: n.child[1].rval}
	if !index.constant.IsValid() && ok {
		index.place, ok = placeOf(n.child[1])
	} else if index.constant.IsValid() && index.constant.Kind() != reflect.Int {
		return nil
	}
	if !ok || n.findex < 0 || n.level < rootLevel {
		return nil
	}
	to, e, plain, next, otherwise := place{n.findex, n.level}, new(elements), n.exec, exec(n.tnext), exec(n.fnext)
	branches := n.fnext != nil
	return func(f *frame) step {
		a, i := slice.of(f), index.of(f)
		t := e.of(a)
		if t == nil || i.bits&^settableBit != intBits {
			return plain(f)
		}
		h, k := (*header)(a.ptr), *(*int)(i.ptr)
		if uint(k) >= uint(h.len) {
			return plain(f)
		}
		v := t.at(h.data, k)
		if *to.of(f) = v; branches && !*(*bool)(v.ptr) {
			return otherwise
		}
		return next
	}
}

// ranges makes the step that begins a turn of a range over a slice, or returns nil if that has to be the
// interpreter's own. The interpreter keeps the slice beside the key.
func (in *Interp) ranges(n *node) step {
	if len(n.child) != 4 || n.child[2].typ == nil || n.child[2].typ.cat != sliceCat {
		return nil
	}
	key, element := n.child[0].findex, n.child[1].findex
	if key < 1 || element < 0 {
		return nil
	}
	e, plain, next, end := new(elements), n.exec, exec(n.tnext), exec(n.fnext)
	return func(f *frame) step {
		a, i, to := &f.data[key-1], &f.data[key], &f.data[element]
		t := e.of(a)
		if t == nil || i.bits != intBits|settableBit || to.typ != t.element.typ {
			return plain(f)
		}
		h := (*header)(a.ptr)
		*(*int)(i.ptr)++
		k := *(*int)(i.ptr)
		if k >= h.len {
			return end
		}
		v := t.at(h.data, k)
		give(to, &v)
		return next
	}
}
