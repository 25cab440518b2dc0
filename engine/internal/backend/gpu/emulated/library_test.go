package emulated

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// TestLibrary computes all products and all attention that go to a library by one, and what the library lacks
// of their groups by kernels: the parts together are right.
func TestLibrary(t *testing.T) {
	t.Setenv("MCS_LIBRARIES", "always")
	dtypes := []dtype.Type{dtype.F32, dtype.BF16}
	if *long {
		dtypes = append(dtypes, dtype.F16)
	}
	d := &Driver{Library: true}
	conform(t, d, func(t *testing.T, open func() (backend.Backend, error)) {
		backendtest.Ops(t, open, dtypes, ir.MatMul, ir.LoRALinear, ir.Dequantize)
		backendtest.Ops(t, open, dtypes[1:], ir.Attention, ir.AttentionGrad)
	})
	if n := d.attentions.Load(); n < 10 {
		t.Errorf("the library computed attention %d times, want most of that without a mask whose rows are aligned", n)
	}
	if n := d.products.Load(); n < 50 {
		t.Errorf("the library computed %d products, want most of those with more than 8 rows", n)
	}
}

// TestAttentionByProducts computes attention of f32 by products of the library: all at once, and in parts
// that a small device has memory for.
func TestAttentionByProducts(t *testing.T) {
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
