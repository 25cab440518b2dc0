package cpu

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// Convolutions of images that are read in several blocks, of sums in several pieces, and of windows that move
// by rows but within a row by elements, agree with the reference, and have the same bits with any number of
// threads.
func TestConvBlocks(t *testing.T) {
	for i, c := range []struct {
		x       []int // images, channels, axes
		results int
		windows []ir.Window // of the axes, the last of all that follow
	}{
		{[]int{1, 96, 50, 50}, 5, []ir.Window{{Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}}},
		{[]int{1, 80, 61, 47}, 6, []ir.Window{{Kernel: 3, Stride: 2, Before: 0, After: 1, Dilation: 2}}},
		{[]int{7, 256, 9, 9}, 9, []ir.Window{{Kernel: 2, Stride: 3, Dilation: 1}}},
		{[]int{1, 40, 20, 17, 16}, 4, []ir.Window{{Kernel: 2, Stride: 1, Before: 1, Dilation: 1}}},
		{[]int{2, 70, 3000}, 4, []ir.Window{{Kernel: 5, Stride: 2, Before: 2, After: 2, Dilation: 1}}},
		{[]int{2, 2, 9, 10}, 2, []ir.Window{{Kernel: 3, Stride: 2, Before: 1, After: 1, Dilation: 1}, {Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}}},
	} {
		if i%3 > 0 && !long.CI() {
			continue
		}
		y, k := []int{c.x[0], c.results}, []int{c.results, c.x[1]}
		var windows []ir.Window
		for i, n := range c.x[2:] {
			w := c.windows[min(i, len(c.windows)-1)]
			windows, k, y = append(windows, w), append(k, w.Kernel), append(y, w.Count(n))
		}
		for _, op := range []ir.Op{ir.Conv, ir.ConvTranspose, ir.ConvWeight} {
			t.Run(fmt.Sprint(op, c.x, c.windows), func(t *testing.T) {
				b := newBuilder(backend.Single, 1)
				in := backend.Inst{Op: op, Attr: ir.Attr{Ints: ir.Ints(windows), Index: 1}, DType: dtype.F32}
				shapes := map[ir.Op][][]int{ir.Conv: {y, c.x, k}, ir.ConvTranspose: {c.x, y, k}, ir.ConvWeight: {k, c.x, y}}[op]
				if op == ir.ConvTranspose {
					in.Attr.Shape = c.x[2:]
				}
				in.Shape, in.Args = shapes[0], []backend.Ref{b.in(dtype.F32, shapes[1]...), b.in(dtype.F32, shapes[2]...)}
				b.out(b.inst(in))
				b.check(t, 1e-5)
				var first []byte
				for _, threads := range []int{1, 2, 5} {
					dev := New(threads)
					defer dev.Close()
					out, err := b.run(dev)
					if err != nil {
						t.Fatal(err)
					}
					if first == nil {
						first = out[len(out)-1]
					} else if !bytes.Equal(out[len(out)-1], first) {
						t.Errorf("%d threads give other bits than one", threads)
					}
				}
			})
		}
	}
}
