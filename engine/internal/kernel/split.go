package kernel

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A split is a product that goes to a library: dispatches that put operands into a form that the library
// takes, a call for each pair of operands, and a dispatch for what the library cannot do of the epilogue.
//
// The sums of several pairs are rounded once in F32. In f16 or bf16 there are three ways, of which the one
// that moves the fewest bytes is taken.
type split struct {
	*product
	lending
	limits  Limits
	way     way
	steps   []Dispatch // in order
	calls   []Dispatch // those of steps that are calls
	moves   []*piece   // copies that are not steps yet
	thin    []int      // the pairs that a text multiplies before the calls, by number
	scratch int        // bytes of the workspace until now
	bytes   int        // that are moved for the library's sake
}

// A way is how the sums of several pairs meet.
type way uint8

const (
	// They are added in F32, in the workspace where the result is f16 or bf16.
	inFloats way = iota
	// The left operands are copied beside each other, and the right ones below each other, to be one pair.
	asOne
	// A layer's product is added to its adapters', which are rounded to the result's type before: by half of
	// the last place of what the adapters add, and what they add is small.
	onto
	// The terms of the left operand of one pair lie one below the other, and so do their products: see terms.
	stacked
)

// lent is the number of the first buffer that is part of the workspace, in groups that are made here.
const lent = 1 << 20

// byLibrary returns the steps of a product that is worth to go to the device's library, or nil.
func (p *product) byLibrary(stored map[int]result, k *Kernel, limits Limits) []Dispatch {
	if limits.Library == nil || p.few != nil || p.inside != nil || len(p.space.lens) > 3 || !p.inst.DType.Float() {
		return nil
	}
	// A weight that is computed from codes has more digits than f16 keeps: on an H200 results were beyond
	// what the op allows. In bf16, which keeps fewer, the op allows more.
	if p.inst.DType == dtype.F16 && len(p.weights) > 0 {
		return nil
	}
	if !limits.Library.Always && p.oneLaunch(limits) {
		return nil
	}
	var s *split
	for _, way := range []way{inFloats, asOne, onto, stacked} {
		try := &split{product: p, lending: lending{first: lent}, limits: limits, way: way, scratch: k.Scratch}
		if try.write() && (s == nil || try.cost() < s.cost()) {
			s = try
		}
	}
	if s == nil || !limits.Library.Always && !s.worth() {
		return nil
	}
	for i := range s.steps {
		s.place(&s.steps[i], 0)
	}
	k.Scratch = s.scratch
	return s.steps
}

// oneLaunch says whether a text computes a product in one launch, or in one that others share, where a
// library would make one or two and be no faster: memory limits both. Of F32 times bf16, and of codes,
// arithmetic limits the text.
func (p *product) oneLaunch(limits Limits) bool {
	return p.thin() && len(p.weights) == 0 && !p.byTerms(p.longest()) && (p.products() > 1 || p.space.lens[1] >= leastTall || p.fills(p.groups(), limits))
}

// products is how many products the group has.
func (p *product) products() (n int) {
	for _, in := range p.g.Insts {
		if in.Op == ir.MatMul {
			n++
		}
	}
	return n
}

// cost is what is moved for the library's sake, in bytes; each launch more than one counts as what is moved
// in its time, unless time does not matter.
func (s *split) cost() int {
	if s.limits.Library.Always {
		return s.bytes
	}
	return s.bytes + (len(s.steps)-1)*launchBytes
}

// worth says whether the calls save more time than it takes to move what they need moved.
func (s *split) worth() bool {
	flops, saved := 0, 0
	for _, d := range s.calls {
		p := d.Library.Work.(Product)
		flops += p.Flops()
		if s.inst.DType == dtype.F32 && p.A.DType == dtype.BF16 {
			saved += p.Flops() / termsFlops
		} else {
			saved += p.Flops() / p.flopsPerByte()
		}
	}
	if s.inst.DType != dtype.F32 {
		for n := range s.weights {
			saved += s.inner[n/2] * s.space.lens[0] * codesBytes
		}
	}
	return flops >= leastFlops && saved >= s.cost()
}

// write fills the steps in; it returns false when the library has no such product.
func (s *split) write() bool {
	pairs, ok := s.pairs()
	if !ok {
		return false
	}
	s.steps, s.moves = append(s.steps, sideBySide(s.g, s.moves)...), nil
	fits := func(dt dtype.Type) bool { // whether D can have the type
		return dt == dtype.F32 || (len(pairs) == 1 || s.way == onto) && dt == pairs[0].sides[0].matrix.DType
	}
	if end, whole := s.ending(fits); whole && s.way != stacked && s.callAll(pairs, end) {
		return true
	}
	end := s.raw(fits)
	return s.callAll(pairs, end) && s.epilogue(end)
}

