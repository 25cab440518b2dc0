package emulated

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// TestLibrary computes all products, convolutions and attention that go to a library by one, and what the
// library lacks of their groups by kernels: the parts together are right.
func TestLibrary(t *testing.T) {
	long.Only(t, "runs products, convolutions and attention on the emulated device")
	t.Setenv("MCS_LIBRARIES", "always")
	dtypes := []dtype.Type{dtype.F32, dtype.BF16}
	if long.Tests() {
		dtypes = append(dtypes, dtype.F16)
	}
	d := &Driver{Library: true}
	conform(t, d, func(t *testing.T, open func() (backend.Backend, error)) {
		backendtest.Ops(t, open, dtypes, ir.MatMul, ir.LoRALinear, ir.Dequantize, ir.Conv, ir.ConvTranspose, ir.ConvWeight)
		backendtest.Ops(t, open, dtypes[1:], ir.Attention, ir.AttentionGrad)
	})
	if n := d.attentions.Load(); n < 10 {
		t.Errorf("the library computed attention %d times, want most of that without a mask whose rows are aligned", n)
	}
	if n := d.convolutions.Load(); n < 100 {
		t.Errorf("the library computed %d convolutions, want most of them", n)
	}
	if n := d.products.Load(); n < 50 {
		t.Errorf("the library computed %d products, want most of those with more than 8 rows", n)
	}
}

// TestColumnsByLibrary computes convolutions where the library has products alone.
func TestColumnsByLibrary(t *testing.T) {
	long.Only(t, "runs convolutions on the emulated device")
	t.Setenv("MCS_LIBRARIES", "always")
	d := &Driver{Library: true, Columns: true}
	conform(t, d, func(t *testing.T, open func() (backend.Backend, error)) {
		backendtest.Ops(t, open, []dtype.Type{dtype.F32, dtype.BF16}, ir.Conv, ir.ConvTranspose, ir.ConvWeight)
	})
	if n := d.products.Load(); n < 20 {
		t.Errorf("the library computed %d products, want those of columns", n)
	}
}

// TestAttentionByProducts computes attention of f32 by products of the library: all at once, and in parts
// that a small device has memory for.
func TestAttentionByProducts(t *testing.T) {
	long.Only(t, "runs attention on the emulated device")
	t.Setenv("MCS_LIBRARIES", "always")
	for _, c := range []struct {
		name   string
		memory int64
		least  int64 // products: two, or five of a gradient, for each part
	}{{"all at once", 0, 80}, {"in parts", 12 << 20, 200}} {
		t.Run(c.name, func(t *testing.T) {
			d := &Driver{Library: true, Memory: c.memory}
			conform(t, d, func(t *testing.T, open func() (backend.Backend, error)) {
				backendtest.Ops(t, open, []dtype.Type{dtype.F32}, ir.Attention, ir.AttentionGrad)
			})
			if n := d.products.Load(); n < c.least {
				t.Errorf("the library computed %d products, want at least %d", n, c.least)
			}
		})
	}
}

// TestSourceOfParts: attention that is computed in parts, of a head each, shows a text that each part runs
// once.
func TestSourceOfParts(t *testing.T) {
	t.Setenv("MCS_LIBRARIES", "always")
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	b, err := gpu.Open(&Driver{Tools: tools, Library: true, Memory: 8 << 20}, 0, "emulated")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	shape := []int{1, 4, 64, 16}
	g := &backend.Group{Name: "attention", Kind: backend.Single,
		Insts:   []backend.Inst{{Op: ir.Attention, Attr: ir.Attr{Float: 1}, Outs: []ir.Type{{DType: dtype.F32, Shape: shape}, {DType: dtype.F32, Shape: shape[:3]}}}},
		Outputs: []backend.Output{{Buf: 3, DType: dtype.F32, Shape: shape}},
	}
	for n := range 3 {
		g.Inputs = append(g.Inputs, backend.Input{DType: dtype.F32, Layout: ir.Contiguous(shape), Buf: n})
		g.Insts[0].Args = append(g.Insts[0].Args, backend.In(n))
	}
	k, err := b.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	source := k.(backend.SourceKernel).Source()
	if texts, calls := strings.Count(source, "kernel void"), strings.Count(source, "emulated library"); texts != 3 || calls != 8 {
		t.Errorf("got %d texts and %d calls of the library, want 3 texts and 2 calls for each of 4 heads:\n%s", texts, calls, source)
	}
}
