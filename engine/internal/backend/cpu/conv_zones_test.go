package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// TestZerosLeftOut: a convolution with padding has the bits of one without, of images that have the zeros
// themselves, though products with zeros around an image are left out.
func TestZerosLeftOut(t *testing.T) {
	for _, c := range []struct {
		x       []int // images, channels, axes
		results int
		windows []ir.Window
	}{
		{[]int{3, 70, 7, 7}, 33, []ir.Window{{Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}, {Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}}},
		{[]int{2, 128, 14, 9}, 5, []ir.Window{{Kernel: 3, Stride: 2, Before: 1, After: 1, Dilation: 1}, {Kernel: 5, Stride: 1, Before: 2, After: 1, Dilation: 2}}},
		{[]int{1, 48, 120, 31}, 12, []ir.Window{{Kernel: 7, Stride: 2, Before: 3, After: 3, Dilation: 1}, {Kernel: 7, Stride: 2, Before: 3, After: 3, Dilation: 1}}},
		{[]int{1, 256, 3, 4}, 3, []ir.Window{{Kernel: 3, Stride: 1, Before: 4, After: 5, Dilation: 1}, {Kernel: 3, Stride: 1, Before: 3, After: 3, Dilation: 1}}},
		{[]int{1, 1024, 2, 1}, 4, []ir.Window{{Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}, {Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}}},
		{[]int{1, 90, 400}, 3, []ir.Window{{Kernel: 12, Stride: 3, Before: 5, After: 7, Dilation: 1}}},
		{[]int{2, 40, 4, 5, 6}, 4, []ir.Window{{Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}, {Kernel: 3, Stride: 1, Before: 1, Dilation: 1}, {Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}}},
	} {
		y, k, wide := []int{c.x[0], c.results}, []int{c.results, c.x[1]}, c.x[:2:2]
		var none []ir.Window
		for i, w := range c.windows {
			k, y, wide = append(k, w.Kernel), append(y, w.Count(c.x[2+i])), append(wide, c.x[2+i]+w.Before+w.After)
			w.Before, w.After = 0, 0
			none = append(none, w)
		}
		inner := func(values []float64, put bool, of []float64) { // of is of wide images
			for i := range values {
				at, rest, size := 0, i, 1
				for a := len(wide) - 1; a >= 0; a-- {
					place := rest % c.x[a]
					if a >= 2 {
						place += c.windows[a-2].Before
					}
					at, size, rest = at+place*size, size*wide[a], rest/c.x[a]
				}
				if put {
					of[at] = values[i]
				} else {
					values[i] = of[at]
				}
			}
		}
		r := rand.New(rand.NewPCG(uint64(len(c.x)), 7))
		random := func(shape []int) []float64 {
			v := make([]float64, ir.Size(shape))
			for i := range v {
				v[i] = r.NormFloat64()
			}
			return v
		}
		xs, ks, ys, wides := random(c.x), random(k), random(y), make([]float64, ir.Size(wide))
		inner(xs, true, wides)
		for _, op := range []ir.Op{ir.Conv, ir.ConvTranspose, ir.ConvWeight} {
			t.Run(fmt.Sprint(op, c.x, c.windows), func(t *testing.T) {
				run := func(x []int, xs []float64, windows []ir.Window) []byte {
					b := newBuilder(backend.Single, 1)
					input := func(shape []int, values []float64) backend.Ref {
						return b.fill(dtype.F32, shape, func(i int) float64 { return values[i] })
					}
					in := backend.Inst{Op: op, Attr: ir.Attr{Ints: ir.Ints(windows), Index: 1}, DType: dtype.F32}
					switch op {
					case ir.Conv:
						in.Shape, in.Args = y, []backend.Ref{input(x, xs), input(k, ks)}
					case ir.ConvTranspose:
						in.Attr.Shape = x[2:]
						in.Shape, in.Args = x, []backend.Ref{input(y, ys), input(k, ks)}
					default:
						in.Shape, in.Args = k, []backend.Ref{input(x, xs), input(y, ys)}
					}
					b.out(b.inst(in))
					dev := New(2)
					defer dev.Close()
					out, err := b.run(dev)
					if err != nil {
						t.Fatal(err)
					}
					return out[len(out)-1]
				}
				got, want := run(c.x, xs, c.windows), run(wide, wides, none)
				if op == ir.ConvTranspose { // of the wide images what lies around is not asked for
					all, part := make([]float64, ir.Size(wide)), make([]float64, ir.Size(c.x))
					for i := range all {
						all[i] = ir.Load(dtype.F32, want[4*i:]).F
					}
					inner(part, false, all)
					want = make([]byte, 4*len(part))
					for i, v := range part {
						put(want, dtype.F32, i, v)
					}
				}
				if !bytes.Equal(got, want) {
					t.Error("got other bits than of images that have the zeros themselves")
				}
			})
		}
	}
}
