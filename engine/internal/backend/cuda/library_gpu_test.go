package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/gputest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// withLibraries opens the GPU with MCS_LIBRARIES set. It skips the test where there is no cuBLASLt.
func withLibraries(t testing.TB, setting string) backend.Backend {
	t.Helper()
	return withLibrary(t, "cublasLt", setting)
}

// withLibrary does so where there is such a library.
func withLibrary(t testing.TB, library, setting string) backend.Backend {
	t.Helper()
	if err := machine.Present(); err != nil {
		t.Skip(err)
	}
	device, err := machine.Open(*number)
	if err != nil {
		t.Skip(err)
	}
	libraries := strings.Join(device.Info().Libraries, ", ")
	device.Close()
	if !strings.Contains(libraries, library) {
		t.Skipf("got the libraries %q, want %s: LD_LIBRARY_PATH says where it is", libraries, library)
	}
	t.Setenv("MCS_LIBRARIES", setting)
	b, err := open(machine, *number)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.(*gpu.Backend).Close() })
	return b
}

// TestLibraryOnGPU holds products that the library computes against the reference: all of the suite's that
// have more than 8 rows, in each layout, with each epilogue, and convolutions.
func TestLibraryOnGPU(t *testing.T) {
	b := withLibraries(t, "always")
	infos, err := machine.Devices()
	if err != nil {
		t.Fatal(err)
	}
	suite := func(t *testing.T, open func() (backend.Backend, error)) {
		backendtest.Ops(t, open, []dtype.Type{dtype.F32, dtype.F16, dtype.BF16}, ir.MatMul, ir.LoRALinear, ir.Dequantize, ir.Conv, ir.ConvTranspose, ir.ConvWeight)
	}
	r := gputest.NewRehearsal(infos[*number])
	r.Library = &kernel.Library{Always: true, Room: gpu.RoomOf(infos[*number]), Offer: func(kernel.Work) (int, bool) { return 0, true }}
	compile(t, gputest.TextsOf(t, r, suite)) // one by one they would take minutes
	suite(t, func() (backend.Backend, error) { return b, nil })
}

// A multiply is a product of two matrices as a group, and its operands.
type multiply struct {
	m, k, n   int
	dtype     dtype.Type
	turned    [2]bool // a matrix lies by columns
	ending    string  // "", "bias", "residual", "gelu", "silu", which the library lacks, or "adapter": h·B of rank 16
	allowTF32 bool
}

func (p multiply) String() string {
	s := fmt.Sprintf("%d×%d×%d %v", p.m, p.k, p.n, p.dtype)
	for i, name := range []string{" left turned", " right turned"} {
		if p.turned[i] {
			s += name
		}
	}
	if p.allowTF32 {
		s += " tf32"
	}
	return strings.TrimSpace(s + " " + p.ending)
}

func (p multiply) group() *backend.Group {
	input := func(rows, columns int, turned bool, buf int) backend.Input {
		l := ir.Contiguous([]int{rows, columns})
		if turned {
			l = ir.Contiguous([]int{columns, rows}).Permute([]int{1, 0})
		}
		return backend.Input{DType: p.dtype, Layout: l, Buf: buf}
	}
	shape := []int{p.m, p.n}
	g := &backend.Group{
		Name: p.String(), Kind: backend.MatMul, TF32: p.allowTF32,
		Inputs: []backend.Input{input(p.m, p.k, p.turned[0], 0), input(p.k, p.n, p.turned[1], 1)},
		Insts:  []backend.Inst{{Op: ir.MatMul, DType: p.dtype, Shape: shape, Args: []backend.Ref{backend.In(0), backend.In(1)}}},
	}
	after := func(op ir.Op, attr ir.Attr, args ...backend.Ref) {
		g.Insts = append(g.Insts, backend.Inst{Op: op, Attr: attr, DType: p.dtype, Shape: shape, Args: append([]backend.Ref{{Index: len(g.Insts) - 1}}, args...)})
	}
	buf := 2
	switch p.ending {
	case "bias", "residual":
		l := ir.Contiguous(shape)
		if p.ending == "bias" {
			l = ir.Contiguous([]int{p.n}).Expand(shape)
		}
		g.Inputs = append(g.Inputs, backend.Input{DType: p.dtype, Layout: l, Buf: buf})
		buf++
		after(ir.Add, ir.Attr{}, backend.In(2))
	case "adapter":
		in := func(rows, columns, buf int) backend.Ref {
			g.Inputs = append(g.Inputs, input(rows, columns, false, buf))
			return backend.In(len(g.Inputs) - 1)
		}
		g.Insts[0].Args = append(g.Insts[0].Args, in(p.m, 16, 2), in(16, p.n, 3))
		buf = 4
	case "gelu":
		after(ir.Gelu, ir.Attr{Flags: ir.TanhApprox})
	case "silu":
		after(ir.Silu, ir.Attr{})
	}
	g.Outputs = []backend.Output{{Value: backend.Ref{Index: len(g.Insts) - 1}, Buf: buf, DType: p.dtype, Shape: shape}}
	return g
}

