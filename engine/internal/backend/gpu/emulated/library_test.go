package emulated

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu/gputest"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// TestLibrary computes all products that go to a library by one, and what the library lacks of their groups
// by kernels: the parts together are right.
func TestLibrary(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	suite := func(t *testing.T, open func() (backend.Backend, error)) {
		dtypes := []dtype.Type{dtype.F32, dtype.BF16}
		if *long {
			dtypes = append(dtypes, dtype.F16)
		}
		backendtest.Ops(t, open, dtypes, ir.MatMul, ir.LoRALinear, ir.Dequantize)
	}
	t.Setenv("MCS_LIBRARIES", "always")
	d := &Driver{Tools: tools, Library: true}
	r := gputest.NewRehearsal(d.info())
	r.Library = &kernel.Library{Always: true, Offer: func(kernel.Product) (int, bool) { return 0, true }}
	d.Prepared = gputest.TextsOf(t, r, suite)
	b, err := gpu.Open(d, 0, "emulated")
	if err != nil {
		t.Fatal(err)
	}
	suite(t, func() (backend.Backend, error) { return b, nil })
	if n := d.products.Load(); n < 100 {
		t.Errorf("the library computed %d products, want most of those with more than 8 rows", n)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
