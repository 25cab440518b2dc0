package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A writer writes an op that stands alone in its group.
type writer = func(g *backend.Group, k *Kernel)

// singles has the writers.
var singles map[ir.Op]writer

// init fills singles: a convolution's writer renders further groups.
func init() {
	singles = map[ir.Op]writer{
		ir.Iota:           iota_,
		ir.Again:          again,
		ir.Pad:            pad,
		ir.Concat:         concat,
		ir.Rand:           func(g *backend.Group, k *Kernel) { random(g, k, "random_uniform") },
		ir.RandNormal:     func(g *backend.Group, k *Kernel) { random(g, k, "random_normal") },
		ir.Gather:         gather,
		ir.GatherAlong:    gatherAlong,
		ir.Rope:           rope,
		ir.ArgMax:         arg,
		ir.ArgMin:         arg,
		ir.CumSum:         cumSum,
		ir.TopK:           topK,
		ir.ScatterAdd:     scatter,
		ir.Overwrite:      scatter,
		ir.ScatterAlong:   scatter,
		ir.ScatterWith:    scatter,
		ir.Conv:           conv,
		ir.ConvTranspose:  conv,
		ir.ConvWeight:     conv,
		ir.MaxPool:        maxPool,
		ir.Attention:      attention,
		ir.AttentionGrad:  attentionGrad,
		ir.PagedAttention: pagedAttention,
		ir.GroupedMatMul:  groupedMatMul,
		ir.GroupedWeight:  groupedWeight,
		ir.AdamW:          optimizer(adamW),
		ir.AdamW8:         optimizer(adamW8),
		ir.SumSquares:     sumSquares,
		ir.Dequantize:     dequantize,
		ir.DequantizeTake: dequantizeTake,
		ir.UserKernel:     userKernel,
	}
}

// renderSingle writes a Single group down.
func renderSingle(g *backend.Group, limits Limits) (*Kernel, error) {
	if len(g.Insts) > 1 {
		return renderAlike(g, limits)
	}
	write := singles[g.Insts[0].Op]
	if write == nil {
		return nil, &Unsupported{g.Name, g.Insts[0].Op.String()}
	}
	if x := g.Insts[0]; x.Op == ir.TopK && g.Type(x.Args[0]).Shape[len(x.Outs[0].Shape)-1] > math.MaxInt32 {
		return nil, &Unsupported{g.Name, "top_k of a row of 2^31 elements or more"} // a place in the row has 32 bits
	}
	k := &Kernel{limits: limits}
	write(g, k)
	return k, nil
}

// iota_ needs the coordinate along an axis: a layout that has stride 1 there and 0 elsewhere.
func iota_(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	e := newElements(g, k.limits, "iota", o.Shape, contiguous("y", o.Shape), named{name: "along", layout: counting(o.Shape, in.Attr.Axis, 1)})
	e.writes(o)
	k.Dispatches = e.dispatch(func() { e.store(o.DType, "convert<"+register(o.DType)+">::from("+e.index+"("+e.here("along")+"))") })
}

// again copies.
func again(g *backend.Group, k *Kernel) {
	o, x := g.Outputs[0], g.Insts[0].Args[0]
	if i, ok := x.Input(); ok && !isNumber(g.Inputs[i]) && inputLayout(g, x).IsContiguous() { // four elements at a time
		o.Value = backend.In(0)
		*k = *renderMap(&backend.Group{Name: g.Name, Kind: backend.Map, Inputs: g.Inputs[i : i+1], Outputs: []backend.Output{o}}, k.limits)
		return
	}
	k.Dispatches = copyInto(g, k.limits, o, x, inputLayout(g, x), ir.Contiguous(o.Shape))
}

// copyInto copies input x, seen through a layout, to a place in an output.
func copyInto(g *backend.Group, limits Limits, o backend.Output, x backend.Ref, from, to ir.Layout) []Dispatch {
	e := newElements(g, limits, "copy", to.Shape, named{name: "y", layout: to}, named{name: "x", layout: from})
	e.writes(o)
	e.reads("x", x)
	return e.dispatch(func() { e.store(o.DType, e.element("x", x)) })
}

