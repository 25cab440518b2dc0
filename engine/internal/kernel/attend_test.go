package kernel

import (
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An attentionGroup is attention or its gradient, as a group.
type attentionGroup struct {
	dtype                    dtype.Type
	batch, heads, keyHeads   int
	queries, keys, width     int
	gradient, causal, masked bool
	sight                    ir.Sight
	prompt                   bool                                     // nobody wants the logsumexp
	lay                      func(operand int, l ir.Layout) ir.Layout // results, too; nil if all is dense
}

func (a attentionGroup) sketch() *backend.Group {
	s := &sketch{g: &backend.Group{Name: "attention", Kind: backend.Single}}
	q, k := []int{a.batch, a.heads, a.queries, a.width}, []int{a.batch, a.keyHeads, a.keys, a.width}
	shapes, outs := [][]int{q, k, k}, []ir.Type{{DType: a.dtype, Shape: q}, {DType: dtype.F32, Shape: q[:3]}}
	op, results := ir.Attention, []int{AttentionO, AttentionLSE}
	if a.gradient {
		op, shapes, results = ir.AttentionGrad, [][]int{q, k, k, q, q[:3], q}, []int{AttentionDQ, AttentionDK, AttentionDV}
		outs = []ir.Type{{DType: a.dtype, Shape: q}, {DType: a.dtype, Shape: k}, {DType: a.dtype, Shape: k}}
	}
	if a.masked {
		shapes = append(shapes, []int{a.batch, 1, a.queries, a.keys})
	}
	var args []backend.Ref
	for i, shape := range shapes {
		l, dt := ir.Contiguous(shape), a.dtype
		if a.lay != nil {
			l = a.lay(i, l)
		}
		if len(shape) == 3 {
			dt = dtype.F32
		}
		args = append(args, s.input(dt, l))
	}
	attr := a.sight.Attr(0.125)
	if a.causal {
		attr.Flags = ir.Causal
	}
	s.g.Insts = []backend.Inst{{Op: op, Attr: attr, Args: args, Outs: outs}}
	if a.prompt {
		outs = outs[:1]
	}
	for n, t := range outs {
		o := backend.Output{Value: backend.Ref{Result: n}, Buf: s.bufs, DType: t.DType, Shape: t.Shape}
		if a.lay != nil {
			o.Stride = a.lay(results[n], o.Layout()).Stride
		}
		s.g.Outputs = append(s.g.Outputs, o)
		s.bufs++
	}
	return s.g
}

// TestAttendMuch: a device of much memory computes more texts in a call.
func TestAttendMuch(t *testing.T) {
	c := attentionCall{Attention: Attention{Gradient: true, DType: dtype.BF16, Batches: 4, Heads: 16, KeyHeads: 4, Queries: 4096, Keys: 4096, Width: 64, Depth: 64}}
	for memory, want := range map[int]int{16 << 30: 2, 128 << 30: 1} {
		if calls, ok := c.split(memory); !ok || len(calls) != want {
			t.Errorf("got %d calls, %v, with %d bytes, want %d", len(calls), ok, memory, want)
		}
	}
}

// TestAttend: which attention goes to a library, in how many calls, and what stays with the texts.
func TestAttend(t *testing.T) {
	training := attentionGroup{dtype: dtype.BF16, batch: 4, heads: 16, keyHeads: 4, queries: 2048, keys: 2048, width: 64, causal: true}
	gradient := training
	gradient.gradient = true
	with := func(a attentionGroup, change func(a *attentionGroup)) attentionGroup { change(&a); return a }
	beside := func(operand int, l ir.Layout) ir.Layout { // heads beside each other, as a projection leaves them
		if len(l.Shape) != 4 {
			return l
		}
		s := l.Shape
		return ir.Contiguous([]int{s[0], s[2], s[1], s[3]}).Permute([]int{0, 2, 1, 3})
	}
	for name, c := range map[string]struct {
		group attentionGroup
		want  []string // what the calls compute, and texts beside them; none is left to the texts
	}{
		"training":     {training, []string{"causal attention, 4×16 heads on 4, 2048 by 2048 of bf16, width 64"}},
		"its gradient": {gradient, []string{"the gradient of causal attention, 4×16 heads on 4, 2048 by 2048 of bf16, width 64"}},
		"heads beside each other": {with(training, func(a *attentionGroup) { a.lay = beside }),
			[]string{"causal attention, 4×16 heads on 4, 2048 by 2048 of bf16, width 64"}},
		"gradients beside each other": {with(gradient, func(a *attentionGroup) { a.batch, a.queries, a.keys, a.lay = 1, 8192, 8192, beside }),
			slices.Repeat([]string{"the gradient of causal attention, 1×8 heads on 2, 8192 by 8192 of bf16, width 64"}, 2)},
		"a gradient in parts of the batch": {with(gradient, func(a *attentionGroup) { a.queries, a.keys = 4096, 4096 }),
			slices.Repeat([]string{"the gradient of causal attention, 2×16 heads on 4, 4096 by 4096 of bf16, width 64"}, 2)},
		"a gradient in parts of the heads": {with(gradient, func(a *attentionGroup) { a.batch, a.queries, a.keys = 1, 8192, 8192 }),
			slices.Repeat([]string{"the gradient of causal attention, 1×8 heads on 2, 8192 by 8192 of bf16, width 64"}, 2)},
		"a head of keys that takes an eighth of the memory": {with(gradient, func(a *attentionGroup) { a.batch, a.queries, a.keys = 1, 1<<14, 1<<14 }),
			slices.Repeat([]string{"the gradient of causal attention, 1×4 heads on 1, 16384 by 16384 of bf16, width 64"}, 4)},
		"a head whose scores are too many": {with(gradient, func(a *attentionGroup) { a.queries, a.keys = 1<<15, 1<<15 }), nil},
		"a long prompt": {with(training, func(a *attentionGroup) { a.prompt = true }),
			[]string{"causal attention, 4×16 heads on 4, 2048 by 2048 of bf16, width 64"}},
		"a prompt": {with(training, func(a *attentionGroup) { a.prompt, a.batch, a.queries, a.keys = true, 1, 1024, 1024 }), nil},
		"little":   {with(training, func(a *attentionGroup) { a.queries, a.keys = 128, 128 }), nil},
		"f32":      {with(training, func(a *attentionGroup) { a.dtype = dtype.F32 }), nil},
		"a mask": {with(training, func(a *attentionGroup) { a.masked = true }),
			[]string{"a text", "biased causal attention, 4×16 heads on 4, 2048 by 2048 of bf16, width 64"}},
		"a mask and a window, at the end of the keys": {with(gradient, func(a *attentionGroup) { a.masked, a.queries, a.sight.Window = true, 1024, 500 }),
			[]string{"a text", "the gradient of biased attention, 4×16 heads on 4, 1024 by 2048 of bf16, width 64"}},
		"a mask that is an eighth of the memory": {with(training, func(a *attentionGroup) { a.masked, a.queries, a.keys = true, 1<<15, 1<<15 }), nil},
		"a mask and a narrow window":             {with(gradient, func(a *attentionGroup) { a.masked, a.sight.Window = true, 100 }), nil},
		"a wide window": {with(gradient, func(a *attentionGroup) { a.sight.Window = 1500 }),
			[]string{"the gradient of causal attention, 4×16 heads on 4, 2048 by 2048 of bf16, width 64, a window of 1500"}},
		"a window": {with(gradient, func(a *attentionGroup) { a.batch, a.queries, a.keys, a.sight.Window = 2, 4096, 4096, 500 }),
			append([]string{"the gradient of causal attention, 2×16 heads on 4, 640 by 640 of bf16, width 64, a window of 500"},
				append(slices.Repeat([]string{"the gradient of causal attention, 9×16 heads on 4, 384 by 896 of bf16, width 64, a window of 500"}, 2), "a text")...)},
		"a window of all keys": {with(training, func(a *attentionGroup) { a.sight.Window = 2048 }),
			[]string{"causal attention, 4×16 heads on 4, 2048 by 2048 of bf16, width 64"}},
		"a window on both sides": {with(training, func(a *attentionGroup) { a.sight.Window, a.causal = 500, false }), nil},
		"capped scores": {with(gradient, func(a *attentionGroup) { a.sight.Cap = 50 }),
			[]string{"the gradient of causal attention, 4×16 heads on 4, 2048 by 2048 of bf16, width 64, capped at 50"}},
		"queries that see none": {with(training, func(a *attentionGroup) { a.keys = 1024 }), nil},
		"rows not aligned":      {with(training, func(a *attentionGroup) { a.width = 68 }), nil},
		"repeated heads": {with(training, func(a *attentionGroup) {
			a.keyHeads = 16
			a.lay = func(operand int, l ir.Layout) ir.Layout {
				if operand == 1 {
					l.Stride = []int{l.Stride[0] / 16, 0, 64, 1}
				}
				return l
			}
		}), nil},
		"a logsumexp with its batches inside": {with(training, func(a *attentionGroup) {
			a.lay = func(operand int, l ir.Layout) ir.Layout {
				if operand == AttentionLSE {
					l.Stride = []int{2048, 4 * 2048, 1}
				}
				return l
			}
		}), nil},
		"a view that begins at an odd place": {with(training, func(a *attentionGroup) {
			a.lay = func(operand int, l ir.Layout) ir.Layout { l.Offset = operand; return l }
		}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			limits := Limits{Threads: 1024, SIMDWidth: 32, Processors: 132, Family: NVIDIA, Library: &Library{
				Offer: func(Work) (int, bool) { return 1000, true }, Memory: 16 << 30,
			}}
			k, err := Render(c.group.sketch(), limits)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			texts := 0
			places := map[int]bool{}
			for _, d := range k.Dispatches {
				if d.Library == nil {
					texts++
					got = append(got, "a text")
					continue
				}
				got = append(got, d.Library.Work.String())
				if q := d.Library.Operands[AttentionQ].At; places[q] {
					t.Errorf("two calls begin at byte %d of q", q)
				} else {
					places[q] = true
				}
				if w := d.Library.Workspace; w.Kind != Scratch || w.At%workspaceAlignment != 0 || w.At+1000 > k.Scratch-192 {
					t.Errorf("got the workspace at %d of %d bytes", w.At, k.Scratch)
				}
			}
			if texts == len(got) {
				got = nil
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %d dispatches, of the library %q, want %q", len(k.Dispatches), got, c.want)
			}
			limits.Library.Offer = func(Work) (int, bool) { return 0, false }
			if k, err = Render(c.group.sketch(), limits); err != nil || slices.ContainsFunc(k.Dispatches, func(d Dispatch) bool { return d.Library != nil }) {
				t.Errorf("a library that refuses: got %v", err)
			}
		})
	}
}
