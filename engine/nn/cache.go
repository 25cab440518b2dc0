package nn

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/owned"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Cache holds the keys and values of an attention layer for the tokens so far, so that a step of generation
// looks at the new ones only. It has slots, one for each token of any text; a [Step] says which slot is
// whose.
type Cache struct {
	Keys, Values Rows
}

// Rows are vectors in slots, for each head.
type Rows struct {
	Stored tensor.Tensor // [KVHeads slots D] in f32, bf16, f16, or i8
	Scale  tensor.Tensor // f32 [KVHeads slots 1], what a stored vector of i8 is multiplied by; else none
}

// NewCache returns a cache that stores vectors of length d in a dtype: F32, BF16, F16, or I8, which adds 4
// bytes to each vector. It panics with a *tensor.Error for others.
func NewCache(dt dtype.Type, heads, slots, d int) *Cache {
	rows := func() Rows {
		switch dt {
		case dtype.F32, dtype.BF16, dtype.F16:
			return Rows{Stored: tensor.Zeros(heads, slots, d).Cast(dt).Eval()}
		case dtype.I8:
			return Rows{Stored: tensor.Zeros(heads, slots, d).Cast(dt).Eval(), Scale: tensor.Zeros(heads, slots, 1).Eval()}
		}
		panic(&tensor.Error{Op: "nn.NewCache", Msg: fmt.Sprintf("got %v, want f32, bf16, f16 or i8", dt)})
	}
	return &Cache{rows(), rows()}
}

// Slots is how many tokens have a place.
func (c *Cache) Slots() int { return c.Keys.Stored.Len(1) }

// Grow adds slots, to have so many. Keys and values are copied.
func (c *Cache) Grow(slots int) {
	more := slots - c.Slots()
	if more <= 0 {
		return
	}
	for _, t := range c.places() {
		old := *t
		*t = old.Pad(1, 0, more, 0).Eval()
		old.Free()
	}
}

// Free gives the memory back at once.
func (c *Cache) Free() { tensor.Free(c.Tensors()...) }

// Tensors lists what the cache is made of.
func (c *Cache) Tensors() []tensor.Tensor {
	var list []tensor.Tensor
	for _, t := range c.places() {
		list = append(list, *t)
	}
	return list
}

// Snapshot returns a cache that stays as this one is now: whichever goes on first copies.
func (c *Cache) Snapshot() *Cache {
	s := *c
	for _, t := range s.places() {
		*t = t.Snapshot()
	}
	return &s
}

func (c *Cache) places() []*tensor.Tensor {
	list := []*tensor.Tensor{&c.Keys.Stored, &c.Values.Stored}
	if !c.Keys.Scale.IsNone() {
		list = append(list, &c.Keys.Scale, &c.Values.Scale)
	}
	return list
}

// A Step is B rows of T tokens that go through a decoder together. All of it is data: steps that differ in
// where the rows stand, and in what they see, share a plan.
type Step struct {
	Positions tensor.Tensor // i64 [B T], of each token in its text
	Slots     tensor.Tensor // i64 [B·T], where their keys and values go
	Read      tensor.Tensor // i64 [B·R], the slots that the rows look at; none: B is 1, and its row looks at all
	Seen      tensor.Tensor // bool [B 1 T R], which of these a token sees: see [Seen]
	// Tokens is how long the text is, with those that are known to follow. Only a Rope that depends on it
	// reads it.
	Tokens int
}

// Seen says which keys tokens see: those of their text up to themselves, of a window only the last ones.
// Positions are i64 [B T], those of the keys i64 [B R], −1 in a slot that is nobody's.
func Seen(positions, keys tensor.Tensor, window int) tensor.Tensor {
	at, key := positions.Unsqueeze(2), keys.Unsqueeze(1)
	seen := key.Ge(0).And(key.Le(at))
	if window > 0 {
		seen = seen.And(key.Gt(at.Sub(window)))
	}
	return seen.Unsqueeze(1)
}

// add stores vectors x [B KVHeads T D] in their slots, and returns those that the rows look at, [B KVHeads R
// D].
func (r *Rows) add(x tensor.Tensor, s Step) tensor.Tensor {
	dt := x.DType()
	b, heads, t, d := x.Len(0), x.Len(1), x.Len(2), x.Len(3)
	x = x.Permute(1, 0, 2, 3).Reshape(heads, b*t, d)
	put := func(to *tensor.Tensor, x tensor.Tensor) {
		*to = owned.Overwrite(*to, 1, s.Slots, x).(tensor.Tensor).Detach()
	}
	get := func(from tensor.Tensor) tensor.Tensor {
		if s.Read.IsNone() {
			return from.Unsqueeze(0)
		}
		return from.Take(s.Read, 1).Reshape(heads, b, -1, from.Len(2)).Permute(1, 0, 2, 3)
	}
	if r.Scale.IsNone() {
		put(&r.Stored, x.Cast(r.Stored.DType()))
		return get(r.Stored)
	}
	const most = 127
	x = x.Cast(dtype.F32)
	scale := x.Abs().MaxKeep(-1).Div(most)
	put(&r.Stored, x.Div(tensor.Where(scale.Eq(0), 1, scale)).Round().Cast(dtype.I8))
	put(&r.Scale, scale)
	return get(r.Stored).Cast(dt).Mul(get(r.Scale).Cast(dt))
}
