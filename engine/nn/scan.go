package nn

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A scan is what heads get that keep a matrix S [N Dim], which finds values by keys: queries and keys, which
// the heads of a group share, values, the logarithm of how much of S fades, and how much a token corrects
// what S gives for its key. All of it is in f32. A token lets S fade and adds to it, S ← e^g·S + k·uᵀ, with u
// = v; with β it is u = β·(v − kᵀ·e^g·S). The token gets qᵀ·S.
type scan struct {
	q, k tensor.Tensor // [B groups 1 T N]
	v    tensor.Tensor // [B groups each T Dim]
	g    tensor.Tensor // [B groups each T]
	beta tensor.Tensor // [B groups each T], or none
}

// grouped turns numbers of all heads [B T heads …] into those of groups [B groups each T …].
func grouped(x tensor.Tensor, groups int) tensor.Tensor {
	shape := append([]int{x.Len(0), x.Len(1), groups, x.Len(2) / groups}, x.Shape()[3:]...)
	order := []int{0, 2, 3, 1, 4}
	return x.Reshape(shape...).Permute(order[:len(shape)]...)
}

// scanned is how many tokens a scan computes at once: within them all is products of matrices.
const scanned = 64

// run goes through the tokens from a state [B heads N Dim] on: what they get [B T heads Dim], and the state
// after the last. Starts is that of [Recurrent].
func (r scan) run(state, starts tensor.Tensor) (y, after tensor.Tensor) {
	b, groups, each, t, dim := r.v.Len(0), r.v.Len(1), r.v.Len(2), r.v.Len(3), r.v.Len(4)
	shape := state.Shape()
	state = state.Reshape(b, groups, each, shape[2], dim)
	var parts []tensor.Tensor
	for at := 0; at < t; at += scanned {
		end := min(at+scanned, t)
		part := scan{q: r.q.Slice(3, at, end), k: r.k.Slice(3, at, end), v: r.v.Slice(3, at, end), g: r.g.Slice(3, at, end)}
		if !r.beta.IsNone() {
			part.beta = r.beta.Slice(3, at, end)
		}
		var of tensor.Tensor
		if !starts.IsNone() {
			of = starts.Slice(1, at, end).Sub(at).Unsqueeze(1).Unsqueeze(1)
		}
		y, state = part.chunk(state, of)
		parts = append(parts, y)
	}
	if len(parts) > 1 {
		y = tensor.Concat(parts, 3)
	}
	return y.Permute(0, 3, 1, 2, 4).Reshape(b, t, groups*each, dim), state.Reshape(shape...)
}

// follow is run for tokens that follow those of a cache, whose states are the last inputs of a convolution,
// which has got all of these [B n+T channels], and S.
func (r scan) follow(s Step, c *Cache, all tensor.Tensor) tensor.Tensor {
	t := r.g.Len(3)
	if t > 1 { // copies of first tokens change nothing
		fresh := tensor.Range(t).To(all.Device()).Ge(s.copies()).Unsqueeze(1).Unsqueeze(1)
		r.g, r.k = tensor.Where(fresh, r.g, 0), tensor.Where(fresh.Unsqueeze(4), r.k, 0)
	}
	y, state := r.run(s.state(c.States[1]), tensor.Tensor{})
	c.States = []tensor.Tensor{s.keep(c.States[0], all.Slice(1, t, all.Len(1))), s.keep(c.States[1], state)}
	return y
}

// chunk is run of a few tokens at once: [B groups each T Dim], from and to a state [B groups each N Dim].
// Starts is i64 [B 1 1 T], counted from the first of them.
func (r scan) chunk(state, starts tensor.Tensor) (y, after tensor.Tensor) {
	n := r.g.Len(3)
	at := tensor.Range(n).To(state.Device())
	seen := at.Unsqueeze(1).Ge(at) // [T T], which tokens a token knows
	fade := r.g.CumSum(3)          // the logarithm, from the first token on
	// And between two tokens, which no difference of long sums would say as precisely.
	fades := tensor.Where(at.Unsqueeze(1).Gt(at), r.g.Unsqueeze(4), 0).CumSum(3)
	before, left := fade.Exp(), fades.Select(3, n-1).Exp() // of the state at each token; of each token at the end
	whole := fade.Slice(3, n-1, n).Exp()
	if !starts.IsNone() {
		seen = seen.And(at.Ge(starts.Unsqueeze(4)))
		end := starts.Slice(3, n-1, n)
		before = tensor.Where(starts.Lt(0), before, 0)
		left, whole = tensor.Where(at.Ge(end), left, 0), tensor.Where(end.Lt(0), whole, 0)
	}
	between := tensor.Where(seen, fades, math.Inf(-1)).Exp()
	keys, fresh := r.k.Transpose(), r.v // what each token adds to the state for its key
	if !r.beta.IsNone() {
		shares := r.k.Mul(r.beta.Unsqueeze(4))
		solve := unitInverse(tensor.Where(at.Unsqueeze(1).Gt(at), shares.MatMul(keys).Mul(between), 0))
		known := shares.MatMul(state).Mul(before.Unsqueeze(4))
		fresh = solve.MatMul(r.v.Mul(r.beta.Unsqueeze(4)).Sub(known))
	}
	y = r.q.MatMul(state).Mul(before.Unsqueeze(4)).Add(r.q.MatMul(keys).Mul(between).MatMul(fresh))
	return y, state.Mul(whole.Unsqueeze(4)).Add(keys.MatMul(fresh.Mul(left.Unsqueeze(4))))
}

// unitInverse is (1 + a)⁻¹ of matrices a [… n n] that have numbers below their diagonal only. It joins the
// inverses of blocks along the diagonal to those of blocks twice as large, and has no powers of a, which
// could be large.
func unitInverse(a tensor.Tensor) tensor.Tensor {
	n := a.Len(-1)
	at := tensor.Range(n).To(a.Device())
	y := tensor.Eye(n).To(a.Device())
	for size := 1; size < n; size *= 2 {
		block, pair := at.FloorDiv(size), at.FloorDiv(2*size)
		beside := pair.Unsqueeze(1).Eq(pair).And(block.Unsqueeze(1).Gt(block))
		x := tensor.Where(beside, a, 0)
		if size == 1 {
			y = y.Sub(x)
		} else {
			y = y.Sub(y.MatMul(x).MatMul(y))
		}
	}
	return y
}
