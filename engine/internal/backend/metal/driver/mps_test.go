package driver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// testProducts holds products of many shapes against sums in float64. Each reads what a copy before it has
// written, and is read by a copy after it.
func testProducts(t *testing.T, d gpu.Device) {
	s, err := d.Stream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, dt := range []dtype.Type{dtype.F32, dtype.F16} {
		for i, shape := range [][4]int{{1, 1, 1, 1}, {5, 7, 3, 1}, {32, 16, 24, 2}, {17, 40, 33, 3}} {
			for flags := range 4 {
				p := product(dt, shape, flags&1 != 0, flags&2 != 0)
				m, err := d.(gpu.Librarian).Computation(p, 4, 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := multiply(t, d, s, m, &p, uint64(4*i+flags)); err != nil {
					t.Errorf("%v, %v of A and %v of B transposed: %v", &p, dt, p.A.Transposed, p.B.Transposed)
					t.Error(err)
				}
				m.Close()
			}
		}
	}
}

// product is one of dense matrices; shape has rows, columns, what is summed, and batches.
func product(dt dtype.Type, shape [4]int, left, right bool) gpu.Product {
	p := gpu.Product{Rows: shape[0], Columns: shape[1], Inner: shape[2], Batches: shape[3]}
	dense := func(rows, columns int, transposed bool) gpu.Matrix {
		m := gpu.Matrix{DType: dt, Transposed: transposed, Batch: rows * columns}
		_, m.Stride = stored(m, rows, columns)
		return m
	}
	p.A, p.B, p.D = dense(p.Rows, p.Inner, left), dense(p.Inner, p.Columns, right), dense(p.Rows, p.Columns, false)
	return p
}

func multiply(t *testing.T, d gpu.Device, s gpu.Stream, m gpu.Computation, p *gpu.Product, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 1))
	const before = 16 // bytes in front of each matrix
	var buffers, copies [3]gpu.Buffer
	for i, n := range []int{p.Rows * p.Inner, p.Inner * p.Columns, p.Rows * p.Columns} {
		bytes := before + n*p.Batches*p.A.DType.Size()
		for _, list := range []*[3]gpu.Buffer{&buffers, &copies} {
			b, err := d.Alloc((bytes+3)&^3, gpu.SharedMemory)
			if err != nil {
				return err
			}
			defer b.Free()
			list[i] = b
		}
		for j := before; j+p.A.DType.Size() <= bytes; j += p.A.DType.Size() {
			put(p.A.DType, copies[i].Host()[j:], float32(r.IntN(9)-4)) // so that all sums are exact
		}
	}
	want := append([]byte(nil), copies[2].Host()...)
	fake.Multiply(p, 1, [kernel.AttentionOperands][]byte{kernel.ProductA: copies[0].Host()[before:], kernel.ProductB: copies[1].Host()[before:], kernel.ProductD: want[before:]})
	at := func(i int) gpu.Arg { return gpu.Arg{Buffer: buffers[i], Offset: before} }
	err := errors.Join(s.Copy(buffers[0], 0, copies[0], 0, copies[0].Len()), s.Copy(buffers[1], 0, copies[1], 0, copies[1].Len()),
		m.Encode(s, &gpu.Operands{List: [kernel.AttentionOperands]gpu.Arg{kernel.ProductA: at(0), kernel.ProductB: at(1), kernel.ProductD: at(2)}}), s.Copy(copies[2], 0, buffers[2], 0, copies[2].Len()))
	if err != nil {
		return err
	}
	e, err := s.Commit()
	if err == nil {
		err = e.Wait(t.Context(), 0)
	}
	if err != nil {
		return err
	}
	e.Close()
	size := p.A.DType.Size()
	for j := before; j < before+p.Rows*p.Columns*p.Batches*size; j += size {
		if got := copies[2].Host()[j:]; string(got[:size]) != string(want[j:j+size]) {
			return fmt.Errorf("element %d: got %x, want %x", (j-before)/size, got[:size], want[j:j+size])
		}
	}
	return nil
}

func put(dt dtype.Type, at []byte, v float32) {
	if dt == dtype.F16 {
		binary.LittleEndian.PutUint16(at, dtype.Float32ToF16(v))
	} else {
		binary.LittleEndian.PutUint32(at, math.Float32bits(v))
	}
}

func TestProducts(t *testing.T) {
	s := newStub(t)
	d, _ := s.open()
	if _, err := d.Computation(product(dtype.F32, [4]int{1, 1, 1, 1}, false, false), 4, 0); !errors.Is(err, gpu.Unsupported) ||
		!strings.Contains(err.Error(), "not asked for") {
		t.Errorf("got %v without the switch", err)
	}
	d.Close()
	s.driver.Products = true
	d, _ = s.open()
	testProducts(t, d)
	for name, c := range map[string]struct {
		change func(*gpu.Product)
		want   string
	}{
		"bf16":          {func(p *gpu.Product) { p.A.DType, p.B.DType, p.D.DType = dtype.BF16, dtype.BF16, dtype.BF16 }, "want f32 or f16"},
		"f16 as f32":    {func(p *gpu.Product) { p.A.DType, p.B.DType = dtype.F16, dtype.F16 }, "one type"},
		"a bias":        {func(p *gpu.Product) { p.Bias = true }, "nothing is done"},
		"padded rows":   {func(p *gpu.Product) { p.A.Stride++ }, "want a dense matrix"},
		"shared by all": {func(p *gpu.Product) { p.B.Batch = 0 }, "want a dense matrix"},
	} {
		p := product(dtype.F32, [4]int{4, 5, 6, 2}, false, true)
		c.change(&p)
		if _, err := d.Computation(p, 4, 0); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	d.Close()
	s.clean("products")
}

// Stamps around a product have times, though MPS reads no clock.
func TestStampsAroundProducts(t *testing.T) {
	s := newStub(t)
	s.driver.Products = true
	d, st := s.open()
	p := product(dtype.F32, [4]int{4, 4, 4, 1}, false, false)
	m, err := d.Computation(p, 4, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := s.alloc(d)
	y := s.alloc(d)
	var stamps [2]gpu.Stamp
	for i := range stamps {
		if stamps[i], err = st.Stamp(); err != nil {
			t.Fatal(err)
		}
		if err := m.Encode(st, &gpu.Operands{List: [kernel.AttentionOperands]gpu.Arg{kernel.ProductA: {Buffer: x}, kernel.ProductB: {Buffer: x}, kernel.ProductD: {Buffer: y}}}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := st.Commit()
	if err == nil {
		err = e.Wait(t.Context(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if took, err := stamps[1].Since(stamps[0]); err != nil || took <= 0 {
		t.Errorf("got %v, %v, want a time", took, err)
	}
	stamps[0].Close()
	stamps[1].Close()
	e.Close()
	x.Free()
	y.Free()
	m.Close()
	d.Close()
	s.clean("stamps")
}