// pad fills the output, and copies x to its place.
func pad(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	x := inputLayout(g, in.Args[0])
	whole := ir.Contiguous(o.Shape)
	k.Dispatches = copyInto(g, k.limits, o, in.Args[1], inputLayout(g, in.Args[1]), whole)
	inside := ir.Layout{Shape: x.Shape, Stride: whole.Stride}
	for axis := range x.Shape {
		inside.Offset += in.Attr.Ints[2*axis] * whole.Stride[axis]
	}
	k.Dispatches = append(k.Dispatches, copyInto(g, k.limits, o, in.Args[0], x, inside)...)
}

// fewPieces is up to how many operands of a concat have a dispatch each.
const fewPieces = 8

// concat copies each operand to its place. Many that lie one behind the other, as the gradients of a model
// beside each other, are one dispatch.
func concat(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	whole := ir.Contiguous(o.Shape)
	if len(in.Args) > fewPieces && ir.Size(o.Shape[:in.Attr.Axis]) == 1 && !slices.ContainsFunc(in.Args, func(a backend.Ref) bool {
		x := inputOf(g, a)
		return isNumber(*x) || !x.Layout.IsContiguous()
	}) {
		at := 0
		for part := range slices.Chunk(in.Args, mostTensors) {
			k.Dispatches = append(k.Dispatches, behind(g, part, &at, k.limits.group())...)
		}
		return
	}
	for _, a := range in.Args {
		x := inputLayout(g, a)
		to := ir.Layout{Shape: x.Shape, Stride: whole.Stride, Offset: whole.Offset}
		k.Dispatches = append(k.Dispatches, copyInto(g, k.limits, o, a, x, to)...)
		whole.Offset += x.Shape[in.Attr.Axis] * whole.Stride[in.Attr.Axis]
	}
}

// behind copies operands one behind the other, from a place of the output on: a threadgroup a block of one.
func behind(g *backend.Group, operands []backend.Ref, at *int, threads int) []Dispatch {
	o := g.Outputs[0]
	t, typ := newText(g, false), memoryTypes[o.DType]
	t.pointer("", "y", o.DType, o.Buf, 0)
	t.array("device const "+typ+"*", "x", len(operands))
	var sizes, starts, places []int
	groups := 0
	for _, v := range operands {
		x := inputOf(g, v)
		t.element(placeOf(x))
		n := x.Layout.Size()
		sizes, starts, places = append(sizes, n), append(starts, groups), append(places, *at)
		groups += (n + blockElements - 1) / blockElements
		*at += n
	}
	t.numbers("size", sizes)
	t.numbers("start", starts)
	t.numbers("place", places)
	t.whose(len(operands))
	t.line("const long from = (long(group.x) - a.start[low]) * %d;", blockElements)
	t.line("const long to = min(from + %d, a.size[low]);", blockElements)
	t.line("device const %s* const x_ = a.x[low];", typ)
	t.line("device %s* const y_ = a.y + a.place[low];", typ)
	t.line("for (long i = from + long(at.x); i < to; i += %d) y_[i] = x_[i];", threads)
	if groups == 0 {
		return nil
	}
	return []Dispatch{t.finish("concat", "concat of many", parameters, along(groups), along(threads))}
}

// random computes each element from its place in C order.
func random(g *backend.Group, k *Kernel, function string) {
	in, o := &g.Insts[0], g.Outputs[0]
	e := newElements(g, k.limits, "random", o.Shape, contiguous("y", o.Shape), named{name: "key"}, named{name: "counter"})
	e.writes(o)
	e.reads("key", in.Args[0])
	e.reads("counter", in.Args[1])
	k.Dispatches = e.dispatch(func() {
		e.store(o.DType, function+"(ulong("+e.here("y")+"), ulong("+e.element("counter", in.Args[1])+"), ulong("+e.element("key", in.Args[0])+"))")
	})
}

// mostTurned is how many pairs along an axis that positions do not depend on, as heads, a thread turns by one
// angle, and leastTurners how many threads each processor has left then: on an H200 it was the angles, not
// the memory, that took the time. Where single pairs leave no more, a thread has one: of a token's it would
// compute four angles one after the other.
const (
	mostTurned   = 8
	leastTurners = 256
)

// rope turns a pair by an angle. A thread computes both numbers of a pair, or of four that follow one
// another, for as many heads, as leave enough threads.
func rope(g *backend.Group, k *Kernel) { turnAndStore(g, k, nil) }

