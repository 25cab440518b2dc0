package tensor

import "github.com/mcs-notebook/mcs/engine/plot"

// Plot draws t: a tensor of one axis as a line, one of two axes as a heat map. Another shape panics with an
// [*Error]. Package plot has more: [plot.Scatter], [plot.Hist], several lines with names, logarithmic axes.
func (t Tensor) Plot() *plot.Plot {
	if n := t.real("plot"); len(n.Shape) != 1 && len(n.Shape) != 2 {
		fail("plot", "got %v, want 1 axis (a line) or 2 (a heat map); plot.Hist takes any shape", n)
	}
	return plot.Of(t)
}
