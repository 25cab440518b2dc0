package nn

import "github.com/mcs-notebook/mcs/engine/tensor"

// An Attention is self-attention, mostly causal, with rotary positions. With fewer key heads than query heads
// it is grouped-query attention (Ainslie et al. 2023): KVHeads divides Heads.
type Attention struct {
	Q, K, V, O     Layer   // K and V give KVHeads·D columns; without V values are what K gives, without K those of Shared
	Latent         *Latent // in place of K and V, and mostly of Q; nil: none
	QKV            Layer   // one layer in place of Q, K and V, whose columns are theirs side by side; nil: none
	Grouped        bool    // or those of each key head: its queries', its keys' and its values' (GPT-NeoX)
	Heads, KVHeads int
	Rope           Rope
	NoRope         bool          // queries and keys are not turned
	QNorm, KNorm   Layer         // of each head's queries and keys, before they are turned; nil: none
	VNorm          Layer         // of each head's values; nil: none
	Shared         *Shared       // what the layer gives to later ones, or gets if it has no K; nil: nothing, or what a cache has
	Gated          bool          // Q gives 2·D columns for each head, of which the last D's sigmoid is the gate of its result
	WideNorm       bool          // those norms are of all heads together
	LateNorm       bool          // or come after the turn
	Scale          float64       // of the scores; 0 means 1/√D
	Clip           float64       // queries, keys and values stay within ± it (OLMo); 0: they do not
	Cap            float64       // see tensor.AttentionOptions
	Window         int           // keys that a query sees, itself among them; 0: all before it
	Sinks          tensor.Tensor // [Heads]: see tensor.AttentionOptions; or none
}

// A Shared has the keys and values [B KVHeads T D] of a layer in one pass, which later layers look at (Gemma
// 4).
type Shared struct{ Keys, Values tensor.Tensor }

// shared are keys and values of a layer, or those that it gets.
func (a *Attention) shared(k, v tensor.Tensor) (keys, values tensor.Tensor) {
	switch {
	case a.Shared == nil:
	case k.IsNone():
		return a.Shared.Keys, a.Shared.Values
	default:
		*a.Shared = Shared{k, v}
	}
	return k, v
}

// Forward maps x [B T width] to [B T width]. Positions is i64 [T], where the tokens stand in their text.
func (a *Attention) Forward(x, positions tensor.Tensor) tensor.Tensor {
	o := a.options(x.Len(1))
	o.Causal = true
	return a.within(x, positions, o)
}

// ForwardPacked is Forward for rows of several documents. Starts is i64 [B T], the place in its row at which
// the document of a token begins: a token sees those of its own document only, and its position counts from
// there.
func (a *Attention) ForwardPacked(x, starts tensor.Tensor) tensor.Tensor {
	o := a.options(x.Len(1))
	o.Documents, o.Causal = starts, true
	positions := tensor.Range(x.Len(1)).To(starts.Device()).Sub(starts)
	return a.within(x, positions.Unsqueeze(1), o) // one row of positions for all heads
}

// within is attention of each token to those that o lets it see.
func (a *Attention) within(x, positions tensor.Tensor, o tensor.AttentionOptions) tensor.Tensor {
	q, k, v, gate := a.project(x)
	q, k = a.turned(q, k, positions, func(x tensor.Tensor) tensor.Tensor { return a.Rope.Turn(x, positions, x.Len(2)) })
	k, v = a.shared(k, v)
	return a.join(tensor.Attention(q, k, v, o), gate)
}

// options are those of attention among t tokens, which a wider window does not limit.
func (a *Attention) options(t int) tensor.AttentionOptions {
	o := tensor.AttentionOptions{Scale: a.Scale, Cap: a.Cap, Sinks: a.Sinks}
	if a.Window < t {
		o.Window = a.Window
	}
	return o
}

// Both is Forward for encoders, whose tokens see those before and after them: with a Window those that are
// nearer than that. Mask says what may be seen, as in tensor.AttentionOptions; the zero Tensor: everything.
func (a *Attention) Both(x, positions, mask tensor.Tensor) tensor.Tensor {
	o := a.options(x.Len(1))
	o.Mask = mask
	return a.within(x, positions, o)
}

// Continue is Forward for tokens that follow those in a cache: it adds them to the cache, and lets them see
// what the step says. X is [B T width]. Evaluate its result together with the cache's tensors: these are lazy
// at first, and take the memory of those before when they are evaluated. An older result that was never
// evaluated cannot be evaluated any more then, which is an error. A layer without keys of its own looks at
// those of the cache.
func (a *Attention) Continue(x tensor.Tensor, s Step, c *Cache) tensor.Tensor {
	if a.Latent != nil && c.Values.Stored.IsNone() {
		return a.Latent.continued(a, x, s, c)
	}
	q, k, v, gate := a.project(x)
	at := s.Positions.Unsqueeze(1)
	q, k = a.turned(q, k, at, func(x tensor.Tensor) tensor.Tensor { return a.Rope.turn(x, at, s.Turns) })
	if !k.IsNone() {
		c.Keys.add(k, s)
		c.Values.add(v, s)
	}
	return a.join(c.attend(q, s, a.Window, a.options(0)).Cast(x.DType()), gate)
}

