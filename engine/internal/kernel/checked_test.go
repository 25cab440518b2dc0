package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	reference "github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/shaders"
)

// A trial is a group that runs on the reference and, written down, on the checking device.
type trial struct {
	name  string
	group *backend.Group
	below int // integer inputs are indices below this
	// Inputs are the numbers at which functions turn, and each element is compared by itself.
	special bool
	rounded bool // codes become numbers of the result's type: twice as much is allowed
	halves  bool // bf16 keeps all inputs
	limits  Limits
}

// typeOf is an operand or a result.
func typeOf(dt dtype.Type, shape ...int) ir.Type { return ir.Type{DType: dt, Shape: shape} }

// oneOp is a group of one op with contiguous operands.
func oneOp(kind backend.Kind, op ir.Op, attr ir.Attr, in []ir.Type, out ...ir.Type) *backend.Group {
	g := &backend.Group{Name: op.String(), Kind: kind}
	i := backend.Inst{Op: op, Attr: attr, DType: out[0].DType, Shape: out[0].Shape}
	if len(out) > 1 {
		i.DType, i.Shape, i.Outs = dtype.Invalid, nil, out
	}
	for n, t := range in {
		g.Inputs = append(g.Inputs, tensorInput(n, t.DType, t.Shape...))
		i.Args = append(i.Args, backend.In(n))
	}
	g.Insts = []backend.Inst{i}
	for n, t := range out {
		g.Outputs = append(g.Outputs, backend.Output{Value: backend.Ref{Result: n}, Buf: len(in) + n, DType: t.DType, Shape: t.Shape})
	}
	return g
}

// inferred are the types of an op's values; none where it does not take such operands.
func inferred(op ir.Op, attr ir.Attr, in ...ir.Type) []ir.Type {
	n := &ir.Node{Op: op, Attr: &attr}
	for _, t := range in {
		n.Src = append(n.Src, &ir.Node{DType: t.DType, Shape: t.Shape})
	}
	switch {
	case ir.RowOf(op).Infer(n) != nil:
		return nil
	case n.Outs != nil:
		return n.Outs
	}
	return []ir.Type{n.Type()}
}

// rowTrials are the row ops of the table: softmax, norms, cross entropy, and their gradients.
func rowTrials(dt dtype.Type, rows, n int) []trial {
	kinds := map[rune]ir.Type{'x': typeOf(dt, rows, n), 'w': typeOf(dt, n), 'n': typeOf(dtype.F32, rows)}
	smooth := ir.Attr{Float: 0.1, Index: 1}
	var list []trial
	for _, r := range ir.Rows() {
		if r.Family != ir.FamilyRow {
			continue
		}
		attr, in := ir.Attr{Float: 1e-5}, []ir.Type(nil)
		for _, kind := range r.Operands {
			in = append(in, kinds[kind])
		}
		if r.Op == ir.CrossEntropy || r.Op == ir.CrossEntropyGrad {
			attr, in[1].DType = smooth, dtype.I64
		}
		list = append(list, trial{name: fmt.Sprintf("%v %v[%d %d]", r.Op, dt, rows, n), below: n,
			group: oneOp(backend.Row, r.Op, attr, in, inferred(r.Op, attr, in...)...)})
	}
	for _, attr := range []ir.Attr{smooth, {Index: -100}} {
		list = append(list, trial{name: fmt.Sprintf("cross entropy and its gradient, smoothing %g, %v[%d %d]", attr.Float, dt, rows, n),
			group: lossAndGradient(dt, rows, n, attr), below: n})
	}
	return list
}

// lossAndGradient is a cross entropy with the gradient of its rows.
func lossAndGradient(dt dtype.Type, rows, n int, attr ir.Attr) *backend.Group {
	x, targets, f := typeOf(dt, rows, n), typeOf(dtype.I64, rows), typeOf(dtype.F32, rows)
	g := oneOp(backend.Row, ir.CrossEntropy, attr, []ir.Type{x, targets}, f, f)
	g.Inputs = append(g.Inputs, tensorInput(2, f.DType, f.Shape...))
	g.Insts = append(g.Insts, backend.Inst{Op: ir.CrossEntropyGrad, Attr: attr, DType: dt, Shape: x.Shape,
		Args: []backend.Ref{backend.In(0), backend.In(1), {Result: 1}, backend.In(2)}})
	g.Outputs = append(g.Outputs, backend.Output{Value: backend.Ref{Index: 1}, DType: dt, Shape: x.Shape})
	for i := range g.Outputs {
		g.Outputs[i].Buf = len(g.Inputs) + i
	}
	return g
}

