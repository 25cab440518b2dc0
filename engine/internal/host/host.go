// Package host is Go code on the processor that the graph knows as one node: for what packages above tensor
// compute in loops of their own, matrix by matrix or row by row, and with float64.
package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/engine/internal/box"
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

// A Routine computes the results of one matrix, or of one of each operand, as float64 in rows. Results begin
// as zeros, and one that nobody reads is nil. It must not change in, and has so many threads. Its error
// completes "cholesky: ".
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
	if result := h.lent(batch, in); result != nil {
		return result
	}
	home := in[0].Device()
	dt := in[0].DType()
	src := make([]*ir.Node, len(in))
	lens := make([]int, len(in)) // elements of one matrix
	for i, t := range in {
		src[i] = access.Node(onProcessor(t), h.Op)
		lens[i] = ir.Size(src[i].Shape[len(batch):])
	}
	outs := make([]ir.Type, len(h.Outs))
	for i, o := range h.Outs {
		outs[i] = ir.Type{DType: o.DType, Shape: slices.Concat(batch, o.Shape)}
		if o.DType == dtype.Invalid {
			outs[i].DType = dt
		}
	}
	if slices.ContainsFunc(lens, func(n int) bool { return n == 0 }) || slices.Contains(batch, 0) {
		return func(i int) Tensor { return nothing(in[0], outs[i]) }
	}
	k := &ir.Kernel{Name: h.Op, Function: fmt.Sprint(h.Op, " ", h.Key, " ", dt), Outs: outs, Flops: -1}
	k.Go = h.over(batch, dt, lens, outs)
	if k.Gradient = h.never; h.Grad != nil {
		k.Gradient = box.GradientOf("its rule", make([]string, len(in)), access.Wrap, h.Grad)
	}
	k.SetKey()
	tuple, err := ir.New(ir.UserKernel, ir.Attr{Kernel: k}, src...)
	check(h.Op, err)
	return func(i int) Tensor {
		pick, err := ir.New(ir.Pick, ir.Attr{Index: i}, tuple)
		check(h.Op, err)
		return access.Wrap(pick).To(home)
	}
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
		return tensor.Zeros(shape...).Cast(o.DType).To(beside.Device())
	case o.DType == dtype.I64:
		return tensor.Range(last[0]).To(beside.Device()).Expand(shape...)
	}
	return tensor.Eye(last[0]).To(beside.Device()).Cast(o.DType).Expand(shape...)
}

// over returns the Go code of a kernel: the routine for each matrix of a batch, on as many threads as the
// device has. It refers to no tensor.
func (h Code) over(batch []int, dt dtype.Type, lens []int, outs []ir.Type) func(context.Context, int, [][]byte, [][]byte) error {
	batch = slices.Clone(batch)
	count := ir.Size(batch)
	op, run := h.Op, h.Run
	sizes := make([]int, len(outs))
	for i, o := range outs {
		sizes[i] = ir.Size(o.Shape[len(batch):])
	}
	return func(ctx context.Context, most int, in, out [][]byte) error {
		workers := min(count, most)
		failed := make([]error, count)
		pool.Apart(workers, func(first int) {
			w := &worker{dt: dt, lens: lens, outs: outs, sizes: sizes, in: in, out: out,
				x: make([][]float64, len(in)), y: make([][]float64, len(out)), room: make([][]float64, len(in))}
			for k, n := range sizes {
				if out[k] != nil {
					w.y[k] = make([]float64, n)
				}
			}
			for i := first; i < count && ctx.Err() == nil; i += workers {
				if err := w.one(run, most/workers, i); err != nil {
					failed[i] = fmt.Errorf("%s: %w%s", op, err, place(i, batch))
				}
			}
		})
		for _, err := range failed { // the first matrix counts, on any number of threads
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	}
}

// A worker has the memory of one goroutine, for one matrix at a time.
type worker struct {
	dt      dtype.Type
	lens    []int // of the operands
	outs    []ir.Type
	sizes   []int
	in, out [][]byte // of the whole batch
	x, y    [][]float64
	room    [][]float64 // of x
}

// one runs the routine for matrix i of a batch.
func (w *worker) one(run Routine, threads, i int) error {
	for k, n := range w.lens {
		w.x[k] = widened(w.dt, w.in[k][i*n*w.dt.Size():][:n*w.dt.Size()], &w.room[k])
	}
	for _, y := range w.y {
		clear(y)
	}
	if err := run(threads, w.x, w.y); err != nil {
		return err
	}
	for k, n := range w.sizes {
		if size := w.outs[k].DType.Size(); w.out[k] != nil {
			narrow(w.outs[k].DType, w.out[k][i*n*size:][:n*size], w.y[k])
		}
	}
	return nil
}

// place says which matrix of a batch it is; nothing of a single one.
func place(i int, batch []int) string {
	if len(batch) == 0 {
		return ""
	}
	at := make([]int, len(batch))
	for k, n := range slices.Backward(batch) {
		at[k], i = i%n, i/n
	}
	return fmt.Sprintf(", matrix %v of the batch", at)
}

// widened are elements as float64, in the room; those of f64 are not copied.
func widened(dt dtype.Type, b []byte, room *[]float64) []float64 {
	if dt == dtype.F64 {
		return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
	}
	if *room == nil {
		*room = make([]float64, len(b)/dt.Size())
	}
	x := *room
	for i := range x {
		if dt == dtype.F32 {
			x[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		} else {
			x[i] = ir.Load(dt, b[i*dt.Size():]).F
		}
	}
	return x
}

// narrow writes elements of a dtype.
func narrow(dt dtype.Type, to []byte, x []float64) {
	switch dt {
	case dtype.F64:
		copy(unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(to))), len(x)), x)
	case dtype.F32:
		for i, v := range x {
			binary.LittleEndian.PutUint32(to[4*i:], math.Float32bits(float32(v)))
		}
	default:
		to = to[:0]
		for _, v := range x {
			to = ir.Append(dt, to, ir.Convert(ir.Scalar{F: v}, dtype.F64, dt))
		}
	}
}
