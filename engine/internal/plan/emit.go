package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A use is a value that a cluster reads from memory.
type use struct {
	base  int
	chain chain
	// inlinable says that the cluster may compute the value itself: it is an operand of elementwise work.
	inlinable bool
}

// An emitter writes a cluster down as a group.
type emitter struct {
	*clustering
	k       *cluster
	group   *backend.Group // alone in memory: kernels keep it, and must not keep the graph
	refs    map[place]backend.Ref
	insts   map[int]int // heavy values to their instructions
	bufs    []int       // Launch.Bufs: inputs' bases, then exports
	uses    []use       // of each input that is memory, once a base and chain
	useOf   []int       // of each input, the place in uses; -1 for a number, and for what the launch writes itself
	scalars []int       // Launch.Scalars: exprs
	failed  bool        // a chain cannot be applied
}

// A place is a value seen through a chain.
type place struct {
	value int
	chain string
}

// emit writes k down with the given values as outputs.
func (c *clustering) emit(k *cluster, exports []int) *emitter {
	e := &emitter{clustering: c, k: k, group: &backend.Group{Kind: k.kind}, refs: map[place]backend.Ref{}, insts: map[int]int{}}
	values := make([]backend.Ref, len(exports))
	shapes := make([][]int, len(exports))
	if k.kind == backend.Maps {
		e.fillRooms()
	}
	for _, h := range k.heavy { // also where nothing but a later phase reads it
		e.heavy(h)
	}
	for i, v := range exports {
		shapes[i] = e.shapeOf(v)
		values[i] = e.value(v, chain(nil).then(c.values[v].shape, reshape(shapes[i])), shapes[i])
	}
	for i, v := range exports {
		o := backend.Output{Value: values[i], Buf: e.buffer(v), DType: c.values[v].dtype, Shape: shapes[i]}
		if c.values[v].order != nil {
			l, ok := chain{reshape(shapes[i])}.apply(c.layout(v))
			o.Stride, o.Offset, e.failed = l.Stride, l.Offset, e.failed || !ok
		}
		e.group.Outputs = append(e.group.Outputs, o)
	}
	return e
}

// shapeOf is the shape that the exported value v has among k's instructions.
func (e *emitter) shapeOf(v int) []int {
	switch {
	case e.values[v].kind != mapped:
		return e.values[v].shape
	case e.k.kind == backend.MatMul:
		return e.instructionShape(e.k, v)
	}
	return e.k.shape
}

// value returns what is seen of base b through ch, in instructions of that shape.
func (e *emitter) value(b int, ch chain, shape []int) backend.Ref {
	e.step(1 + len(ch))
	x := &e.values[b]
	switch {
	case x.kind == scalar:
		return e.number(b)
	case x.kind == heavy && e.owner[b] == e.k:
		return backend.Ref{Index: e.heavy(b)}
	case x.kind == result && e.owner[b] == e.k:
		return backend.Ref{Index: e.heavy(x.args[0]), Result: x.index}
	case x.kind != mapped || e.owner[b] != e.k && !e.k.inlined[b]:
		return e.memory(b, ch, true)
	}
	at := place{b, ch.key()}
	if r, ok := e.refs[at]; ok {
		return r
	}
	args := make([]backend.Ref, len(x.args))
	for i, a := range x.args {
		ab, ac := e.base(a)
		args[i] = e.value(ab, ac.then(e.values[ab].shape, ch...), shape)
	}
	r := args[0]
	if x.op != copied {
		r = backend.Ref{Index: len(e.group.Insts)}
		e.group.Insts = append(e.group.Insts, backend.Inst{Op: x.op, Attr: x.attr, DType: x.dtype, Shape: shape, Args: args})
		e.group.Flops += ir.RowOf(x.op).Flops(&ir.Node{Shape: shape, Attr: &ir.Attr{}})
	}
	e.refs[at] = r
	return r
}

// heavy emits the instruction of a value that is not elementwise, with what comes before it.
func (e *emitter) heavy(h int) int {
	if i, ok := e.insts[h]; ok {
		return i
	}
	x := &e.values[h]
	e.step(len(x.args))
	args := make([]backend.Ref, len(x.args))
	for i, a := range x.args {
		if f := e.inRoom[[2]int{h, i}]; f != nil {
			args[i] = e.fromRoom(f)
			continue
		}
		args[i] = e.operand(x, i, a)
	}
	in := backend.Inst{Op: x.op, Attr: x.attr, DType: x.dtype, Shape: x.shape, Outs: x.outs, Args: args}
	e.insts[h] = len(e.group.Insts)
	e.group.Insts = append(e.group.Insts, in)
	if x.op != ir.Dequantize || e.owner[h] == e.k {
		e.group.Flops += e.flops(x)
	}
	return e.insts[h]
}