// otherTrials are one or two groups of each other kind.
func otherTrials(m, n int) []trial {
	f := func(shape ...int) ir.Type { return typeOf(dtype.F32, shape...) }
	shape := []int{m, n}
	flat := ir.Contiguous(shape)
	product := oneOp(backend.MatMul, ir.MatMul, ir.Attr{}, []ir.Type{f(m, n), f(n, m)}, f(m, m))
	list := []trial{
		{name: "map", group: siluMul(shape, flat, flat)},
		{name: "map, transposed", group: siluMul(shape, flat, ir.Contiguous([]int{n, m}).Permute([]int{1, 0}))},
		{name: "map, broadcast", group: siluMul(shape, flat, ir.Contiguous([]int{1, n}).Expand(shape))},
		{name: "matmul", group: product},
		{name: "matmul, one row of each batch", group: oneOp(backend.MatMul, ir.MatMul, ir.Attr{}, []ir.Type{f(m, 1, n), f(m, n, 7)}, f(m, 1, 7))},
		{name: "gather", group: oneOp(backend.Single, ir.Gather, ir.Attr{}, []ir.Type{f(m, n), typeOf(dtype.I64, 5)}, f(5, n)), below: m},
		{name: "scatter_add", group: oneOp(backend.Single, ir.ScatterAdd, ir.Attr{}, []ir.Type{f(m, n), typeOf(dtype.I64, 9), f(9, n)}, f(m, n)), below: m},
		{name: "cum_sum", group: oneOp(backend.Single, ir.CumSum, ir.Attr{Axis: 1}, []ir.Type{f(m, n)}, f(m, n))},
		{name: "cum_sum, from the end", group: oneOp(backend.Single, ir.CumSum, ir.Attr{Axis: 1, Flags: ir.Reverse | ir.Exclusive}, []ir.Type{f(m, n)}, f(m, n))},
		{name: "cum_sum down columns", group: oneOp(backend.Single, ir.CumSum, ir.Attr{Flags: ir.Exclusive}, []ir.Type{f(m, n)}, f(m, n))},
		{name: "arg_max", group: oneOp(backend.Single, ir.ArgMax, ir.Attr{Axis: 1}, []ir.Type{f(m, n)}, typeOf(dtype.I64, m, 1))},
		{name: "arg_min down columns", group: oneOp(backend.Single, ir.ArgMin, ir.Attr{}, []ir.Type{f(m, n)}, typeOf(dtype.I64, 1, n))},
	}
	q, kv, lse := f(2, 4, m, 40), f(2, 2, min(n, 300), 40), f(2, 4, m) // the reference takes long for more keys
	half := ir.Attr{Float: 0.5}
	ids := typeOf(dtype.I64, 9)
	list = append(list,
		trial{name: "attention", group: oneOp(backend.Single, ir.Attention, half, []ir.Type{q, kv, kv}, q, lse)},
		trial{name: "attention, causal", group: oneOp(backend.Single, ir.Attention, ir.Attr{Float: 0.5, Flags: ir.Causal}, []ir.Type{q, kv, kv}, q, lse)},
		trial{name: "attention_grad", group: oneOp(backend.Single, ir.AttentionGrad, half, []ir.Type{q, kv, kv, q, lse, q}, q, kv, kv)},
		trial{name: "rope", group: oneOp(backend.Single, ir.Rope, ir.Attr{Float: 10000}, []ir.Type{q, typeOf(dtype.I64, m)}, q), below: 5000},
		trial{name: "rope, stored as rows of all heads", group: permuted(oneOp(backend.Single, ir.Rope, ir.Attr{Float: 10000, Flags: ir.Reverse},
			[]ir.Type{q, typeOf(dtype.I64, m)}, q), 4*m*40, 40, 4*40, 1), below: 5000},
		trial{name: "rope, stored in its places", group: keptGroup(2, min(m, 20), 16, 0), below: 6},
		trial{name: "rope of neighbours, stored in its places", group: keptGroup(1, min(m, 20), 6, ir.Interleaved), below: 6},
		trial{name: "top_k", group: oneOp(backend.Single, ir.TopK, ir.Attr{Index: min(n, 5)}, []ir.Type{f(m, n)}, f(m, min(n, 5)), typeOf(dtype.I64, m, min(n, 5)))},
		trial{name: "top_k, all", group: oneOp(backend.Single, ir.TopK, ir.Attr{Index: n}, []ir.Type{f(m, n)}, f(m, n), typeOf(dtype.I64, m, n))},
		trial{name: "top_k, the smallest of i64", group: oneOp(backend.Single, ir.TopK, ir.Attr{Index: min(n, 2000), Flags: ir.Reverse}, []ir.Type{typeOf(dtype.I64, m, n)}, typeOf(dtype.I64, m, min(n, 2000)), typeOf(dtype.I64, m, min(n, 2000)))},
		trial{name: "sum of squares", group: oneOp(backend.Single, ir.SumSquares, ir.Attr{}, []ir.Type{f(m, n), f(n)}, typeOf(dtype.F32))},
		trial{name: "adamw", group: adamWGroup(m, n)},
		trial{name: "overwrite", group: oneOp(backend.Single, ir.Overwrite, ir.Attr{}, []ir.Type{f(m, n), ids, f(9, n)}, f(m, n)), below: m},
		trial{name: "overwrite of many places", group: oneOp(backend.Single, ir.Overwrite, ir.Attr{}, []ir.Type{f(m, n), typeOf(dtype.I64, 100), f(100, n)}, f(m, n)), below: m},
		trial{name: "two overwrites of many places", group: overwrites(m, n, 100), below: m},
		trial{name: "gather_along", group: oneOp(backend.Single, ir.GatherAlong, ir.Attr{Axis: 1}, []ir.Type{f(m, n), typeOf(dtype.I64, m, 9)}, f(m, 9)), below: n},
		trial{name: "scatter_along, long", group: oneOp(backend.Single, ir.ScatterAlong, ir.Attr{Axis: 1}, []ir.Type{f(2, n), typeOf(dtype.I64, 2, 2100), f(2, 2100)}, f(2, n)), below: n},
		trial{name: "scatter_with, long", group: oneOp(backend.Single, ir.ScatterWith, ir.Attr{Axis: 1}, []ir.Type{f(2, n), typeOf(dtype.I64, 2, 600), f(2, 600)}, f(2, n)), below: n},
		trial{name: "scatter_along", group: oneOp(backend.Single, ir.ScatterAlong, ir.Attr{Axis: 1}, []ir.Type{f(m, n), typeOf(dtype.I64, m, 9), f(m, 9)}, f(m, n)), below: n},
	)
	x, w, groups := f(m, 40), f(5, 40, min(n, 300)), typeOf(dtype.I64, m)
	y := f(m, w.Shape[2])
	list = append(list,
		trial{name: "grouped_matmul", group: oneOp(backend.Single, ir.GroupedMatMul, ir.Attr{}, []ir.Type{x, w, groups}, y), below: 5},
		trial{name: "grouped_weight", group: oneOp(backend.Single, ir.GroupedWeight, ir.Attr{Index: 5, DType: dtype.F32}, []ir.Type{x, y, groups}, w), below: 5},
	)
	halves := func(shape ...int) ir.Type { return typeOf(dtype.F16, shape...) }
	list = append(list,
		trial{name: "grouped_matmul of halves", group: oneOp(backend.Single, ir.GroupedMatMul, ir.Attr{}, []ir.Type{halves(m, 40), halves(5, 40, min(n, 300)), groups}, halves(m, w.Shape[2])), below: 5},
		trial{name: "grouped_weight of halves", group: oneOp(backend.Single, ir.GroupedWeight, ir.Attr{Index: 5, DType: dtype.F16}, []ir.Type{halves(m, 40), halves(m, w.Shape[2]), groups}, halves(5, 40, w.Shape[2])), below: 5},
	)
	moves := ir.Attr{Index: 2, Ints: ir.Ints([]ir.Window{{Kernel: 3, Stride: 2, Before: 1, Dilation: 1}, {Kernel: 2, Stride: 1, After: 2, Dilation: 2}})}
	image, weight, result := f(2, 4, m, min(n, 30)), f(6, 2, 3, 2), f(2, 6, (m-2)/2+1, min(n, 30))
	back := moves
	back.Shape = image.Shape[2:]
	if m >= 2 {
		list = append(list,
			trial{name: "conv", group: oneOp(backend.Single, ir.Conv, moves, []ir.Type{image, weight}, result)},
			trial{name: "conv_transpose", group: oneOp(backend.Single, ir.ConvTranspose, back, []ir.Type{result, weight}, image)},
			trial{name: "conv_weight", group: oneOp(backend.Single, ir.ConvWeight, moves, []ir.Type{image, result}, weight)},
			trial{name: "max_pool", group: oneOp(backend.Single, ir.MaxPool, ir.Attr{Ints: moves.Ints}, []ir.Type{image}, f(2, 4, result.Shape[2], result.Shape[3]),
				typeOf(dtype.I64, 2, 4, result.Shape[2], result.Shape[3]))})
	}
	for _, op := range []ir.Op{ir.Sum, ir.ReduceMax, ir.Mean} {
		for _, axes := range [][]int{{0}, {1}, {0, 1}} {
			out := []int{m, n}
			for _, a := range axes {
				out[a] = 1
			}
			list = append(list, trial{name: fmt.Sprintf("%v over %v", op, axes), group: oneOp(backend.Reduce, op, ir.Attr{Axes: axes}, []ir.Type{f(m, n)}, f(out...))})
		}
	}
	for i := range list {
		list[i].name += fmt.Sprintf(" [%d %d]", m, n)
	}
	return list
}

