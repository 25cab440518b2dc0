package tensor

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// The dtype of a result beside a Go number is PyTorch's beside a Python number, and of NumPy's kind. It never
// depends on the number's value.
func TestNumbersAsInPython(t *testing.T) {
	ops := map[string]func(x Tensor, c any) Tensor{
		"add": Tensor.Add, "sub, swapped": func(x Tensor, c any) Tensor { return Sub(c, x) }, "mul": Tensor.Mul,
		"div": Tensor.Div, "div, swapped": func(x Tensor, c any) Tensor { return Div(c, x) },
		"floor_div": Tensor.FloorDiv, "mod": Tensor.Mod,
		"pow": Tensor.Pow, "pow, swapped": func(x Tensor, c any) Tensor { return Pow(c, x) },
		"lt": Tensor.Lt, "eq": Tensor.Eq, "maximum": Tensor.Maximum,
		"clip":           func(x Tensor, c any) Tensor { return x.Clip(c, c) },
		"where":          func(x Tensor, c any) Tensor { return Where(x.Gt(0), x, c) },
		"where, swapped": func(x Tensor, c any) Tensor { return Where(x.Gt(0), c, x) },
		"where, only":    func(x Tensor, c any) Tensor { return Where(x.Gt(0), c, 1) },
		"set_index":      func(x Tensor, c any) Tensor { return x.SetIndex(c, At(0)) },
		"full_like": func(x Tensor, c any) Tensor {
			if i, ok := c.(int); ok {
				c = float64(i)
			}
			return FullLike(x, c.(float64))
		},
	}
	text, err := os.ReadFile("testdata/numbers.json") // of tests/peers/tensor_numbers.py
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ Op, DType, Number, NumPy, Torch string }
	if err := json.Unmarshal(text, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("got %d rows, %v", len(rows), err)
	}
	numbers := map[string]any{"2": 2, "2.0": 2.0, "2.5": 2.5}
	for _, r := range rows {
		dt, err := dtype.Parse(r.DType)
		if err != nil || ops[r.Op] == nil || numbers[r.Number] == nil {
			t.Fatalf("got row %+v", r)
		}
		got := ops[r.Op](FromAs(dt, []int{1, 1}), numbers[r.Number]).DType()
		if r.Torch != "" && got.String() != r.Torch {
			t.Errorf("%s of %v and %s: got %v, want PyTorch's %s", r.Op, dt, r.Number, got, r.Torch)
		}
		if r.NumPy == "" {
			continue
		}
		if want, _ := dtype.Parse(r.NumPy); got.Float() != want.Float() || got.Int() != want.Int() {
			t.Errorf("%s of %v and %s: got %v, want the kind of NumPy's %s", r.Op, dt, r.Number, got, want)
		}
	}
}
