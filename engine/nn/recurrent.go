package nn

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Recurrent stands in the place of attention in a layer of a decoder. What it knows of a text is a state of
// the same size, however long the text is; nothing can be taken back from it.
type Recurrent interface {
	Module
	// Forward maps x [B T width] to [B T width], each token by those before it. Starts is i64 [B T], the
	// place in its row at which the document of a token begins, where rows have several; the zero Tensor:
	// they have one.
	Forward(x, starts tensor.Tensor) tensor.Tensor
	// Continue is Forward for tokens that follow those of the states in a cache, which then know them, too.
	// See [Attention.Continue] for when it is evaluated.
	Continue(x tensor.Tensor, s Step, c *Cache) tensor.Tensor
	// NewStates returns a cache with the states of so many texts.
	NewStates(texts int) *Cache
}

// A GatedConv is the recurrent layer of LFM 2: a short causal convolution of each channel by itself, between
// two gates.
type GatedConv struct {
	In   Layer // width to 3·width: the gate of the inputs, that of the outputs, the inputs
	Conv *Conv // width channels in as many groups
	Out  Layer
}

// Forward maps x [B T width] to [B T width]: see [Recurrent].
func (g *GatedConv) Forward(x, starts tensor.Tensor) tensor.Tensor {
	in, gate := g.project(x)
	y := g.Conv.causal(in.Pad(1, g.Conv.reach(), 0, 0), starts)
	return g.Out.Forward(gate.Mul(y).Cast(x.DType()))
}

// Continue maps x [B T width] to [B T width]: see [Recurrent].
func (g *GatedConv) Continue(x tensor.Tensor, s Step, c *Cache) tensor.Tensor {
	in, gate := g.project(x)
	all := s.after(s.state(c.States[0]), in)
	c.States = []tensor.Tensor{s.keep(c.States[0], all.Slice(1, x.Len(1), all.Len(1)))}
	y := gate.Mul(g.Conv.causal(all, tensor.Tensor{})).Cast(x.DType())
	return g.Out.Forward(s.alike(y))
}

// project maps x to what is convolved, and to the gate of the result, in f32.
func (g *GatedConv) project(x tensor.Tensor) (in, gate tensor.Tensor) {
	all := g.In.Forward(x).Cast(dtype.F32)
	width := all.Len(2) / 3
	return all.Slice(2, 0, width).Mul(all.Slice(2, 2*width, 3*width)), all.Slice(2, width, 2*width)
}

// NewStates returns the last inputs of the convolutions of so many texts, f32 [texts kernel−1 width].
func (g *GatedConv) NewStates(texts int) *Cache {
	return &Cache{States: []tensor.Tensor{tensor.Zeros(texts, g.Conv.reach(), g.Conv.Weight.Len(0)).Eval()}}
}

// Members lists the projections and the convolution.
func (g *GatedConv) Members() []Member {
	return []Member{{Name: "in_proj", Slot: &g.In}, {Name: "conv", Part: g.Conv}, {Name: "out_proj", Slot: &g.Out}}
}

// reach is how many inputs before its own an output of a causal convolution depends on.
func (c *Conv) reach() int { return c.Weight.Len(2) - 1 }

// causal convolves each channel of x [B reach+T channels] with those before it: [B T channels], in f32.
// Starts is that of [Recurrent].
func (c *Conv) causal(x, starts tensor.Tensor) tensor.Tensor {
	reach := c.reach()
	t := x.Len(1) - reach
	w := c.Weight.Select(1, 0).Cast(dtype.F32)
	var y tensor.Tensor
	for k := range reach + 1 {
		tap := x.Slice(1, k, k+t).Mul(w.Select(1, k))
		if back := reach - k; back > 0 && !starts.IsNone() {
			within := tensor.Range(t).To(x.Device()).Sub(starts).Ge(back)
			tap = tensor.Where(within.Unsqueeze(2), tap, 0)
		}
		if k == 0 {
			y = tap
		} else {
			y = y.Add(tap)
		}
	}
	if !c.Bias.IsNone() {
		y = y.Add(c.Bias)
	}
	return y
}

// state takes the states of a step's rows from those of all texts [texts …]: [B …], zeros where a text
// begins.
func (s Step) state(all tensor.Tensor) tensor.Tensor {
	x := all.Take(s.Texts, 0)
	begins := s.Positions.Slice(1, 0, 1).Eq(0)
	for begins.Rank() < x.Rank() {
		begins = begins.Unsqueeze(-1)
	}
	return tensor.Where(begins, 0, x)
}

// keep puts the states of a step's rows back.
func (s Step) keep(all, rows tensor.Tensor) tensor.Tensor {
	return access.Overwrite(all, 0, s.Texts, rows).Detach()
}

// copies is how many copies of its first token stand before it in each row, i64 [B 1].
func (s Step) copies() tensor.Tensor {
	t := s.Positions.Len(1)
	return s.Positions.Slice(1, 0, 1).Sub(s.Positions.Slice(1, t-1, t)).Add(t - 1)
}

// after puts the tokens of a step x [B T width] after what came before them [B n width], without a gap: the
// copies of first tokens come to the beginning.
func (s Step) after(before, x tensor.Tensor) tensor.Tensor {
	all := tensor.Concat([]tensor.Tensor{before, x}, 1)
	n, t := before.Len(1), x.Len(1)
	if t == 1 {
		return all
	}
	at, copies := tensor.Range(n+t).To(x.Device()), s.copies()
	from := tensor.Where(at.Lt(copies), n, tensor.Where(at.Lt(copies.Add(n)), at.Sub(copies), at))
	return takeRows(all, from)
}

// alike gives copies of first tokens what those have, of y [B T width]: their keys go to the same slot in
// later layers.
func (s Step) alike(y tensor.Tensor) tensor.Tensor {
	if y.Len(1) == 1 {
		return y
	}
	return takeRows(y, s.Positions.Sub(s.Positions.Slice(1, 0, 1)).Add(s.copies()))
}

// takeRows takes the vectors of x [B n width] at an index i64 [B T] in each row: [B T width].
func takeRows(x, index tensor.Tensor) tensor.Tensor {
	b, n, width := x.Len(0), x.Len(1), x.Len(2)
	rows := tensor.Range(b).To(x.Device()).Mul(n).Unsqueeze(1)
	return x.Reshape(b*n, width).Take(index.Add(rows), 0)
}