// adamWGroup is a step of two tensors, all of whose settings are the same number.
func adamWGroup(m, n int) *backend.Group {
	g := &backend.Group{Name: "adamw", Kind: backend.Single}
	step := backend.Inst{Op: ir.AdamW}
	for i := range ir.AdamWSettings {
		g.Inputs = append(g.Inputs, backend.Input{Buf: -1, DType: dtype.F32})
		step.Args = append(step.Args, backend.In(i))
	}
	shapes := [][]int{{m, n}, {n}}
	for i := range 4 * len(shapes) { // parameters, gradients, and two moments
		g.Inputs = append(g.Inputs, tensorInput(i, dtype.F32, shapes[i%2]...))
		step.Args = append(step.Args, backend.In(len(g.Inputs)-1))
	}
	for i := range 3 * len(shapes) {
		step.Outs = append(step.Outs, typeOf(dtype.F32, shapes[i%2]...))
		g.Outputs = append(g.Outputs, backend.Output{Value: backend.Ref{Result: i}, Buf: 4*len(shapes) + i, DType: dtype.F32, Shape: shapes[i%2]})
	}
	g.Insts = []backend.Inst{step}
	return g
}

// specials are numbers at which functions turn.
var specials = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, -2.5, 3, -3, 20, -20, 88, -88, 89, -89, 104, -104,
	1000, -1000, math.MaxFloat32, -math.MaxFloat32, 1.2e-38, -1.2e-38, 0.1, -0.1, 1e-4, -1e-4}

