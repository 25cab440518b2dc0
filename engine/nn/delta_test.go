package nn

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A scan in chunks is the rule token by token, also where keys are alike and nothing fades, which would make
// powers of the matrix within a chunk large.
func TestScanIsTokenByToken(t *testing.T) {
	rng := tensor.NewRNG(2)
	const b, heads, n, keyDim, dim = 2, 3, 150, 5, 4
	for _, alike := range []bool{false, true} {
		k := rng.Randn(b, heads, n, keyDim)
		r := deltaRule{q: rng.Randn(b, heads, n, keyDim), v: rng.Randn(b, heads, n, dim), g: rng.Rand(b, heads, n).Mul(-0.5), beta: rng.Rand(b, heads, n)}
		if alike {
			k = k.Mul(0.01).Add(1)
			r.g, r.beta = r.g.Mul(0), r.beta.Mul(0).Add(1)
		}
		r.k = k.Div(k.Square().SumKeep(-1).Sqrt())
		begin := rng.Randn(b, heads, keyDim, dim).Eval()
		got, last := r.scan(begin, tensor.Tensor{})

		state := begin
		var list []tensor.Tensor
		for i := range n {
			at := func(x tensor.Tensor) tensor.Tensor { return x.Slice(2, i, i+1) }
			k, fade := at(r.k), at(r.g).Exp().Unsqueeze(3)
			state = state.Mul(fade)
			state = state.Add(k.Transpose().MatMul(at(r.v).Sub(k.MatMul(state)).Mul(at(r.beta).Unsqueeze(3)))).Eval()
			list = append(list, at(r.q).MatMul(state).Eval())
		}
		want := tensor.Concat(list, 2)
		for name, d := range map[string]float64{"results": tensor.MaxAbsDiff(got, want) / want.Abs().Max().Item(), "state": tensor.MaxAbsDiff(last, state) / state.Abs().Max().Item()} {
			if !(d <= 1e-5) {
				t.Errorf("keys alike: %v: the %s differ by %.3g of the largest", alike, name, d)
			}
		}
	}
}
