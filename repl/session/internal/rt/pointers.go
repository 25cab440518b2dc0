package rt

import (
	"reflect"
	"unsafe"
)

// Package unsafe for lowered code: the interpreter has no unsafe pointers, but its variables have the same
// layout in memory as Go's.

// PointerOf is unsafe.Pointer(p) for a pointer p.
func (r *Runtime) PointerOf(p any) unsafe.Pointer { return reflect.ValueOf(p).UnsafePointer() }

// PointerAt is unsafe.Pointer(n).
func (r *Runtime) PointerAt(n uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&n)) }

// Address is uintptr(p).
func (r *Runtime) Address(p unsafe.Pointer) uintptr { return uintptr(p) }

// PointTo sets *dst, a pointer to a variable of a pointer type, to p.
func (r *Runtime) PointTo(p unsafe.Pointer, dst any) {
	d := reflect.ValueOf(dst).Elem()
	d.Set(reflect.NewAt(d.Type().Elem(), p).Convert(d.Type()))
}

// SamePlace is p == q.
func (r *Runtime) SamePlace(p, q unsafe.Pointer) bool { return p == q }

// PointerAdd is unsafe.Add(p, n).
func (r *Runtime) PointerAdd(p unsafe.Pointer, n int) unsafe.Pointer { return unsafe.Add(p, n) }

// SliceAt sets *dst, a variable of a slice type, to unsafe.Slice(p, n).
func (r *Runtime) SliceAt(p any, n int, dst any) {
	at, d := reflect.ValueOf(p), reflect.ValueOf(dst).Elem()
	switch {
	case n < 0:
		panic(RuntimeError("runtime error: unsafe.Slice: len out of range"))
	case at.IsNil() && n > 0:
		panic(RuntimeError("runtime error: unsafe.Slice: ptr is nil and len is not zero"))
	case at.IsNil():
		d.SetZero()
	default:
		d.Set(reflect.SliceAt(d.Type().Elem(), at.UnsafePointer(), n))
	}
}

// DataOf sets *dst, a variable of a pointer type, to unsafe.SliceData(s).
func (r *Runtime) DataOf(s, dst any) { r.PointTo(reflect.ValueOf(s).UnsafePointer(), dst) }

// StringAt is unsafe.String(p, n).
func (r *Runtime) StringAt(p *byte, n int) string {
	if n < 0 {
		panic(RuntimeError("runtime error: unsafe.String: len out of range"))
	}
	return unsafe.String(p, n)
}

// StringData is unsafe.StringData(s).
func (r *Runtime) StringData(s string) *byte { return unsafe.StringData(s) }
