package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// attentionCase describes one attention: its sizes, and what may be seen.
type attentionCase struct {
	b, hq, hk, tq, tk, d, dv int
	causal                   bool
	mask                     dtype.Type // Invalid for none
	maskShape                []int
}

var attentionCases = []attentionCase{
	{b: 1, hq: 1, hk: 1, tq: 1, tk: 1, d: 4, dv: 4},
	{b: 2, hq: 4, hk: 2, tq: 7, tk: 7, d: 8, dv: 8, causal: true},
	{b: 1, hq: 2, hk: 1, tq: 70, tk: 70, d: 32, dv: 32, causal: true},
	{b: 1, hq: 3, hk: 3, tq: 50, tk: 300, d: 20, dv: 12, causal: true},
	{b: 1, hq: 2, hk: 2, tq: 130, tk: 520, d: 16, dv: 16},
	{b: 2, hq: 2, hk: 1, tq: 1, tk: 600, d: 64, dv: 64, causal: true}, // one word after many
	{b: 1, hq: 2, hk: 1, tq: 20, tk: 8, d: 16, dv: 8, causal: true},   // the first queries see nothing
	{b: 1, hq: 2, hk: 2, tq: 5, tk: 0, d: 8, dv: 8},                   // no keys
	{b: 2, hq: 2, hk: 1, tq: 40, tk: 40, d: 8, dv: 8, mask: dtype.Bool, maskShape: []int{2, 1, 40, 40}},
	{b: 2, hq: 2, hk: 1, tq: 4, tk: 300, d: 8, dv: 8, mask: dtype.Bool, maskShape: []int{2, 1, 1, 300}, causal: true},
	{b: 2, hq: 4, hk: 2, tq: 70, tk: 270, d: 8, dv: 8, mask: dtype.F32, maskShape: []int{1, 4, 70, 270}, causal: true},
}

func (c attentionCase) name() string { return fmt.Sprintf("%+v", c) }

// operands adds q, k and v, whose heads and tokens lie swapped as a projection leaves them, and the mask.
func (c attentionCase) operands(g *groupCase, f dtype.Type) (qkv, mask []backend.Ref) {
	qkv = []backend.Ref{
		g.input(f, []int{c.b, c.hq, c.tq, c.d}, 0, 2, 1, 3),
		g.input(f, []int{c.b, c.hk, c.tk, c.d}, 0, 2, 1, 3),
		g.input(f, []int{c.b, c.hk, c.tk, c.dv}),
	}
	if c.mask != dtype.Invalid {
		m := g.input(c.mask, c.maskShape)
		mask = append(mask, expand(g, m, []int{c.b, c.hq, c.tq, c.tk}))
	}
	return qkv, mask
}

func (c attentionCase) attr() ir.Attr {
	a := ir.Attr{Float: 1 / math.Sqrt(float64(c.d))}
	if c.causal {
		a.Flags = ir.Causal
	}
	return a
}

// forward returns the group of a forward pass.
func (c attentionCase) forward(f dtype.Type, seed uint64) *groupCase {
	g := newGroupCase(backend.Single, seed)
	qkv, mask := c.operands(g, f)
	o, lse := []int{c.b, c.hq, c.tq, c.dv}, []int{c.b, c.hq, c.tq}
	g.g.Insts = append(g.g.Insts, backend.Inst{Op: ir.Attention, Attr: c.attr(), Args: append(qkv, mask...),
		Outs: []ir.Type{{DType: f, Shape: o}, {DType: dtype.F32, Shape: lse}}})
	g.output(backend.Ref{Result: 0}, f, o)
	g.output(backend.Ref{Result: 1}, dtype.F32, lse)
	return g
}

func TestAttention(t *testing.T) {
	b := New(3)
	defer b.Close()
	for _, c := range attentionCases {
		for _, f := range []dtype.Type{dtype.F32, dtype.BF16, dtype.F16} {
			t.Run(f.String()+"/"+c.name(), func(t *testing.T) { c.forward(f, 1).check(t, b, 3e-6) })
		}
	}
}

func TestAttentionGrad(t *testing.T) {
	for i, threads := range []int{1, 5} {
		b := New(threads)
		defer b.Close()
		for n, c := range attentionCases {
			for k, f := range []dtype.Type{dtype.F32, dtype.BF16} {
				if (i+n+k)%2 > 0 && !long.CI() {
					continue
				}
				t.Run(fmt.Sprintf("%v/threads %d/%s", f, threads, c.name()), func(t *testing.T) { c.backward(t, b, f).check(t, b, 1e-5) })
			}
		}
	}
}

// backward returns the group of a backward pass; it takes the results of a forward pass on b.
func (c attentionCase) backward(t testing.TB, b backend.Backend, f dtype.Type) *groupCase {
	before := c.forward(f, 1)
	results := before.run(t, b)
	g := newGroupCase(backend.Single, 1) // the same numbers
	qkv, mask := c.operands(g, f)
	o := g.input(f, []int{c.b, c.hq, c.tq, c.dv})
	lse := g.input(dtype.F32, []int{c.b, c.hq, c.tq})
	do := g.input(f, []int{c.b, c.hq, c.tq, c.dv}, 0, 2, 1, 3)
	for i, r := range []backend.Ref{o, lse} {
		at, _ := r.Input()
		copy(g.mem[g.g.Inputs[at].Buf], results[i])
	}
	inst := backend.Inst{Op: ir.AttentionGrad, Attr: c.attr(), Args: append(append(qkv, o, lse, do), mask...)}
	for i, shape := range [][]int{{c.b, c.hq, c.tq, c.d}, {c.b, c.hk, c.tk, c.d}, {c.b, c.hk, c.tk, c.dv}} {
		inst.Outs = append(inst.Outs, ir.Type{DType: f, Shape: shape})
		g.output(backend.Ref{Result: i}, f, shape)
	}
	g.g.Insts = append(g.g.Insts, inst)
	return g
}

// A kernel that reads what nobody wrote shows it when the memory is full of NaN.
func TestAttentionReadsNothingUnwritten(t *testing.T) {
	b := New(2)
	defer b.Close()
	for range 2 {
		dirty := b.launch.scratch.floats(1 << 20)
		for i := range dirty {
			dirty[i] = float32(math.NaN())
		}
		b.launch.scratch.reset()
	}
	attentionCases[3].forward(dtype.F32, 9).check(t, b, 3e-6)
	attentionCases[3].backward(t, b, dtype.F32).check(t, b, 1e-5)
}
