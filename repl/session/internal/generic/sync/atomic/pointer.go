// Package atomic is the generic part of the standard package sync/atomic. What its types hold is exported,
// because their methods are checked as code of another package.
package atomic

import "sync/atomic"

// A Pointer is an atomic pointer of type *T. The zero value is a nil *T.
type Pointer[T any] struct {
	Held atomic.Value // of *T, also a nil one; nothing at first
}

// Load loads and returns the pointer.
func (x *Pointer[T]) Load() *T {
	p, _ := x.Held.Load().(*T)
	return p
}

// Store stores a pointer.
func (x *Pointer[T]) Store(val *T) { x.Held.Store(val) }

// Swap stores a pointer and returns the one before.
func (x *Pointer[T]) Swap(new *T) (old *T) {
	old, _ = x.Held.Swap(new).(*T)
	return old
}

// CompareAndSwap stores new if the pointer is old, and says whether it was.
func (x *Pointer[T]) CompareAndSwap(old, new *T) (swapped bool) {
	if old == nil && x.Held.CompareAndSwap(nil, new) {
		return true
	}
	if x.Held.Load() == nil {
		return false
	}
	return x.Held.CompareAndSwap(old, new)
}
