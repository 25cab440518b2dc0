package driver

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// A convolving is a convolution as a graph of cuDNN's, and the engines that are proposed for it.
type convolving struct {
	operations
	device      *device
	convolution gpu.Convolution
	operands    [kernel.ConvolutionOperands]tensor
	most        int // bytes of workspace
	list        []*engine
	by          *engine // one of them, which computes it
}

// An engine is a proposal of the heuristics, and its plan once that is made.
type engine struct {
	config descriptor
	number int
	plan   graphPlan
	err    error // of a plan that cannot be made
}

// Convolution makes the library's graph, and the plan of the first engine that can run. Each engine proposed
// gives the same bits in each run.
func (d *device) Convolution(c gpu.Convolution, workspace int) (_ gpu.Computation, err error) {
	l, err := d.openNetworks()
	if err != nil {
		return nil, err
	}
	t := &convolving{operations: operations{library: l}, device: d, convolution: c, most: workspace}
	t.describe()
	if err := t.propose(); err != nil {
		t.Close()
		if e := (*gpu.Error)(nil); errors.As(err, &e) {
			e.Text = c.String() + ": " + e.Text
		}
		return nil, err
	}
	return t, nil
}

// describe writes the graph down: one operation.
func (t *convolving) describe() {
	c := &t.convolution
	axes := c.Spatial
	for i := range t.operands {
		t.operands[i] = t.memory(form{c.Shape[i][:2+axes], c.At[i][:2+axes], cudnnTypes[c.DType]})
	}
	var dilations, strides, after, before []int
	for _, w := range c.Windows[:axes] {
		dilations, strides, after, before = append(dilations, w.Dilation), append(strides, w.Stride), append(after, w.After), append(before, w.Before)
	}
	const crossCorrelation = 1
	how := t.operations.describe(kindConvolution, enum(attrConvType, typeData, dataF32), enum(attrConvType+1, typeConv, crossCorrelation),
		numbers(attrConvType+2, dilations...), numbers(attrConvType+3, strides...), numbers(attrConvType+4, after...), numbers(attrConvType+5, before...), numbers(attrConvType+6, axes))
	kind, at := uintptr(kindOpConv), uintptr(attrOpConv)
	switch c.Op {
	case ir.ConvTranspose:
		kind, at = kindOpConvData, attrOpConvData
	case ir.ConvWeight:
		kind, at = kindOpConvWeight, attrOpConvWeight
	}
	image, result := t.operands[kernel.ConvolutionX], t.operands[kernel.ConvolutionY]
	t.does(kind, enum(at, typeFloat, int(math.Float32bits(1))), enum(at+1, typeFloat, 0), refers(at+2, how),
		refers(at+3, t.operands[kernel.ConvolutionW].desc), refers(at+4, image.desc), refers(at+5, result.desc))
}

// refuses says whether a note of an engine's is that of other results than ours: sums that come in any order,
// or that are rounded, operands of f32 that are; and transforms of 16 bits, which are rounded to those.
func (t *convolving) refuses(note int32) bool {
	switch note {
	case noteAnyOrder, noteRoundsSums:
		return true
	case noteTensorCore, noteRoundsInputs:
		return t.convolution.DType == dtype.F32 && !t.convolution.TF32
	case noteFFT, noteWinograd:
		return t.convolution.DType != dtype.F32
	}
	return false
}

// propose asks for the heuristics' proposals, and takes the first that can run.
func (t *convolving) propose() error {
	var reasons []error
	for config, err := range t.proposals() {
		e := &engine{config: config}
		if err == nil {
			var list []int32
			if e.number, list, err = t.engine(config); err == nil && slices.ContainsFunc(list, t.refuses) {
				err = fmt.Errorf("engine %d is refused", e.number)
			}
		}
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		if t.list = append(t.list, e); len(t.list) == mostProposals {
			break
		}
	}
	for n := range t.list {
		if err := t.take(n); err != nil {
			reasons = append(reasons, err)
			continue
		}
		t.list = t.list[n:]
		return nil
	}
	return t.lacks(reasons...)
}

// take lets the convolution be computed by one of the engines.
func (t *convolving) take(n int) error {
	e := t.list[n]
	if e.plan.desc == 0 && e.err == nil {
		t.device.driver.uninterrupted(func() { e.plan, e.err = t.plan(e.config) })
		if e.plan.workspace > t.most {
			e.err = fmt.Errorf("engine %d wants %d bytes of workspace, may have %d", e.number, e.plan.workspace, t.most)
		}
	}
	if e.err == nil {
		t.by = e
	}
	return e.err
}

// Choose times the engines that the heuristics proposed, or takes the one that was noted in the folder.
func (t *convolving) Choose(folder string) {
	c := &t.convolution
	(&contest{t.device, t, c, c.Flops(), c.DType.Size() == 2, len(t.list), t.take,
		[]string{t.library.name, fmt.Sprint(t.most), fmt.Sprintf("%+v", *c)}}).choose(folder)
	t.forget(t.by)
}

// forget discards all plans but one.
func (t *convolving) forget(but *engine) {
	for _, e := range t.list {
		if e != but && e.plan.desc != 0 {
			t.library.discard(e.plan.desc)
			e.plan.desc = 0
		}
	}
}

// Name says which engine it is, by its number in the library.
func (t *convolving) Name() string   { return fmt.Sprintf("%s, engine %d", t.library.name, t.by.number) }
func (t *convolving) Workspace() int { return t.by.plan.workspace }

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
	return t.encode(s.target(), s.handle, t.by.plan, p, addressOf(o.Workspace))
}

// Close discards the graph and the plans.
func (t *convolving) Close() {
	if !t.device.Closed() {
		t.forget(nil)
		t.operations.close()
	}
}
