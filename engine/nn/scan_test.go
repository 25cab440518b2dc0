package nn

import (
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A scan in chunks is the rule token by token, with and without a correction, also where keys are alike and
// nothing fades, which would make powers of the matrix within a chunk large.
func TestScanIsTokenByToken(t *testing.T) {
	rng := tensor.NewRNG(2)
	const b, groups, each, n, keyDim, dim = 2, 3, 2, 150, 5, 4
	for i := range 4 {
		alike, corrects := i%2 == 1, i < 2
		k := rng.Randn(b, groups, 1, n, keyDim)
		r := scan{q: rng.Randn(b, groups, 1, n, keyDim), v: rng.Randn(b, groups, each, n, dim), g: rng.Rand(b, groups, each, n).Mul(-0.5)}
		beta := rng.Rand(b, groups, each, n)
		if alike {
			k = k.Mul(0.01).Add(1)
			r.g, beta = r.g.Mul(0), beta.Mul(0).Add(1)
		}
		if corrects {
			r.beta = beta
		}
		r.k = k.Div(k.Square().SumKeep(-1).Sqrt())
		begin := rng.Randn(b, groups*each, keyDim, dim).Eval()
		got, last := r.run(begin, tensor.Tensor{})

		state := begin.Reshape(b, groups, each, keyDim, dim)
		var list []tensor.Tensor
		for i := range n {
			at := func(x tensor.Tensor) tensor.Tensor { return x.Slice(3, i, i+1) }
			state = state.Mul(at(r.g).Exp().Unsqueeze(4))
			u := at(r.v)
			if corrects {
				u = u.Sub(at(r.k).MatMul(state)).Mul(at(r.beta).Unsqueeze(4))
			}
			state = state.Add(at(r.k).Transpose().MatMul(u)).Eval()
			list = append(list, at(r.q).MatMul(state).Permute(0, 3, 1, 2, 4).Reshape(b, 1, groups*each, dim).Eval())
		}
		want, state := tensor.Concat(list, 1), state.Reshape(b, groups*each, keyDim, dim)
		for name, d := range map[string]float64{"results": tensor.MaxAbsDiff(got, want) / want.Abs().Max().Item(), "state": tensor.MaxAbsDiff(last, state) / state.Abs().Max().Item()} {
			if !(d <= 1e-5) {
				t.Errorf("%s: the %s differ by %.3g of the largest", fmt.Sprintf("alike %v, correction %v", alike, corrects), name, d)
			}
		}
	}
}
