package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A kind says how a value comes to be.
type kind uint8

const (
	leaf   kind = iota // stored data, which each run brings along
	scalar             // one number for every element; needs no memory
	empty              // no elements
	view               // of args[0] through a chain
	result             // value index of the tuple args[0]
	mapped             // elementwise; copied stands for itself
	heavy              // everything else: a launch of its own, which elementwise values may join
)

// copied is the op of a mapped value that only copies its argument.
const copied = ir.Invalid

// A value is a node as the planner sees it. Values are named by their index in graph.values.
type value struct {
	kind  kind
	op    ir.Op
	attr  ir.Attr
	dtype dtype.Type
	shape []int
	outs  []ir.Type // of a tuple
	args  []int
	chain chain // of a view
	order []int // the strides of a value that is stored with its axes in another order, or with room; nil for C order
	room  int   // how long the rows are that ir.Room elements follow each, see findRooms; 0 if there is no room
	dense bool  // something reads it that knows C order alone
	index int   // leaf: which; scalar: which of graph.scalars; result: which of the tuple
	lora  bool  // comes from a LoRA op
	apart bool  // a product or a reduction that joins no other: a piece would have to wait for all, see linearLoss
	node  *ir.Node
	from  []int32 // what it comes from: places in the walk's Nodes
}

func (v *value) size() int { return ir.Size(v.shape) }

// bytes is how much memory it takes, with its room and without other gaps.
func (v *value) bytes() int {
	n := v.size()
	if v.room > 0 {
		n += n / v.room * ir.Room
	}
	return n * v.dtype.Size()
}

// A graph is what a plan is made of: the walk's nodes with constants folded, views resolved and composite ops
// lowered. Every view lies directly on a value that is no view, and its chain can be applied to that value's
// memory.
type graph struct {
	*watch
	settings
	values  []value
	scalars []expr
	places  map[expr]int // of scalars
	leaves  []ir.Layout
	roomy   []bool // which of them have room
	outs    []int
	same    map[string]int // common subexpressions
	now     []int32        // what new values come from
	merged  map[string]int // what was asked for again, and how often
	parts   map[int][]int  // the values of a tuple that was lowered: see linearLoss
	pieces  map[int][]int  // what a value of such a tuple is put together of
	views   map[int][]int  // of each value; nil unless values may be stored permuted
	rooms                  // see findRooms
}

// settings are what a plan depends on beside its walk.
type settings struct {
	fuse, tf32 bool
	hints      backend.Hints
}

// buildGraph translates what a walk found.
func buildGraph(watch *watch, w *ir.Graph, s settings) *graph {
	g := &graph{watch: watch, settings: s, places: map[expr]int{}, same: map[string]int{}, merged: map[string]int{}, parts: map[int][]int{}, pieces: map[int][]int{}, rooms: rooms{inside: map[int]inside{}, filled: map[int][]*filling{}, inRoom: map[[2]int]*filling{}}}
	for _, d := range w.Leaves {
		g.leaves, g.roomy = append(g.leaves, *d.Layout), append(g.roomy, d.Room)
	}
	ids := make([]int, len(w.Nodes))
	leaves, numbers := w.Holders, w.Numbers // those that are to come
	for i, n := range w.Nodes {
		g.now = []int32{int32(i)}
		switch {
		case len(leaves) > 0 && leaves[0] == n:
			ids[i] = g.add(value{kind: leaf, dtype: n.DType, shape: n.Type().Shape, index: len(w.Holders) - len(leaves)})
			leaves = leaves[1:]
		case len(numbers) > 0 && numbers[0] == n:
			ids[i] = g.constant(n, len(w.Numbers)-len(numbers))
			numbers = numbers[1:]
		case n.Op == ir.Const:
			ids[i] = g.constant(n, -1)
		default:
			var args []int
			for _, s := range w.Sources(i) {
				args = append(args, ids[s])
			}
			ids[i] = g.translate(n, args)
			g.computes(ids[i], n, int32(i))
		}
	}
	for _, o := range w.Outs {
		g.outs = append(g.outs, ids[o])
	}
	if g.fuse {
		g.rewrite()
	}
	wanted := make([]bool, len(g.values))
	for _, o := range g.outs {
		wanted[o] = true
	}
	for i, o := range g.outs {
		g.outs[i] = g.output(o, wanted)
	}
	return g
}