// pairs are the operands of the calls, in order.
func (s *split) pairs() (list []pair, ok bool) {
	switch s.way {
	case asOne:
		p, ok := s.join()
		return []pair{p}, ok
	case stacked:
		if len(s.inner) > 1 || s.batches() > 1 || !s.inTerms(0) {
			return nil, false
		}
		return s.bringTerms(0)
	}
	adjoined := make([]bool, len(s.inner))
	for n, inner := range s.inner {
		if adjoined[n] {
			continue
		}
		if s.isThin(n) {
			s.thin = append(s.thin, n)
			continue
		}
		if s.inTerms(n) {
			own, ok := s.bringTerms(n)
			if !ok {
				return nil, false
			}
			list = append(list, own...)
			continue
		}
		p := pair{inner: inner}
		if !s.bring(n, &p.sides) {
			return nil, false
		}
		s.adjoin(n, &p, adjoined)
		list = append(list, p)
	}
	if s.way == inFloats {
		return list, true
	}
	dt := s.inst.DType
	slices.SortStableFunc(list, func(a, b pair) int { return a.inner - b.inner })
	for i, p := range list {
		if dt == dtype.F32 || p.sides[0].matrix.DType != dt || i < len(list)-1 && p.inner > mostInside {
			return nil, false
		}
	}
	return list, len(list) > 1 && len(s.thin) == 0
}

// isThin says whether a text multiplies a pair before the library adds the others: an adapter's of F32, whose
// result is all that moves. The text rounds weights while it reads them, and is one launch for all such
// pairs, where the library wants them rounded before.
func (s *split) isThin(n int) bool {
	if s.inner[n] > mostThin || len(s.inner) == 1 || s.batches() > 1 || s.inst.DType == dtype.F32 {
		return false
	}
	_, _, inMemory := s.inputs(n)
	return inMemory && slices.Max(s.inner) > mostThin && s.operandType(2*n) != s.operandType(2*n+1)
}

// multiplyThin writes the products of the thin pairs, and what is added to them, to where the calls add
// theirs.
func (s *split) multiplyThin(e *ending) bool {
	if len(s.thin) == 0 {
		return true
	}
	g := &backend.Group{Name: s.g.Name, Kind: backend.MatMul}
	input := func(in backend.Input) backend.Ref {
		g.Inputs = append(g.Inputs, in)
		return backend.In(len(g.Inputs) - 1)
	}
	in := *s.inst
	in.Args = nil
	for _, n := range s.thin {
		for _, v := range s.inst.Args[2*n : 2*n+2] {
			i, _ := v.Input()
			in.Args = append(in.Args, input(s.g.Inputs[i]))
		}
	}
	g.Insts = []backend.Inst{in}
	if e.c != nil {
		c := input(s.g.Inputs[e.added])
		g.Insts = append(g.Insts, backend.Inst{Op: ir.Add, DType: in.DType, Shape: in.Shape, Args: []backend.Ref{{}, c}})
		e.c = nil
	}
	last := backend.Ref{Index: len(g.Insts) - 1}
	if e.result >= 0 {
		g.Outputs = []backend.Output{s.outputOf(&s.results[e.result], last)}
	} else {
		g.Outputs = []backend.Output{{Value: last, Buf: e.d.at.Index, DType: e.d.matrix.DType, Shape: in.Shape}}
	}
	return s.render(g)
}

// callAll writes the calls of all pairs, or none if the library lacks one of them.
func (s *split) callAll(pairs []pair, end ending) bool {
	steps, bytes := len(s.steps), s.bytes
	if !s.multiplyThin(&end) {
		return false
	}
	for n := range pairs {
		if !s.call(pairs, n, end) {
			s.steps, s.calls, s.bytes = s.steps[:steps], nil, bytes
			return false
		}
	}
	return true
}

// An operand is a matrix, and where it lies.
type operand struct {
	matrix Matrix
	at     Field
}

// A pair are the two operands of a call.
type pair struct {
	sides [2]operand
	inner int
}

// An ending is what the calls store, and what they add to it.
type ending struct {
	d       operand
	result  int // which one D is; -1 if it is in the workspace
	scale   int // which number scales the products; -1 if none does
	c, bias *operand
	added   int // which input C is
	gelu    bool
}

// bring finds the operands of pair n, and brings them to one type and to a form that the library takes.
func (s *split) bring(n int, to *[2]operand) bool {
	types := [2]dtype.Type{s.operandType(2 * n), s.operandType(2*n + 1)}
	common := types[0]
	switch dt := s.inst.DType; {
	case types[0] == types[1]:
	case types[0] == dt && s.copies(2*n+1) || types[1] == dt && s.copies(2*n):
		common = dt
	default:
		common = dtype.F32
	}
	if common != dtype.F32 && common != dtype.F16 && common != dtype.BF16 {
		return false
	}
	for side := range to {
		o, ok := s.asItIs(2*n + side)
		if !ok || types[side] != common || s.weights[2*n+side] != "" {
			if o, ok = s.copied(2*n+side, common); !ok {
				return false
			}
		}
		to[side] = o
	}
	return true
}

