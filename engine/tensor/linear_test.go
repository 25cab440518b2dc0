package tensor_test

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A conversion to half precision that a person writes rounds, also where a product reads what it gives.
// Linear does not round weights that are wider than x, and no kernel converts them. Of each pair of terms
// 1·(1 + 2⁻¹²) − 1·1 nothing is left after rounding.
func TestNarrowedOperands(t *testing.T) {
	const n, rest = 64, 1.0 / 4096
	signs, near := make([]float32, n), make([]float32, n)
	for i := range n {
		signs[i], near[i] = 1, 1
		if i%2 == 1 {
			signs[i] = -1
		} else {
			near[i] += rest
		}
	}
	row, column := tensor.From(signs, 1, n), tensor.From(near, n, 1)
	for _, dt := range []dtype.Type{dtype.BF16, dtype.F16} {
		half := row.Cast(dt).Eval()
		for _, c := range []struct {
			name string
			y    tensor.Tensor
			want float64
		}{
			{"both are converted", row.Cast(dt).MatMul(column.Cast(dt)), 0},
			{"the right one is", half.MatMul(column.Cast(dt)), 0},
			{"the left one is", column.Transpose().Cast(dt).MatMul(row.Transpose().Cast(dt).Eval()), 0},
			{"neither is", row.MatMul(column), n / 2 * rest},
			{"Linear", tensor.Linear(half, column, tensor.Tensor{}), n / 2 * rest},
		} {
			r := profile.Record(t.Context(), func(context.Context) { c.y.Eval() })
			if got := c.y.Cast(dtype.F32).Item(); got != c.want {
				t.Errorf("%v, %s: got %g, want %g", dt, c.name, got, c.want)
			}
			if c.want != 0 && r.Launches != 1 {
				t.Errorf("%v, %s: got %d launches, want 1", dt, c.name, r.Launches)
			}
		}
	}
}
