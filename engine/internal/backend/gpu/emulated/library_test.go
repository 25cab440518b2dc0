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
