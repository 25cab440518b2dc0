package tensor

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Overwrite leaves its base as it is. access.Overwrite, for a caller that never reads the base again, takes
// the base's memory unless other code could see that; afterwards reading the base is an error.
func TestOverwrite(t *testing.T) {
	owner := func(x Tensor, axis int, index, updates Tensor) Tensor {
		y := x.Overwrite(axis, index, updates)
		box.Of(y).Held().Flag(ir.InPlace) // as package access does, which lies above
		return y
	}
	rows, second := From([][]float64{{7, 8}}), From([]int{1})
	var held Tensor
	for _, tt := range []struct {
		name    string
		eval    func(x Tensor) (y Tensor)
		inPlace bool
	}{
		{"a person's", func(x Tensor) Tensor { return x.Overwrite(0, second, rows).Eval() }, false},
		{"an owner's", func(x Tensor) Tensor { return owner(x, 0, second, rows).Eval() }, true},
		{"detached, with a reader of the result", func(x Tensor) Tensor {
			y := owner(x, 0, second, rows).Detach()
			Eval(y, y.Sum())
			return y
		}, true},
		{"somebody has a snapshot", func(x Tensor) Tensor { held = x.Snapshot(); return owner(x, 0, second, rows).Eval() }, false},
		{"somebody has a view", func(x Tensor) Tensor { held = x.Reshape(6).Eval(); return owner(x, 0, second, rows).Eval() }, false},
		{"somebody has it under another type", func(x Tensor) Tensor { held = x.Detach().Eval(); return owner(x, 0, second, rows).Eval() }, false},
		{"x has another reader", func(x Tensor) Tensor {
			y, sum := owner(x, 0, second, rows), x.Sum()
			if Eval(y, sum); sum.Item() != 21 {
				t.Errorf("the sum of what was there is %g, want 21", sum.Item())
			}
			return y
		}, false},
		{"the updates are another handle on x", func(x Tensor) Tensor {
			z := x.Detach().Eval()
			y := owner(x, 0, From([]int{1, 0, 2}), Concat([]Tensor{rows, z.Slice(0, 0, 1), z.Slice(0, 2, 3)}, 0))
			return y.Eval()
		}, false},
		{"x is lazy", func(x Tensor) Tensor { return owner(x.Add(0), 0, second, rows).Eval() }, false},
		{"x is transposed", func(x Tensor) Tensor {
			return owner(x.Transpose(), 1, second, rows.Transpose()).Eval().Transpose()
		}, false},
		{"a compiled function's, of its argument", func(x Tensor) Tensor {
			f := Compile(func(args ...Tensor) []Tensor { return []Tensor{owner(args[0], 0, second, rows)} })
			f(x)
			return f(x)[0]
		}, false},
		{"a compiled function's, of a tensor from outside", func(x Tensor) Tensor {
			f := Compile(func(...Tensor) []Tensor { return []Tensor{owner(x, 0, second, rows)} })
			f()
			return f()[0]
		}, false},
	} {
		x := From([][]float64{{1, 2}, {3, 4}, {5, 6}}).Eval()
		held = Tensor{}
		y := tt.eval(x)
		if got := y.Floats(); !slices.Equal(got, []float32{1, 2, 7, 8, 5, 6}) {
			t.Errorf("%s: got %v", tt.name, got)
		}
		if !held.IsNone() && !slices.Equal(held.Floats(), []float32{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%s: what somebody holds is %v", tt.name, held.Floats())
		}
		var left []float32
		err := Try(func() { left = x.Floats() })
		switch {
		case tt.inPlace && (err == nil || !strings.Contains(err.Error(), "which was freed")):
			t.Errorf("%s: x is %v, %v, want the error that it was freed", tt.name, left, err)
		case !tt.inPlace && !slices.Equal(left, []float32{1, 2, 3, 4, 5, 6}):
			t.Errorf("%s: x is %v, %v, want what it was", tt.name, left, err)
		}
	}
}
