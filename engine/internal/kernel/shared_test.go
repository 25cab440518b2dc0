package kernel

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// TestSharedTexts: neither a length nor the direction of an order or of a sum makes another text, so a device
// compiles few.
func TestSharedTexts(t *testing.T) {
	f := func(shape ...int) ir.Type { return typeOf(dtype.F32, shape...) }
	top := func(n int, flags ir.Flag) *backend.Group {
		return oneOp(backend.Single, ir.TopK, ir.Attr{Index: 3, Flags: flags}, []ir.Type{f(n)}, f(3), typeOf(dtype.I64, 3))
	}
	run := func(n int, flags ir.Flag) *backend.Group {
		return oneOp(backend.Single, ir.CumSum, ir.Attr{Flags: flags}, []ir.Type{f(n)}, f(n))
	}
	sum := func(m, n, axis int) *backend.Group {
		out := []int{m, n}
		out[axis] = 1
		return oneOp(backend.Reduce, ir.Sum, ir.Attr{Axes: []int{axis}}, []ir.Type{f(m, n)}, f(out...))
	}
	for _, c := range []struct {
		name   string
		groups []*backend.Group
	}{
		{"top_k", []*backend.Group{top(40, 0), top(500, 0), top(40, ir.Reverse), top(1999, ir.Reverse)}},
		{"running sums", []*backend.Group{run(40, 0), run(5000, ir.Reverse), run(500, ir.Exclusive), run(500, ir.Exclusive|ir.Reverse)}},
		{"sums of rows", []*backend.Group{sum(5, 37, 1), sum(2, 1001, 1), sum(300, 41, 1)}},
		{"sums of long rows", []*backend.Group{sum(50, 2001, 1), sum(90, 3003, 1)}},
		{"sums of columns", []*backend.Group{sum(9, 37, 0), sum(70, 3, 0), sum(300, 41, 0)}},
		{"sums of short columns", []*backend.Group{sum(5, 37, 0), sum(2, 1000, 0), sum(8, 3, 0)}},
	} {
		texts := map[string]bool{}
		for _, g := range c.groups {
			k, err := Render(g, limits)
			if err != nil {
				t.Fatal(err)
			}
			texts[k.Dispatches[0].Function] = true
		}
		if len(texts) != 1 {
			t.Errorf("%s: got %d texts, want 1", c.name, len(texts))
		}
	}
}
