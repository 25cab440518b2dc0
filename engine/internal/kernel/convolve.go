package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Convolution is a convolution of images, or its gradient for the images or for the weight, as a library of
// a device computes it, with sums in F32. Equal Convolutions are the same work.
type Convolution struct {
	Op      ir.Op      // Conv, ConvTranspose or ConvWeight: the result is Y, X or the weight
	DType   dtype.Type // of all operands: F32, F16 or BF16
	TF32    bool       // operands of F32 may be rounded to TF32
	Groups  int
	Windows [2]ir.Window
	// Shape has the lengths of each operand, At the elements from one to the next along each axis.
	Shape, At [ConvolutionOperands][4]int
}

// The operands of a Convolution.
const (
	ConvolutionX = iota
	ConvolutionW
	ConvolutionY
	ConvolutionOperands // their number
)

// Bytes is how far an operand, which has no gaps, reaches from where it begins; 0 if there is none.
func (c Convolution) Bytes(operand int) int {
	if operand >= ConvolutionOperands {
		return 0
	}
	return ir.Size(c.Shape[operand][:]) * c.DType.Size()
}

// String says what is computed, with the kernel, stride, zeros before and after, and dilation of each window.
func (c Convolution) String() string {
	return fmt.Sprintf("%v of %v by %v of %v, windows %v, %d groups, tf32 %v", c.Op, c.Shape[ConvolutionX], c.Shape[ConvolutionW], c.DType, c.Windows, c.Groups, c.TF32)
}

// Flops is the number of operations.
func (c *Convolution) Flops() int {
	return 2 * ir.Size(c.Shape[ConvolutionY][:]) * ir.Size(c.Shape[ConvolutionW][1:])
}

// leastConvolution is the operations of a convolution that goes to a library, which needs milliseconds for
// each new shape: some ten microseconds of f32.
const leastConvolution = 1 << 28

// fewColumns are the bytes of columns that the last cache of a large GPU holds about.
const fewColumns = 64 << 20

// convolve writes a convolution as a call of the library, if the library has it and it is worth that.
func convolve(g *backend.Group, k *Kernel) bool {
	l := k.limits.Library
	c, at, ok := describeConvolution(g)
	if l == nil || !ok || !l.Always && (c.own() || c.Flops() < leastConvolution) {
		return false
	}
	if at.WorkspaceBytes, ok = l.Offer(c); !ok {
		return false
	}
	k.Dispatches = []Dispatch{{Library: &Call{Placement: at, Work: c}}}
	k.shareWorkspace()
	return true
}

// own says whether products of columns, or texts, are faster: where the columns are an image as it lies, and
// where groups have one channel, which moves more than it computes. In F32 libraries have few gradients that
// add up in an order: with strides they take up to 16 times as long as products, and that of the images takes
// longer than a product whose columns caches hold.
func (c *Convolution) own() bool {
	elements := ir.Size(c.Shape[ConvolutionY][:]) / c.Shape[ConvolutionY][1] * ir.Size(c.Shape[ConvolutionW][1:]) // of the columns
	ordered := c.DType == dtype.F32 && !c.TF32 && c.Op != ir.Conv
	strided := slices.ContainsFunc(c.Windows[:], func(w ir.Window) bool { return w.Stride != 1 })
	switch {
	case c.Shape[ConvolutionW][1] == 1:
		return true
	case pointwise(c.Windows[:]):
		return ordered || c.Op != ir.ConvWeight
	}
	return ordered && (strided || c.Op == ir.ConvTranspose && elements*c.DType.Size() < fewColumns)
}

// pointwise says whether each window is one element, and each element a window.
func pointwise(windows []ir.Window) bool {
	return !slices.ContainsFunc(windows, func(w ir.Window) bool { return w.Kernel != 1 || w.Stride != 1 || w.Before != 0 || w.After != 0 })
}

// describeConvolution finds the operands of a group's convolution, if they lie as libraries want them. A line
// is an image of one row.
func describeConvolution(g *backend.Group) (c Convolution, at Placement, ok bool) {
	in, o := &g.Insts[0], g.Outputs[0]
	c = Convolution{Op: in.Op, DType: in.DType, Groups: in.Attr.Index, TF32: g.TF32 && in.DType == dtype.F32}
	windows := ir.WindowsOf(in.Attr)
	if len(windows) == 1 {
		windows = append([]ir.Window{{Kernel: 1, Stride: 1, Dilation: 1}}, windows...)
	}
	copy(c.Windows[:], windows)
	operands := []int{ConvolutionX, ConvolutionW, ConvolutionY} // the sources, and then the result
	switch c.Op {
	case ir.ConvTranspose:
		operands = []int{ConvolutionY, ConvolutionW, ConvolutionX}
	case ir.ConvWeight:
		operands = []int{ConvolutionX, ConvolutionY, ConvolutionW}
	}
	ok = len(windows) == 2 && c.lay(operands[2], o.Layout(), o.DType)
	at.Operands[operands[2]] = field(o.Buf, o.Offset*o.DType.Size())
	for i, v := range in.Args {
		x := inputOf(g, v)
		at.Operands[operands[i]] = placeOf(x)
		ok = ok && placeOf(x).At%operandAlignment == 0 && c.lay(operands[i], inputLayout(g, v), x.DType)
	}
	return c, at, ok
}

// lay notes how an operand lies, and says whether libraries take that.
func (c *Convolution) lay(operand int, l ir.Layout, dt dtype.Type) bool {
	if len(l.Shape) == 3 {
		l.Shape, l.Stride = slices.Insert(slices.Clone(l.Shape), 2, 1), slices.Insert(slices.Clone(l.Stride), 2, l.Shape[2]*l.Stride[2])
	}
	axes, fills := l.InMemory()
	next := 1
	for _, axis := range slices.Backward(axes) {
		c.Shape[operand][axis], c.At[operand][axis] = l.Shape[axis], next // also of a length of 1, whose stride says nothing
		next *= l.Shape[axis]
	}
	return fills && len(axes) == 4 && next > 0 && next <= math.MaxInt32 && dt == c.DType && (dt == dtype.F32 || dt == dtype.F16 || dt == dtype.BF16)
}