// project maps x to queries [B Heads T D], to keys and values [B KVHeads T D], and to gates [B T Heads·D], if
// there are any.
func (a *Attention) project(x tensor.Tensor) (q, k, v, gate tensor.Tensor) {
	if a.Latent != nil {
		q, k, v = a.Latent.project(x, a.Q, a.Heads)
		return q, k, v, gate
	}
	if a.QKV != nil {
		all := a.QKV.Forward(x)
		groups := 1
		if a.Grouped {
			groups = a.KVHeads
		}
		b, t, width := all.Len(0), all.Len(1), all.Len(2)/groups
		d := width / (a.Heads/groups + 2*a.KVHeads/groups)
		part := func(from, to int) tensor.Tensor {
			return all.Reshape(b, t, groups, width).Slice(3, from, to).Reshape(b, t, groups*(to-from))
		}
		keys, values := a.Heads/groups*d, (a.Heads+a.KVHeads)/groups*d
		q, k, v = part(0, keys), part(keys, values), part(values, width)
	} else {
		q, k, v = a.Q.Forward(x), through(a.K, x), through(a.V, x) // side by side: the planner makes one matmul of them
		if a.V == nil {
			v = k
		}
	}
	if a.Gated {
		b, t, d := q.Len(0), q.Len(1), q.Len(2)/a.Heads/2
		both := q.Reshape(b, t, a.Heads, 2*d)
		q, gate = both.Slice(3, 0, d).Reshape(b, t, a.Heads*d), both.Slice(3, d, 2*d).Reshape(b, t, a.Heads*d)
	}
	if a.Clip > 0 {
		q, k, v = q.Clip(-a.Clip, a.Clip), k.Clip(-a.Clip, a.Clip), v.Clip(-a.Clip, a.Clip)
	}
	if a.QNorm != nil && a.WideNorm {
		q, k = a.QNorm.Forward(q), a.KNorm.Forward(k)
	}
	q, k, v = split(q, a.Heads), split(k, a.KVHeads), split(v, a.KVHeads)
	if a.QNorm != nil && !a.WideNorm && !a.LateNorm {
		q, k = a.QNorm.Forward(q), through(a.KNorm, k)
	}
	if a.VNorm != nil {
		v = through(a.VNorm, v)
	}
	return q, k, v, gate
}

// turned are queries and keys at positions, which turn gives their turn.
func (a *Attention) turned(q, k, positions tensor.Tensor, turn func(tensor.Tensor) tensor.Tensor) (tensor.Tensor, tensor.Tensor) {
	if !a.NoRope {
		if q = turn(q); !k.IsNone() {
			k = turn(k)
		}
		q = a.Rope.Scaling.stronger(q, positions)
	}
	if a.QNorm != nil && a.LateNorm {
		q, k = a.QNorm.Forward(q), a.KNorm.Forward(k)
	}
	return q, k
}

// through is what a layer makes of x, and nothing without one or the other.
func through(l Layer, x tensor.Tensor) tensor.Tensor {
	if l == nil || x.IsNone() {
		return tensor.Tensor{}
	}
	return l.Forward(x)
}

// split turns [B T heads·D] into [B heads T D], and nothing into nothing.
func split(x tensor.Tensor, heads int) tensor.Tensor {
	if x.IsNone() {
		return x
	}
	return x.Reshape(x.Len(0), x.Len(1), heads, x.Len(2)/heads).Permute(0, 2, 1, 3)
}

func (a *Attention) join(y, gate tensor.Tensor) tensor.Tensor {
	y = y.Permute(0, 2, 1, 3)
	y = y.Reshape(y.Len(0), y.Len(1), y.Len(2)*y.Len(3))
	if a.Gated {
		y = y.Mul(gate.Sigmoid())
	}
	return a.O.Forward(y)
}

// Members lists the projections, and the norms and sinks of heads if there are any.
func (a *Attention) Members() []Member {
	list := []Member{{Name: "q_proj", Slot: &a.Q}, {Name: "k_proj", Slot: &a.K}, {Name: "v_proj", Slot: &a.V}, {Name: "qkv_proj", Slot: &a.QKV}}
	if a.Latent != nil {
		list = a.Latent.members(&a.Q)
	}
	return Present(append(list, Member{Name: "o_proj", Slot: &a.O}, Member{Name: "q_norm", Part: a.QNorm}, Member{Name: "k_norm", Part: a.KNorm},
		Member{Name: "sinks", Weight: &a.Sinks})...)
}
