package kernel

import (
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// TestConvolve: which convolutions go to a library, how their operands lie, and what stays with the texts.
func TestConvolve(t *testing.T) {
	type layer struct {
		op             ir.Op
		dtype          dtype.Type
		channels, side int
		window         ir.Window
		axes           int
	}
	plain := layer{ir.Conv, dtype.BF16, 64, 56, ir.Window{Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}, 2}
	with := func(change func(l *layer)) layer { l := plain; change(&l); return l }
	pixels := ir.Window{Kernel: 1, Stride: 1, Dilation: 1}
	last := func(l ir.Layout) ir.Layout {
		s := l.Shape
		return ir.Contiguous([]int{s[0], s[2], s[3], s[1]}).Permute([]int{0, 3, 1, 2})
	}
	for name, c := range map[string]struct {
		layer layer
		lay   func(l ir.Layout) ir.Layout // of the sources; nil if they are dense
		want  string                      // none is left to the texts
	}{
		"images":               {plain, nil, "conv of [32 64 56 56] by [64 64 3 3] of bf16, windows [{3 1 1 1 1} {3 1 1 1 1}], 1 groups, tf32 false"},
		"its gradient":         {with(func(l *layer) { l.op = ir.ConvTranspose }), nil, "conv_transpose of [32 64 56 56] by [64 64 3 3] of bf16, windows [{3 1 1 1 1} {3 1 1 1 1}], 1 groups, tf32 false"},
		"channels last":        {plain, last, "conv of [32 64 56 56] by [64 64 3 3] of bf16, windows [{3 1 1 1 1} {3 1 1 1 1}], 1 groups, tf32 false"},
		"a line":               {with(func(l *layer) { l.axes, l.side = 1, 4000 }), nil, "conv of [32 64 1 4000] by [64 64 1 3] of bf16, windows [{1 1 0 0 1} {3 1 1 1 1}], 1 groups, tf32 false"},
		"a weight":             {with(func(l *layer) { l.op = ir.ConvWeight }), nil, "conv_weight of [32 64 56 56] by [64 64 3 3] of bf16, windows [{3 1 1 1 1} {3 1 1 1 1}], 1 groups, tf32 false"},
		"pixels are a product": {with(func(l *layer) { l.window = pixels }), nil, ""},
		"a single channel":     {with(func(l *layer) { l.channels, l.side = 1, 3000 }), nil, ""},
		"three axes":           {with(func(l *layer) { l.axes, l.side = 3, 16 }), nil, ""},
		"little":               {with(func(l *layer) { l.side = 4 }), nil, ""},
		"a part of an image": {plain, func(l ir.Layout) ir.Layout {
			return ir.Contiguous([]int{l.Shape[0], l.Shape[1], l.Shape[2], l.Shape[3] + 1}).Slice([]int{0, l.Shape[0], 1, 0, l.Shape[1], 1, 0, l.Shape[2], 1, 0, l.Shape[3], 1})
		}, ""},
		"an odd place": {plain, func(l ir.Layout) ir.Layout { l.Offset = 1; return l }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := c.layer
			x, w, windows := []int{32, l.channels}, []int{l.channels, l.channels}, []ir.Window{}
			for range l.axes {
				x, w, windows = append(x, l.side), append(w, l.window.Kernel), append(windows, l.window)
			}
			s := &sketch{g: &backend.Group{Name: "conv", Kind: backend.Single}}
			shapes := [][]int{x, w, x} // of the sources and the result: images keep their size
			attr := ir.Attr{Index: 1, Ints: ir.Ints(windows)}
			switch l.op {
			case ir.ConvTranspose:
				attr.Shape = x[2:]
			case ir.ConvWeight:
				shapes = [][]int{x, x, w}
			}
			in := backend.Inst{Op: l.op, Attr: attr, DType: l.dtype, Shape: shapes[2]}
			for _, shape := range shapes[:2] {
				lay := ir.Contiguous(shape)
				if c.lay != nil {
					lay = c.lay(lay)
				}
				in.Args = append(in.Args, s.input(l.dtype, lay))
			}
			s.g.Insts = []backend.Inst{in}
			s.g.Outputs = []backend.Output{{Buf: s.bufs, DType: l.dtype, Shape: shapes[2]}}
			limits := Limits{Threads: 1024, SIMDWidth: 32, Processors: 132, Family: NVIDIA, Library: &Library{Offer: func(w Work) (int, bool) {
				_, ok := w.(Convolution)
				return 1000, ok
			}}}
			k, err := Render(s.g, limits)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if d := k.Dispatches[0]; d.Library != nil {
				got = d.Library.Work.String()
				if at := d.Library.Work.(Convolution).At[ConvolutionX]; c.lay != nil && at != [4]int{64 * 56 * 56, 1, 64 * 56, 64} {
					t.Errorf("channels that lie side by side: got %v", at)
				}
				if d.Library.WorkspaceBytes != 1000 || k.Scratch < 1000 {
					t.Errorf("got a workspace of %d bytes in %d", d.Library.WorkspaceBytes, k.Scratch)
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			limits.Library.Offer = func(Work) (int, bool) { return 0, false }
			if k, err = Render(s.g, limits); err != nil || slices.ContainsFunc(k.Dispatches, func(d Dispatch) bool { return d.Library != nil }) {
				t.Errorf("a library that refuses: got %v", err)
			}
		})
	}
}
