package nn

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Mixture is a feed-forward block of experts, of which a router chooses a few for each token (Shazeer and
// others 2017; Fedus and others 2021).
type Mixture struct {
	Router  *Router
	Experts *Experts
	// Narrow and Widen are around the experts, which are of another width then (Nemotron 3); nil: none.
	Narrow, Widen Layer
	Shared        *MLP  // an expert that all tokens go through; nil: none
	Gate          Layer // width to 1, whose sigmoid is the factor of Shared's result; nil: 1
}

// Forward maps x [… width] to [… width].
func (m *Mixture) Forward(x tensor.Tensor) tensor.Tensor {
	y, _ := m.Routed(x)
	return y
}

// Routed is Forward, and what the router said.
func (m *Mixture) Routed(x tensor.Tensor) (tensor.Tensor, Routing) {
	rows := x.Reshape(x.Size()/max(1, x.Len(-1)), x.Len(-1))
	r := m.Router.Route(rows)
	inner := rows
	if m.Narrow != nil {
		inner = m.Narrow.Forward(rows)
	}
	y := m.Experts.Forward(inner, r)
	if m.Widen != nil {
		y = m.Widen.Forward(y)
	}
	if m.Shared != nil {
		shared := m.Shared.Forward(rows)
		if m.Gate != nil {
			shared = shared.Mul(m.Gate.Forward(rows).Sigmoid())
		}
		y = y.Add(shared)
	}
	return y.Reshape(x.Shape()...), r
}

// Members lists router, experts and what is shared.
func (m *Mixture) Members() []Member {
	return Present([]Member{
		{Name: "gate", Slot: &m.Router.Logits, Exact: true}, {Name: "gate.e_score_correction_bias", Weight: &m.Router.Correction},
		{Name: "fc1_latent_proj", Slot: &m.Narrow}, {Name: "experts", Part: m.Experts}, {Name: "fc2_latent_proj", Slot: &m.Widen},
		{Name: "shared_expert", Part: m.Shared}, {Name: "shared_expert_gate", Slot: &m.Gate},
	}...)
}

// A Router chooses experts for each token.
type Router struct {
	Logits     Layer         // width to experts
	Correction tensor.Tensor // [experts], added to the scores by which experts are chosen, not to their weights; or none
	In         tensor.Tensor // [width], the weight of a norm of what Logits gets, over √width (Gemma 4); or none
	Each       tensor.Tensor // [experts], factors of their weights in the end; or none
	Eps        float64       // of that norm
	TopK       int           // experts of a token
	Sigmoid    bool          // scores are each logit's sigmoid, not the softmax of all
	Normalise  bool          // the weights of a token's experts are divided by their sum
	Scale      float64       // of the weights after that; 0 means 1
	// Groups are parts of equal size of the experts, of which a token has those of the TopGroups best: by the
	// sum of their two best scores with Correction, by the best one without; 0 or 1: there are none.
	Groups, TopGroups int
	// Near chooses experts one after the other: the weight of each is a softmax over the logits of those that
	// are left and within this share of the best one's (SparseMixer, arXiv 2409.12136, without its draws); 0:
	// all at once.
	Near float64
}

// A Routing is what a router said of some tokens.
type Routing struct {
	Scores  tensor.Tensor // [tokens experts] in f32: probabilities
	Index   tensor.Tensor // i64 [tokens TopK], of the experts
	Weights tensor.Tensor // [tokens TopK] in f32, by which their results are multiplied
}

// Route chooses experts for x [tokens width]. Logits and scores are computed in f32.
func (r *Router) Route(x tensor.Tensor) Routing {
	x = x.Cast(dtype.F32)
	if !r.In.IsNone() {
		x = x.RMSNorm(r.In, r.Eps).Div(math.Sqrt(float64(x.Len(-1))))
	}
	scores := r.Logits.Forward(x)
	if r.Near > 0 {
		return r.oneByOne(scores)
	}
	if r.Sigmoid {
		scores = scores.Sigmoid()
	} else {
		scores = scores.Softmax(-1)
	}
	_, index := r.among(scores).Detach().TopK(r.TopK)
	w := scores.TakeAlong(index, -1)
	if r.Normalise {
		w = w.Div(w.SumKeep(-1).Add(1e-20))
	}
	if r.Scale != 0 {
		w = w.Mul(r.Scale)
	}
	if !r.Each.IsNone() {
		w = w.Mul(r.Each.Take(index, 0))
	}
	return Routing{scores, index, w}
}

// oneByOne is a routing by Near.
func (r *Router) oneByOne(logits tensor.Tensor) Routing {
	left := logits
	var index, weights []tensor.Tensor
	for range r.TopK {
		best, at := left.Detach().TopK(1)
		far := best.Sub(logits).Div(logits.Abs().Maximum(best)).Detach().Gt(r.Near)
		weights = append(weights, tensor.Where(far, math.Inf(-1), left).Softmax(-1).TakeAlong(at, -1))
		index = append(index, at)
		left = left.PutAlong(1, at, tensor.Full(math.Inf(-1), at.Shape()...).To(logits.Device()), tensor.Replace)
	}
	return Routing{logits.Softmax(-1), tensor.Concat(index, -1), tensor.Concat(weights, -1)}
}

// Members lists what a router with a norm of its own consists of; [Mixture] lists others.
func (r *Router) Members() []Member {
	return []Member{{Name: "proj", Slot: &r.Logits, Exact: true}, {Name: "scale", Weight: &r.In}, {Name: "per_expert_scale", Weight: &r.Each}}
}

// among are the scores by which experts are chosen.
func (r *Router) among(scores tensor.Tensor) tensor.Tensor {
	by := scores
	if !r.Correction.IsNone() {
		by = scores.Add(r.Correction)
	}
	if r.Groups < 2 {
		return by
	}
	tokens, experts := by.Len(0), by.Len(1)
	groups := by.Reshape(tokens, r.Groups, experts/r.Groups)
	best := groups.Max(-1)
	if !r.Correction.IsNone() {
		two, _ := groups.TopK(2)
		best = two.Sum(-1)
	}
	_, chosen := best.TopK(r.TopGroups)
	open := tensor.ZerosLike(best).PutAlong(1, chosen, tensor.OnesLike(chosen), tensor.Replace)
	return tensor.Where(open.Unsqueeze(-1).Gt(0), groups, math.Inf(-1)).Reshape(tokens, experts)
}

// Balance is the loss by which routers learn to use all experts alike (Fedus and others 2021): experts·Σ
// fᵢ·Pᵢ over the tokens of all routings, where fᵢ is how often a token has expert i and Pᵢ its mean score.
func Balance(list []Routing) tensor.Tensor {
	var often, score tensor.Tensor
	rows := 0
	for _, r := range list {
		experts := r.Scores.Len(1)
		one := tensor.Ones(r.Index.Size()).To(r.Scores.Device())
		n := tensor.Zeros(experts).To(r.Scores.Device()).ScatterAdd(0, r.Index.Flatten(), one)
		if s := r.Scores.Sum(0); rows == 0 {
			often, score = n, s
		} else {
			often, score = often.Add(n), score.Add(s)
		}
		rows += r.Scores.Len(0)
	}
	if rows == 0 {
		return tensor.Zeros()
	}
	return often.Mul(score).Sum().Mul(float64(score.Len(0)) / float64(rows) / float64(rows))
}

// Experts are feed-forward blocks beside each other, mostly gated.
type Experts struct {
	GateUp *Grouped // width to twice the hidden width: the gate's columns, then the others
	Up     *Grouped // in its place, of experts without a gate
	Down   *Grouped
	Act    Func // the zero Func is SiLU
	// Biases of the projections, [experts out]; or none.
	GateUpBias, DownBias tensor.Tensor
	// Limit other than 0 makes the experts those of gpt-oss: the gate's columns and the others alternate,
	// gates g are at most Limit, the others u within ±Limit, and the block is
	// Down(g·sigmoid(1.702·g)·(u + 1)).
	Limit float64
}

// Forward sends x [tokens width] through the experts of a routing: [tokens width], the sum of what they give
// times their weights, in f32, rounded once to x's dtype.
func (e *Experts) Forward(x tensor.Tensor, r Routing) tensor.Tensor {
	tokens, k, width := x.Len(0), r.Index.Len(1), x.Len(1)
	rows := x.Unsqueeze(1).Expand(tokens, k, width)
	var inner tensor.Tensor
	if e.Up != nil {
		inner = e.Act.orSiLU(e.Up.Of(rows, r.Index))
	} else {
		inner = e.gated(biased(e.GateUp.Of(rows, r.Index), e.GateUpBias, r.Index))
	}
	y := biased(e.Down.Of(inner, r.Index), e.DownBias, r.Index)
	return y.Cast(dtype.F32).Mul(r.Weights.Unsqueeze(-1)).Sum(1).Cast(x.DType())
}

// gated is what Down gets of the columns that GateUp gives.
func (e *Experts) gated(both tensor.Tensor) tensor.Tensor {
	half := both.Len(-1) / 2
	if e.Limit != 0 {
		const slope = 1.702
		pairs := both.Reshape(both.Len(0), both.Len(1), half, 2)
		gate, up := pairs.Select(-1, 0).Minimum(e.Limit), pairs.Select(-1, 1).Maximum(-e.Limit).Minimum(e.Limit)
		return gate.Mul(gate.Mul(slope).Sigmoid()).Mul(up.Add(1))
	}
	return e.Act.orSiLU(both.Slice(-1, 0, half)).Mul(both.Slice(-1, half, 2*half))
}

// biased adds to each row of y the bias that its index names, if there are any.
func biased(y, bias, index tensor.Tensor) tensor.Tensor {
	if bias.IsNone() {
		return y
	}
	return y.Add(bias.Take(index, 0).Cast(y.DType()))
}

// Members lists the projections, and their biases if there are any.
func (e *Experts) Members() []Member {
	return Present([]Member{
		{Name: "gate_up_proj", Part: e.GateUp}, {Name: "up_proj", Part: e.Up}, {Name: "down_proj", Part: e.Down},
		{Name: "gate_up_proj_bias", Weight: &e.GateUpBias}, {Name: "down_proj_bias", Weight: &e.DownBias},
	}...)
}

// A Grouped is a linear layer of which each row has a matrix of its own, by an index.
type Grouped struct {
	Weight tensor.Tensor // [groups in out]
	standIn
}

// A GroupedLayer computes in the place of a Grouped.
type GroupedLayer interface {
	Layer
	// Of maps x [… in] to [… out], each row by the matrix that an index [… ] of integers names.
	Of(x, index tensor.Tensor) tensor.Tensor
}

// Of maps x [… in] to [… out], each row by the matrix that an index [… ] of integers names.
func (g *Grouped) Of(x, index tensor.Tensor) tensor.Tensor {
	if l, ok := g.layer.(GroupedLayer); ok {
		return l.Of(x, index)
	}
	return tensor.GroupedMatMul(x, g.Weight, index)
}

// Forward maps x [groups rows in] to [groups rows out], the rows of each group by its matrix.
func (g *Grouped) Forward(x tensor.Tensor) tensor.Tensor { return EachGroup(g, x) }

// EachGroup maps x [groups rows in] to [groups rows out], the rows of each group by its matrix.
func EachGroup(g GroupedLayer, x tensor.Tensor) tensor.Tensor {
	groups, rows := x.Len(0), x.Len(1)
	return g.Of(x, tensor.Range(groups).To(x.Device()).Unsqueeze(1).Expand(groups, rows))
}

// Members lists the weight.
func (g *Grouped) Members() []Member {
	return []Member{{Name: "weight", Weight: &g.Weight, Turned: true}}
}

// String describes the layer.
func (g *Grouped) String() string {
	if g.layer != nil {
		return fmt.Sprint(g.layer)
	}
	return fmt.Sprintf("Grouped: %d groups, in %d, out %d", g.Weight.Len(0), g.Weight.Len(1), g.Weight.Len(2))
}