// operand returns argument i of the heavy value x.
func (e *emitter) operand(x *value, i, a int) backend.Ref {
	r := e.argument(x, i, a)
	if in, ok := r.Input(); ok && e.useOf[in] >= 0 && (x.op == ir.MatMul && i%2 == 1 || x.op == ir.Dequantize) {
		e.group.Inputs[in].Weight = e.values[e.uses[e.useOf[in]].base].kind == leaf
	}
	return r
}

func (e *emitter) argument(x *value, i, a int) backend.Ref {
	b, ch := e.base(a)
	switch {
	case e.values[b].kind == scalar:
		return e.number(b)
	case x.op == ir.MatMul && e.owner[b] == e.k && e.values[b].op == ir.RMSNorm:
		return backend.Ref{Index: e.norm(b, e.values[a].shape)}
	case i%2 == 1 && len(ch) == 0 && e.readsCodes(x, b):
		return backend.Ref{Index: e.heavy(b)}
	case x.op == ir.MatMul && e.unconverted(b) >= 0:
		s, sc := e.base(e.unconverted(b))
		return e.memory(s, sc.then(e.values[s].shape, ch...), false)
	case i == 0 && prologue(x):
		r := e.value(b, ch, e.values[a].shape)
		if in, ok := r.Input(); ok && e.group.Inputs[in].Buf < 0 {
			e.failed = true // a number has no shape to reduce over: it must be written out
		}
		return r
	case e.owner[b] == e.k && x.op == ir.Overwrite: // what the launch writes itself
		l, ok := ch.apply(e.layout(b))
		e.failed = e.failed || !ok
		return e.input(place{b, ch.key()}, backend.Input{DType: e.values[b].dtype, Layout: l, Buf: e.buffer(b)}, -1)
	case e.owner[b] == e.k: // an earlier phase
		return e.value(b, ch, e.values[a].shape)
	}
	return e.memory(b, ch, false)
}

// norm emits a norm that products read as a matrix of that shape.
func (e *emitter) norm(n int, shape []int) int {
	if i, ok := e.insts[n]; ok {
		return i
	}
	x := &e.values[n]
	b, ch := e.base(x.args[0])
	in := backend.Inst{Op: x.op, Attr: x.attr, DType: x.dtype, Shape: shape}
	in.Args = []backend.Ref{e.memory(b, ch.then(e.values[b].shape, reshape(shape)), false), e.operand(x, 1, x.args[1])}
	e.insts[n] = len(e.group.Insts)
	e.group.Insts = append(e.group.Insts, in)
	e.group.Flops += e.flops(x)
	return e.insts[n]
}

// readsCodes says whether the product x reads the codes of its right operand b, a quantised weight, instead
// of the weight.
func (g *graph) readsCodes(x *value, b int) bool {
	return g.fuse && x.op == ir.MatMul && g.values[b].op == ir.Dequantize && len(g.values[b].shape) == 2
}

// unconverted returns the stored value of which b is a conversion between f32 and half precision, or −1:
// products convert it while they read it. So weights may be narrower than what they are multiplied with, and
// the adapters beside them wider. A conversion to half precision that must round is another kernel's.
func (g *graph) unconverted(b int) int {
	x := &g.values[b]
	if !g.fuse || x.kind != mapped || x.op != ir.Cast {
		return -1
	}
	s, ch := g.base(x.args[0])
	y := &g.values[s]
	half := func(dt dtype.Type) bool { return dt == dtype.BF16 || dt == dtype.F16 }
	loose := x.attr.Flags&ir.Loose != 0
	if y.kind != leaf || !(x.dtype == dtype.F32 && half(y.dtype) || loose && half(x.dtype) && y.dtype == dtype.F32) {
		return -1
	}
	if _, ok := ch.apply(g.layout(s)); !ok {
		return -1
	}
	return x.args[0]
}

// prologue says whether the first operand of x may be computed within the group.
func prologue(x *value) bool {
	switch x.op.Family() {
	case ir.FamilyReduce:
		return true
	case ir.FamilyRow:
		return x.op != ir.CrossEntropy && x.op != ir.CrossEntropyGrad
	}
	return false
}

// memory returns an input.
func (e *emitter) memory(b int, ch chain, inlinable bool) backend.Ref {
	at := place{b, ch.key()}
	r, ok := e.refs[at]
	if _, input := r.Input(); ok && !input { // computed for elementwise work, too, which is no help to an operand
		at.chain += " from memory"
		r, ok = e.refs[at]
	}
	if ok {
		if in, _ := r.Input(); !inlinable {
			e.uses[e.useOf[in]].inlinable = false
		}
		return r
	}
	l, ok := ch.apply(e.layout(b))
	if !ok {
		e.failed = true
	}
	e.uses = append(e.uses, use{b, ch, inlinable})
	return e.input(at, backend.Input{DType: e.values[b].dtype, Layout: l, Buf: e.buffer(b)}, len(e.uses)-1)
}

