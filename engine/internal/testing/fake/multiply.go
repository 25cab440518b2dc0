package fake

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// Workspace is what each product of the fake's library wants.
const Workspace = 1000

// A Library is what gpu.Librarian is about: with one in Driver.Library, the device has a library of
// products, which logs what it is asked for.
type Library struct {
	// Refuses says which products there are none of; nil refuses none.
	Refuses func(p gpu.Product) bool
}

// Computation takes every product that is well-formed, and that Driver.Library does not refuse.
func (d *device) Computation(w gpu.Work, alignment, workspace int) (gpu.Computation, error) {
	l := d.driver.Library
	p, ok := w.(gpu.Product)
	if !ok || l == nil || workspace < Workspace || l.Refuses != nil && l.Refuses(p) {
		return nil, &gpu.Error{Code: gpu.Unsupported, Device: d.name(), Op: "multiply", Text: w.String(), Index: -1}
	}
	if err := CheckProduct(&p); err != nil {
		return nil, d.misused("multiply", "%v", err)
	}
	return &multiplication{d, p, alignment}, nil
}

type multiplication struct {
	device    *device
	product   gpu.Product
	alignment int
}

func (m *multiplication) Name() string   { return "fake library" }
func (m *multiplication) Workspace() int { return Workspace }
func (m *multiplication) Launches() int  { return 1 }
func (m *multiplication) Close()         {}

// Choose logs that it was asked.
func (m *multiplication) Choose(folder string) {
	m.device.driver.did("choose", "%v, noted in %s", &m.product, folder)
}

// Encode computes the product when the commit runs.
func (m *multiplication) Encode(s gpu.Stream, o *gpu.Operands) error {
	if err := m.device.driver.did("multiply", "%v", &m.product); err != nil {
		return err
	}
	if err := gpu.CheckOperands(&m.product, o, m.alignment, Workspace); err != nil {
		return m.device.misused("multiply", "%v", err)
	}
	for _, a := range append(o.List[:], o.Workspace) {
		if a.Buffer == nil {
			continue
		}
		if err := m.device.check(a.Buffer); err != nil {
			return m.device.misused("multiply", "%v", err)
		}
	}
	from := *o
	s.(*stream).encode(func() {
		var memory [kernel.AttentionOperands][]byte
		for i, a := range from.List {
			if a.Buffer != nil {
				memory[i] = a.Buffer.Host()[a.Offset:]
			}
		}
		Multiply(&m.product, from.Scale, memory)
	})
	return nil
}

// CheckProduct finds what the fields of a product do not allow.
func CheckProduct(p *gpu.Product) error {
	for _, m := range []struct {
		name          string
		matrix        gpu.Matrix
		rows, columns int
		dtypes        []dtype.Type
	}{
		{"A", p.A, p.Rows, p.Inner, []dtype.Type{dtype.F32, dtype.F16, dtype.BF16}}, {"B", p.B, p.Inner, p.Columns, []dtype.Type{p.A.DType}},
		{"C", p.C, p.Rows, p.Columns, []dtype.Type{p.D.DType}}, {"D", p.D, p.Rows, p.Columns, []dtype.Type{p.A.DType, dtype.F32}},
	} {
		if m.name == "C" && !p.Added() {
			continue
		}
		least := m.columns
		if m.matrix.Transposed {
			least = m.rows
		}
		known := false
		for _, dt := range m.dtypes {
			known = known || dt == m.matrix.DType
		}
		if !known || m.matrix.Stride < least || m.matrix.Batch < 0 || m.matrix.Transposed && (m.name == "C" || m.name == "D") {
			return fmt.Errorf("%v: got %s as %+v", p, m.name, m.matrix)
		}
	}
	if min(p.Rows, p.Columns, p.Inner, p.Batches) < 1 || p.TF32 && p.A.DType != dtype.F32 {
		return fmt.Errorf("got %+v", *p)
	}
	return nil
}

// Multiply computes a product of the processor's memory, from where each operand begins, by their numbers;
// the scale counts if the product is scaled.
func Multiply(p *gpu.Product, scale float32, memory [kernel.AttentionOperands][]byte) {
	a, b, c, d, bias := memory[kernel.ProductA], memory[kernel.ProductB], memory[kernel.ProductC], memory[kernel.ProductD], memory[kernel.ProductBias]
	for batch := range p.Batches {
		for row := range p.Rows {
			for column := range p.Columns {
				sum := 0.0
				for k := range p.Inner {
					sum += element(p.A, a, batch, row, k) * element(p.B, b, batch, k, column)
				}
				if p.Scaled {
					sum *= float64(scale)
				}
				if p.Added() {
					sum += element(p.C, c, batch, row, column)
				}
				if p.Bias {
					sum += element(gpu.Matrix{DType: p.D.DType}, bias, 0, 0, column)
				}
				if p.Gelu {
					sum = sum / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(sum+0.044715*sum*sum*sum)))
				}
				store(p.D.DType, d[place(p.D, batch, row, column)*p.D.DType.Size():], float32(sum))
			}
		}
	}
}

// place is where an element lies, in elements.
func place(m gpu.Matrix, batch, row, column int) int {
	if m.Transposed {
		row, column = column, row
	}
	return batch*m.Batch + row*m.Stride + column
}

func element(m gpu.Matrix, memory []byte, batch, row, column int) float64 {
	at := memory[place(m, batch, row, column)*m.DType.Size():]
	switch m.DType {
	case dtype.F16:
		return float64(dtype.F16ToFloat32(binary.LittleEndian.Uint16(at)))
	case dtype.BF16:
		return float64(dtype.BF16ToFloat32(binary.LittleEndian.Uint16(at)))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
}

func store(dt dtype.Type, at []byte, v float32) {
	switch dt {
	case dtype.F16:
		binary.LittleEndian.PutUint16(at, dtype.Float32ToF16(v))
	case dtype.BF16:
		binary.LittleEndian.PutUint16(at, dtype.Float32ToBF16(v))
	default:
		binary.LittleEndian.PutUint32(at, math.Float32bits(v))
	}
}
