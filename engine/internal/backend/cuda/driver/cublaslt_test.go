package driver

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/cctest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// newStubWithLt is newStub with cuBLASLt in the same library.
func newStubWithLt(t testing.TB) *stub {
	t.Helper()
	if err := ccall.Available(); err != nil {
		t.Skip(err)
	}
	path := cctest.Library(t, "testdata/cuda.c", "testdata/cublaslt.c")
	library, err := ccall.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return &stub{library, t, &Driver{Libraries: []string{path}, CublasLt: []string{"libnosuchcublas.so", path}}}
}

// byRows is a matrix whose rows lie one after the other, with some space behind each.
func byRows(dt dtype.Type, columns, space int) gpu.Matrix {
	return gpu.Matrix{DType: dt, Stride: columns + space}
}

func byColumns(dt dtype.Type, rows, space int) gpu.Matrix {
	return gpu.Matrix{DType: dt, Transposed: true, Stride: rows + space}
}

// products of 5×7 by 7×6.
func sampleProducts() map[string]gpu.Product {
	const m, k, n = 5, 7, 6
	product := func(dt, out dtype.Type, change func(p *gpu.Product)) gpu.Product {
		p := gpu.Product{Rows: m, Columns: n, Inner: k, Batches: 1, A: byRows(dt, k, 0), B: byRows(dt, n, 0), D: byRows(out, n, 0)}
		change(&p)
		return p
	}
	same := func(*gpu.Product) {}
	f32, f16, bf16 := dtype.F32, dtype.F16, dtype.BF16
	return map[string]gpu.Product{
		"f32":                 product(f32, f32, same),
		"f16":                 product(f16, f16, same),
		"bf16":                product(bf16, bf16, same),
		"bf16 as f32":         product(bf16, f32, same),
		"tf32":                product(f32, f32, func(p *gpu.Product) { p.TF32 = true }),
		"left by columns":     product(f32, f32, func(p *gpu.Product) { p.A = byColumns(f32, m, 0) }),
		"right by columns":    product(f32, f32, func(p *gpu.Product) { p.B = byColumns(f32, k, 0) }),
		"both by columns":     product(bf16, bf16, func(p *gpu.Product) { p.A, p.B = byColumns(bf16, m, 3), byColumns(bf16, k, 1) }),
		"rows with space":     product(f32, f32, func(p *gpu.Product) { p.A, p.B, p.D = byRows(f32, k, 2), byRows(f32, n, 3), byRows(f32, n, 4) }),
		"scaled":              product(f32, f32, func(p *gpu.Product) { p.Scaled = true }),
		"a matrix added":      product(f32, f32, func(p *gpu.Product) { p.C = byRows(f32, n, 5) }),
		"a bias":              product(f16, f16, func(p *gpu.Product) { p.Bias = true }),
		"gelu":                product(f32, f32, func(p *gpu.Product) { p.Gelu = true }),
		"matrix, bias, gelu":  product(bf16, bf16, func(p *gpu.Product) { p.C, p.Bias, p.Gelu, p.Scaled = byRows(bf16, n, 0), true, true, true }),
		"batches":             product(f32, f32, func(p *gpu.Product) { p.Batches, p.A.Batch, p.B.Batch, p.D.Batch = 3, m*k, k*n, m*n+2 }),
		"one right-hand side": product(f32, f32, func(p *gpu.Product) { p.Batches, p.A.Batch, p.B.Batch, p.D.Batch = 3, m*k, 0, m*n }),
		"batches that add": product(f32, f32, func(p *gpu.Product) {
			p.Batches, p.A.Batch, p.B.Batch, p.D.Batch, p.C = 2, 0, k*n, m*n, gpu.Matrix{DType: f32, Stride: n, Batch: m * n}
		}),
	}
}

// A workbench is a device with matrices for a product, at an offset that suits the alignment.
type workbench struct {
	device   *device
	stream   *stream
	product  gpu.Product
	operands gpu.Operands
	want     []byte // of D
}