// buffer returns where the memory in which base b lies stands in Launch.Bufs.
func (e *emitter) buffer(b int) int {
	if l, ok := e.inside[b]; ok {
		b = l.home
	}
	if i := e.at[b]; i < len(e.bufs) && e.bufs[i] == b {
		return i
	}
	e.at[b] = len(e.bufs)
	e.bufs = append(e.bufs, b)
	return e.at[b]
}

// number returns a scalar input.
func (e *emitter) number(b int) backend.Ref {
	x := &e.values[b]
	at := place{value: -1 - x.index, chain: x.dtype.String()}
	if r, ok := e.refs[at]; ok {
		return r
	}
	e.scalars = append(e.scalars, x.index)
	return e.input(at, backend.Input{DType: x.dtype, Buf: -1, Scalar: len(e.scalars) - 1}, -1)
}

// input adds an input, of which use says where it stands in uses.
func (e *emitter) input(at place, in backend.Input, use int) backend.Ref {
	r := backend.In(len(e.group.Inputs))
	e.group.Inputs, e.useOf = append(e.group.Inputs, in), append(e.useOf, use)
	e.refs[at] = r
	return r
}

// finish gives the group its name and counts its bytes.
func (e *emitter) finish() {
	e.group.Name = e.name()
	e.group.TF32 = e.tf32 && slices.ContainsFunc(e.group.Insts, func(in backend.Inst) bool {
		f := in.Op.Family()
		return in.DType == dtype.F32 && (f == ir.FamilyMatMul || f == ir.FamilyAttention)
	})
	for i, in := range e.group.Inputs {
		if in.Buf >= 0 && !e.inParts(i) {
			e.group.Bytes += int64(touched(in.Layout) * in.DType.Size())
		}
	}
	for _, o := range e.group.Outputs {
		e.group.Bytes += e.written(o)
	}
}

// inParts says whether the launch reads only a part of input i: of the table of a gather, or the base of an
// overwrite, as much as it writes; of grouped matrices those that rows name; of a cache of keys and values
// those that there are.
func (e *emitter) inParts(i int) bool {
	if e.k.kind != backend.Single {
		return false
	}
	for _, in := range e.group.Insts {
		at := slices.IndexFunc(in.Args, func(r backend.Ref) bool { n, ok := r.Input(); return ok && n == i })
		switch {
		case (in.Op == ir.Gather || in.Op == ir.Overwrite) && at == 0, in.Op == ir.GroupedMatMul && (at == 1 || at > 2), in.Op == ir.DequantizeTake && at > 0, in.Op == ir.PagedAttention && cached(at):
			return true
		}
	}
	return false
}

// cached says which operands of a PagedAttention are a cache: keys, values, and their scales.
func cached(operand int) bool { return operand == 1 || operand == 2 || operand > 4 }

// written counts the bytes of an output, and of what it is taken from.
func (e *emitter) written(o backend.Output) int64 {
	bytes := int64(ir.Size(o.Shape) * o.DType.Size())
	if e.k.kind != backend.Single {
		return bytes
	}
	switch in := &e.group.Insts[max(0, o.Value.Index)]; in.Op {
	case ir.Gather:
		return 2 * bytes
	case ir.Overwrite:
		updates, _ := in.Args[2].Input()
		return int64(touched(e.group.Inputs[updates].Layout) * o.DType.Size())
	case ir.GroupedMatMul: // a matrix for each row, up to all
		w, _ := in.Args[1].Input()
		l := e.group.Inputs[w].Layout
		matrices := l.Shape[0]
		if len(in.Args) > 3 { // blocks of codes
			matrices = ir.QuantOf(&in.Attr).Matrices
		}
		return bytes + int64(min(o.Shape[0], matrices)*(ir.Size(l.Shape)/matrices)*e.group.Inputs[w].DType.Size())
	case ir.PagedAttention: // how many keys it reads is data: one for each query, as its flops are counted
		for at, arg := range in.Args {
			if i, ok := arg.Input(); ok && cached(at) && o.Value.Result == 0 {
				kept := e.group.Inputs[i]
				bytes += int64(o.Shape[0] * o.Shape[2] * kept.Layout.Shape[0] * kept.Layout.Shape[2] * kept.DType.Size())
			}
		}
		return bytes
	case ir.DequantizeTake:
		return bytes + int64(ir.Size(o.Shape)*ir.QuantOf(&in.Attr).Bits/8)
	}
	return bytes
}

// touched counts the different elements of a layout: a broadcast reads one element again and again.
func touched(l ir.Layout) int {
	n := 1
	for i, d := range l.Shape {
		if l.Stride[i] != 0 || d == 0 {
			n *= d
		}
	}
	return n
}

// flops is what the mathematics of a heavy value needs.
func (g *graph) flops(x *value) int64 {
	if x.op != ir.MatMul { // products are made by rewriting, too, so they have no node
		return ir.RowOf(x.op).Flops(x.node)
	}
	var n int64
	for i := 0; i < len(x.args); i += 2 {
		s := g.values[x.args[i]].shape
		n += 2 * int64(x.size()) * int64(s[len(s)-1])
	}
	return n
}