// bigView is the size, in bytes, from which a result is not allowed to keep a much larger one in memory.
const bigView = 1 << 20

// output returns a value whose memory an evaluated node can hold. A small part of a large value that is not
// wanted itself, such as the last row of all logits, is copied out of it.
func (g *graph) output(o int, wanted []bool) int {
	base, c := g.base(o)
	b := &g.values[base]
	if c != nil && b.kind != leaf && !wanted[base] {
		if bytes := b.bytes(); bytes >= bigView && g.values[o].size() <= b.size()/4 {
			return g.copy(o)
		}
	}
	return g.stored(o)
}

// add appends a value, or finds an equal one.
func (g *graph) add(v value) int {
	g.step(1 + len(v.args) + len(v.chain))
	if v.kind != leaf && v.kind != scalar && v.kind != view && v.outs == nil && v.size() == 0 {
		v = value{kind: empty, dtype: v.dtype, shape: v.shape}
	}
	key := v.key()
	computes := v.kind == mapped || v.kind == heavy
	if i, ok := g.same[key]; ok && (g.fuse || !computes) {
		if computes && v.node != nil {
			g.merged[v.op.String()+" "+v.node.Type().String()]++
		}
		return i
	}
	v.from = g.now
	g.values = append(g.values, v)
	g.same[key] = len(g.values) - 1
	return len(g.values) - 1
}

// key is equal for values that are equal whatever the leaves hold.
func (v *value) key() string {
	b := []byte{byte(v.kind), byte(v.op), byte(v.dtype), byte(v.attr.DType)}
	b = appendInts(b, v.shape)
	b = appendInts(b, v.args)
	b = append(b, v.chain.key()...)
	b = appendInts(b, []int{v.index, v.attr.Axis, v.attr.Index, int(v.attr.Flags)})
	b = appendInts(b, v.attr.Axes)
	b = appendInts(b, v.attr.Ints)
	b = appendFloats(b, append([]float64{v.attr.Float}, v.attr.Rates...))
	for _, o := range v.outs {
		b = appendInts(append(b, byte(o.DType)), o.Shape)
	}
	if v.attr.Kernel != nil {
		b = append(b, v.attr.Kernel.Key...)
	}
	return string(b)
}

// constant adds a number. Rules may rely on its value when that is part of the walk's key.
func (g *graph) constant(n *ir.Node, input int) int {
	e := expr{dtype: n.DType, input: input}
	if input < 0 || n.Class() != ir.AnyConst {
		e = expr{dtype: n.DType, input: literal, value: n.Attr.Value}
	}
	return g.add(value{kind: scalar, dtype: n.DType, shape: n.Shape, index: g.scalar(e)})
}

// number returns a scalar value that is the same in every run.
func (g *graph) number(dt dtype.Type, f float64, shape []int) int {
	e := expr{dtype: dt, input: literal, value: ir.Scalar{F: f}}
	return g.add(value{kind: scalar, dtype: dt, shape: shape, index: g.scalar(e)})
}

