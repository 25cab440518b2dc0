package tensor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
)

// Two generators with equal seeds give the same numbers, whatever the other one or the process's draws in
// between.
func TestGeneratorsOfTheirOwn(t *testing.T) {
	a, b := WithRNG(t.Context(), NewRNG(7)), WithRNG(t.Context(), NewRNG(7))
	draw := func(ctx context.Context) (x []float32) {
		Within(ctx, func() { x = Randn(3).Floats() })
		return x
	}
	before := DefaultRNG().State()
	for i := range 3 {
		x := draw(a)
		Within(a, func() { NewRNG(7).Rand(2) })
		if y := draw(b); !slices.Equal(x, y) {
			t.Errorf("draw %d: got %v and %v", i, x, y)
		}
	}
	Within(a, func() { Seed(7) })
	if x, y := draw(a), draw(b); slices.Equal(x, y) {
		t.Error("Seed in one scope has restarted the generator of another one")
	}
	if DefaultRNG().State() != before {
		t.Error("the process's generator has moved")
	}
}

// A compiled function draws from the generator of the call, not from that of its trace.
func TestCompiledDrawsWithin(t *testing.T) {
	f := Compile(func(...Tensor) []Tensor { return []Tensor{Rand(4)} })
	for i := range 6 {
		ctx := WithRNG(t.Context(), NewRNG(uint64(i)))
		var got, want []float32
		Within(ctx, func() { got = f()[0].Floats() })
		want = NewRNG(uint64(i)).Rand(4).Floats()
		if !slices.Equal(got, want) {
			t.Errorf("call %d: got %v, want %v", i, got, want)
		}
	}
}

// A choice of device holds within its context only.
func TestDeviceWithin(t *testing.T) {
	before := device.Default()
	var c device.Choice
	Within(device.WithChoice(t.Context(), &c), func() {
		if err := device.Use("ref"); err != nil {
			t.Fatal(err)
		}
		if got := Zeros(2).Device().String(); got != "ref" {
			t.Errorf("within: got a tensor on %s, want ref", got)
		}
	})
	if got := device.Default(); got != before {
		t.Errorf("afterwards: the default is %v, want %v", got, before)
	}
}

// What stops one goroutine's evaluations stops no other one's, in whatever order they come and go.
func TestStopsItsOwnOnly(t *testing.T) {
	stop := errors.New("stop")
	first, cancel := context.WithCancelCause(t.Context())
	x := Ones(64, 64).Eval()
	var entered, left sync.WaitGroup
	entered.Add(2)
	stopped := make(chan bool)
	left.Go(func() {
		err := Try(func() {
			Within(first, func() {
				entered.Done()
				entered.Wait()
				cancel(stop)
				close(stopped)
				x.MatMul(x).Eval()
			})
		})
		if !errors.Is(err, stop) {
			t.Errorf("the one that was stopped: got %v", err)
		}
	})
	left.Go(func() {
		Within(t.Context(), func() {
			entered.Done()
			entered.Wait()
			<-stopped
			if err := Try(func() { x.MatMul(x).Eval() }); err != nil {
				t.Errorf("the other one: got %v", err)
			}
		})
	})
	left.Wait()
	if err := Try(func() { x.MatMul(x).Eval() }); err != nil {
		t.Errorf("afterwards: got %v", err)
	}
}
