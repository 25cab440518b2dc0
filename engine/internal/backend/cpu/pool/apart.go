package pool

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Apart calls work with 0 … n−1, each on a goroutine of its own, the last on the caller's, and waits for all.
// It is for code that wants goroutines rather than a pool's workers. The first panic goes on in the caller as
// a *Fault.
func Apart(n int, work func(i int)) {
	var wg sync.WaitGroup
	var fault atomic.Pointer[Fault]
	run := func(i int) {
		defer func() {
			if v := recover(); v != nil {
				fault.CompareAndSwap(nil, faultOf(v))
			}
		}()
		work(i)
	}
	for i := range n - 1 {
		wg.Go(func() { run(i) })
	}
	if n > 0 {
		run(n - 1)
	}
	wg.Wait()
	if f := fault.Load(); f != nil {
		panic(f)
	}
}

// faultOf is the fault of a panic with v, with the stack of the goroutine that recovers it.
func faultOf(v any) *Fault {
	if f, is := v.(*Fault); is {
		return f
	}
	return &Fault{Value: v, Stack: string(debug.Stack())}
}