// specialTrials are the elementwise ops of floats that give floats at special numbers: of one operand, and of
// each pair.
func specialTrials() []trial {
	n := len(specials)
	one := &backend.Group{Name: "unary", Kind: backend.Map, Inputs: []backend.Input{tensorInput(0, dtype.F32, n)}}
	shape := []int{n, n}
	pairs := &backend.Group{Name: "binary", Kind: backend.Map, Inputs: []backend.Input{
		withLayout(tensorInput(0, dtype.F32), ir.Contiguous([]int{n, 1}).Expand(shape)), withLayout(tensorInput(1, dtype.F32), ir.Contiguous([]int{1, n}).Expand(shape))}}
	add := func(g *backend.Group, op ir.Op, shape []int, args ...backend.Ref) {
		in := typeOf(dtype.F32, shape...)
		if out := inferred(op, ir.Attr{}, slices.Repeat([]ir.Type{in}, len(args))...); out == nil || out[0].DType != dtype.F32 {
			return
		}
		i := len(g.Insts)
		g.Insts = append(g.Insts, inst(op, dtype.F32, shape, args...))
		g.Outputs = append(g.Outputs, backend.Output{Value: ref(i), Buf: len(args) + i, DType: dtype.F32, Shape: shape})
	}
	for _, r := range ir.Rows() {
		switch {
		case r.Family == ir.FamilyElementwise && r.Sources == 1:
			add(one, r.Op, []int{n}, backend.In(0))
		case r.Family == ir.FamilyElementwise && r.Sources == 2:
			add(pairs, r.Op, shape, backend.In(0), backend.In(1))
		}
	}
	return []trial{{name: "one special number", group: one, special: true}, {name: "two special numbers", group: pairs, special: true}}
}