// turnAndStore also stores the pairs as the updates of an Overwrite, if there is one.
func turnAndStore(g *backend.Group, k *Kernel, into *scattering) {
	in, o := &g.Insts[0], g.Outputs[0]
	shape := slices.Clone(o.Shape)
	last := len(shape) - 1
	width := shape[last]
	shape[last] = width / 2
	step, apart := 1, width/2
	if in.Attr.Flags&ir.Interleaved != 0 {
		step, apart = 2, 1
	}
	x, positions := inputLayout(g, in.Args[0]), inputLayout(g, in.Args[1])
	at := ir.Layout{Shape: append(slices.Clone(positions.Shape), 1), Stride: append(slices.Clone(positions.Stride), 0), Offset: positions.Offset}.Expand(shape)
	least := leastTurners * k.limits.Processors
	heads, each := turnedAlike(shape, at, least)
	shape[heads] /= each
	half := func(l ir.Layout) ir.Layout { // the first number of each pair, of the first of a thread's heads
		l = ir.Layout{Shape: shape, Stride: slices.Clone(l.Stride), Offset: l.Offset}
		l.Stride[last] *= step
		l.Stride[heads] *= each
		return l
	}
	at.Shape = shape
	y := o.Layout()
	list := []named{{name: "y", layout: half(y)}, {name: "x", layout: half(x), reach: width * max(1, x.Stride[last]) * each},
		{name: "position", layout: at}, {name: "pair", layout: counting(shape, last, 1)}}
	if into != nil {
		list[0].reach = ir.Size(into.o.Shape)
		into.begin(k)
	}
	e := newElements(g, k.limits, "rope", shape, list...)
	e.fours = ir.Size(shape)/4 >= least && step == 1 && apart%4 == 0 && x.Stride[last] == 1 && x.Stride[heads]%4 == 0 && e.space.vectors(4)
	e.writes(o)
	e.reads("x", in.Args[0])
	e.reads("position", in.Args[1])
	e.constant("x_apart", apart*x.Stride[last])
	e.constant("y_apart", apart)
	e.constant("x_head", x.Stride[heads])
	e.constant("y_head", y.Stride[heads])
	rate, stays := "a.rates["+e.here("pair")+" + k]", true
	if len(in.Args) > 2 {
		turns := e.input("turns", in.Args[2])
		stays = turns.Weight
		e.constant("turns_pair", turns.Layout.Stride[0])
		e.constant("turns_part", turns.Layout.Stride[1])
		rate = fmt.Sprintf("float2(a.turns[(%[1]s + k) * a.turns_pair], a.turns[(%[1]s + k) * a.turns_pair + a.turns_part])", e.here("pair"))
	} else {
		e.member("device const float2*", "rates", Field{Kind: Table, Size: 8})
		k.Table = ropeTurns(ir.RopeRates(&in.Attr, width))
	}
	var stores *storing
	if into != nil {
		stores = into.stores(e, k)
	}
	k.Dispatches = append(k.Dispatches, e.dispatch(func() {
		e.turn(each, in.Attr.Flags&ir.Reverse != 0, rate, stays, e.element("position", in.Args[1]), stores)
	})...)
}

// turnedAlike finds an axis along which the positions are the same, and how many pairs a thread turns there,
// so that at least so many threads are left.
func turnedAlike(shape []int, at ir.Layout, least int) (axis, each int) {
	for i, n := range shape[:len(shape)-1] {
		if at.Stride[i] != 0 {
			continue
		}
		for e := min(n, mostTurned); e > each; e-- {
			if n%e == 0 && ir.Size(shape)/4/e >= least {
				axis, each = i, e
			}
		}
	}
	return axis, max(each, 1)
}

