package emulated

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
)

// TestStepsOfDecoders runs attention to pages, in all types of queries and of caches, and positions that
// turn, by the kernels of both families.
func TestStepsOfDecoders(t *testing.T) {
	for _, family := range []string{"", "sm_90"} {
		t.Run("family "+family, func(t *testing.T) {
			conform(t, &Driver{Family: family}, func(t *testing.T, open func() (backend.Backend, error)) {
				backendtest.Ops(t, open, []dtype.Type{dtype.F32, dtype.BF16, dtype.F16}, ir.PagedAttention)
				backendtest.Ops(t, open, []dtype.Type{dtype.F32}, ir.Rope)
			})
		})
	}
}

// TestStepsOfOptimizers runs all cases of AdamW, in 8 bits and with masters, by the kernels of both families.
func TestStepsOfOptimizers(t *testing.T) {
	for _, family := range []string{"", "sm_90"} {
		t.Run("family "+family, func(t *testing.T) {
			conform(t, &Driver{Family: family}, func(t *testing.T, open func() (backend.Backend, error)) {
				backendtest.Ops(t, open, []dtype.Type{dtype.F32, dtype.BF16, dtype.F16}, ir.AdamW, ir.AdamW8)
			})
		})
	}
}
