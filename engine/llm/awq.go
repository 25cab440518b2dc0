package llm

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Activation-aware quantisation (Lin and others 2023, AutoAWQ) makes the inputs of a layer that get large
// numbers larger in the weight, so that rounding takes less of them, and divides what gives the inputs by the
// same. The scales are powers of the mean magnitudes; the power is the one of 20 with which the results of
// the layers change least. What is written is clipped: each group of weights at the one of 10 ranges with
// which they do so.

const (
	powers  = 20
	shrinks = 10  // ranges that are tried, each a 20th of the whole narrower
	samples = 512 // tokens of which results are compared
	rowLen  = 512 // tokens of a row
	maxRows = 8
)

// balance scales the weights of m for codes of 4 bits in groups, and finds the ranges in which they are to be
// written, by their names in a folder.
func (m *Model) balance(ctx context.Context, tokens []int, group int) (map[string]tensor.Tensor, error) {
	if len(tokens) < 32 {
		return nil, fmt.Errorf("got %d tokens of a text, want at least 32, as those that the model will get", len(tokens))
	}
	width := min(rowLen, len(tokens), max(m.Config.Context, 32))
	rows := min(len(tokens)/width, maxRows)
	ids := make([]int64, rows*width)
	for i := range ids {
		ids[i] = int64(tokens[i])
	}
	m.wantCausal()
	on := m.normWeight().Device()
	x := m.vectors(tensor.From(ids, rows, width).To(on), tensor.Range(width).To(on))
	ranges, named := map[*nn.Linear]tensor.Tensor{}, map[string]tensor.Tensor{}
	for i, b := range m.Blocks {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		x = b.balance(x, group, ranges)
		progress.Report(ctx, progress.Event{Task: "balancing", Done: int64(i + 1), Total: int64(len(m.Blocks)), Unit: "layers", Final: i+1 == len(m.Blocks)})
	}
	nn.Walk(m, func(path string, member nn.Member) {
		if l, ok := member.Module().(*nn.Linear); ok && !ranges[l].IsNone() {
			named[m.family.inFolder(path+".weight")] = ranges[l]
		}
	})
	return named, nil
}

// heard is a layer that keeps what it gets.
type heard struct {
	*nn.Linear
	in tensor.Tensor
}

func (h *heard) Forward(x tensor.Tensor) tensor.Tensor {
	h.in = x
	return h.Linear.Forward(x)
}

// balance scales the weights of a block that gets x, adds their ranges, and returns what the block gives.
func (b *Block) balance(x tensor.Tensor, group int, ranges map[*nn.Linear]tensor.Tensor) tensor.Tensor {
	ears := map[*nn.Linear]*heard{}
	slots := map[*nn.Layer]*heard{}
	var clips []*heard
	nn.Walk(b, func(path string, member nn.Member) {
		if l, ok := member.Module().(*nn.Linear); ok {
			h := &heard{Linear: l}
			ears[l], slots[member.Slot] = h, h
			if !member.Exact && l.In()%group == 0 && !strings.Contains(path, "q_") && !strings.Contains(path, "k_") { // as AutoAWQ
				clips = append(clips, h)
			}
		}
	})
	junctions := b.junctions()
	for slot, h := range slots {
		*slot = h
	}
	y := b.Forward(x, tensor.Range(x.Len(1)).To(x.Device()))
	for slot, h := range slots {
		*slot = h.Linear
	}
	want := []tensor.Tensor{y}
	for _, h := range slots {
		if !h.in.IsNone() {
			want = append(want, h.in)
		}
	}
	tensor.Eval(want...)
	for _, h := range slots {
		if !h.in.IsNone() {
			h.in = h.in.Cast(dtype.F32).Reshape(-1, h.in.Len(-1))
		}
	}
	for _, j := range junctions {
		in := ears[j.layers[0]].in
		if in.Len(-1)%group != 0 {
			continue
		}
		if by := j.scale(in, group); !by.IsNone() {
			for _, l := range j.layers {
				ears[l].in = ears[l].in.Div(by)
			}
		}
	}
	for _, h := range clips {
		if !h.in.IsNone() {
			ranges[h.Linear] = clip(h.in, h.Weight.Detach().Cast(dtype.F32), group)
		}
	}
	return y
}

// sampled are rows of x whose results are compared.
func sampled(x tensor.Tensor) tensor.Tensor {
	if n := x.Len(0); n > samples {
		return x.SliceStep(0, 0, n, n/samples)
	}
	return x
}

// clip finds the ranges [groups 1 out] of the groups of w [in out] with which what they give for x [N in]
// changes least.
func clip(x, w tensor.Tensor, group int) tensor.Tensor {
	in, out := w.Len(0), w.Len(1)
	g := w.Reshape(in/group, group, out)
	x = sampled(x).Reshape(-1, in/group, group).SwapAxes(0, 1).Eval()
	most := g.Abs().Max(1).Unsqueeze(1)
	var best, least tensor.Tensor
	for i := range shrinks {
		at := most.Mul(1 - float64(i)/20)
		d := x.MatMul(inCodes(clipped(w, at), group).Reshape(g.Shape()...).Sub(g))
		off := d.Mul(d).Mean(1).Unsqueeze(1)
		if i == 0 {
			best, least = at, off
		} else {
			best, least = tensor.Where(off.Lt(least), at, best), off.Minimum(least)
		}
		tensor.Eval(best, least)
	}
	return best
}

