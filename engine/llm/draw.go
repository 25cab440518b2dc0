package llm

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Draw chooses a token for each row of scores [… Vocab] by Temperature, TopK, TopP and MinP, as i64 […]. It
// is a tensor like others, computed where the scores are: the host reads none of them, and a step that goes
// on from the token needs not wait for it. Random numbers come from tensor's generator (see
// [tensor.WithRNG]), not from Seed, which belongs to [Model.GenerateTokens]. Numbers that mean nothing panic
// with a *tensor.Error, and so do penalties and a grammar, because Draw does not know the text. Scores that
// are NaN are drawn never, and scores that all are fail where the token is computed.
func (o Sampling) Draw(scores tensor.Tensor) tensor.Tensor {
	if wrong := o.wrong(); wrong != "" {
		panic(&tensor.Error{Op: "draw", Msg: wrong})
	}
	if o.penalises() || o.Grammar != nil {
		panic(&tensor.Error{Op: "draw", Msg: "got a penalty or a grammar, want none: draw sees the scores only, not the text"})
	}
	x := tensor.Where(scores.IsNaN(), math.Inf(-1), scores).Cast(dtype.F32)
	if o.Temperature == 0 {
		best := x.ArgMax(-1).Unsqueeze(-1)
		refused := tensor.Where(x.TakeAlong(best, -1).Gt(math.Inf(-1)), 0, ir.NoDraw)
		return best.TakeAlong(refused, -1).Squeeze(-1)
	}
	x = x.Div(o.Temperature)
	vocab := x.Len(-1)
	if !o.nucleus() && (o.TopK == 0 || o.TopK >= vocab) {
		return tensor.Categorical(o.likely(x), 1).Squeeze(-1)
	}
	count := vocab
	if o.TopK > 0 {
		count = min(o.TopK, vocab)
	}
	best, tokens := x.TopK(count)
	if o.nucleus() { // a token stays if those that are better have less than TopP together
		p := best.Softmax(-1)
		best = tensor.Where(p.CumSum(-1).Sub(p).Lt(o.TopP), best, math.Inf(-1))
	}
	return tokens.TakeAlong(tensor.Categorical(o.likely(best), 1), -1).Squeeze(-1)
}

// likely leaves the scores, divided by the temperature, that MinP leaves.
func (o Sampling) likely(x tensor.Tensor) tensor.Tensor {
	if o.MinP == 0 {
		return x
	}
	return tensor.Where(x.Lt(x.Max(-1).Unsqueeze(-1).Add(math.Log(o.MinP))), math.Inf(-1), x)
}
