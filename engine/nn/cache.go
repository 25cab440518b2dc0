package nn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Cache holds the keys and values of an attention layer for the tokens so far, so that a step of generation
// looks at the new ones only. It has slots, one for each token of any text; a [Step] says which slot is
// whose. That of a [Recurrent] holds states of texts, that of a layer with both has both.
type Cache struct {
	Keys, Values Rows            // without values keys stand for them
	States       []tensor.Tensor // [texts …] each; nil: there are none
}

// Rows are vectors in slots, for each head.
type Rows struct {
	Stored tensor.Tensor // [KVHeads slots D] in f32, bf16, f16, or i8
	Scale  tensor.Tensor // f32 [KVHeads slots 1], what a stored vector of i8 is multiplied by; else none
}

// NewCache returns a cache that stores keys of length d and values of length e in a dtype: F32, BF16, F16, or
// I8, which adds 4 bytes to each vector. What nobody has stored means nothing, and takes no memory on a
// device that gives memory page by page, as the CPU does on Linux. With e 0 keys are values, too: see
// [Latent]. It panics with a *tensor.Error for other dtypes.
func NewCache(dt dtype.Type, heads, slots, d, e int) *Cache {
	rows := func(d int) (r Rows) {
		switch dt {
		case dtype.F32, dtype.BF16, dtype.F16:
		case dtype.I8:
			r.Scale = access.Unwritten(dtype.F32, heads, slots, 1)
		default:
			panic(&tensor.Error{Op: "nn.NewCache", Msg: fmt.Sprintf("got %v, want f32, bf16, f16 or i8", dt)})
		}
		r.Stored = access.Unwritten(dt, heads, slots, d)
		return r
	}
	c := &Cache{Keys: rows(d)}
	if e > 0 {
		c.Values = rows(e)
	}
	return c
}

// Slots is how many tokens have a place.
func (c *Cache) Slots() int { return c.Keys.Stored.Len(1) }

// copied is how many vectors Copy copies at once, so that another number needs no other plan.
const copied = 512

// Copy stores what another cache of the same type has in some slots in slots of this one.
func (c *Cache) Copy(slots []int, from *Cache, its []int) {
	places, sources := c.places(), from.places()
	for at := 0; at < len(slots); at += copied {
		to, its := filledUp(slots[at:]), filledUp(its[at:])
		for i, t := range places {
			*t = access.Overwrite(*t, 1, to, sources[i].Take(its, 1)).Detach()
		}
		tensor.Eval(c.Tensors()...)
	}
}

// filledUp is the beginning of a list, with its first number as often as some are missing: to copy that again
// changes nothing.
func filledUp(list []int) tensor.Tensor {
	full := slices.Repeat(list[:1], copied)
	copy(full, list)
	return tensor.From(full)
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
	s.States = slices.Clone(c.States)
	for _, t := range s.places() {
		*t = t.Snapshot()
	}
	return &s
}

func (c *Cache) places() []*tensor.Tensor {
	var list []*tensor.Tensor
	for _, t := range []*tensor.Tensor{&c.Keys.Stored, &c.Values.Stored, &c.Keys.Scale, &c.Values.Scale} {
		if !t.IsNone() {
			list = append(list, t)
		}
	}
	for i := range c.States {
		list = append(list, &c.States[i])
	}
	return list
}

// A Step is B rows of T tokens that go through a decoder together. All of it is data: steps that differ in
// where the rows stand, and in how much they see, share a plan.
type Step struct {
	Positions tensor.Tensor // i64 [B T], of each token in its text
	Slots     tensor.Tensor // i64 [B·T], where their keys and values go
	// Pages are i64 [B P], the pages of Page slots in which the keys of each row lie: key j of row b is in
	// slot Pages[b, j/Page]·Page + j%Page.
	Pages tensor.Tensor
	Page  int
	// Last is i64 [B T], the last key that a token sees, counted in its pages; the tokens of a row see the
	// more the later they come.
	Last tensor.Tensor
	// Turns are those of a Rope that varies with the text's length: see [Rope.Turns].
	Turns tensor.Tensor
	Texts tensor.Tensor // i64 [B], which of the states of a [Recurrent] is each row's
}

// attend is attention of queries [B H T D] to what the rows of a step see, of a window's length: [B H T D].
func (c *Cache) attend(q tensor.Tensor, s Step, window int, o tensor.AttentionOptions) tensor.Tensor {
	if dt := q.DType(); dt == dtype.F64 || c.Keys.Stored.DType() == dtype.F32 {
		q = q.Cast(dtype.F32)
	}
	o.Scale = cmp.Or(o.Scale, 1/math.Sqrt(float64(q.Len(3))))
	values := c.Values
	if values.Stored.IsNone() {
		values = c.Keys
	}
	operands := []tensor.Tensor{q, c.Keys.Stored, values.Stored, s.Pages, s.Last}
	if !c.Keys.Scale.IsNone() {
		operands = append(operands, c.Keys.Scale, values.Scale)
	}
	nodes := make([]*ir.Node, len(operands))
	for i, t := range operands {
		nodes[i] = access.Node(t, "attention")
	}
	apply := func(op ir.Op, attr ir.Attr, src ...*ir.Node) *ir.Node {
		n, err := ir.New(op, attr, src...)
		if err != nil {
			panic(&tensor.Error{Op: "attention", Msg: err.Error()})
		}
		return n
	}
	both := apply(ir.PagedAttention, ir.Sight{Window: window, Cap: o.Cap}.Attr(o.Scale, s.Page), nodes...)
	value := func(i int) tensor.Tensor { return access.Wrap(apply(ir.Pick, ir.Attr{Index: i}, both)) }
	if o.Sinks.IsNone() {
		return value(0)
	}
	return tensor.Sink(value(0), value(1), o.Sinks)
}

// add stores vectors x [B KVHeads T D] in their slots.
func (r *Rows) add(x tensor.Tensor, s Step) {
	b, heads, t, d := x.Len(0), x.Len(1), x.Len(2), x.Len(3)
	x = x.Permute(1, 0, 2, 3).Reshape(heads, b*t, d)
	put := func(to *tensor.Tensor, x tensor.Tensor) {
		*to = access.Overwrite(*to, 1, s.Slots, x).Detach()
	}
	if r.Scale.IsNone() {
		put(&r.Stored, x.Cast(r.Stored.DType()))
		return
	}
	const most = 127
	x = x.Cast(dtype.F32)
	scale := x.Abs().MaxKeep(-1).Div(most)
	put(&r.Stored, x.Div(tensor.Where(scale.Eq(0), 1, scale)).Round().Cast(dtype.I8))
	put(&r.Scale, scale)
}
