// Package shared is for what goroutines share.
package shared

import (
	"sync/atomic"
	"unsafe"
)

// A Pointer is an atomic.Pointer that has a beginning: First sets it before others have the object that it is
// in. That takes a tenth of the time of a Store.
type Pointer[T any] struct {
	_ [0]*T // Pointers of other types are other types
	p unsafe.Pointer
}

// First sets the pointer, of an object that no other goroutine has.
func (p *Pointer[T]) First(v *T) { p.p = unsafe.Pointer(v) }

// Load returns the pointer.
func (p *Pointer[T]) Load() *T { return (*T)(atomic.LoadPointer(&p.p)) }

// Store sets it.
func (p *Pointer[T]) Store(v *T) { atomic.StorePointer(&p.p, unsafe.Pointer(v)) }

// CompareAndSwap sets it if it was old.
func (p *Pointer[T]) CompareAndSwap(old, v *T) bool {
	return atomic.CompareAndSwapPointer(&p.p, unsafe.Pointer(old), unsafe.Pointer(v))
}
