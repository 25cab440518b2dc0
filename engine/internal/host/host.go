// Package host is Go code on the processor that the graph knows as one node: for what packages above tensor
// compute in loops of their own, matrix by matrix or row by row, and with float64.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Tensor is a tensor.Tensor.
type Tensor = tensor.Tensor

// check panics with err as a *tensor.Error.
func check(op string, err error) {
	var wrong *ir.Error
	switch {
	case errors.As(err, &wrong):
		panic(&tensor.Error{Op: op, Msg: wrong.Msg})
	case err != nil:
		panic(&tensor.Error{Op: op, Msg: err.Error()})
	}
}

// A Routine computes the results of one matrix, or of one of each operand, as float64 in rows: tensors of
// other types are cast before and after. Results begin as zeros, and one that nobody reads is nil. It must
// not change in, and has so many threads. Its error completes "cholesky: ".
type Routine func(threads int, in, out [][]float64) error

// Lent is how a library of the device computes the same, where it has the routine: without a copy to the
// processor.
type Lent struct {
	Routine ir.Routine                  // its Batches are set by Call
	Outs    []ir.Type                   // of one matrix, as ir.Kernel.Routine says
	Before  func(in []Tensor) []Tensor  // makes the sources of the operands; nil if they are those
	After   func(out []Tensor) []Tensor // makes the results
	Fail    func(code int) error        // see ir.Kernel.Fail
}

// Code is a computation on the processor that the graph knows as one node.
type Code struct {
	Op    string
	Key   string                                // what Run depends on beside the shapes
	Outs  []ir.Type                             // of one matrix; Invalid stands for the dtype of the operands
	Run   Routine                               // several goroutines call it
	Grad  func(in, out, dout []Tensor) []Tensor // nil if there is none, and
	Never string                                // why
	Lent  *Lent                                 // nil if no library has it
}

// Call makes the node over operands of one dtype and batch, and returns a function that gives its results.
func (h Code) Call(batch []int, in ...Tensor) func(i int) Tensor {
	batch = slices.Clone(batch)
	outs := make([]ir.Type, len(h.Outs))
	for i, o := range h.Outs {
		outs[i] = ir.Type{DType: o.DType, Shape: slices.Concat(batch, o.Shape)}
		if o.DType == dtype.Invalid {
			outs[i].DType = in[0].DType()
		}
	}
	if slices.ContainsFunc(in, func(t Tensor) bool { return t.Size() == 0 }) {
		return func(i int) Tensor { return nothing(in[0], outs[i]) }
	}
	compute := func(in ...Tensor) []Tensor { return h.onProcessor(batch, outs, in) }
	if r, ok := h.Lends(batch, in); ok {
		compute = func(in ...Tensor) []Tensor { return h.Lent.After(h.routine(&r, batch, in)) }
	}
	var results []Tensor
	if h.Grad == nil {
		results = compute(in...)
	} else {
		results = tensor.Custom(compute, h.Grad)(in...)
	}
	return func(i int) Tensor { return results[i] }
}

// Wide is t where Call computes and as it does there: itself where a library of its device has the routine
// or nothing is computed, or else in float64 on the processor.
func (h Code) Wide(batch []int, t Tensor) Tensor {
	if _, ok := h.Lends(batch, []Tensor{t}); ok || t.Size() == 0 {
		return t
	}
	return wide(t)
}

func wide(t Tensor) Tensor { return onProcessor(t).Cast(dtype.F64) }

