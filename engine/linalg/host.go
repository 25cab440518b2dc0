package linalg

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A routine computes the results of one matrix, or of one of each operand, as float64 in rows. Results begin
// as zeros, and one that nobody reads is nil. It must not change in. Its error completes "cholesky: ".
type routine func(t threads, in, out [][]float64) error

// A host is a computation on the processor that the graph knows as one node.
type host struct {
	op    string
	key   string    // what run depends on beside the shapes
	outs  []ir.Type // of one matrix; Invalid stands for the dtype of the operands
	run   routine
	grad  func(in, out, dout []Tensor) []Tensor // nil if there is none, and
	never string                                // why
}

// call makes the node over operands of one dtype and batch, and returns a function that gives its results.
func (h host) call(batch []int, in ...Tensor) func(i int) Tensor {
	home := in[0].Device()
	dt := in[0].DType()
	src := make([]*ir.Node, len(in))
	lens := make([]int, len(in)) // elements of one matrix
	for i, t := range in {
		src[i] = access.Node(onProcessor(t), h.op)
		lens[i] = ir.Size(src[i].Shape[len(batch):])
	}
	outs := make([]ir.Type, len(h.outs))
	for i, o := range h.outs {
		outs[i] = ir.Type{DType: o.DType, Shape: join(batch, o.Shape...)}
		if o.DType == dtype.Invalid {
			outs[i].DType = dt
		}
	}
	if slices.ContainsFunc(lens, func(n int) bool { return n == 0 }) || slices.Contains(batch, 0) {
		return func(i int) Tensor { return nothing(in[0], outs[i]) }
	}
	k := &ir.Kernel{Name: h.op, Function: fmt.Sprint(h.op, " ", h.key, " ", dt), Outs: outs, Flops: -1}
	k.Go = h.over(batch, dt, lens, outs)
	if k.Gradient = func(*ir.Node, []*ir.Node) ([]*ir.Node, error) { return nil, fmt.Errorf("it has none: %s", h.never) }; h.grad != nil {
		k.Gradient = box.GradientOf("its rule", make([]string, len(in)), access.Wrap, h.grad)
	}
	k.SetKey()
	tuple, err := ir.New(ir.UserKernel, ir.Attr{Kernel: k}, src...)
	check(h.op, err)
	return func(i int) Tensor {
		pick, err := ir.New(ir.Pick, ir.Attr{Index: i}, tuple)
		check(h.op, err)
		return access.Wrap(pick).To(home)
	}
}

// onProcessor is t where Go code can read it: on its own device, or copied to the processor.
func onProcessor(t Tensor) Tensor {
	if _, ok := access.Node(t, "linalg").Dev.(*backend.Device).Backend().(backend.GoRunner); ok {
		return t
	}
	d, err := device.Lookup(backend.Host)
	check("linalg", err)
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
	return eye(beside, last[0]).Cast(o.DType).Expand(shape...)
}

// over returns the Go code of a kernel: the routine for each matrix of a batch, on as many threads as the
// device has.
// It refers to no tensor.
func (h host) over(batch []int, dt dtype.Type, lens []int, outs []ir.Type) func(context.Context, int, [][]byte, [][]byte) error {
	batch = slices.Clone(batch)
	count := ir.Size(batch)
	op, run := h.op, h.run
	sizes := make([]int, len(outs))
	for i, o := range outs {
		sizes[i] = ir.Size(o.Shape[len(batch):])
	}
	return func(ctx context.Context, most int, in, out [][]byte) error {
		workers := min(count, most)
		failed := make([]error, count)
		var wg sync.WaitGroup
		for worker := range workers {
			wg.Go(func() {
				for i := worker; i < count && ctx.Err() == nil; i += workers {
					if err := one(run, threads(most/workers), i, dt, in, lens, out, sizes, outs); err != nil {
						failed[i] = fmt.Errorf("%s: %w%s", op, err, place(i, batch))
					}
				}
			})
		}
		wg.Wait()
		for _, err := range failed { // the first matrix counts, on any number of threads
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	}
}

// one runs the routine for matrix i of a batch.
func one(run routine, t threads, i int, dt dtype.Type, in [][]byte, lens []int, out [][]byte, sizes []int, outs []ir.Type) error {
	x, y := make([][]float64, len(in)), make([][]float64, len(out))
	for k, n := range lens {
		x[k] = widened(dt, in[k][i*n*dt.Size():][:n*dt.Size()])
	}
	for k, n := range sizes {
		if out[k] != nil {
			y[k] = make([]float64, n)
		}
	}
	if err := run(t, x, y); err != nil {
		return err
	}
	for k, n := range sizes {
		if size := outs[k].DType.Size(); out[k] != nil {
			narrow(outs[k].DType, out[k][i*n*size:][:n*size], y[k])
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

// widened are elements as float64; those of f64 are not copied.
func widened(dt dtype.Type, b []byte) []float64 {
	if dt == dtype.F64 {
		return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
	}
	x := make([]float64, len(b)/dt.Size())
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
