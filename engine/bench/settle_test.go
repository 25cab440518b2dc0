package bench_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// short is a measurement of which only what it did is looked at.
var short = bench.Options{Time: 20 * time.Millisecond, Unchecked: true}

// Work that makes tensors and does not evaluate them is computed in each run, inside of the clock, however it
// keeps them or drops them: the time is not that of building a graph.
func TestRunsComputeWhatTheyMake(t *testing.T) {
	x, w := tensor.Randn(32, 32).Eval(), tensor.Randn(32, 32).Eval()
	const flops = 2 * 32 * 32 * 32
	kept := map[string]tensor.Tensor{}
	for _, tt := range []struct {
		name     string
		run      func()
		launches int
	}{
		{"dropped", func() { _ = x.MatMul(w) }, 1},
		{"kept in a map", func() { kept["y"] = x.MatMul(w) }, 1},
		{"in a goroutine", func() {
			var g sync.WaitGroup
			g.Go(func() { _ = x.MatMul(w) })
			g.Wait()
		}, 1},
		{"evaluated by itself", func() { x.MatMul(w).Eval() }, 1},
	} {
		runs, before := 0, profile.Total()
		r, err := bench.Measure(t.Context(), func(n int) error {
			for range n {
				runs++
				tt.run()
			}
			return nil
		}, short)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if made := int(profile.Total() - before); r.Tally.Launches != tt.launches || r.Tally.Flops != flops || made < runs {
			t.Errorf("%s: %d launches and %d flops a run, %d launches of %d runs, want %d, %d and as many", tt.name, r.Tally.Launches, r.Tally.Flops, made, runs, tt.launches, flops)
		}
	}
}

// Work that goes on from what it made before takes longer each time: there is no time of it.
func TestRunsThatGrowAreRefused(t *testing.T) {
	x := tensor.Randn(8, 8).Eval()
	p := x
	var parts []tensor.Tensor
	for name, run := range map[string]func(){
		"a chain that nobody evaluates": func() { p = p.Sub(x.Mul(0.1)) },
		"a list that gets longer": func() {
			parts = append(parts, x.Add(len(parts)).Eval())
			tensor.Concat(parts, 0).MatMul(x).Eval()
		},
	} {
		r, err := bench.Measure(t.Context(), func(n int) error {
			for range n {
				run()
			}
			return nil
		}, short)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if r.Refused == "" || !strings.HasPrefix(r.String(), "no time: ") {
			t.Errorf("%s: got %v, want no time", name, r)
		}
	}
}

// Equal work that is merged is named: the time is that of one.
func TestMergedWorkIsNamed(t *testing.T) {
	x := tensor.Randn(8, 8).Eval()
	r, err := bench.Measure(t.Context(), func(n int) error {
		for range n {
			for range 10 {
				_ = x.MatMul(x)
			}
		}
		return nil
	}, short)
	if err != nil || r.Tally.Launches != 1 || r.Tally.Made != 10 || r.Tally.Merged != 9 || !strings.Contains(r.String(), "matmul f32[8 8] was asked for 9 times more") {
		t.Errorf("got %+v, %v\n%v", r.Tally, err, r)
	}
}
