package kernel_test

import (
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Goroutines and devices call one kernel at the same time; a stop of one call ends no other.
func TestTogether(t *testing.T) {
	compiled(t)
	k := written(t, "square", square, kernel.Options{Launch: lengths})
	ref, err := device.Lookup("ref")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			d := device.CPU()
			if i%3 == 0 {
				d = ref
			}
			x := tensor.Full(float64(i), 100).To(d)
			for n := range 5 {
				if got := k.Call(x.Add(n)).Floats(); got[99] != float32((i+n)*(i+n)) {
					t.Errorf("got %v, want %d", got[99], (i+n)*(i+n))
				}
			}
		})
	}
	all.Wait()
}

// Of a kernel with several outputs, a call that wants one makes no others.
func TestOneOutput(t *testing.T) {
	compiled(t)
	k := written(t, "two", "kernel void two(device const float* x, device float* y, device float* z, uint i [[thread_position_in_grid]]) { y[i] = x[i]; z[i] = 2.0f * x[i]; }",
		kernel.Options{Launch: func(l *kernel.Launch) { l.Threads(l.Size("x")) }})
	ledger := tensor.NewLedger(t.Context())
	defer ledger.Close()
	tensor.Within(ledger.Context(), func() { k.Call(tensor.Ones(4).Eval()).Eval() })
	if err := ledger.Settle(); err != nil {
		t.Fatal(err)
	}
	if s := ledger.Sum(); s.Settled != 0 || s.Launches != 2 {
		t.Errorf("got %d launches and %d tensors that a measurement would compute, want 2 (of ones and the kernel) and none", s.Launches, s.Settled)
	}
}