func newWorkbench(t *testing.T, s *stub, p gpu.Product, alignment int) *workbench {
	t.Helper()
	d, st := s.open()
	w := &workbench{device: d, stream: st, product: p}
	r := rand.New(rand.NewPCG(1, 2))
	const bytes = 2048
	fill := func(a *gpu.Arg, dt dtype.Type) []byte {
		buffer, err := d.Alloc(bytes, gpu.SharedMemory)
		if err != nil {
			t.Fatal(err)
		}
		*a = gpu.Arg{Buffer: buffer, Offset: max(alignment, dt.Size())}
		memory := buffer.Host()
		for i := 0; i < bytes; i += dt.Size() {
			v := float32(r.NormFloat64())
			switch dt {
			case dtype.F32:
				binary.LittleEndian.PutUint32(memory[i:], math.Float32bits(v))
			case dtype.F16:
				binary.LittleEndian.PutUint16(memory[i:], dtype.Float32ToF16(v))
			default:
				binary.LittleEndian.PutUint16(memory[i:], dtype.Float32ToBF16(v))
			}
		}
		return memory[a.Offset:]
	}
	o := &w.operands
	a, b, c, bias := fill(&o.List[kernel.ProductA], p.A.DType), fill(&o.List[kernel.ProductB], p.B.DType), fill(&o.List[kernel.ProductC], p.D.DType), fill(&o.List[kernel.ProductBias], p.D.DType)
	w.want = slices.Clone(fill(&o.List[kernel.ProductD], p.D.DType))
	o.Scale = 0.5
	fake.Multiply(&p, o.Scale, [kernel.AttentionOperands][]byte{kernel.ProductA: a, kernel.ProductB: b, kernel.ProductC: c, kernel.ProductD: w.want, kernel.ProductBias: bias})
	workspace, err := d.Alloc(4096, gpu.DeviceMemory)
	if err != nil {
		t.Fatal(err)
	}
	o.Workspace = gpu.Arg{Buffer: workspace}
	return w
}

// right compares D, but for the last bit of a rounded element.
func (w *workbench) right(t *testing.T) {
	t.Helper()
	dt := w.product.D.DType
	value := func(b []byte, at int) float64 {
		switch dt {
		case dtype.F32:
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[at:])))
		case dtype.F16:
			return float64(dtype.F16ToFloat32(binary.LittleEndian.Uint16(b[at:])))
		}
		return float64(dtype.BF16ToFloat32(binary.LittleEndian.Uint16(b[at:])))
	}
	got := w.operands.List[kernel.ProductD].Buffer.Host()[w.operands.List[kernel.ProductD].Offset:]
	tolerance := map[dtype.Type]float64{dtype.F32: 1e-5, dtype.F16: 2e-3, dtype.BF16: 1e-2}[dt]
	for at := 0; at < len(got); at += dt.Size() {
		if g, want := value(got, at), value(w.want, at); math.Abs(g-want) > tolerance*max(1, math.Abs(want)) {
			t.Fatalf("got %g at byte %d, want %g", g, at, want)
		}
	}
}

// close gives all back, and what computes too.
func (w *workbench) close(t *testing.T, by gpu.Computation) {
	t.Helper()
	o := &w.operands
	for _, a := range append(o.List[:], o.Workspace) {
		if a.Buffer != nil {
			a.Buffer.Free()
		}
	}
	by.Close()
	if err := errors.Join(w.stream.Close(), w.device.Close()); err != nil {
		t.Error(err)
	}
}

