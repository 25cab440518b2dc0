package tensor_test

import (
	"math"
	"testing"
	"time"

	. "github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/race"
)

// A small operation makes few objects of Go's: in a loop that frees its results the memory of one is that of
// the next, and what is freed leaves no node behind.
func TestSmallOperationAllocates(t *testing.T) {
	x, y := Ones(4, 4).Eval(), Ones(4, 4).Eval()
	add := Compile(func(a ...Tensor) []Tensor { return []Tensor{a[0].Add(a[1])} })
	for _, c := range []struct {
		name string
		run  func() Tensor
		most float64
	}{
		{"evaluated", func() Tensor { return x.Add(y).Eval() }, 5},
		{"compiled", func() Tensor { return add(x, y)[0] }, 4},
	} {
		for range 18 { // a compiled function is traced again in calls 2, 3, 5, 9, 17 …
			c.run().Free()
		}
		Within(t.Context(), func() { // which ends, as a cell's does
			if got := testing.AllocsPerRun(5, func() { c.run().Free() }); got > c.most && !race.Enabled {
				t.Errorf("%s and freed: got %v objects, want at most %v", c.name, got, c.most)
			}
			if got := testing.AllocsPerRun(5, func() { c.run() }); got > c.most && !race.Enabled {
				t.Errorf("%s: got %v objects, want at most %v", c.name, got, c.most)
			}
		})
		z := c.run()
		if z.Free(); !z.Freed() || Try(func() { z.Add(1).Eval() }) == nil {
			t.Errorf("%s: a freed result can be used", c.name)
		}
	}
}

// BenchmarkSmall is the least time of a small operation, of blocks of 100 that take turns: on a machine that
// others use a block may be alone. What collections cost is not in it.
func BenchmarkSmall(b *testing.B) {
	x, y := Ones(4, 4).Eval(), Ones(4, 4).Eval()
	add := Compile(func(a ...Tensor) []Tensor { return []Tensor{a[0].Add(a[1])} })
	works := []struct {
		name string
		run  func()
	}{
		{"made", func() { x.Add(y) }},
		{"evaluated", func() { x.Add(y).Eval() }},
		{"read-freed", func() { z := x.Add(y); z.Floats(); z.Free() }},
		{"compiled", func() { add(x, y) }},
		{"compiled-freed", func() { add(x, y)[0].Free() }},
	}
	least := make([]float64, len(works))
	for i := range least {
		least[i] = math.Inf(1)
	}
	const block = 100
	for b.Loop() {
		for i, w := range works {
			start := time.Now()
			for range block {
				w.run()
			}
			least[i] = min(least[i], float64(time.Since(start))/block)
		}
	}
	for i, w := range works {
		b.ReportMetric(least[i], w.name+"-ns")
	}
}