// onProcessor makes the node of the code, which takes and gives float64 on the processor.
func (h Code) onProcessor(batch []int, outs []ir.Type, in []Tensor) []Tensor {
	home := in[0].Device()
	src := make([]*ir.Node, len(in))
	lens, sizes := make([]int, len(in)), make([]int, len(outs)) // elements of one matrix
	for i, t := range in {
		src[i] = access.Node(wide(t), h.Op)
		lens[i] = ir.Size(src[i].Shape[len(batch):])
	}
	made := make([]ir.Type, len(outs))
	for i, o := range outs {
		made[i] = ir.Type{DType: dtype.F64, Shape: o.Shape}
		sizes[i] = ir.Size(o.Shape[len(batch):])
	}
	k := &ir.Kernel{Name: h.Op, Function: fmt.Sprint(h.Op, " ", h.Key), Outs: made, Flops: -1, Go: h.over(batch, lens, sizes), Gradient: h.never}
	k.SetKey()
	return h.results(k, src, func(i int, y Tensor) Tensor { return y.Cast(outs[i].DType).To(home) })
}

// results makes the node of a kernel, and each of its results by made.
func (h Code) results(k *ir.Kernel, src []*ir.Node, made func(i int, y Tensor) Tensor) []Tensor {
	tuple, err := ir.New(ir.UserKernel, ir.Attr{Kernel: k}, src...)
	check(h.Op, err)
	results := make([]Tensor, len(k.Outs))
	for i := range results {
		pick, err := ir.New(ir.Pick, ir.Attr{Index: i}, tuple)
		check(h.Op, err)
		results[i] = made(i, access.Wrap(pick))
	}
	return results
}

// never is the gradient of what has none.
func (h Code) never(*ir.Node, []*ir.Node) ([]*ir.Node, error) {
	return nil, fmt.Errorf("it has none: %s", h.Never)
}

// onProcessor is t where Go code can read it: on its own device, or copied to the processor.
func onProcessor(t Tensor) Tensor {
	if _, ok := access.Node(t, "to").Dev.(*backend.Device).Backend().(backend.GoRunner); ok {
		return t
	}
	d, err := device.Lookup(backend.Host)
	check("to", err)
	return t.To(d)
}

// nothing is a result of matrices without elements: a permutation or a basis, which have some, or zeros.
func nothing(beside Tensor, o ir.Type) Tensor {
	shape := o.Shape
	last := shape[len(shape)-1:]
	switch {
	case ir.Size(shape) == 0 || len(shape) == 0:
		return tensor.Zeros(shape...).To(beside.Device()).Cast(o.DType)
	case o.DType == dtype.I64:
		return tensor.Range(last[0]).To(beside.Device()).Expand(shape...)
	}
	return tensor.Eye(last[0]).To(beside.Device()).Cast(o.DType).Expand(shape...)
}

// over returns the Go code of a kernel: the routine for each matrix of a batch, on as many threads as the
// device has. It refers to no tensor.
func (h Code) over(batch, lens, sizes []int) func(context.Context, int, [][]byte, [][]byte) error {
	count := ir.Size(batch)
	op, run := h.Op, h.Run
	return func(ctx context.Context, most int, in, out [][]byte) error {
		workers := min(count, most)
		failed := make([]error, count)
		pool.Apart(workers, func(first int) {
			x, y := make([][]float64, len(in)), make([][]float64, len(out))
			for i := first; i < count && ctx.Err() == nil; i += workers {
				for k, n := range lens {
					x[k] = matrix(in[k], i, n)
				}
				for k, n := range sizes {
					if out[k] != nil {
						y[k] = matrix(out[k], i, n)
						clear(y[k])
					}
				}
				if err := run(most/workers, x, y); err != nil {
					failed[i] = fmt.Errorf("%s: %w%s", op, err, place(i, batch))
				}
			}
		})
		return cmp.Or(append(failed, ctx.Err())...) // the first matrix counts, on any number of threads
	}
}

// matrix is number i of a batch of those with n elements.
func matrix(b []byte, i, n int) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b[8*i*n:]))), n)
}

// place says which matrix of a batch it is; nothing of a single one.
func place(i int, batch []int) string {
	if len(batch) == 0 {
		return ""
	}
	return fmt.Sprintf(", matrix %v of the batch", ir.IndexOf(i, batch))
}
