package kernel

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// An attentionShape is an attention: queries, keys, heads, widths.
type attentionShape struct {
	dt             dtype.Type
	b, hq, hk      int
	tq, tk         int
	d, dv          int
	flags          ir.Flag
	sight          ir.Sight
	mask           dtype.Type // Invalid for none
	apart          bool       // heads are cut out of rows, as a layer makes them, and results' stored so
	threads        int
	long           bool // runs with -long only
	forward        bool // no gradient
	wantDispatches int  // of attention itself, if it is not 1
}

func (s attentionShape) String() string {
	name := fmt.Sprintf("%v b%d h%d/%d t%d/%d d%d/%d", s.dt, s.b, s.hq, s.hk, s.tq, s.tk, s.d, s.dv)
	if s.flags&ir.Causal != 0 {
		name += " causal"
	}
	if s.sight != (ir.Sight{}) {
		name += fmt.Sprintf(" window %d cap %g", s.sight.Window, s.sight.Cap)
	}
	if s.mask != dtype.Invalid {
		name += fmt.Sprintf(" %v mask", s.mask)
	}
	if s.apart {
		name += " apart"
	}
	return name
}

// attentionShapes are shapes at which the tiles turn: 16 rows a strip, 64 a threadgroup, 32 or 64 columns a
// tile, 128 numbers a slab.
func attentionShapes() []attentionShape {
	const f32, f16, bf16, none, causal = dtype.F32, dtype.F16, dtype.BF16, dtype.Invalid, ir.Causal
	return []attentionShape{
		{dt: f32, b: 1, hq: 1, hk: 1, tq: 1, tk: 1, d: 1, dv: 1},
		{dt: f32, b: 2, hq: 3, hk: 3, tq: 5, tk: 7, d: 8, dv: 8},
		{dt: f32, b: 2, hq: 4, hk: 2, tq: 9, tk: 9, d: 16, dv: 16, flags: causal},
		{dt: f32, b: 1, hq: 2, hk: 1, tq: 5, tk: 3, d: 8, dv: 8, flags: causal}, // the first queries see nothing
		{dt: f32, b: 1, hq: 6, hk: 2, tq: 17, tk: 35, d: 40, dv: 20, mask: dtype.Bool, apart: true},
		{dt: bf16, b: 1, hq: 2, hk: 2, tq: 70, tk: 70, d: 24, dv: 40, flags: causal, apart: true},
		{dt: bf16, b: 1, hq: 6, hk: 2, tq: 30, tk: 40, d: 64, dv: 64, flags: causal, mask: bf16},
		{dt: f16, b: 1, hq: 1, hk: 1, tq: 33, tk: 65, d: 128, dv: 128, apart: true},
		{dt: f32, b: 1, hq: 1, hk: 1, tq: 20, tk: 40, d: 136, dv: 132},
		{dt: f32, b: 1, hq: 7, hk: 1, tq: 1, tk: 600, d: 32, dv: 32, forward: true, wantDispatches: 2},
		{dt: f16, b: 2, hq: 2, hk: 2, tq: 3, tk: 520, d: 16, dv: 24, flags: causal, apart: true, forward: true, wantDispatches: 2},
		{dt: bf16, b: 1, hq: 2, hk: 1, tq: 100, tk: 100, d: 24, dv: 40, flags: causal, sight: ir.Sight{Window: 20, Cap: 0.8}},
		{dt: f32, b: 1, hq: 4, hk: 2, tq: 70, tk: 130, d: 16, dv: 16, sight: ir.Sight{Window: 33}},
		{dt: f16, b: 1, hq: 2, hk: 2, tq: 40, tk: 60, d: 32, dv: 32, mask: f16, sight: ir.Sight{Window: 50, Cap: 1.5}},
		{dt: f32, b: 1, hq: 4, hk: 1, tq: 2, tk: 700, d: 32, dv: 32, flags: causal, sight: ir.Sight{Window: 300, Cap: 2}, forward: true, wantDispatches: 2},

		{dt: f32, b: 1, hq: 2, hk: 2, tq: 130, tk: 200, d: 64, dv: 64, flags: causal, long: true},
		{dt: bf16, b: 1, hq: 4, hk: 2, tq: 200, tk: 150, d: 64, dv: 64, sight: ir.Sight{Window: 65, Cap: 3}, long: true},
		{dt: f32, b: 1, hq: 2, hk: 2, tq: 150, tk: 150, d: 64, dv: 64, flags: causal, sight: ir.Sight{Window: 64}, long: true},
		{dt: bf16, b: 1, hq: 1, hk: 1, tq: 20, tk: 70, d: 256, dv: 256, long: true},
		{dt: f16, b: 1, hq: 2, hk: 1, tq: 64, tk: 64, d: 300, dv: 270, flags: causal, long: true},
		{dt: bf16, b: 2, hq: 4, hk: 2, tq: 65, tk: 129, d: 96, dv: 80, mask: dtype.Bool, apart: true, long: true},
		{dt: f32, b: 1, hq: 4, hk: 4, tq: 3, tk: 1100, d: 128, dv: 128, mask: dtype.Bool, forward: true, long: true, wantDispatches: 2},
		{dt: f32, b: 1, hq: 2, hk: 2, tq: 40, tk: 33, d: 64, dv: 64, flags: causal, threads: 32, long: true},
		{dt: bf16, b: 1, hq: 2, hk: 2, tq: 100, tk: 100, d: 64, dv: 64, flags: causal, threads: 64, long: true},
	}
}

