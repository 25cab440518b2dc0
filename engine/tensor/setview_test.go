package tensor

import (
	"slices"
	"strings"
	"testing"
)

// To set a view would change nothing but the view: it is refused, and the message names the way.
func TestSetOfAView(t *testing.T) {
	for _, c := range []struct {
		name string
		view func(x Tensor) Tensor
	}{
		{"an element", func(x Tensor) Tensor { return x.At(0, 0) }},
		{"a row", func(x Tensor) Tensor { return x.At(1) }},
		{"a part", func(x Tensor) Tensor { return x.Slice(0, 0, 1) }},
		{"the transposed", Tensor.Transpose},
		{"another shape", func(x Tensor) Tensor { return x.Reshape(3, 2) }},
		{"reversed", func(x Tensor) Tensor { return x.Flip(0) }},
		{"expanded", func(x Tensor) Tensor { return x.Expand(2, 2, 3) }},
	} {
		for _, x := range []Tensor{Zeros(2, 3), Arange(0, 6, 1).Reshape(2, 3).Eval(), Ones(2, 3).Param()} {
			v := c.view(x)
			err := Try(func() { v.Set(Ones(v.Shape()...)) })
			if err == nil || !strings.Contains(err.Error(), "set: got a view of f32[") || !strings.Contains(err.Error(), "Overwrite") {
				t.Errorf("%s: got %v", c.name, err)
			}
		}
	}
	own := Zeros(2, 3)
	own.Set(Ones(2, 3))
	own.Transpose().Detach().Set(Zeros(3, 2))
	own.Set(own.Overwrite(0, From([]int{1}), Zeros(1, 3)))
	if got := own.Floats(); !slices.Equal(got, []float32{1, 1, 1, 0, 0, 0}) {
		t.Errorf("got %v", got)
	}
}