// translate adds the value of a node whose sources are args.
func (g *graph) translate(n *ir.Node, args []int) int {
	v := value{op: n.Op, attr: *n.Attr, dtype: n.DType, shape: n.Shape, outs: n.Outs, args: args, node: n}
	switch {
	case n.Op == ir.Permute && g.fuse && g.values[args[0]].op == ir.Dequantize && inMatrices(n.Attr.Axes):
		return g.transposedWeight(args[0], n)
	case n.Op == ir.Detach || n.Op == ir.Checkpoint:
		return args[0]
	case n.Op.Family() == ir.FamilyView:
		return g.view(args[0], stepOf(n.Op, n.Attr, n.Shape))
	case n.Op == ir.UserKernel && n.Attr.Kernel.Composed():
		// It is a value of its own, because a value can be the first one of several tuples.
		tuple := g.add(value{kind: empty, op: ir.UserKernel, attr: ir.Attr{Ints: slices.Clone(args)}})
		g.parts[tuple] = slices.Clone(args[len(args)-len(n.Outs):])
		return tuple
	case n.Op == ir.Pick && g.parts[args[0]] != nil:
		return g.parts[args[0]][n.Attr.Index]
	case n.Op == ir.Pick:
		return g.add(value{kind: result, dtype: n.DType, shape: n.Shape, args: args, index: n.Attr.Index})
	case n.Op.Family() == ir.FamilyElementwise:
		for i, a := range args { // an operand of shape [] stands for its one number everywhere
			if len(g.values[a].shape) != len(n.Shape) {
				args[i] = g.view(a, step{op: ir.Expand, shape: n.Shape})
			}
		}
		return g.elementwise(v)
	case n.Op == ir.LoRALinear:
		return g.loraLinear(v)
	case n.Op == ir.LinearCrossEntropy:
		return g.linearLoss(v)
	case n.Op == ir.LinearCrossEntropyGrad:
		return g.linearLossGrad(v)
	case n.Op == ir.MatMul:
		return g.matMul(v)
	case n.Op.Family() == ir.FamilyReduce:
		return g.reduction(v)
	}
	v.kind = heavy
	g.readCodes(&v)
	for i, a := range v.args {
		// A single op takes a number of rank 0 as it is (a learning rate, a random key); everything else is
		// memory.
		if v.op.Family() == ir.FamilyRow || v.op == ir.UserKernel || len(g.values[a].shape) > 0 {
			v.args[i] = g.stored(a)
		}
		switch v.op {
		case ir.Dequantize, ir.DequantizeTake:
			v.args[i] = g.dense(v.args[i], 1)
		case ir.UserKernel:
			v.args[i] = g.dense(v.args[i], 16)
		}
	}
	return g.add(v)
}

// transposedWeight permutes a quantised weight: as a matrix that is read the other way, which products can do
// without a copy.
func (g *graph) transposedWeight(arg int, n *ir.Node) int {
	v := g.values[arg]
	if last := len(n.Attr.Axes) - 1; n.Attr.Axes[last] == last {
		return arg
	}
	v.attr.Flags ^= ir.Transposed
	v.shape = n.Shape
	return g.add(v)
}

// inMatrices says whether a permutation leaves all axes but the last two in their places.
func inMatrices(axes []int) bool { return len(axes) == 2 || len(axes) == 3 && axes[0] == 0 }

// readCodes makes a grouped product read the codes of its weights, if they are that: their codes stand in the
// place of the weights, and the other parts after the index. In float64 they are written out.
func (g *graph) readCodes(v *value) {
	if v.op != ir.GroupedMatMul || !g.fuse {
		return
	}
	w := &g.values[v.args[1]]
	if w.op != ir.Dequantize || w.dtype == dtype.F64 {
		return
	}
	v.attr = w.attr
	v.args = append([]int{v.args[0], w.args[0], v.args[2]}, w.args[1:]...)
}

// base returns what a value is a view of, and how.
func (g *graph) base(v int) (int, chain) {
	if x := &g.values[v]; x.kind == view {
		return x.args[0], x.chain
	}
	return v, nil
}

// layout is how a value that is no view lies in memory.
func (g *graph) layout(v int) ir.Layout {
	x := &g.values[v]
	switch {
	case x.kind == leaf:
		return g.leaves[x.index]
	case x.order != nil:
		return ir.Layout{Shape: x.shape, Stride: x.order, Offset: g.inside[v].at}
	}
	return ir.Contiguous(x.shape)
}

// mostSteps is how long a chain may be: each view looks at all steps before it again.
const mostSteps = 64

// view adds a view. It copies the value first if no layout can express the view.
func (g *graph) view(arg int, s step) int {
	x := &g.values[arg]
	if x.kind == scalar {
		return g.add(value{kind: scalar, dtype: x.dtype, shape: s.shape, index: x.index})
	}
	base, c := g.base(arg)
	if ir.Size(s.shape) == 0 {
		return g.add(value{kind: empty, dtype: x.dtype, shape: s.shape})
	}
	c = c.then(g.values[base].shape, s)
	if len(c) == 0 {
		return base
	}
	if _, ok := c.apply(g.layout(base)); !ok && !g.permuted(base, c) || len(c) > mostSteps {
		return g.view(g.copy(arg), s)
	}
	v := g.add(value{kind: view, dtype: x.dtype, shape: s.shape, args: []int{base}, chain: c})
	if g.fuse && g.hints.Permuted != nil {
		if g.views == nil {
			g.views = map[int][]int{}
		}
		g.views[base] = append(g.views[base], v)
	}
	return v
}