// copies says whether operand n can be copied: an input, or a quantised weight.
func (s *split) copies(n int) bool {
	_, input := s.inst.Args[n].Input()
	return input || weight(s.g, s.inst.Args[n]) != nil
}

// operandType is the type of operand n.
func (p *product) operandType(n int) dtype.Type {
	v := p.inst.Args[n]
	if i, input := v.Input(); input {
		return p.g.Inputs[i].DType
	}
	if r, ok := p.stored[v.Index]; ok {
		return r.dtype
	}
	return p.g.Insts[v.Index].DType
}

// sides are the rows and columns of operand n.
func (s *split) sides(n int) (rows, columns int) {
	if n%2 == 0 {
		return s.space.lens[1], s.inner[n/2]
	}
	return s.inner[n/2], s.space.lens[0]
}

// batch is the stride of a place along the batches.
func (s *split) batch(p *place) int {
	if len(p.strides) < 3 {
		return 0
	}
	return p.strides[2]
}

// batches is the number of batches.
func (s *split) batches() int {
	if len(s.space.lens) < 3 {
		return 1
	}
	return s.space.lens[2]
}

// matrixOf is a matrix with these strides, if it has rows or columns whose elements lie side by side.
func matrixOf(dt dtype.Type, rows, columns, rowStride, columnStride, batch int) (Matrix, bool) {
	switch {
	case batch < 0:
	case (columnStride == 1 || columns == 1) && (rowStride >= columns || rows == 1):
		return Matrix{DType: dt, Stride: max(rowStride, columns), Batch: batch}, true
	case (rowStride == 1 || rows == 1) && (columnStride >= rows || columns == 1):
		return Matrix{DType: dt, Transposed: true, Stride: max(columnStride, rows), Batch: batch}, true
	}
	return Matrix{}, false
}

// asItIs is operand n where it lies, if the library takes it so.
func (s *split) asItIs(n int) (o operand, ok bool) {
	v, p := s.inst.Args[n], s.operandPlace(n)
	rows, columns := s.sides(n)
	dt := s.operandType(n)
	if n%2 == 0 {
		o.matrix, ok = matrixOf(dt, rows, columns, p.strides[1], s.along(n), s.batch(p))
	} else {
		o.matrix, ok = matrixOf(dt, rows, columns, s.along(n), p.strides[0], s.batch(p))
	}
	if i, input := v.Input(); input {
		in := s.g.Inputs[i]
		o.at = Field{Kind: Pointer, Size: 8, Index: in.Buf, At: p.offset * dt.Size()}
		return o, ok && !isNumber(in)
	}
	r := s.stored[v.Index]
	o.at = r.from(p)
	return o, ok
}

// field is the place of a buffer, or of the workspace.
func field(buf, at int) Field {
	if buf == workspace {
		return Field{Kind: Scratch, Size: 8, At: at}
	}
	return Field{Kind: Pointer, Size: 8, Index: buf, At: at}
}

// borrow takes memory of the workspace for elements, and returns its number as a buffer.
func (s *split) borrow(elements int, dt dtype.Type) int {
	at := s.scratch
	s.scratch += (elements*dt.Size() + 63) &^ 63
	return s.lend(field(workspace, at))
}

// copied writes a dispatch that stores operand n as rows of a type in the workspace.
func (s *split) copied(n int, to dtype.Type) (o operand, ok bool) {
	g := &backend.Group{Name: s.g.Name, Kind: backend.Map}
	out := backend.Output{Value: backend.In(0), DType: to}
	v := s.inst.Args[n]
	batch := 0
	if i, input := v.Input(); input {
		in := s.g.Inputs[i]
		if in.Layout, batch, ok = s.shared(n, in.Layout); !ok || isNumber(in) {
			return o, false
		}
		g.Inputs, out.Shape = []backend.Input{in}, in.Layout.Shape
	} else if q := weight(s.g, v); q != nil {
		in := *q
		in.DType, in.Args = to, nil
		for i, part := range q.Args {
			index, _ := part.Input()
			g.Inputs = append(g.Inputs, s.g.Inputs[index])
			in.Args = append(in.Args, backend.In(i))
		}
		g.Kind, g.Insts, out.Value, out.Shape = backend.Single, []backend.Inst{in}, backend.Ref{}, in.Shape
	} else {
		return o, false
	}
	for _, in := range g.Inputs {
		s.bytes += ir.Size(in.Layout.Shape) * in.DType.Size()
	}
	size := ir.Size(out.Shape)
	s.bytes += 2 * size * to.Size()
	out.Buf = s.borrow(size, to)
	g.Outputs = []backend.Output{out}
	_, columns := s.sides(n)
	o = operand{Matrix{DType: to, Stride: columns, Batch: batch}, field(out.Buf, 0)}
	if g.Kind != backend.Map {
		return o, s.render(g)
	}
	s.move(g)
	return o, true
}