// turn writes down what a thread of a rope does: it loads all of its numbers before it stores some, because
// a compiler cannot know that none of them are in the same place, and computes the angles while they come.
// Rates that no kernel writes are loaded before what the kernel before computes.
func (e *elementText) turn(each int, reverse bool, rate string, stays bool, position string, stores *storing) {
	per, load, store := 1, "%[2]s[h][0] = loaded(a.x[%[1]s]);", "a.y[%[1]s] = "+memoryTypes[e.g.Outputs[0].DType]+"(v[0]);"
	if e.fours {
		per, load, store = 4, "load4(a.x + (%[1]s), %[2]s[h]);", "store4(a.y + (%[1]s), v);"
	}
	sign := ""
	if reverse {
		sign = "-"
	}
	e.line("float2 rates[%d];", per)
	e.line("UNROLL for (int k = 0; k < %d; k++) rates[k] = %s;", per, rate)
	if stays {
		e.line("wait_for_previous();")
	}
	e.line("float p[%[1]d][%[2]d], q[%[1]d][%[2]d];", each, per)
	e.line("UNROLL for (int h = 0; h < %d; h++) {", each)
	e.line(load, e.here("x")+" + h * a.x_head", "p")
	e.line(load, e.here("x")+" + h * a.x_head + a.x_apart", "q")
	e.line("}")
	if stores != nil {
		stores.load(each, e.here("y")+" + h * a.y_head")
	}
	e.line("float2 turns[%d];", per)
	e.line("UNROLL for (int k = 0; k < %d; k++) turns[k] = rope_turn(%s, rates[k]);", per, position)
	if stores != nil {
		stores.find(each, e.here("y")+" + h * a.y_head")
	}
	e.line("UNROLL for (int h = 0; h < %d; h++) {", each)
	for _, end := range []struct{ value, at string }{{"p[h][k] * c - q[h][k] * s", ""}, {"p[h][k] * s + q[h][k] * c", " + a.y_apart"}} {
		e.line("{")
		e.line("float v[%d];", per)
		e.line("UNROLL for (int k = 0; k < %d; k++) {", per)
		e.line("const float c = turns[k].x, s = %sturns[k].y;", sign)
		e.line("v[k] = %s;", end.value)
		e.line("}")
		e.line(store, e.here("y")+" + h * a.y_head"+end.at)
		if stores != nil {
			e.line("if (keeps[h]) "+strings.ReplaceAll(store, "a.y", "a.stored"), "to[h]"+end.at)
		}
		e.line("}")
	}
	e.line("}")
}

// ropeTurns are the turns by which each pair goes on from one position to the next, the rates over 2π, each
// as the nearest float32 and what is left.
func ropeTurns(rates []float64) []byte {
	var table []byte
	for _, radians := range rates {
		rate := radians / (2 * math.Pi)
		high := float32(rate)
		table = binary.LittleEndian.AppendUint32(table, math.Float32bits(high))
		table = binary.LittleEndian.AppendUint32(table, math.Float32bits(float32(rate-float64(high))))
	}
	return table
}

// dequantised declares the parts of a quantised weight, and returns the expression of its element at the
// inner coordinate k and the outer n.
func (t *text) dequantised(prefix string, q ir.Quant, parts []backend.Ref, k, n string) string {
	pointer := func(name string, v backend.Ref) string {
		t.input(prefix+name, v)
		return "a." + prefix + name
	}
	codes, scales, extra := pointer("codes", parts[0]), pointer("scales", parts[1]), noExtra
	if len(parts) == 3 {
		extra = pointer("extra", parts[2])
	}
	t.constant(prefix+"bits", q.Bits)
	t.constant(prefix+"group", q.Group)
	t.constant(prefix+"lines", q.Lines())
	t.constant(prefix+"groups", q.Groups())
	return fmt.Sprintf("dequantized<%[7]d>(%[1]s, %[2]s, %[3]s, int(a.%[4]sbits), int(a.%[4]sgroup), a.%[4]slines, a.%[4]sgroups, %[5]s, %[6]s)", codes, scales, extra, prefix, k, n, q.Form)
}

func dequantize(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	q, last := ir.QuantOf(&in.Attr), len(o.Shape)-1
	if q.K%8 == 0 && q.N%4 == 0 && newText(g, false).inWords(in.Args) {
		dequantizePieces(g, q, k)
		return
	}
	rows, columns := counting(o.Shape, last-1, 1), counting(o.Shape, last, 1)
	if q.Transposed {
		rows, columns = columns, rows
	}
	if q.Matrices > 0 {
		columns.Stride[0] = q.Blocks() * ir.QuantBlock
	}
	e := newElements(g, k.limits, "dequantize", o.Shape, contiguous("y", o.Shape), named{name: "row", layout: rows}, named{name: "column", layout: columns})
	e.writes(o)
	w := e.dequantised("", q, in.Args, e.here("row"), e.here("column"))
	k.Dispatches = e.dispatch(func() { e.store(o.DType, w) })
}

