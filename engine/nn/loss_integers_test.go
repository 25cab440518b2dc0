package nn

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// TestLossesOfNarrowIntegers: what pictures in u8 are apart does not wrap around at 0.
func TestLossesOfNarrowIntegers(t *testing.T) {
	x, y := tensor.FromAs(dtype.U8, []int{3, 200}), tensor.FromAs(dtype.U8, []int{5, 0})
	for name, loss := range map[string]Loss{"MSE": MSELoss, "L1": L1Loss, "Huber": HuberLoss(1)} {
		if got, want := loss(x, y).Item(), loss(x.Cast(dtype.F32), y.Cast(dtype.F32)).Item(); got != want {
			t.Errorf("%s: got %v, want %v as of f32", name, got, want)
		}
	}
}
