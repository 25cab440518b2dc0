package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A convolution is what the three products of the family have in common: x, w and y, of which one is computed
// from the others. There are always three spatial axes; those that are missing have length 1 and come first.
type convolution struct {
	op      ir.Op
	images  int
	groups  int
	in, out int // channels of x and of y in each group
	x, w, y spatial
	window  [3]ir.Window
	reach   []reach // of each tap along the last axis
}

// spatial is a length, or a place, along each spatial axis.
type spatial [3]int

func (s spatial) size() int { return s[0] * s[1] * s[2] }

// at is the place of an element in C order.
func (s spatial) at(i spatial) int { return (i[0]*s[1]+i[1])*s[2] + i[2] }

// apart is the distance in C order of two elements that follow one another along an axis.
func (s spatial) apart(axis int) int { return spatial{s[1] * s[2], s[2], 1}[axis] }

// times multiplies each number by that of t.
func (s spatial) times(t spatial) spatial { return spatial{s[0] * t[0], s[1] * t[1], s[2] * t[2]} }

// each calls f for all places, in C order.
func (s spatial) each(f func(i spatial)) {
	for a := range s[0] {
		for b := range s[1] {
			for c := range s[2] {
				f(spatial{a, b, c})
			}
		}
	}
}

func spatialOf(shape []int) spatial {
	s := spatial{1, 1, 1}
	copy(s[3-len(shape):], shape)
	return s
}

func newConvolution(in *backend.Inst, x, w, y []int) *convolution {
	c := &convolution{op: in.Op, images: x[0], groups: in.Attr.Index, in: w[1], out: w[0] / in.Attr.Index}
	c.x, c.w, c.y = spatialOf(x[2:]), spatialOf(w[2:]), spatialOf(y[2:])
	windows := ir.WindowsOf(in.Attr)
	for i := range c.window {
		c.window[i] = ir.Window{Kernel: 1, Stride: 1, Dilation: 1}
	}
	copy(c.window[3-len(windows):], windows)
	if c.pointwise() { // an image is one row
		c.x, c.y = spatial{1, 1, c.x.size()}, spatial{1, 1, c.y.size()}
	}
	for k := range c.w[2] {
		c.reach = append(c.reach, c.reachOf(k))
	}
	return c
}

// pointwise says whether each window is one element, and each element a window.
func (c *convolution) pointwise() bool {
	for a, w := range c.window {
		if w.Kernel > 1 || w.Stride > 1 || c.x[a] != c.y[a] {
			return false
		}
	}
	return true
}

// channels are the channels of x, results those of y.
func (c *convolution) channels() int { return c.groups * c.in }
func (c *convolution) results() int  { return c.groups * c.out }

// A convolver computes one product in float32; it keeps what it prepares in its first launch.
type convolver interface {
	run(l *launch, a, b, to unsafe.Pointer)
}

// compileConv compiles conv, conv_transpose and conv_weight.
func compileConv(c *standalone) func(*launch) {
	in, register := c.in, tile.Register(c.in.DType)
	var w *convolution
	switch in.Op {
	case ir.Conv:
		w = newConvolution(in, c.shape(0), c.shape(1), in.Shape)
	case ir.ConvTranspose:
		w = newConvolution(in, in.Shape, c.shape(1), c.shape(0))
	default:
		w = newConvolution(in, c.shape(0), in.Shape, c.shape(1))
	}
	x, y := c.operand(0, c.shape(0), register), c.operand(1, c.shape(1), register)
	out, n := c.g.Outputs[0], ir.Size(in.Shape)
	how := w.convolver(register)
	return func(l *launch) {
		if n == 0 {
			return
		}
		a, b := x.all(l), y.all(l)
		if out.DType == register {
			how.run(l, a, b, l.pointer(out.Buf))
			return
		}
		wide := unsafe.Pointer(unsafe.SliceData(l.scratch.floats(n)))
		how.run(l, a, b, wide)
		l.narrowAll(&out, wide, n)
	}
}

// fewChannels is the number of rows of a product up to which a convolution is computed row by row: a
// micro-kernel would leave most of its registers empty.
const fewChannels = 2

// convolver chooses the way: a product of matrices, of which one is gathered from windows, or row by row.
func (c *convolution) convolver(t dtype.Type) convolver {
	rows := c.out
	if c.op == ir.ConvTranspose {
		rows = c.in
	}
	switch {
	case t == dtype.F64:
		return &rowwise[float64]{c, vec.Doubles()}
	case rows <= fewChannels || c.images*c.in*c.out*c.y.size() == 0:
		return &rowwise[float32]{c, vec.Floats()}
	case c.op == ir.ConvWeight:
		return newWeightGradient(c)
	}
	if p := newPointwise(c); p != nil {
		return p
	}
	if c.op == ir.ConvTranspose {
		return newTransposed(c)
	}
	return newForward(c)
}
