package devicetest

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// OnLibrary runs f on the device of the flag -device, as cuda:0, or else on the named one, whose library is
// Go code. The device must have the library of a routine.
func OnLibrary(t *testing.T, name string, of ir.RoutineName, f func(d device.Device)) {
	t.Helper()
	d := device.Default()
	if d.Info().Name == "cpu" {
		Register(name)
		var err error
		if d, err = device.Lookup(name); err != nil {
			t.Fatal(err)
		}
	}
	tensor.Within(device.On(t.Context(), d), func() {
		by, ok := access.Node(tensor.Ones(1), "library").Dev.(*backend.Device).Backend().(backend.Lender)
		if !ok || !by.Lends(ir.Routine{Name: of, Batches: 1, Rows: 2, Columns: 2, Vectors: true}) {
			t.Fatalf("%v has no library", d)
		}
		f(d)
	})
}

// OnProcessor computes what f returns on the processor.
func OnProcessor(t *testing.T, f func() tensor.Tensor) (y tensor.Tensor) {
	t.Helper()
	d, err := device.Lookup("cpu")
	if err != nil {
		t.Fatal(err)
	}
	tensor.Within(device.On(t.Context(), d), func() { y = f().Eval() })
	return y
}

// Near compares a result of f32 with one of the processor: they differ by at most limit of the largest.
func Near(t *testing.T, what string, got, want tensor.Tensor, limit float64) {
	t.Helper()
	x, y := got.Float64s(), want.Float64s()
	if len(x) != len(y) {
		t.Errorf("%s: got the shape %v, want %v", what, got.Shape(), want.Shape())
		return
	}
	size, worst, at := 1., 0., 0
	for _, v := range y {
		size = max(size, math.Abs(v))
	}
	for i := range x {
		if d := math.Abs(x[i] - y[i]); !(d <= worst) && x[i] != y[i] {
			worst, at = d, i
		}
	}
	if !(worst <= limit*size) {
		t.Errorf("%s: element %d of %v differs by %.3g of %.3g, got %v, want %v", what, at, got.Shape(), worst, size, x[:min(len(x), 12)], y[:min(len(y), 12)])
	}
}
