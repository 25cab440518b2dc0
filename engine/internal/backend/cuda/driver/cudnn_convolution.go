package driver

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// A convolving is a convolution as a graph of cuDNN's, and the plans that are proposed for it.
type convolving struct {
	operations
	device      *device
	convolution gpu.Convolution
	operands    [kernel.ConvolutionOperands]tensor
	plans       []graphPlan
}

// Convolution makes the library's graph, of one operation, and its plans. Each of them gives the same bits in
// each run.
func (d *device) Convolution(c gpu.Convolution, workspace int) (gpu.Computation, error) {
	l, err := d.openNetworks()
	if err != nil {
		return nil, err
	}
	t := &convolving{operations: operations{library: l}, device: d, convolution: c}
	for i := range t.operands {
		t.operands[i] = t.memory(form{c.Shape[i], c.At[i], cudnnTypes[c.DType]})
	}
	const crossCorrelation = 1
	rows, columns := c.Windows[0], c.Windows[1]
	how := t.describe(kindConvolution, enum(attrConvType, typeData, dataF32), enum(attrConvType+1, typeConv, crossCorrelation),
		numbers(attrConvType+2, rows.Dilation, columns.Dilation), numbers(attrConvType+3, rows.Stride, columns.Stride),
		numbers(attrConvType+4, rows.After, columns.After), numbers(attrConvType+5, rows.Before, columns.Before), numbers(attrConvType+6, 2))
	kind, at := uintptr(kindOpConv), uintptr(attrOpConv)
	switch c.Op {
	case ir.ConvTranspose:
		kind, at = kindOpConvData, attrOpConvData
	case ir.ConvWeight:
		kind, at = kindOpConvWeight, attrOpConvWeight
	}
	t.does(kind, enum(at, typeFloat, int(math.Float32bits(1))), enum(at+1, typeFloat, 0), refers(at+2, how), refers(at+3, t.operands[kernel.ConvolutionW].desc),
		refers(at+4, t.operands[kernel.ConvolutionX].desc), refers(at+5, t.operands[kernel.ConvolutionY].desc))
	if t.plans, err = t.plan(d, &c, mostProposals, workspace, t.refuses); err != nil {
		return nil, err
	}
	return t, nil
}

// refuses says whether a note of an engine's is that of other results than ours: sums that come in any order,
// or that are rounded, operands of f32 that are; and transforms of 16 bits, which are rounded to those.
func (t *convolving) refuses(note int32) bool {
	f32 := t.convolution.DType == dtype.F32
	switch note {
	case noteAnyOrder, noteRoundsSums:
		return true
	case noteTensorCore, noteRoundsInputs:
		return f32 && !t.convolution.TF32
	case noteFFT, noteWinograd:
		return !f32
	}
	return false
}

// Choose times the plans, or takes the one that was noted in the folder. The one that is taken is the first.
func (t *convolving) Choose(folder string) {
	c, list := &t.convolution, t.plans
	(&contest{t.device, t, c, c.Flops(), c.DType.Size(), len(list), func(n int) { t.plans = list[n:] },
		[]string{t.library.name, fmt.Sprintf("%#v", *c)}}).choose(folder)
}

// Name says which engine it is, by its number in the library.
func (t *convolving) Name() string {
	return fmt.Sprintf("%s, engine %d", t.library.name, t.plans[0].engine)
}
func (t *convolving) Workspace() int { return t.plans[0].workspace }

// Launches is one; an engine that turns its operands makes more, and does not say how many.
func (t *convolving) Launches() int { return 1 }

// Encode encodes the call.
func (t *convolving) Encode(to gpu.Stream, o *gpu.Operands) error {
	s, err := t.device.accept(to, &t.convolution, o, operandAlignment, t.Workspace())
	if err != nil {
		return err
	}
	p := &pack{}
	for i, which := range t.operands {
		p.add(which, addressOf(o.List[i]))
	}
	return t.encode(s, t.plans[0], p, addressOf(o.Workspace))
}
