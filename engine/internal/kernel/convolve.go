package kernel

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Convolution is a convolution, or its gradient for the image or for the weight, as a library of a device
// computes it, with sums in F32. Equal Convolutions are the same work.
type Convolution struct {
	Op      ir.Op      // Conv, ConvTranspose or ConvWeight: the result is Y, X or the weight
	DType   dtype.Type // of all operands: F32, F16 or BF16
	TF32    bool       // operands of F32 may be rounded to TF32
	Groups  int
	Spatial int // axes: 2 or 3
	Windows [3]ir.Window
	// Shape has the lengths of each operand, At the elements from one to the next along each axis: images,
	// channels and the spatial axes; of the weight results and the channels of a group come first.
	Shape, At [ConvolutionOperands][5]int
}

// The operands of a Convolution.
const (
	ConvolutionX = iota
	ConvolutionW
	ConvolutionY
	ConvolutionOperands // their number
)

// Result is the operand that is computed from the others.
func (c *Convolution) Result() int {
	switch c.Op {
	case ir.ConvTranspose:
		return ConvolutionX
	case ir.ConvWeight:
		return ConvolutionW
	}
	return ConvolutionY
}

// Bytes is how far an operand reaches from where it begins; 0 if there is none.
func (c *Convolution) Bytes(operand int) int {
	if operand >= ConvolutionOperands {
		return 0
	}
	return ir.Size(c.Shape[operand][:2+c.Spatial]) * c.DType.Size() // it has no gaps
}

// String says what is computed: "conv of 32×64×56×56 by 64×64×3×3 of bf16, stride 1, padding 1 and 1, dilation
// 1".
func (c *Convolution) String() string {
	shape := func(operand int) string {
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Shape[operand][:2+c.Spatial]), " ", "×"), "[]")
	}
	s := fmt.Sprintf("%v of %s by %s of %v", c.Op, shape(ConvolutionX), shape(ConvolutionW), c.DType)
	for _, w := range c.Windows[:c.Spatial] {
		if part := fmt.Sprintf(", stride %d, padding %d and %d, dilation %d", w.Stride, w.Before, w.After, w.Dilation); !strings.HasSuffix(s, part) {
			s += part
		}
	}
	if c.Groups > 1 {
		s += fmt.Sprintf(", in %d groups", c.Groups)
	}
	if c.TF32 {
		s += ", rounded to tf32"
	}
	return s
}

// Flops is the number of operations.
func (c *Convolution) Flops() int {
	return 2 * ir.Size(c.Shape[ConvolutionY][:2+c.Spatial]) * ir.Size(c.Shape[ConvolutionW][1:2+c.Spatial])
}

// A ConvolutionCall is a convolution that a library computes, as a step of a kernel.
type ConvolutionCall struct {
	Placement
	Convolution Convolution
}

// leastConvolution is the operations of a convolution that goes to a library, which needs tens of
// milliseconds for each new shape: some ten microseconds of f32.
const leastConvolution = 1 << 28

// convolve writes a convolution as a call of the library, if the library has it and it is worth that. Where
// the columns of a product are an image as it lies, the product is.
func convolve(g *backend.Group, k *Kernel) bool {
	l := k.limits.Library
	if l == nil || l.Convolve == nil {
		return false
	}
	call, ok := describeConvolution(g)
	if !ok {
		return false
	}
	c := &call.Convolution
	product := c.Op != ir.ConvWeight && pointwise(c.Windows[:c.Spatial])
	if !l.Always && (product || c.Flops() < leastConvolution) {
		return false
	}
	if call.WorkspaceBytes, ok = l.Convolve(*c); !ok {
		return false
	}
	k.Dispatches = []Dispatch{{Convolve: &call}}
	k.shareWorkspace()
	return true
}

// pointwise says whether each window is one element, and each element a window.
func pointwise(windows []ir.Window) bool {
	return !slices.ContainsFunc(windows, func(w ir.Window) bool { return w.Kernel != 1 || w.Stride != 1 || w.Before != 0 || w.After != 0 })
}

// describeConvolution finds the operands of a group's convolution, if they lie as libraries want them.
func describeConvolution(g *backend.Group) (call ConvolutionCall, ok bool) {
	in, o := &g.Insts[0], g.Outputs[0]
	windows := ir.WindowsOf(in.Attr)
	c := &call.Convolution
	*c = Convolution{Op: in.Op, DType: in.DType, Groups: in.Attr.Index, Spatial: max(2, len(windows)), TF32: g.TF32 && in.DType == dtype.F32}
	for i := range c.Spatial - len(windows) { // a line is an image of one row
		c.Windows[i] = ir.Window{Kernel: 1, Stride: 1, Dilation: 1}
	}
	copy(c.Windows[c.Spatial-len(windows):], windows)
	result := c.Result()
	call.Operands[result] = field(o.Buf, 0)
	ok = c.lay(result, o.Layout(), o.DType)
	operands := slices.Delete([]int{ConvolutionX, ConvolutionW, ConvolutionY}, result, result+1)
	if c.Op == ir.ConvTranspose {
		slices.Reverse(operands)
	}
	for i, operand := range operands {
		x := inputOf(g, in.Args[i])
		call.Operands[operand] = placeOf(x)
		ok = ok && call.Operands[operand].At%operandAlignment == 0 && c.lay(operand, inputLayout(g, in.Args[i]), x.DType)
	}
	return call, ok
}

// lay notes how an operand lies, and says whether libraries take that.
func (c *Convolution) lay(operand int, l ir.Layout, dt dtype.Type) bool {
	axes, fills := l.InMemory()
	if !fills || len(axes) < 3 || dt != c.DType || dt != dtype.F32 && dt != dtype.F16 && dt != dtype.BF16 || l.Size() < 1 || l.Size() > math.MaxInt32 {
		return false
	}
	shape, at := &c.Shape[operand], &c.At[operand]
	for axis := 2; axis < 2+c.Spatial; axis++ {
		shape[axis] = 1
	}
	own := func(axis int) int { // where an axis of the layout stands
		if axis < 2 {
			return axis
		}
		return axis + 2 + c.Spatial - len(axes)
	}
	for axis, n := range l.Shape {
		shape[own(axis)] = n
	}
	next := 1
	for _, axis := range slices.Backward(axes) {
		at[own(axis)] = next // also of a length of 1, whose stride says nothing
		next *= l.Shape[axis]
	}
	if own(2) > 2 {
		at[2] = at[3] * shape[3]
	}
	return true
}