// permuted lets the launch that computes base store it with its axes in the order in which c sees them, if
// then c is no copy, nor is any other view of base: what attention makes of its heads. It says whether it
// does. The last axis stays the last, so that rows are still written in one piece.
func (g *graph) permuted(base int, c chain) bool {
	x := &g.values[base]
	if !g.fuse || g.hints.Permuted == nil || x.kind != heavy && x.kind != result || x.order != nil || x.dense || c[0].op != ir.Permute {
		return false
	}
	op := x.op
	if x.kind == result {
		op = g.values[x.args[0]].op
	}
	if op == ir.UserKernel || !g.hints.Permuted(op) { // a person's text says how the elements lie
		return false
	}
	axes, last := c[0].ints, len(x.shape)-1
	if axes[last] != last {
		return false
	}
	order := make([]int, len(axes))
	for i, stride := range ir.Contiguous(c[0].shape).Stride {
		order[axes[i]] = stride
	}
	l := ir.Layout{Shape: x.shape, Stride: order}
	if _, ok := c.apply(l); !ok {
		return false
	}
	for _, v := range g.views[base] {
		g.step(1)
		if _, ok := g.values[v].chain.apply(l); !ok {
			return false
		}
	}
	x.order = order
	return true
}

// tryView is view for callers that can do without it: it never copies.
func (g *graph) tryView(arg int, steps ...step) (int, bool) {
	if g.values[arg].kind == scalar || g.values[arg].kind == empty {
		return arg, false
	}
	base, c := g.base(arg)
	if _, ok := c.then(g.values[base].shape, steps...).apply(g.layout(base)); !ok {
		return arg, false
	}
	for _, s := range steps {
		arg = g.view(arg, s)
	}
	return arg, true
}

func (g *graph) copy(arg int) int {
	x := &g.values[arg]
	return g.add(value{kind: mapped, op: copied, dtype: x.dtype, shape: x.shape, args: []int{arg}})
}

// stored returns a value that has memory: a number is written out.
func (g *graph) stored(v int) int {
	if g.values[v].kind == scalar {
		return g.copy(v)
	}
	return v
}

// dense returns a value whose elements lie one after the other from the start of its memory on, or at an
// offset of a multiple of so many bytes.
func (g *graph) dense(v, aligned int) int {
	base, c := g.base(v)
	if g.values[v].kind == empty {
		return v
	}
	if l, ok := c.apply(g.layout(base)); ok && slices.Equal(l.Stride, ir.Contiguous(l.Shape).Stride) && l.Offset*g.values[v].dtype.Size()%aligned == 0 {
		g.values[base].dense = true
		return v
	}
	return g.copy(v)
}

// elementwise adds a mapped value, or something simpler.
func (g *graph) elementwise(v value) int {
	v.kind = mapped
	if g.fuse {
		if i, ok := g.simplify(&v); ok {
			return i
		}
	}
	return g.add(v)
}

// reduction adds a reduction.
func (g *graph) reduction(v value) int {
	v.kind = heavy
	x := &g.values[v.args[0]]
	if g.fuse && x.dtype == v.dtype && slices.Equal(x.shape, v.shape) {
		return v.args[0] // the axes have length 1
	}
	if g.fuse && x.kind == scalar && v.dtype == dtype.F32 && x.size() > 0 {
		switch n := float64(x.size()) / float64(v.size()); v.op {
		case ir.Sum:
			return g.elementwise(value{op: ir.Mul, dtype: v.dtype, shape: v.shape,
				args: []int{g.view(v.args[0], reshapeScalar(v.shape)), g.number(v.dtype, n, v.shape)}})
		case ir.Mean, ir.ReduceMax, ir.ReduceMin:
			return g.view(v.args[0], reshapeScalar(v.shape))
		}
	}
	v.args = []int{g.stored(v.args[0])}
	return g.add(v)
}

// reshapeScalar is a step that gives a scalar value another shape of any size.
func reshapeScalar(shape []int) step { return step{op: ir.Expand, shape: shape} }

