package nn

import (
	"github.com/mcs-notebook/mcs/engine/internal/owned"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// An Attention is causal self-attention with rotary positions. With fewer key heads than query heads it is
// grouped-query attention (Ainslie et al. 2023): KVHeads divides Heads.
type Attention struct {
	Q, K, V, O     Layer // K and V give KVHeads·D columns
	Heads, KVHeads int
	RopeBase       float64 // θ; 0 means 10,000
}

// Forward maps x [B T width] to [B T width]. Positions is i64 [T], where the tokens stand in their text.
func (a *Attention) Forward(x, positions tensor.Tensor) tensor.Tensor {
	q, k, v := a.heads(x, positions)
	return a.join(tensor.Attention(q, k, v, tensor.AttentionOptions{Causal: true}))
}

// heads projects x to queries [B Heads T D] and keys and values [B KVHeads T D].
func (a *Attention) heads(x, positions tensor.Tensor) (q, k, v tensor.Tensor) {
	q, k, v = a.Q.Forward(x), a.K.Forward(x), a.V.Forward(x) // side by side: the planner makes one matmul of them
	rope := tensor.RopeOptions{Base: a.RopeBase}
	return split(q, a.Heads).Rope(positions, rope), split(k, a.KVHeads).Rope(positions, rope), split(v, a.KVHeads)
}

// split turns [B T heads·D] into [B heads T D].
func split(x tensor.Tensor, heads int) tensor.Tensor {
	return x.Reshape(x.Len(0), x.Len(1), heads, x.Len(2)/heads).Permute(0, 2, 1, 3)
}

func (a *Attention) join(y tensor.Tensor) tensor.Tensor {
	y = y.Permute(0, 2, 1, 3)
	return a.O.Forward(y.Reshape(y.Len(0), y.Len(1), y.Len(2)*y.Len(3)))
}

// Members lists the four projections.
func (a *Attention) Members() []Member {
	return []Member{{Name: "q_proj", Slot: &a.Q}, {Name: "k_proj", Slot: &a.K}, {Name: "v_proj", Slot: &a.V}, {Name: "o_proj", Slot: &a.O}}
}

// A Cache holds the keys and values of the tokens so far, so that a step of generation looks at the new ones
// only. It has room for a number of tokens; rows that are not filled are 0. The zero Cache has no room.
type Cache struct {
	Keys, Values tensor.Tensor // [B KVHeads room D]
}

// Room is the number of tokens that the cache can hold.
func (c *Cache) Room() int {
	if c.Keys.IsNone() {
		return 0
	}
	return c.Keys.Len(2)
}

// Grow gives the cache room for more tokens, batch·heads of length d each, at first on the default device.
func (c *Cache) Grow(room, batch, heads, d int) {
	if c.Room() == 0 {
		c.Keys, c.Values = tensor.Zeros(batch, heads, room, d), tensor.Zeros(batch, heads, room, d)
		return
	}
	if more := room - c.Room(); more > 0 {
		c.Keys, c.Values = c.Keys.Pad(2, 0, more, 0), c.Values.Pad(2, 0, more, 0)
	}
}

// Continue is Forward for tokens that follow those in the cache, at positions i64 [T], and adds them to the
// cache. Evaluate its result together with Keys and Values: these are lazy at first, and take the memory of
// the Keys and Values before when they are evaluated. An older result that was never evaluated cannot be
// evaluated any more then, which is an error. Snapshots of Keys and Values stay: another cache can go on from
// them.
func (a *Attention) Continue(x, positions tensor.Tensor, c *Cache) tensor.Tensor {
	q, k, v := a.heads(x, positions)
	c.Keys = owned.Overwrite(c.Keys, 2, positions, k).(tensor.Tensor).Detach()
	c.Values = owned.Overwrite(c.Values, 2, positions, v).(tensor.Tensor).Detach()
	// Shapes do not change from token to token, so that one plan serves a whole cache's room.
	seen := tensor.Range(c.Room()).To(positions.Device()).Le(positions.Unsqueeze(1))
	return a.join(tensor.Attention(q, c.Keys, c.Values, tensor.AttentionOptions{Mask: seen}))
}