// trials are what runs by default, and with -long.
func trials() []trial {
	list := slices.Concat(rowTrials(dtype.F32, 3, 7), rowTrials(dtype.BF16, 2, 132), rowTrials(dtype.F32, 2, 2100), otherTrials(5, 36), specialTrials(), columnTrials(),
		normGradients(dtype.F32, 21, 30), normGradients(dtype.F32, 21, 900), normGradients(dtype.BF16, 21, 1200))
	sizes := []int{64}
	if long.Tests() {
		list = slices.Concat(list, rowTrials(dtype.F32, 1, 1), rowTrials(dtype.F16, 9, 31), rowTrials(dtype.F32, 2, 1000), rowTrials(dtype.BF16, 3, 3001),
			otherTrials(1, 1), otherTrials(70, 33), otherTrials(3, 9000))
		sizes = []int{32, 64, 256, 1024}
	}
	var all []trial
	for _, size := range sizes {
		for _, t := range list {
			t.limits = Limits{Threads: size, SIMDWidth: 32}
			t.name += fmt.Sprintf(", up to %d threads", size)
			all = append(all, t)
		}
	}
	all = append(all, keptTrials()...)
	for _, n := range []int{3000, 40000} { // a threadgroup that has the device to itself folds the whole, or the parts
		all = append(all, trial{name: fmt.Sprintf("sum of %d", n), limits: Limits{Threads: mostThreads, SIMDWidth: simdWidth},
			group: oneOp(backend.Reduce, ir.Sum, ir.Attr{Axes: []int{0}}, []ir.Type{typeOf(dtype.F32, n)}, typeOf(dtype.F32, 1))})
	}
	halves := siluMul([]int{128, 1024}, ir.Contiguous([]int{128, 1024}), ir.Contiguous([]int{1, 1024}).Expand([]int{128, 1024}))
	for i := range halves.Inputs {
		halves.Inputs[i].DType = dtype.BF16
	}
	for i := range halves.Insts {
		halves.Insts[i].DType = dtype.BF16
	}
	halves.Outputs[0].DType = dtype.BF16
	return append(all, trial{name: "eight elements a thread", group: halves, limits: Limits{Threads: mostThreads, SIMDWidth: simdWidth, Family: NVIDIA, Processors: 2}})
}

// permuted is a group whose first result is stored with these strides.
func permuted(g *backend.Group, strides ...int) *backend.Group {
	g.Outputs[0].Stride = strides
	return g
}

// TestChecked holds kernels that are written down against float64, on a device that watches barriers and
// bounds and, with -long, under each sanitizer and with threads that take turns in several orders.
func TestChecked(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	modes := check.Modes[:1]
	if long.Tests() {
		modes = check.Modes
	}
	for _, m := range modes {
		t.Run(m.String(), func(t *testing.T) { checkAll(t, tools, m, some(trials())) })
	}
}

// some are all trials, or without CI=1 a third of them.
func some(all []trial) (list []trial) {
	for i, tr := range all {
		if i%3 == 0 || long.CI() {
			list = append(list, tr)
		}
	}
	return list
}

func checkAll(t *testing.T, tools *check.Toolchain, m check.Mode, all []trial) {
	kernels := make([]*Kernel, len(all))
	texts := map[string]string{}
	for i, tr := range all {
		k, err := Render(tr.group, tr.limits)
		if err != nil {
			t.Fatalf("%s: %v", tr.name, err)
		}
		kernels[i] = k
		for _, d := range k.Dispatches {
			texts[d.Function] = d.Text
		}
	}
	d, err := tools.Start(context.Background(), m, sourcesOf(t, texts)...)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i, tr := range all {
		data, want := tr.expected(t)
		for seed := range uint32(2) {
			err := tr.compare(d, kernels[i], m, seed, data, want)
			var fault *check.Fault
			if errors.As(err, &fault) {
				t.Fatalf("%s, seed %d: %v\n%s", tr.name, seed, err, fault.Report)
			}
			if err != nil {
				t.Errorf("%s, seed %d: %v", tr.name, seed, err)
			}
		}
	}
}