// clipped is w [in out] within ranges.
func clipped(w, ranges tensor.Tensor) tensor.Tensor {
	groups, in, out := ranges.Len(0), w.Len(0), w.Len(1)
	return w.Reshape(groups, in/groups, out).Minimum(ranges).Maximum(ranges.Neg()).Reshape(in, out)
}

// A junction is where numbers go to several layers, [in out] each.
type junction struct {
	layers []*nn.Linear
	before func(by tensor.Tensor) // divides what gives the numbers by f32 [in]
}

// junctions are those of a block whose inputs can be scaled. Those of experts and recurrent layers are not.
func (b *Block) junctions() (list []junction) {
	add := func(before func(tensor.Tensor), layers ...nn.Layer) {
		j := junction{before: before}
		for _, l := range layers {
			if l == nil {
				continue
			}
			linear, ok := l.(*nn.Linear)
			if !ok {
				return
			}
			j.layers = append(j.layers, linear)
		}
		if before != nil && len(j.layers) > 0 {
			list = append(list, j)
		}
	}
	var first []nn.Layer
	if a := b.Attn; a != nil && a.Latent == nil {
		first = []nn.Layer{a.Q, a.K, a.V, a.QKV}
	}
	if f := b.MLP; f != nil {
		in := []nn.Layer{f.Gate, f.Up, f.GateUp}
		if b.MLPNorm != nil {
			add(dividedNorm(b.MLPNorm), in...)
		} else if b.Parallel && first != nil {
			first = append(first, in...)
		}
		if up, ok := f.Up.(*nn.Linear); ok && f.Gate != nil {
			add(divided(up), f.Down)
		}
	}
	if first != nil && (b.MLP != nil || !b.Parallel) {
		add(dividedNorm(b.AttnNorm), first...)
		v, ok := b.Attn.V.(*nn.Linear)
		if o, plain := b.Attn.O.(*nn.Linear); ok && plain && v.Out() == o.In() {
			add(divided(v), o)
		}
	}
	return list
}

// set gives a weight a value in its own type.
func set(w, value tensor.Tensor) { w.Set(value.Cast(w.DType()).Eval()) }

// divided divides the results of a layer.
func divided(l *nn.Linear) func(by tensor.Tensor) {
	return func(by tensor.Tensor) {
		set(l.Weight, l.Weight.Detach().Cast(dtype.F32).Div(by))
		if !l.Bias.IsNone() {
			set(l.Bias, l.Bias.Detach().Cast(dtype.F32).Div(by))
		}
	}
}

// dividedNorm divides those of a norm, nil if it is none.
func dividedNorm(n nn.Layer) func(by tensor.Tensor) {
	divide := func(weight, bias tensor.Tensor, plus float64) func(by tensor.Tensor) {
		if weight.IsNone() {
			return nil
		}
		return func(by tensor.Tensor) {
			set(weight, weight.Detach().Cast(dtype.F32).Add(plus).Div(by).Sub(plus))
			if !bias.IsNone() {
				set(bias, bias.Detach().Cast(dtype.F32).Div(by))
			}
		}
	}
	switch n := n.(type) {
	case *nn.RMSNorm:
		return divide(n.Weight, tensor.Tensor{}, n.Plus)
	case *nn.LayerNorm:
		return divide(n.Weight, n.Bias, n.Plus)
	}
	return nil
}

// scale finds the best scales for the inputs x [N in], if some are better than none, and applies them.
func (j junction) scale(x tensor.Tensor, group int) tensor.Tensor {
	var all []tensor.Tensor
	for _, l := range j.layers {
		all = append(all, l.Weight.Detach().Cast(dtype.F32))
	}
	w := tensor.Concat(all, 1).Eval()
	in, out := w.Len(0), w.Len(1)
	mean := x.Abs().Mean(0)
	x = sampled(x)
	size := w.Abs().Reshape(in/group, group, out)
	share := size.Div(size.Max(1).Unsqueeze(1).Add(1e-6)).Mean(2).Reshape(in)
	tensor.Eval(mean, share)
	loss := func(by tensor.Tensor) float64 {
		by = by.Unsqueeze(1)
		d := x.MatMul(inCodes(w.Mul(by), group).Div(by).Sub(w))
		return d.Mul(d).Mean().Item()
	}
	best, least := tensor.Tensor{}, loss(tensor.Ones(in).To(w.Device()))
	for i := range powers {
		r := float64(i) / powers
		by := mean.Pow(r).Div(share.Pow(1 - r).Add(1e-4)).Maximum(1e-4)
		by = by.Div(by.Max().Mul(by.Min()).Sqrt()).Eval()
		if l := loss(by); l < least && !math.IsNaN(l) {
			best, least = by, l
		}
	}
	if best.IsNone() {
		return best
	}
	for _, l := range j.layers {
		set(l.Weight, l.Weight.Detach().Cast(dtype.F32).Mul(best.Unsqueeze(1)))
	}
	j.before(best)
	return best
}

// inCodes are the numbers w [in out] as their codes of AWQ stand for them.
func inCodes(w tensor.Tensor, group int) tensor.Tensor {
	in, out := w.Len(0), w.Len(1)
	g := w.Reshape(in/group, group, out)
	low, high := g.Min(1).Unsqueeze(1), g.Max(1).Unsqueeze(1)
	scale := high.Sub(low).Maximum(1e-5).Div(15)
	zero := low.Div(scale).Round().Neg().Clip(0, 15)
	scale = scale.Cast(dtype.F16).Cast(dtype.F32)
	return g.Div(scale).Round().Add(zero).Clip(0, 15).Sub(zero).Mul(scale).Reshape(in, out)
}