// TestMultiplication: what cuBLASLt is told of a product, by rows and in our order, is the product; called at
// once, and from a graph.
func TestMultiplication(t *testing.T) {
	for name, p := range sampleProducts() {
		t.Run(name, func(t *testing.T) {
			for _, alignment := range []int{16, 1} {
				s := newStubWithLt(t)
				w := newWorkbench(t, s, p, alignment)
				m, err := w.device.Multiplication(p, alignment, 32<<20)
				if err != nil {
					t.Fatal(err)
				}
				if m.Workspace() != 4096 || m.Launches() != 1 || m.Name() != "cublasLt 12.8.4, algorithm 66, tile 20" {
					t.Errorf("got %d bytes, %d launches, %q", m.Workspace(), m.Launches(), m.Name())
				}
				commit := func() {
					t.Helper()
					e, err := w.stream.Commit()
					if err == nil {
						err = e.Wait(t.Context(), 0)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := m.Encode(w.stream, &w.operands); err != nil {
					t.Fatal(err)
				}
				commit()
				w.right(t)
				w.stream.Record()
				if err := m.Encode(w.stream, &w.operands); err != nil {
					t.Fatal(err)
				}
				g, err := w.stream.Finish()
				if err != nil || g.Launches() != 1 {
					t.Fatalf("got %v, %v, want a graph of one launch", g, err)
				}
				w.stream.Fill(w.operands.List[kernel.ProductD].Buffer, w.operands.List[kernel.ProductD].Offset, 8, 0) // of the first row
				if err := g.Replay(w.stream); err != nil {
					t.Fatal(err)
				}
				commit()
				w.right(t)
				g.Close()
				w.close(t, m)
				s.clean(name)
				if live := s.ask("lt_live"); live != 0 {
					t.Errorf("%d of cuBLASLt's objects are left", live)
				}
			}
		})
	}
}

// TestMultiplicationFails: a product that the library lacks, operands that do not fit, a call that fails, and
// a library that is not there or too new.
func TestMultiplicationFails(t *testing.T) {
	s := newStubWithLt(t)
	p := sampleProducts()["a bias"]
	w := newWorkbench(t, s, p, 16)
	s.ask("lt_refuse", 15)
	if _, err := w.device.Multiplication(p, 16, 32<<20); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "5×7 by 7×6 of f16, with a bias") {
		t.Errorf("got %v, want the product that is not supported", err)
	}
	s.ask("lt_refuse", 0)
	s.ask("lt_splits", 4)
	m, err := w.device.Multiplication(p, 16, 32<<20)
	if err != nil {
		t.Fatal(err)
	}
	if m.Launches() != 2 || !strings.HasSuffix(m.Name(), "the sum in 4 parts") {
		t.Errorf("got %d launches, %q, want one more for the parts of the sum", m.Launches(), m.Name())
	}
	for name, change := range map[string]func(o *gpu.Operands){
		"A is cut off":     func(o *gpu.Operands) { o.List[kernel.ProductA].Offset = 2048 - 16 },
		"no bias":          func(o *gpu.Operands) { o.List[kernel.ProductBias] = gpu.Arg{} },
		"not aligned":      func(o *gpu.Operands) { o.List[kernel.ProductD].Offset += 8 },
		"little workspace": func(o *gpu.Operands) { o.Workspace.Offset = 256 },
	} {
		o := w.operands
		change(&o)
		if err := m.Encode(w.stream, &o); !errors.Is(err, gpu.Misuse) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	w.stream.Fill(w.operands.List[kernel.ProductD].Buffer, 0, 16, 0)
	m.Encode(w.stream, &w.operands)
	m.Encode(w.stream, &w.operands)
	call := ccall.CString("stub_enqueue")
	s.ask("fail", uintptr(unsafe.Pointer(call)), 1, 1)
	runtime.KeepAlive(call)
	_, err = w.stream.Commit()
	var e *gpu.Error
	if !errors.As(err, &e) || e.Op != "cublasLtMatmul" || e.Index != 2 {
		t.Errorf("got %v, want cublasLtMatmul, the work with index 2", err)
	}
	w.close(t, m)
	s.clean("failures")

	without := newStub(t)
	d, _ := without.open()
	if _, err := d.Multiplication(p, 16, 32<<20); !errors.Is(err, gpu.Unsupported) {
		t.Errorf("got %v without a library", err)
	}
	d.Close()
	old := newStubWithLt(t)
	old.ask("version", 11080)
	d, _ = old.open()
	if _, err := d.Multiplication(p, 16, 32<<20); err == nil || !strings.Contains(err.Error(), "is of CUDA 12, want at most that of the driver, 11.8") {
		t.Errorf("got %v, want the versions", err)
	}
	d.Close()
}
