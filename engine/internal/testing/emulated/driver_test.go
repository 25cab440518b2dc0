package emulated

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/engine/internal/testing/drivertest"
)

// The emulation is a driver like the others.
func TestDriver(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	const axpy = `kernel void axpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant float &a [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
	y[i] += a * x[i];
}
`
	drivertest.Run(t, drivertest.Config{Driver: &Driver{Tools: tools}, Usage: true, Spacious: true, Library: func(t *testing.T, d gpu.Device) gpu.Library {
		l, err := d.Compile(t.Context(), gpu.Source{Name: "axpy.metal", Text: "#include <metal_stdlib>\nusing namespace metal;\n\n" + axpy})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}})
}
