package tensor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func ExampleGroupedMatMul() {
	w := tensor.From([][][]float64{{{1}, {0}}, {{0}, {1}}, {{1}, {1}}}) // three matrices [2 1]
	x := tensor.From([][]float64{{3, 5}, {3, 5}, {3, 5}})
	fmt.Println(tensor.GroupedMatMul(x, w, tensor.From([]int{2, 0, -1})))
	// Output:
	// f32[3 1] cpu 12 B
	// [[8.]
	//  [3.]
	//  [8.]]
}

// Rows times matrices that an index names, in one launch, and both gradients in one each, beside the product
// of each row with a matrix of its own.
func TestGroupedMatMul(t *testing.T) {
	const rows, groups, k, n = 23, 5, 33, 20
	rng := tensor.NewRNG(3)
	index := tensor.From([]int{4, 0, 0, 1, 4, 4, 4, 1, 0, 4, 1, 1, 1, 0, 4, 4, 4, 4, 4, 0, 1, -1, -5}).Eval()
	for _, weight := range []dtype.Type{dtype.F32, dtype.BF16} {
		x := rng.Randn(rows, k).Eval().Param()
		w := rng.Randn(groups, n, k).Cast(weight).Eval().Param()
		up := rng.Randn(rows, n).Eval()
		one := func(x tensor.Tensor) tensor.Tensor { return tensor.GroupedMatMul(x, w.Transpose(), index) }
		each := func(x tensor.Tensor) tensor.Tensor {
			return x.Unsqueeze(1).MatMul(w.Transpose().Take(index, 0)).Squeeze(1)
		}
		want := []tensor.Tensor{each(x)}
		want = append(want, tensor.Grad(want[0].Mul(up).Sum(), x, w)...)
		tensor.Eval(want...)
		got := []tensor.Tensor{one(x)}
		got = append(got, tensor.Grad(got[0].Mul(up).Sum(), x, w)...)
		for i, name := range []string{"y", "dx", "dw"} {
			r := profile.Record(t.Context(), func(context.Context) { got[i].Eval() })
			if d := tensor.MaxAbsDiff(got[i], want[i]); d > 2e-5 && weight == dtype.F32 || d > 0.1 {
				t.Errorf("weights of %v: %s is off by %g", weight, name, d)
			}
			if most := 1 + i/2; r.Launches > most { // the gradient of a view of w is written as w lies
				t.Errorf("weights of %v: %s took %d launches, want %d", weight, name, r.Launches, most)
			}
		}
		batch := tensor.GroupedMatMul(x.Reshape(1, rows, k), w.Transpose(), index.Reshape(1, rows))
		if d := tensor.MaxAbsDiff(batch.Squeeze(0), got[0]); d != 0 {
			t.Errorf("a batch is off by %g", d)
		}
	}
}

func TestGroupedMatMulErrors(t *testing.T) {
	x, w := tensor.Ones(2, 3), tensor.Ones(4, 3, 5)
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { tensor.GroupedMatMul(x, w, tensor.From([]int{1, 2, 3})) }, "grouped_matmul: got x f32[2 3] and index i64[3], want one index for each row"},
		{func() { tensor.GroupedMatMul(x, w, tensor.Ones(2)) }, "grouped_matmul: got index f32[2], want integers"},
		{func() { tensor.GroupedMatMul(x, tensor.Ones(4, 5, 3), tensor.From([]int{1, 2})) }, "grouped_matmul: got f32[2 3], f32[4 5 3] and i64[2], want x [M K], w [G K N]"},
		{func() { tensor.GroupedMatMul(x, w, tensor.From([]int{1, 4})).Eval() }, "grouped_matmul: index 4 at position 1 is out of range for axis 0 of length 4"},
	} {
		if err := tensor.Try(c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
