package emulated

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// TestStepsOfDecoders runs attention to pages, in all types of queries and of caches, and positions that
// turn.
func TestStepsOfDecoders(t *testing.T) {
	long.InCI(t, "compiles some hundred kernels, a few cases of which are in TestConformance")
	ofFamilies(t, func(t *testing.T, open func() (backend.Backend, error), dtypes []dtype.Type) {
		backendtest.Ops(t, open, dtypes, ir.PagedAttention)
		backendtest.Ops(t, open, dtypes[:1], ir.Rope)
	})
}

// TestStepsOfOptimizers runs all cases of AdamW, in 8 bits and with masters.
func TestStepsOfOptimizers(t *testing.T) {
	long.InCI(t, "compiles some hundred kernels, a few cases of which are in TestConformance")
	ofFamilies(t, func(t *testing.T, open func() (backend.Backend, error), dtypes []dtype.Type) {
		backendtest.Ops(t, open, dtypes, ir.AdamW, ir.AdamW8)
	})
}

// ofFamilies runs a suite by the kernels of both families; without -long Apple's compute with f32 alone.
func ofFamilies(t *testing.T, suite func(t *testing.T, open func() (backend.Backend, error), dtypes []dtype.Type)) {
	dtypes := []dtype.Type{dtype.F32, dtype.BF16, dtype.F16}
	for _, family := range []string{"sm_90", ""} {
		if family == "" && !long.Tests() {
			dtypes = dtypes[:1]
		}
		t.Run("family "+family, func(t *testing.T) {
			conform(t, &Driver{Family: family}, func(t *testing.T, open func() (backend.Backend, error)) { suite(t, open, dtypes) })
		})
	}
}
