package driver

import (
	"cmp"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// MPS is Metal Performance Shaders, Apple's library of matrix products. It is behind a switch
// (Driver.Products), because nobody has measured it against our own kernels yet.
//
// It takes f32 and f16, in dense matrices: of others the class wants whole rows in memory, which the end of a
// buffer may not have. It makes encoders of its own, which know nothing of the stream's fence, so a stream
// waits before and behind them.

// products opens the library, or says why it cannot.
func (d *device) products() error {
	if !d.driver.Products {
		return fmt.Errorf("MPS, Metal Performance Shaders, is not asked for")
	}
	d.mps.once.Do(func() {
		l, err := ccall.Open(d.driver.Shaders)
		if err != nil {
			d.mps.err = err
			return
		}
		supports, err := l.Symbol("MPSSupportsMTLDevice")
		if err == nil && byte(supports.Call(uintptr(d.id))) == 0 {
			err = fmt.Errorf("MPS, Metal Performance Shaders, does not support this device")
		}
		d.mps.err = err
	})
	return d.mps.err
}

// dataTypes are those of MPSDataType.
var dataTypes = map[dtype.Type]uintptr{dtype.F32: 0x10000000 | 32, dtype.F16: 0x10000000 | 16}

// A multiplication is an MPSMatrixMultiplication.
type multiplication struct {
	device  *device
	product gpu.Product
	id      objc.ID
}

// Computation returns a product of dense matrices of one type. Nothing is added to it. Other work is none of
// those.
func (d *device) Computation(w gpu.Work, alignment, workspace int) (gpu.Computation, error) {
	p, _ := w.(gpu.Product)
	err := d.products()
	if err == nil {
		err = takes(&p)
	}
	if err != nil {
		return nil, gpu.Errorf(gpu.Unsupported, d.Name, "multiply", "%v", err)
	}
	flag := func(b bool) uintptr {
		if b {
			return 1
		}
		return 0
	}
	c := d.Message(d.Send(d.Class("MPSMatrixMultiplication"), d.sel(selAlloc)), d.sel(selInitProduct), uintptr(d.id),
		flag(p.A.Transposed), flag(p.B.Transposed), uintptr(p.Rows), uintptr(p.Columns), uintptr(p.Inner))
	c.Doubles[0], c.Doubles[1] = 1, 0 // alpha and beta
	c.Do()
	if c.Result == 0 {
		return nil, d.failed(selInitProduct, 0, gpu.Failed)
	}
	return &multiplication{d, p, objc.ID(c.Result)}, nil
}

// takes says what a product has that MPS lacks.
func takes(p *gpu.Product) error {
	if p.Added() || p.Scaled || p.Bias || p.Gelu {
		return fmt.Errorf("%v: nothing is done to a product", p)
	}
	for _, m := range []struct {
		gpu.Matrix
		rows, columns int
	}{{p.A, p.Rows, p.Inner}, {p.B, p.Inner, p.Columns}, {p.D, p.Rows, p.Columns}} {
		rows, columns := stored(m.Matrix, m.rows, m.columns)
		if dataTypes[m.DType] == 0 || m.DType != p.A.DType {
			return fmt.Errorf("%v: got %v, want f32 or f16 and one type", p, m.DType)
		}
		if m.Stride != columns || p.Batches > 1 && m.Batch != rows*columns {
			return fmt.Errorf("%v: got %+v, want a dense matrix", p, m.Matrix)
		}
	}
	return nil
}

// stored is the shape of a matrix as it lies in memory.
func stored(m gpu.Matrix, rows, columns int) (int, int) {
	if m.Transposed {
		return columns, rows
	}
	return rows, columns
}

// Name is that of the class.
func (m *multiplication) Name() string { return "MPSMatrixMultiplication" }

// Workspace is what MPS takes care of itself.
func (m *multiplication) Workspace() int { return 0 }

// Launches is one: MPS does not say.
func (m *multiplication) Launches() int { return 1 }

// Close releases the object.
func (m *multiplication) Close() {
	m.device.Release(m.id)
	m.id = 0
}

// Encode encodes the product in its place among the stream's work.
func (m *multiplication) Encode(to gpu.Stream, o *gpu.Operands) error {
	d, p := m.device, &m.product
	s, ok := to.(*stream)
	if !ok || s.device != d {
		return d.misused(selEncodeProduct, "got a stream of another device")
	}
	err := gpu.CheckOperands(p, o, 1, 0)
	if err = cmp.Or(err, d.OwnsArgs(o.List[:]...)); err != nil {
		return d.misused(selEncodeProduct, "%v", err)
	}
	return s.foreign(func(buffer objc.ID) error {
		list := [3]objc.ID{d.matrix(p, p.A, o.List[kernel.ProductA], p.Rows, p.Inner), d.matrix(p, p.B, o.List[kernel.ProductB], p.Inner, p.Columns),
			d.matrix(p, p.D, o.List[kernel.ProductD], p.Rows, p.Columns)}
		defer func() {
			for _, id := range list {
				d.Release(id)
			}
		}()
		if list[0] == 0 || list[1] == 0 || list[2] == 0 {
			return d.failed(selInitMatrix, 0, gpu.Failed)
		}
		d.Send(m.id, d.sel(selEncodeProduct), uintptr(buffer), uintptr(list[0]), uintptr(list[1]), uintptr(list[2]))
		return nil
	})
}

// matrix makes an MPSMatrix, which the caller releases.
func (d *device) matrix(p *gpu.Product, m gpu.Matrix, a gpu.Arg, rows, columns int) objc.ID {
	rows, columns = stored(m, rows, columns)
	row := columns * m.DType.Size()
	descriptor := d.Send(d.Class("MPSMatrixDescriptor"), d.sel("matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:"), uintptr(rows), uintptr(columns), uintptr(p.Batches),
		uintptr(row), uintptr(rows*row), dataTypes[m.DType])
	if descriptor == 0 {
		return 0
	}
	return d.Send(d.Send(d.Class("MPSMatrix"), d.sel(selAlloc)), d.sel(selInitMatrix), uintptr(a.Buffer.(*buffer).id), uintptr(a.Offset), uintptr(descriptor))
}

// foreign encodes work with encoders that are not the stream's. Events order it, as the fence orders the
// stream's own.
func (s *stream) foreign(encode func(buffer objc.ID) error) error {
	if err := s.settleStarts(); err != nil {
		return err
	}
	s.end()
	id, err := s.current()
	if err != nil {
		return err
	}
	d := s.device
	if s.order == 0 {
		if s.order = d.Send(d.id, d.sel(selNewEvent)); s.order == 0 {
			return d.failed(selNewEvent, 0, gpu.Failed)
		}
	}
	wait := func() {
		s.ordered++
		d.Send(id, d.sel(selSignalEvent), uintptr(s.order), uintptr(s.ordered))
		d.Send(id, d.sel(selWaitForEvent), uintptr(s.order), uintptr(s.ordered))
	}
	d.Pool(func() {
		wait()
		err = encode(id)
		wait()
	})
	s.sampled = nil
	return err
}