// sourcesOf makes sources of texts, forty to a source, and sees that Metal would take them.
func sourcesOf(t *testing.T, texts map[string]string) []*msl.Source {
	t.Helper()
	var list []*msl.Source
	for part := range slices.Chunk(slices.Sorted(maps.Keys(texts)), 40) {
		text := shaders.Blocks()
		for _, f := range part {
			text += texts[f]
		}
		s, err := msl.Parse("kernels.metal", text)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range msl.Lint(s) {
			t.Error(p)
		}
		list = append(list, s)
	}
	return list
}

// expected makes inputs, and runs the group on the reference: data and want have the bytes of its buffers,
// before and after.
func (tr *trial) expected(t *testing.T) (data, want [][]byte) {
	t.Helper()
	data = make([][]byte, len(tr.group.Inputs)+len(tr.group.Outputs))
	rng := rand.New(rand.NewPCG(7, uint64(len(tr.name))))
	for _, in := range tr.group.Inputs {
		if in.Buf < 0 {
			continue
		}
		count := max(ir.Size(in.Layout.Shape), in.Layout.Offset+reachOf(in.Layout))
		if in.Room {
			count += ir.Room * (slices.Max(in.Layout.Stride) + 1)
		}
		if tr.special {
			count = len(specials)
		}
		for i := range count {
			v := ir.Scalar{F: rng.NormFloat64()}
			if tr.special {
				v.F = specials[i]
			}
			if !in.DType.Float() {
				below := max(1, tr.below)
				if in.DType == dtype.U8 { // codes
					below = 256
				}
				v.I = int64(rng.IntN(below))
				v.F = float64(v.I)
			}
			if tr.halves {
				v = ir.Load(dtype.BF16, ir.Append(dtype.BF16, nil, v))
			}
			data[in.Buf] = ir.Append(in.DType, data[in.Buf], v)
		}
	}
	for _, o := range tr.group.Outputs {
		bytes := ir.Size(o.Shape) * o.DType.Size()
		if bytes > 0 {
			bytes = (o.Offset + reachOf(o.Layout())) * o.DType.Size()
		}
		data[o.Buf] = append(data[o.Buf], make([]byte, max(0, bytes-len(data[o.Buf])))...)
	}
	data = data[:len(slices.DeleteFunc(slices.Clone(data), func(b []byte) bool { return b == nil }))]
	exact, err := reference.Open()
	if err != nil {
		t.Fatal(err)
	}
	k, err := exact.Compile(tr.group)
	if err != nil {
		t.Fatal(err)
	}
	cmd := submit.Cmd{Kernel: k, Scalars: []ir.Scalar{{F: 0.75}}}
	for _, b := range data {
		buf, err := exact.Alloc(len(b))
		if err == nil {
			err = exact.Upload(buf, 0, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd.Bufs = append(cmd.Bufs, backend.Slice{Buf: buf})
	}
	if err := submit.Run(context.Background(), exact, []submit.Cmd{cmd}, nil); err != nil {
		t.Fatalf("%s: %v", tr.name, err)
	}
	for i, b := range cmd.Bufs {
		want = append(want, make([]byte, len(data[i])))
		if err := exact.Download(context.Background(), want[i], b.Buf, 0); err != nil {
			t.Fatal(err)
		}
	}
	return data, want
}

// mostWatched is how many threads of a group the thread sanitizer can tell apart, and those of another one.
const mostWatched = 96

// compare runs the kernel's dispatches and compares the outputs.
func (tr *trial) compare(d *check.Device, k *Kernel, m check.Mode, seed uint32, data, want [][]byte) error {
	got, err := tr.run(d, k, m, seed, data)
	if got == nil {
		return err
	}
	for i, o := range tr.group.Outputs {
		if err := close(o.DType, got[o.Buf], want[o.Buf], tr.special, tr.rounded); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// run runs the kernel's dispatches and returns all buffers; none where the mode cannot run them.
func (tr *trial) run(d *check.Device, k *Kernel, m check.Mode, seed uint32, data [][]byte) (bufs [][]byte, err error) {
	var at Addresses
	var free []check.Pointer
	defer func() {
		for _, p := range free {
			d.Free(p)
		}
	}()
	put := func(b []byte) (uint64, error) {
		p, err := d.Alloc(len(b))
		if err != nil {
			return 0, err
		}
		free = append(free, p)
		return uint64(p), d.Write(p, b)
	}
	record, stop := bytes.Repeat([]byte{0xff}, FaultSize), []byte{1, 0, 0, 0} // no report
	for _, b := range data {
		p, e := put(b)
		at.Buffers, err = append(at.Buffers, p), errors.Join(err, e)
	}
	for _, x := range []struct {
		to   *uint64
		data []byte
	}{{&at.Scratch, make([]byte, k.Scratch)}, {&at.Table, k.Table}, {&at.Fault, record}, {&at.Stop, stop}} {
		p, e := put(x.data)
		*x.to, err = p, errors.Join(err, e)
	}
	if err != nil {
		return nil, err
	}
	for _, x := range k.Dispatches {
		if x.Library != nil {
			if err := multiplied(d, x.Library, &at); err != nil {
				return nil, err
			}
			continue
		}
		if n := x.Threads[0] * x.Threads[1] * x.Threads[2]; m == check.Thread && n > mostWatched {
			if tr.limits.Threads > mostWatched || tr.group.Kind == backend.MatMul { // tiles of products have their own sizes
				return nil, nil
			}
			return nil, fmt.Errorf("%s: got %d threads in a group, want at most %d", x.Function, n, tr.limits.Threads)
		}
		args := make([]byte, x.Args.Size)
		x.Args.Fill(args, &at, []ir.Scalar{{F: 0.75}})
		p, err := put(args)
		if err != nil {
			return nil, err
		}
		l := check.Launch{Kernel: x.Function, Groups: x.Groups, Threads: x.Threads, Seed: seed, Buffers: map[int]check.Pointer{0: check.Pointer(p)}}
		if x.Threadgroup > 0 {
			l.Threadgroup = map[int]int{0: x.Threadgroup}
		}
		if err := d.Run(context.Background(), l); err != nil {
			return nil, err
		}
	}
	for i := range data {
		got := make([]byte, len(data[i]))
		if err := d.Read(got, check.Pointer(at.Buffers[i])); err != nil {
			return nil, err
		}
		bufs = append(bufs, got)
	}
	return bufs, nil
}

// close compares results with those of float64: integers are equal; floats differ by little beside the
// largest of all, and by one step of their type. Operands are around 1: what is smaller than a hundredth
// throughout is what their differences leave.
func close(dt dtype.Type, got, want []byte, each, rounded bool) error {
	size := dt.Size()
	largest := 0.01
	for i := 0; i < len(want); i += size {
		if x := math.Abs(ir.Load(dt, want[i:]).F); x < math.Inf(1) { // and a number
			largest = max(largest, x)
		}
	}
	step := map[dtype.Type]float64{dtype.F16: 1.0 / (1 << 10), dtype.BF16: 1.0 / (1 << 7), dtype.F32: 1.0 / (1 << 23)}[dt]
	for i := 0; i < len(want); i += size {
		g, w := ir.Load(dt, got[i:]), ir.Load(dt, want[i:])
		if !dt.Float() {
			if g.I != w.I {
				return fmt.Errorf("element %d: got %d, want %d", i/size, g.I, w.I)
			}
			continue
		}
		if g.F != g.F && w.F != w.F || g.F == w.F {
			continue
		}
		if each {
			largest = math.Abs(w.F)
		}
		allowed := 1e-5*largest + step*math.Abs(w.F) + step/4*largest + 1e-30
		if rounded {
			allowed *= 2
		}
		if !(math.Abs(g.F-w.F) <= allowed) || math.IsInf(w.F, 0) {
			return fmt.Errorf("element %d of %v: got %g, want %g (±%.2g)", i/size, dt, g.F, w.F, allowed)
		}
	}
	return nil
}

// TestPTX: clang makes PTX of every kernel.
func TestPTX(t *testing.T) {
	long.Only(t, "translates every trial to PTX")
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	texts := map[string]string{}
	for _, tr := range trials() {
		k, err := Render(tr.group, tr.limits)
		if err != nil {
			t.Fatalf("%s: %v", tr.name, err)
		}
		for _, d := range k.Dispatches {
			texts[d.Function] = d.Text
		}
	}
	for _, s := range sourcesOf(t, texts) {
		ptx, err := tools.PTX(context.Background(), "sm_80", s)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range s.Kernels {
			if !strings.Contains(string(ptx), ".entry "+k.Name+"(") {
				t.Errorf("there is no kernel %s in the PTX", k.Name)
			}
		}
		if strings.Contains(string(ptx), ".extern .func") {
			t.Error("the PTX calls functions that it does not contain")
		}
	}
}