// command compiles the product and gives it operands, the same ones on each backend.
func (p multiply) command(t testing.TB, b backend.Backend) submit.Cmd {
	t.Helper()
	k, err := b.Compile(p.group())
	if err != nil {
		t.Fatal(err)
	}
	cmd := submit.Cmd{Kernel: k}
	sizes := []int{p.m * p.k, p.k * p.n}
	switch p.ending {
	case "bias":
		sizes = append(sizes, p.n)
	case "residual":
		sizes = append(sizes, p.m*p.n)
	case "adapter":
		sizes = append(sizes, p.m*16, 16*p.n)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range append(sizes, p.m*p.n) {
		buf, err := b.Alloc(size * p.dtype.Size())
		if err != nil {
			t.Fatal(err)
		}
		var data []byte
		for range size {
			data = ir.Append(p.dtype, data, ir.Scalar{F: r.Float64() - 0.5})
		}
		if err := b.Upload(buf, 0, data); err != nil {
			t.Fatal(err)
		}
		cmd.Bufs = append(cmd.Bufs, backend.Slice{Buf: buf})
	}
	t.Cleanup(func() {
		for _, s := range cmd.Bufs {
			b.Free(s.Buf)
		}
		k.Close()
	})
	return cmd
}

// values runs the product and returns the result.
func (p multiply) values(t testing.TB, b backend.Backend, cmd submit.Cmd) []float64 {
	t.Helper()
	if err := submit.Run(t.Context(), b, []submit.Cmd{cmd}, nil); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, p.m*p.n*p.dtype.Size())
	if err := b.Download(t.Context(), data, cmd.Bufs[len(cmd.Bufs)-1].Buf, 0); err != nil {
		t.Fatal(err)
	}
	values := make([]float64, p.m*p.n)
	for i := range values {
		values[i] = ir.Load(p.dtype, data[i*p.dtype.Size():]).F
	}
	return values
}

// TestProductsOnGPU holds large products of the library against our own kernels'.
func TestProductsOnGPU(t *testing.T) {
	library, own := withLibraries(t, "always"), withLibraries(t, "off")
	tolerances := map[dtype.Type]float64{dtype.F32: 2e-4, dtype.F16: 2e-2, dtype.BF16: 0.15}
	var list []multiply
	for dt := range tolerances {
		for _, turned := range [][2]bool{{}, {true, false}, {false, true}, {true, true}} {
			list = append(list, multiply{m: 512, k: 1024, n: 768, dtype: dt, turned: turned}, multiply{m: 333, k: 1001, n: 257, dtype: dt, turned: turned})
		}
		for _, ending := range []string{"bias", "residual", "gelu", "silu", "adapter"} {
			list = append(list, multiply{m: 512, k: 1024, n: 768, dtype: dt, ending: ending})
		}
	}
	list = append(list, multiply{m: 512, k: 1024, n: 768, dtype: dtype.F32, allowTF32: true})
	for _, p := range list {
		t.Run(p.String(), func(t *testing.T) {
			cmd := p.command(t, library)
			source := cmd.Kernel.(backend.SourceKernel).Source()
			if !strings.Contains(source, "cublasLt") {
				t.Errorf("the library does not compute it:\n%s", source)
			}
			got, want := p.values(t, library, cmd), p.values(t, own, p.command(t, own))
			tolerance := tolerances[p.dtype]
			if p.allowTF32 {
				tolerance = 5e-2
			}
			for i := range got {
				if !(math.Abs(got[i]-want[i]) <= tolerance*max(1, math.Abs(want[i])/8)) {
					t.Fatalf("got %g at %d, want %g", got[i], i, want[i])
				}
			}
		})
	}
}

// BenchmarkProductsOnGPU times products on the device's clock, by the library and by our own kernels:
// TFLOP/s. tests/peers/run cuda has cuBLASLt called from C beside them.
func BenchmarkProductsOnGPU(b *testing.B) {
	for _, p := range []multiply{
		{m: 4096, k: 4096, n: 4096, dtype: dtype.F32}, {m: 4096, k: 4096, n: 4096, dtype: dtype.F32, allowTF32: true},
		{m: 4096, k: 4096, n: 4096, dtype: dtype.BF16}, {m: 4096, k: 4096, n: 4096, dtype: dtype.F16},
		{m: 8192, k: 8192, n: 8192, dtype: dtype.BF16}, {m: 4096, k: 4096, n: 4096, dtype: dtype.BF16, turned: [2]bool{false, true}},
		{m: 4096, k: 896, n: 4864, dtype: dtype.BF16}, {m: 4096, k: 4864, n: 896, dtype: dtype.BF16},
		{m: 4096, k: 896, n: 896, dtype: dtype.BF16}, {m: 4096, k: 896, n: 16, dtype: dtype.BF16},
		{m: 4096, k: 896, n: 4864, dtype: dtype.BF16, ending: "silu"}, {m: 4096, k: 896, n: 896, dtype: dtype.BF16, ending: "residual"},
		{m: 4096, k: 896, n: 4864, dtype: dtype.BF16, ending: "adapter"}, {m: 4096, k: 4864, n: 896, dtype: dtype.BF16, ending: "adapter"},
		{m: 4096, k: 896, n: 896, dtype: dtype.BF16, ending: "adapter"}, {m: 4096, k: 4096, n: 4096, dtype: dtype.F32, ending: "adapter"},
		{m: 64, k: 4096, n: 4096, dtype: dtype.BF16}, {m: 16, k: 4096, n: 4096, dtype: dtype.BF16},
	} {
		for name, setting := range map[string]string{"library": "always", "own": "off"} {
			b.Run(p.String()+"/"+name, func(b *testing.B) {
				on := withLibraries(b, setting)
				cmd := p.command(b, on)
				best := fastest(b, on, slices.Repeat([]submit.Cmd{cmd}, runs))
				b.ReportMetric(2*float64(p.m)*float64(p.k)*float64(p.n)/best.Seconds()/1e12, "TFLOP/s")
				b.ReportMetric(float64(best.Nanoseconds())/1e3, "µs")
			})
		}
	}
}
