package cuda

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cuda/driver"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// A convolved is a convolution of square images as a group, or one of its gradients.
type convolved struct {
	op                               ir.Op
	dtype                            dtype.Type
	images, channels, side, results  int
	kernel, stride, dilation, groups int
	last                             bool // channels lie side by side
}

func (c convolved) String() string {
	s := fmt.Sprintf("%v %v %dx%dx%dx%d %dx%d to %d", c.op, c.dtype, c.images, c.channels, c.side, c.side, c.kernel, c.kernel, c.results)
	for _, with := range []struct {
		name string
		n    int
	}{{"stride", c.stride}, {"dilation", c.dilation}, {"groups", c.groups}} {
		if with.n > 1 {
			s += fmt.Sprintf(" %s %d", with.name, with.n)
		}
	}
	if c.last {
		s += " channels last"
	}
	return s
}

// group is the group; its operands and its result are buffers 0, 1 and 2 of these types.
func (c convolved) group() (*backend.Group, []ir.Type) {
	w := ir.Window{Kernel: c.kernel, Stride: c.stride, Before: c.dilation * (c.kernel / 2), After: c.dilation * (c.kernel / 2), Dilation: c.dilation}
	places := w.Count(c.side)
	x := ir.Type{DType: c.dtype, Shape: []int{c.images, c.channels, c.side, c.side}}
	weight := ir.Type{DType: c.dtype, Shape: []int{c.results, c.channels / c.groups, c.kernel, c.kernel}}
	y := ir.Type{DType: c.dtype, Shape: []int{c.images, c.results, places, places}}
	attr := ir.Attr{Index: c.groups, Ints: ir.Ints([]ir.Window{w, w})}
	types := []ir.Type{x, weight, y}
	switch c.op {
	case ir.ConvTranspose:
		attr.Shape, types = x.Shape[2:], []ir.Type{y, weight, x}
	case ir.ConvWeight:
		types = []ir.Type{x, y, weight}
	}
	g := &backend.Group{Name: c.String(), Kind: backend.Single}
	for n, t := range types[:2] {
		l := ir.Contiguous(t.Shape)
		if s := t.Shape; c.last {
			l = ir.Contiguous([]int{s[0], s[2], s[3], s[1]}).Permute([]int{0, 3, 1, 2})
		}
		g.Inputs = append(g.Inputs, backend.Input{DType: c.dtype, Layout: l, Buf: n})
	}
	g.Insts = []backend.Inst{{Op: c.op, Attr: attr, DType: c.dtype, Shape: types[2].Shape, Args: []backend.Ref{backend.In(0), backend.In(1)}}}
	g.Outputs = []backend.Output{{Buf: 2, DType: c.dtype, Shape: types[2].Shape}}
	return g, types
}

func (c convolved) command(t testing.TB, b backend.Backend) submit.Cmd {
	t.Helper()
	g, types := c.group()
	return command(t, b, g, types)
}

// columnsOnGPU opens the GPU without cuDNN: convolutions are products of columns, by cuBLASLt or our own
// kernels.
func columnsOnGPU(t testing.TB) backend.Backend {
	t.Helper()
	withLibrary(t, "cudnn", "")
	d := driver.New()
	d.Cudnn = nil
	b, err := open(d, *number)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.(*gpu.Backend).Close() })
	return b
}

func (c convolved) flops() float64 {
	places := (c.side-1)/c.stride + 1
	return 2 * float64(c.images*c.results*places*places) * float64(c.channels/c.groups*c.kernel*c.kernel)
}

// layers are those of the comparison with PyTorch: images, channels, the side, results, the kernel's and the
// stride.
var layers = [][6]int{{32, 64, 56, 64, 3, 1}, {32, 128, 28, 128, 3, 1}, {32, 256, 14, 256, 3, 1}, {32, 256, 56, 64, 1, 1}, {32, 128, 56, 128, 3, 2}}

func convolutionsOf(layers ...[6]int) (list []convolved) {
	for _, l := range layers {
		for _, dt := range []dtype.Type{dtype.F32, dtype.BF16} {
			for _, op := range []ir.Op{ir.Conv, ir.ConvTranspose, ir.ConvWeight} {
				list = append(list, convolved{op: op, dtype: dt, images: l[0], channels: l[1], side: l[2], results: l[3], kernel: l[4], stride: l[5], dilation: 1, groups: 1})
			}
		}
	}
	return list
}

// TestConvolutionsLibraryOnGPU holds convolutions that cuDNN computes against the reference, and large ones
// against products of columns, by the engine that was the fastest. Each repeats its bits.
func TestConvolutionsLibraryOnGPU(t *testing.T) {
	reference, err := ref.Open()
	if err != nil {
		t.Fatal(err)
	}
	small := convolutionsOf([6]int{2, 64, 9, 64, 3, 1}, [6]int{2, 128, 7, 128, 3, 1}, [6]int{2, 256, 5, 64, 1, 1}, [6]int{2, 32, 12, 48, 3, 2}, [6]int{3, 16, 10, 24, 5, 3})
	for _, c := range slices.Clone(small[:6]) {
		c.dilation = 2
		small = append(small, c)
		c.dilation, c.groups = 1, 4
		small = append(small, c)
		c.groups, c.last = 1, true
		small = append(small, c)
	}
	for _, way := range []struct {
		setting string
		truth   backend.Backend
		list    []convolved
	}{{"always", reference, small}, {"", columnsOnGPU(t), convolutionsOf(layers...)}} {
		library := withLibrary(t, "cudnn", way.setting)
		for _, c := range way.list {
			t.Run(c.String(), func(t *testing.T) {
				cmd := c.command(t, library)
				source := cmd.Kernel.(backend.SourceKernel)
				if way.setting == "always" && by(source) != "cudnn" {
					t.Errorf("cuDNN does not compute it:\n%.300s", source.Source())
				}
				got, again := runAndRead(t, library, cmd, 2), runAndRead(t, library, cmd, 2)
				if !slices.Equal(got[0], again[0]) {
					t.Error("the bits are not those of the run before")
				}
				want := runAndRead(t, way.truth, c.command(t, way.truth), 2)
				e, near := apart(c.dtype, got[0], want[0]), map[dtype.Type]float64{dtype.F32: 1e-4, dtype.BF16: 1e-2}[c.dtype] // TF32 is 3e-4 away
				if !(e < near) {
					t.Errorf("got %.2g away relative to its size, want %g", e, near)
				}
				t.Logf("%.2g away, %.200s", e, source.Source())
			})
		}
	}
}

// BenchmarkConvolutionsOnGPU times convolutions on the device's clock: as is chosen, by the engine that cuDNN
// proposes first, and as products of columns.
func BenchmarkConvolutionsOnGPU(b *testing.B) {
	ways := map[string]backend.Backend{"columns": columnsOnGPU(b), "first": withLibrary(b, "cudnn", "always"), "chosen": withLibrary(b, "cudnn", "")}
	for _, c := range convolutionsOf(layers...) {
		for _, name := range slices.Sorted(maps.Keys(ways)) {
			b.Run(c.String()+"/"+name, func(b *testing.B) {
				cmd := c.command(b, ways[name])
				b.Logf("%.200s", cmd.Kernel.(backend.SourceKernel).Source())
				best := fastest(b, ways[name], slices.Repeat([]submit.Cmd{cmd}, runs))
				b.ReportMetric(c.flops()/best.Seconds()/1e12, "TFLOP/s")
				b.ReportMetric(float64(best.Nanoseconds())/1e3, "µs")
			})
		}
	}
}