// dequantizePieces is dequantize for threads that make pieces of 8 inputs and 4 outputs: for each 16 bytes of
// codes in 4 bits, 64 of bf16, by stores of 8 bytes or more side by side.
func dequantizePieces(g *backend.Group, q ir.Quant, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	matrices := max(1, q.Matrices)
	// The axes of pieces: matrices, then blocks of outputs and eights of inputs, and the fours of a block.
	shape := []int{matrices, q.K / 8, q.Blocks(), ir.QuantBlock / 4}
	y := []int{q.K * q.N, 8 * q.N, ir.QuantBlock, 4}
	if q.Transposed {
		y = []int{q.K * q.N, 8, ir.QuantBlock * q.K, 4 * q.K}
	}
	lay := func(name string, strides ...int) named {
		return named{name: name, layout: ir.Layout{Shape: shape, Stride: strides}}
	}
	layouts := []named{lay("y", y...), lay("k", 0, 8, 0, 0), lay("n", 0, 0, ir.QuantBlock, 4), lay("first", q.Blocks(), 0, 0, 0)}
	if q.Transposed { // neighbours store the inputs of an output
		shape[1], shape[2] = shape[2], shape[1]
		for _, l := range layouts {
			l.layout.Stride[1], l.layout.Stride[2] = l.layout.Stride[2], l.layout.Stride[1]
		}
	}
	layouts[0].reach = q.K * q.N
	e := newElements(g, k.limits, "dequantize", shape, layouts...)
	e.writes(o)
	e.dequantised("", q, in.Args, "", "")
	e.constant("inputs", q.K)
	e.constant("outputs", q.N)
	extra := noExtra
	if len(in.Args) == 3 {
		extra = "a.extra"
	}
	k.Dispatches = e.dispatch(func() {
		e.line("const %s k = %s, n = %s;", e.index, e.here("k"), e.here("n"))
		e.line("if (n < a.outputs) {")
		e.line("uint words[%d];", q.Bits)
		e.line("float scale[4], other[4], w[4][8];")
		e.line("load_piece<%d, %d, %d>(a.codes, a.scales, %s, a.lines, a.groups, %s, k, n, words, scale, other);", q.Bits, q.Form, q.Group, extra, e.here("first"))
		e.line("UNROLL for (int j = 0; j < 4; j++) piece_line<%d, %d>(%s, words, j, scale[j], other[j], w[j]);", q.Bits, q.Form, extra)
		e.line("UNROLL for (int i = 0; i < 8; i++) {")
		if q.Transposed {
			e.line("const float v[4] = {w[i / 2][i %% 2 * 4], w[i / 2][i %% 2 * 4 + 1], w[i / 2][i %% 2 * 4 + 2], w[i / 2][i %% 2 * 4 + 3]};")
			e.line("store4(a.y + (%s + i / 2 * a.inputs + i %% 2 * 4), v);", e.here("y"))
		} else {
			e.line("const float v[4] = {w[0][i], w[1][i], w[2][i], w[3][i]};")
			e.line("store4(a.y + (%s + i * a.outputs), v);", e.here("y"))
		}
		e.line("}")
		e.line("}")
	})
}

func dequantizeTake(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	q := ir.QuantOf(&in.Attr)
	index := inputLayout(g, in.Args[0])
	e := newElements(g, k.limits, "dequantize_take", o.Shape, contiguous("y", o.Shape), named{name: "row", layout: counting(o.Shape, len(o.Shape)-1, 1)},
		named{name: "index", layout: over(index, o.Shape, 0)}, named{name: "position", layout: over(ir.Contiguous(index.Shape), o.Shape, 0)})
	e.writes(o)
	e.reads("index", in.Args[0])
	w := e.dequantised("", q, in.Args[1:], e.here("row"), "n")
	e.indexed(k, in.Op, 1, q.N)
	k.Dispatches = e.dispatch(func() {
		e.lookup(in.Args[0], "n")
		e.store(o.DType, "bad ? NAN : "+w)
	})
}

// over is a layout over a shape of which the axes from first on are its own.
func over(l ir.Layout, shape []int, first int) ir.Layout {
	r := ir.Layout{Shape: shape, Stride: make([]int, len(shape)), Offset: l.Offset}
	copy(r.Stride[first:], l.Stride)
	return r
}