// shared leaves the batches out of an operand's layout if all have the same matrix. It returns the layout,
// and how far the batches of a copy are apart. Where only some batches share a matrix it fails.
func (s *split) shared(n int, l ir.Layout) (_ ir.Layout, batch int, ok bool) {
	rank := len(l.Shape)
	all, none := true, true
	for axis, length := range l.Shape[:rank-2] {
		if length > 1 {
			all, none = all && l.Stride[axis] == 0, none && l.Stride[axis] != 0
		}
	}
	rows, columns := s.sides(n)
	switch {
	case all:
		l = ir.Layout{Shape: l.Shape[rank-2:], Stride: l.Stride[rank-2:], Offset: l.Offset}
		ok = l.Shape[0] == rows
	case none:
		ok = ir.Size(l.Shape) == rows*columns*s.batches()
		batch = rows * columns
	}
	return l, batch, ok
}

// render writes the dispatches of a group that is made here, without the library.
func (s *split) render(g *backend.Group) bool {
	limits := s.limits
	limits.Library = nil
	k, err := Render(g, limits)
	if err != nil || k.Scratch > 0 {
		return false
	}
	s.steps = append(s.steps, k.Dispatches...)
	return true
}

// move writes a copy, which stands beside the others in a dispatch.
func (s *split) move(g *backend.Group) {
	if ir.Size(g.Outputs[0].Shape) > 0 {
		s.moves = append(s.moves, mapPiece(g, s.limits))
	}
}

// join copies the pairs side by side, as one pair, in the product's type of 16 bits. All are inputs, of that
// type or of F32.
func (s *split) join() (p pair, ok bool) {
	dt := s.inst.DType
	if len(s.inner) == 1 || s.batches() > 1 || dt != dtype.F16 && dt != dtype.BF16 {
		return p, false
	}
	for n, v := range s.inst.Args {
		if i, input := v.Input(); !input || isNumber(s.g.Inputs[i]) || s.operandType(n) != dt && s.operandType(n) != dtype.F32 {
			return p, false
		}
	}
	for n, inner := range s.inner {
		if n < len(s.inner)-1 && inner%8 != 0 { // kernels move eight elements from where the next pair begins
			return p, false
		}
		p.inner += inner
	}
	for side := range p.sides {
		if !s.joinSide(side, p.inner, dt, &p.sides[side]) {
			return p, false
		}
	}
	return p, true
}

// joinSide copies the left or the right operands of all pairs to one matrix, which lies as the first of them
// does.
func (s *split) joinSide(side, inner int, dt dtype.Type, to *operand) bool {
	other := s.space.lens[1-side] // rows of the left matrix, columns of the right one
	deep := s.along(side) == 1    // elements of the inner axis lie side by side
	apart, size := other, inner*other
	if deep {
		apart = (inner + 63) &^ 63 // rows begin with lines of 128 bytes: libraries want 16, and are faster so
		size = other * apart
	}
	o := backend.Output{Buf: s.borrow(size, dt), DType: dt, Stride: []int{apart, 1}}
	*to = operand{Matrix{DType: dt, Transposed: deep == (side == 1), Stride: apart}, field(o.Buf, 0)}
	for n, k := range s.inner {
		s.move(s.copy(2*n+side, deep, o))
		if deep {
			o.Offset += k
		} else {
			o.Offset += k * other
		}
	}
	return true
}

// copy is a group that copies operand n, an input, to rows which lie as those of an output: along the inner
// axis if that is deep, or across it.
func (s *split) copy(n int, deep bool, to backend.Output) *backend.Group {
	i, _ := s.inst.Args[n].Input()
	in, place, other := s.g.Inputs[i], s.operandPlace(n), 1-n%2
	in.Layout = ir.Layout{Shape: []int{s.inner[n/2], s.space.lens[other]}, Stride: []int{s.along(n), place.strides[other]}, Offset: place.offset}
	if deep {
		in.Layout = in.Layout.Permute([]int{1, 0})
	}
	s.bytes += 2 * ir.Size(in.Layout.Shape) * in.DType.Size()
	to.Value, to.Shape = backend.In(0), in.Layout.Shape
	return &backend.Group{Name: s.g.Name, Kind: backend.Map, Inputs: []backend.Input{in}, Outputs: []backend.Output{to}}
}