// trials are the attention of a shape, and its gradient, on a family of devices.
func (s attentionShape) trials(family Family) []trial {
	heads := func(h, t, d int) ir.Layout {
		if s.apart {
			return ir.Contiguous([]int{s.b, t, h, d}).Permute([]int{0, 2, 1, 3})
		}
		return ir.Contiguous([]int{s.b, h, t, d})
	}
	build := func(op ir.Op, in []backend.Input, out ...ir.Type) *backend.Group {
		var types []ir.Type
		for range in {
			types = append(types, typeOf(s.dt))
		}
		if s.mask != dtype.Invalid {
			in = append(in, tensorInput(len(in), s.mask, 1, s.hq, s.tq, s.tk))
			types = append(types, typeOf(s.mask))
		}
		attr := s.sight.Attr(1 / math.Sqrt(float64(s.d)))
		attr.Flags = s.flags
		g := oneOp(backend.Single, op, attr, types, out...)
		g.Inputs = in
		for i := range g.Outputs {
			if o := &g.Outputs[i]; s.apart && len(o.Shape) == 4 {
				o.Stride = heads(o.Shape[1], o.Shape[2], o.Shape[3]).Stride
			}
		}
		return g
	}
	input := func(n int, dt dtype.Type, l ir.Layout) backend.Input { return withLayout(tensorInput(n, dt), l) }
	q, k, v := input(0, s.dt, heads(s.hq, s.tq, s.d)), input(1, s.dt, heads(s.hk, s.tk, s.d)), input(2, s.dt, heads(s.hk, s.tk, s.dv))
	o := []int{s.b, s.hq, s.tq, s.dv}
	lse := ir.Contiguous(o[:3])
	limits := Limits{Threads: 128, SIMDWidth: 32, Family: family}
	if s.threads > 0 {
		limits.Threads = s.threads
	}
	list := []trial{{name: "attention " + s.String(), group: build(ir.Attention, []backend.Input{q, k, v}, typeOf(s.dt, o...), typeOf(dtype.F32, o[:3]...)), below: 2, limits: limits}}
	if !s.forward {
		in := []backend.Input{q, k, v, input(3, s.dt, heads(s.hq, s.tq, s.dv)), input(4, dtype.F32, lse), input(5, s.dt, heads(s.hq, s.tq, s.dv))}
		g := build(ir.AttentionGrad, in, typeOf(s.dt, q.Layout.Shape...), typeOf(s.dt, k.Layout.Shape...), typeOf(s.dt, v.Layout.Shape...))
		list = append(list, trial{name: "attention_grad " + s.String(), group: g, below: 2, limits: limits})
	}
	return list
}

// TestAttention holds attention and its gradient against float64, for shapes at which the tiles turn. With
// -long it takes more shapes, and the others under each sanitizer.
func TestAttention(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	for _, f := range []struct {
		name   string
		family Family
	}{{"Apple", Apple}, {"NVIDIA", NVIDIA}} {
		var short, all []trial
		for n, s := range attentionShapes() {
			list := s.trials(f.family)
			k, err := Render(list[0].group, list[0].limits)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := len(k.Dispatches), max(1, s.wantDispatches); got != want {
				t.Errorf("%v: got %d dispatches, want %d", s, got, want)
			}
			all = append(all, list...)
			if !s.long && n%2 == int(f.family) {
				short = append(short, list...)
			}
		}
		for _, m := range check.Modes {
			list := short
			if m == check.Plain && long.Tests() {
				list = all
			}
			if m == check.Plain || long.Tests() {
				t.Run(f.name+"/"+m.String(), func(t *testing.T) { checkAll(t, tools, m, some(list)) })
			}
		}
	}
}

// TestAttentionPTX: attention of halves multiplies by mma.sync, and what a thread holds stays in registers:
// an array that is indexed by a variable would lie in memory.
func TestAttentionPTX(t *testing.T) {
	long.Only(t, "translates attention to PTX")
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	texts := map[string]string{}
	for _, s := range []attentionShape{
		{dt: dtype.BF16, b: 1, hq: 4, hk: 4, tq: 256, tk: 256, d: 128, dv: 128, flags: ir.Causal},
		{dt: dtype.F16, b: 1, hq: 8, hk: 2, tq: 256, tk: 256, d: 64, dv: 64, mask: dtype.Bool},
		{dt: dtype.F32, b: 1, hq: 4, hk: 4, tq: 256, tk: 256, d: 64, dv: 64},
	} {
		for _, tr := range s.trials(NVIDIA) {
			k, err := Render(tr.group, tr.limits)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range k.Dispatches {
				texts[d.Function] = d.Text
			}
		}
	}
	for name, text := range texts {
		for _, s := range sourcesOf(t, map[string]string{name: text}) {
			ptx, err := tools.PTX(context.Background(), "sm_80", s)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(ptx), "mma.sync") && !strings.HasPrefix(name, "attention_join") {
				t.Errorf("%s: got no mma.sync", name)
			}
			if strings.Contains(string(ptx), "__local_depot") {
				t.Errorf("%s: got arrays in memory, want all in registers:\n%s", name, text)
			}
		}
	}
}
