package plan_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

var numbered = regexp.MustCompile(`(?m)^\d+\. (\S+) `)

// What a plan is described as is what runs: the same launches in the same order, also where a rule orders
// them anew.
func TestDescribedAsRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func() tensor.Tensor
	}{
		{"a chain", func() tensor.Tensor { return ready([]int{4, 5})[0].Exp().Mul(2) }},
		{"a product between reductions", func() tensor.Tensor {
			x := ready([]int{4, 5}, []int{5, 6})
			return x[0].Sub(x[0].Max().Exp()).MatMul(x[1]).Softmax(-1).Sum()
		}},
		{"a step in place, which waits for what does not need it", func() tensor.Tensor {
			x := ready([]int{64}, []int{64}, []int{64}, []int{64}, []int{4, 5}, []int{5, 6})
			p, _, _ := tensor.AdamW(x[:1], x[1:2], x[2:3], x[3:4], tensor.AdamWStep{LR: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Step: 1, InPlace: true})
			return p[0].CumSum(0).Sum().Add(x[4].MatMul(x[5]).Sum())
		}},
	} {
		y := c.build()
		var described []string
		for _, m := range numbered.FindAllStringSubmatch(y.Plan(), -1) {
			described = append(described, m[1])
		}
		if ran := launches(y); !slices.Equal(described, ran) {
			t.Errorf("%s: described %q, ran %q", c.name, described, ran)
		}
	}
}
