package generic

import (
	"sync/atomic"
	"testing"

	ouratomic "github.com/mcs-notebook/mcs/repl/session/internal/generic/sync/atomic"
)

// A pointer does what the standard library's does.
func TestPointer(t *testing.T) {
	a, b := new(int), new(int)
	type pointer interface {
		Load() *int
		Store(*int)
		Swap(*int) *int
		CompareAndSwap(old, new *int) bool
	}
	for _, p := range []pointer{new(ouratomic.Pointer[int]), new(atomic.Pointer[int])} {
		steps := []bool{p.Load() == nil, !p.CompareAndSwap(a, b), p.CompareAndSwap(nil, a), p.Load() == a, !p.CompareAndSwap(nil, b),
			p.CompareAndSwap(a, b), p.Swap(a) == b, p.Swap(nil) == a, p.Load() == nil, p.CompareAndSwap(nil, b), p.Load() == b}
		for i, ok := range steps {
			if !ok {
				t.Errorf("%T: step %d is not so", p, i)
			}
		}
		if p.Store(a); p.Load() != a {
			t.Errorf("%T: got another pointer than was stored", p)
		}
	}
}