// loraLinear lowers x·w + scale·(x·a)·b: to a product with two pairs, whose h = scale·(x·a) may stand beside
// other products of x, or without fusion to the five ops that one would write by hand.
func (g *graph) loraLinear(v value) int {
	x, w, a, b := v.args[0], v.args[1], v.args[2], v.args[3]
	inner := slices.Clone(v.shape)
	inner[len(inner)-1] = g.values[a].shape[len(g.values[a].shape)-1]
	product := func(shape []int, args ...int) int {
		return g.matMul(value{op: ir.MatMul, dtype: v.dtype, shape: shape, args: args, lora: g.fuse})
	}
	scaled := func(y int, shape []int) int {
		return g.elementwise(value{op: ir.Mul, dtype: v.dtype, shape: shape, args: []int{y, g.number(v.dtype, v.attr.Float, shape)}})
	}
	h := product(inner, x, a)
	if g.fuse {
		return product(v.shape, x, w, scaled(h, inner), b)
	}
	return g.elementwise(value{op: ir.Add, dtype: v.dtype, shape: v.shape,
		args: []int{product(v.shape, x, w), scaled(product(v.shape, h, b), v.shape)}})
}

// matMul adds a product. Weights that serve all batches are not multiplied batch by batch: the batches become
// rows. Weights may have fewer axes than x.
func (g *graph) matMul(v value) int {
	v.kind = heavy
	v.args = slices.Clone(v.args)
	for i, a := range v.args {
		v.args[i] = g.stored(a)
	}
	if flat, ok := g.flatten(&v); ok {
		return g.view(g.add(flat), reshape(v.shape))
	}
	for i, a := range v.args { // equal batch axes for all
		if s := g.values[a].shape; len(s) < len(v.shape) {
			to := slices.Concat(v.shape[:len(v.shape)-2], s[len(s)-2:])
			padded := slices.Concat(slices.Repeat([]int{1}, len(v.shape)-len(s)), s)
			v.args[i] = g.view(g.view(a, reshape(padded)), step{op: ir.Expand, shape: to})
		}
	}
	return g.add(v)
}

// flatten returns the product with all batches as rows of one matrix, if the right-hand sides allow it and
// the left-hand sides need no copy.
func (g *graph) flatten(v *value) (value, bool) {
	rank := len(v.shape)
	if rank <= 2 || v.size() == 0 {
		return value{}, false
	}
	rows := ir.Size(v.shape[:rank-1])
	args := make([]int, len(v.args))
	for i := 0; i < len(v.args); i += 2 {
		a, b := v.args[i], v.args[i+1]
		if g.values[a].kind == empty || g.values[b].kind == empty {
			return value{}, false
		}
		left, right, ok := ir.JoinRows(g.seen(a), g.seen(b), 0)
		if !ok || left.Shape[0] != rows {
			return value{}, false
		}
		args[i], args[i+1] = g.view(a, reshape(left.Shape)), g.matrix(b, right.Shape)
	}
	flat := *v
	flat.args, flat.shape = args, []int{rows, v.shape[rank-1]}
	return flat, true
}

// seen is the layout through which a value is seen.
func (g *graph) seen(v int) ir.Layout {
	base, c := g.base(v)
	l, _ := c.apply(g.layout(base))
	return l
}

// matrix returns the matrix that stands at every batch of a.
func (g *graph) matrix(a int, shape []int) int {
	s := g.values[a].shape
	batch := len(s) - 2
	if batch == 0 {
		return a
	}
	first := slices.Concat(slices.Repeat([]int{1}, batch), shape)
	cut := make([]int, 0, 3*len(s))
	for _, d := range first {
		cut = append(cut, 0, d, 1)
	}
	return g.view(g.view(a, step{op: ir.Slice, ints: cut, shape: first}), reshape(shape))
}

// order lists the values that the outputs need, arguments first.
func (g *graph) order() []int {
	var list []int
	state := make([]int, len(g.values)) // how many arguments were visited; -1 when done
	for _, o := range g.outs {
		stack := []int{o}
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			if n := state[v]; n >= 0 && n < len(g.values[v].args) {
				state[v]++
				if a := g.values[v].args[n]; state[a] >= 0 {
					stack = append(stack, a)
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if state[v] >= 0 {
				state[v] = -1
				list = append(list, v)
			}
		}
	}
	return list
}
