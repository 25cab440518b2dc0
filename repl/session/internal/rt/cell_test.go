package rt

import (
	"runtime"
	"testing"
)

// A goroutine that ends by runtime.Goexit leaves no trace of the functions that it left.
func TestGoexitLeavesNothing(t *testing.T) {
	r := testRuntime()
	r.Attach(&Shared{Stop: new(bool), Look: func(bool) {}})
	c := r.NewCell(Hooks{})
	n := r.Begin(c, Part{Body: true})
	r.Run(func() {
		r.Go(0, func() {
			defer r.Trace("f")
			runtime.Goexit()
		})
	})
	<-n.Ended()
	<-r.Idle(c)
	if len(r.traces) != 0 {
		t.Errorf("got traces of %d goroutines, want none", len(r.traces))
	}
}

// A goroutine belongs to the cell that starts it from then on, also while it has not begun yet.
func TestGoBelongs(t *testing.T) {
	r := testRuntime()
	r.Attach(&Shared{Stop: new(bool), Look: func(bool) {}})
	c := r.NewCell(Hooks{})
	n := r.Begin(c, Part{Body: true})
	wait, done := make(chan bool), make(chan bool)
	r.Run(func() { r.Go(0, func() { <-wait; close(done) }) })
	<-n.Ended()
	if got := len(r.Goroutines()); got != 1 {
		t.Errorf("got %d goroutines of cells when the cell has ended, want 1", got)
	}
	idle := r.Idle(c)
	close(wait)
	<-done
	<-idle
	if r.Busy() {
		t.Errorf("got goroutines %d when the last has ended, want none", r.Goroutines())
	}
}
