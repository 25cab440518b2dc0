package tensor

import (
	"slices"
	"testing"
)

// Overwrite changes memory that belongs to nobody else, and copies what others in the evaluation read.
func TestOverwrite(t *testing.T) {
	rows := From([][]float64{{7, 8}})
	for _, tt := range []struct {
		name    string
		eval    func(x Tensor) (y Tensor)
		inPlace bool
	}{
		{"alone", func(x Tensor) Tensor { return x.Overwrite(0, From([]int{1}), rows).Eval() }, true},
		{"detached, with a reader of the result", func(x Tensor) Tensor {
			y := x.Overwrite(0, From([]int{1}), rows).Detach()
			Eval(y, y.Sum())
			return y
		}, true},
		{"x has another reader", func(x Tensor) Tensor {
			y, sum := x.Overwrite(0, From([]int{1}), rows), x.Sum()
			if Eval(y, sum); sum.Item() != 21 {
				t.Errorf("the sum of what was there is %g, want 21", sum.Item())
			}
			return y
		}, false},
		{"the updates are another handle on x", func(x Tensor) Tensor {
			z := x.Detach().Eval()
			y := x.Overwrite(0, From([]int{1, 0, 2}), Concat([]Tensor{rows, z.Slice(0, 0, 1), z.Slice(0, 2, 3)}, 0))
			return y.Eval()
		}, false},
		{"x is lazy", func(x Tensor) Tensor { return x.Add(0).Overwrite(0, From([]int{1}), rows).Eval() }, false},
		{"x is transposed", func(x Tensor) Tensor {
			return x.Transpose().Overwrite(1, From([]int{1}), rows.Transpose()).Eval().Transpose()
		}, false},
	} {
		x := From([][]float64{{1, 2}, {3, 4}, {5, 6}}).Eval()
		before := x.Snapshot()
		y := tt.eval(x)
		if got := y.Floats(); !slices.Equal(got, []float32{1, 2, 7, 8, 5, 6}) {
			t.Errorf("%s: got %v", tt.name, got)
		}
		if changed := before.Floats()[2] == 7; changed != tt.inPlace {
			t.Errorf("%s: in place is %v, want %v", tt.name, changed, tt.inPlace)
		}
	}
}
