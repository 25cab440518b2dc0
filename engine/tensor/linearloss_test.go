package tensor

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A linear layer with a cross entropy computes what the two do one after the other, loss and gradients,
// whether the rows are computed at once or in pieces, and whatever the loss becomes.
func TestLinearCrossEntropy(t *testing.T) {
	mean := func(loss Tensor) Tensor { return loss }
	for i, c := range []struct {
		name        string
		rows, vocab int
		dt          dtype.Type
		o           CrossEntropyOptions
		then        func(loss Tensor) Tensor
		within      float64 // of the largest element
	}{
		{"one piece", 9, 40, dtype.F32, CrossEntropyOptions{}, mean, 1e-5},
		{"two pieces", 600, 16500, dtype.F32, CrossEntropyOptions{}, mean, 1e-5},
		{"smoothing, ignored targets", 600, 16500, dtype.F32, CrossEntropyOptions{Smoothing: 0.1, Ignore: []int{5, 7}}, mean, 1e-5},
		{"capped", 600, 16500, dtype.F32, CrossEntropyOptions{Cap: 2}, mean, 1e-5},
		{"row by row", 600, 16500, dtype.F32, CrossEntropyOptions{PerRow: true}, func(loss Tensor) Tensor { return loss.Square().Sum() }, 1e-5},
		{"squared", 600, 16500, dtype.F32, CrossEntropyOptions{}, func(loss Tensor) Tensor { return loss.Square() }, 1e-5},
		{"bf16", 600, 33000, dtype.BF16, CrossEntropyOptions{}, mean, 2e-2},
		{"f64", 600, 8200, dtype.F64, CrossEntropyOptions{Cap: 2}, mean, 1e-9},
	} {
		if i > 1 && i%3 > 0 && !long.CI() {
			continue
		}
		const width = 4
		g := NewRNG(1)
		w := g.Randn(width, c.vocab).Eval().Param()
		if c.dt == dtype.F64 {
			w = w.Cast(c.dt).Eval().Param()
		}
		x := g.Randn(2, c.rows/2, width).Cast(c.dt).Eval().Param()
		targets := g.RandInt(0, c.vocab, 2, c.rows/2).Eval()
		run := func(loss Tensor) (all []Tensor) {
			loss = c.then(loss)
			all = append([]Tensor{loss}, Grad(loss, x, w)...)
			Eval(all...)
			return all
		}
		want := run(CrossEntropy(Linear(x, w, Tensor{}), targets, c.o))
		got := run(LinearCrossEntropy(x, w, targets, c.o))
		for i, what := range []string{"loss", "gradient of x", "gradient of w"} {
			if got[i].DType() != want[i].DType() {
				t.Errorf("%s: %s is %v, want %v", c.name, what, got[i].DType(), want[i].DType())
			}
			if d, scale := MaxAbsDiff(got[i], want[i]), want[i].Abs().Max().Item(); !(d <= c.within*scale) {
				t.Errorf("%s: %s differs by %.3g of %.3g", c.name, what, d, scale)
			}
		}
	}
}

// The logits of all rows are never in memory together: neither where the gradients follow from the loss in
// one evaluation, nor where they depend on all losses, nor where the loss was evaluated before.
func TestLinearCrossEntropyMemory(t *testing.T) {
	const rows, width, vocab = 2048, 8, 16384 // logits of 128 MiB
	g := NewRNG(1)
	x, w := g.Randn(rows, width).Eval().Param(), g.Randn(width, vocab).Eval().Param()
	targets := g.RandInt(0, vocab, rows).Eval()
	loss := func() Tensor { return LinearCrossEntropy(x, w, targets, CrossEntropyOptions{}) }
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"loss", func() { loss().Eval() }},
		{"gradient of x", func() { Eval(Grad(loss(), x)...) }},
		{"gradients of x and w", func() { Eval(Grad(loss(), x, w)...) }},
		{"loss and gradients", func() { l := loss(); Eval(append(Grad(l, x, w), l)...) }},
		{"gradient of the square", func() { l := loss().Square(); Eval(append(Grad(l, x), l)...) }},
		{"row by row, squared", func() {
			Eval(Grad(LinearCrossEntropy(x, w, targets, CrossEntropyOptions{PerRow: true}).Square().Sum(), x)...)
		}},
	} {
		device.Default().ResetPeak()
		c.run()
		if got := device.Default().Memory().Plan; got > 40<<20 {
			t.Errorf("%s: an evaluation takes %d MiB, want little more than 32 of the 128 of all logits", c.name, got>>20)
		}
	}
}

// A target that is no class is named with its row among all.
func TestLinearCrossEntropyNamesTheRow(t *testing.T) {
	g := NewRNG(1)
	targets := g.RandInt(0, 40000, 700).Eval().Ints()
	targets[600] = 40000
	err := Try(func() {
		LinearCrossEntropy(g.Randn(700, 4), g.Randn(4, 40000), From(targets), CrossEntropyOptions{}).Eval()
	})
	if err == nil || !strings.Contains(err.Error(), "target 40000 of row 600 is out of range for 40000 classes") {
		t.Errorf("got error %v", err)
	}
}
