package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A product is one MatMul instruction with its epilogue, while it is written down. Axis 0 of its space are
// the columns, axis 1 the rows, the others batches. The places are those of the group's inputs, then a left
// and a right operand for each pair, then the results.
type product struct {
	*walker
	inst    *backend.Inst
	number  int      // of the instruction
	after   []bool   // the epilogue
	results []result // what is stored
	inner   []int    // length of the inner axis of each pair
	strideA []int    // along the inner axis, of each pair's left operand
	strideB []int
	weights map[int]string // the expressions of the elements of quantised operands
	stored  map[int]result // what earlier products have stored, by instruction
	tile    tile
	parts   int                 // how many parts of the inner axis have threadgroups of their own, see parts.go
	few     *few                // how threads share a product of few rows; else nil, and tile says
	shared  int                 // uint4s of threadgroup memory of a tiled product
	room    int                 // bytes of it that each threadgroup has where all are on the device at once
	inside  map[backend.Ref]int // the values that stay in threadgroup memory, and how long a row of each is
	norm    *backend.Inst       // of the left operands that are its result; nil if there is none
	normed  []bool              // of each pair, whether its left operand is that
	waits   bool                // its weights are loaded while the kernel before it still runs
	gate    bool                // the epilogue of a later product reads this one, too
	sharing []*product          // others that have its left operand, whose parts it computes beside its own
}

// A result is a value that a product stores: an output of the group, or what a later product reads.
type result struct {
	value backend.Ref
	dtype dtype.Type
	buf   int // the command's, or workspace
	at    int // bytes into the workspace
	lies  ir.Layout
}

// from is where the result's memory begins that is walked through as a place.
func (r *result) from(p *place) Field { return field(r.buf, r.at+p.offset*r.dtype.Size()) }

// renderMatMul writes the products of a group down: those that need one another as dispatches one after the
// other, the others side by side.
func renderMatMul(g *backend.Group, limits Limits) (*Kernel, error) {
	if k := fused(g, limits); k != nil {
		return k, nil
	}
	k := &Kernel{}
	stored := map[int]result{} // what products have stored, by instruction
	var open []*product        // that are not dispatches yet
	close := func() {
		k.Dispatches = append(k.Dispatches, k.productsBeside(g, open, limits)...)
		open = nil
	}
	for i, in := range g.Insts {
		switch in.Op {
		case ir.LoRALinear:
			return nil, &Unsupported{g.Name, in.Op.String()}
		case ir.MatMul:
			p := newProduct(g, i, stored, nil, k, limits)
			if ir.Size(in.Shape) == 0 {
				continue
			}
			if slices.ContainsFunc(open, func(earlier *product) bool {
				return slices.ContainsFunc(in.Args, func(a backend.Ref) bool { return rootedIn(g, a, earlier.number) }) ||
					slices.Contains(gatedBy(g, i), earlier.number)
			}) {
				close()
			}
			if steps := p.byLibrary(stored, k, limits); steps != nil {
				k.Dispatches = append(k.Dispatches, steps...)
				continue
			}
			open = append(open, p)
		}
	}
	close()
	k.shareWorkspace()
	return k, nil
}

// productsBeside makes dispatches of products that do not need one another: a first round, and one that adds
// parts up.
func (k *Kernel) productsBeside(g *backend.Group, list []*product, limits Limits) []Dispatch {
	var pieces, ends []*piece
	pairs, list := pairUp(g, list, limits)
	for _, t := range pairs {
		part, sums := t.pieces(k)
		pieces, ends = append(pieces, part), append(ends, sums...)
	}
	tiles := 0
	list = shareLeft(list)
	for _, p := range list {
		tiles += p.groups()
	}
	groups := 0
	for _, p := range list {
		if p.few == nil {
			p.parts = p.partsFor(tiles, limits)
		}
		groups += p.groups() * max(1, p.parts)
	}
	for _, p := range list {
		p.room = limits.Memory/max(1, (groups+limits.Processors-1)/max(1, limits.Processors)) - ownMemory
		if p.parts > 1 {
			part, sums := p.inParts(k, limits)
			pieces, ends = append(pieces, part), append(ends, sums...)
			continue
		}
		for _, own := range append(p.sharing, p) {
			pieces = append(pieces, own.piece())
		}
	}
	return append(sideBySide(g, pieces), sideBySide(g, ends)...)
}

// newProduct finds out what product i of a group stores, and where. It takes the workspace that it needs;
// with inside, what later products read stays in threadgroup memory.
func newProduct(g *backend.Group, i int, stored map[int]result, inside map[backend.Ref]int, k *Kernel, limits Limits) *product {
	p := &product{inst: &g.Insts[i], number: i, after: make([]bool, len(g.Insts)), inside: inside}
	p.readNorm(g)
	isProduct := func(i int) bool { return g.Insts[i].Op == ir.MatMul }
	for _, o := range g.Outputs {
		if lastRoot(g, o.Value) == i {
			mark(g, p.after, o.Value, isProduct)
			p.results = append(p.results, result{value: o.Value, dtype: o.DType, buf: o.Buf, lies: o.Layout()})
		}
	}
	p.keepGate(g, k)
	for _, later := range g.Insts[i+1:] {
		for _, a := range later.Args {
			if later.Op == ir.MatMul && lastRoot(g, a) == i {
				mark(g, p.after, a, isProduct)
				p.keep(g, a, k)
			}
		}
	}
	if inside == nil {
		for _, s := range p.results {
			stored[s.value.Index] = s
		}
	}
	p.lay(g, stored, limits)
	return p
}

// rootedIn says whether a value is product i, or computed from it.
func rootedIn(g *backend.Group, v backend.Ref, i int) bool {
	if _, input := v.Input(); input {
		return false
	}
	if v.Index == i {
		return true
	}
	in := &g.Insts[v.Index]
	return in.Op != ir.MatMul && slices.ContainsFunc(in.Args, func(a backend.Ref) bool { return rootedIn(g, a, i) })
}

// keep lets the product store a value for later ones, unless it is stored already.
func (p *product) keep(g *backend.Group, v backend.Ref, k *Kernel) {
	if slices.ContainsFunc(p.results, func(r result) bool { return r.value == v && (p.inside == nil || r.buf == inThreadgroup) }) {
		return
	}
	if p.inside != nil {
		shape := g.Type(v).Shape
		p.inside[v] = ceilPower(shape[len(shape)-1])
		p.results = append(p.results, result{value: v, dtype: dtype.F32, buf: inThreadgroup})
		return
	}
	dt := g.Type(v).DType
	if dt.Float() {
		dt = dtype.F32 // not rounded: nobody asked for the value
	}
	p.results = append(p.results, result{value: v, dtype: dt, buf: workspace, at: k.Scratch, lies: ir.Contiguous(g.Type(v).Shape)})
	k.Scratch += (ir.Size(g.Type(v).Shape)*dt.Size() + 63) &^ 63
}

// lay draws the space: the layouts of all that the product reads and stores, over its shape.
func (p *product) lay(g *backend.Group, stored map[int]result, limits Limits) {
	shape := p.inst.Shape
	var layouts []ir.Layout
	for _, in := range g.Inputs {
		l := in.Layout
		if !broadcasts(l.Shape, shape) { // an operand, or another product's
			l = ir.Layout{}
		}
		layouts = append(layouts, l)
	}
	for n := 0; n < len(p.inst.Args); n += 2 {
		a, b := operandLayout(g, p.inst.Args[n], stored), operandLayout(g, p.inst.Args[n+1], stored)
		last := len(a.Shape) - 1
		p.inner = append(p.inner, a.Shape[last])
		p.strideA, p.strideB = append(p.strideA, a.Stride[last]), append(p.strideB, b.Stride[last-1])
		layouts = append(layouts, without(a, last, shape), without(b, last-1, shape))
	}
	for _, r := range p.results {
		layouts = append(layouts, r.lies)
	}
	shape, layouts = rowsOf(shape, layouts, func(i int) bool {
		i -= len(g.Inputs)
		return i >= 0 && i < len(p.inst.Args) && i%2 == 1
	})
	rank := len(shape)
	s := spaceOf(shape, layouts, 2, func(a, b int) bool { return a < rank-1 && b < rank-1 })
	for _, n := range p.inner {
		s.wide = s.wide || n > most32
	}
	for i, n := range p.inner { // an operand's reach has the inner axis, too
		first := len(g.Inputs) + 2*i
		s.wide = s.wide || s.reach(&s.places[first])+n*max(p.strideA[i], -p.strideA[i]) > most32 ||
			s.reach(&s.places[first+1])+n*max(p.strideB[i], -p.strideB[i]) > most32
	}
	p.walker, p.stored = newWalker(newText(g, s.wide), s), stored
	for n, a := range p.inst.Args {
		p.declareOperand(n, a, stored)
	}
	m, n := s.lens[1], s.lens[0]
	if p.isFew(limits) {
		p.few = p.newFew(limits)
		return
	}
	batches := s.size() / max(m*n, 1)
	left, right := p.rests(p.longest())
	p.tile = tileOf(m, n, batches, p.inst.DType, !left || !right || g.TF32, !left && !right && p.cellOf(p.longest()) != "float", limits)
	if p.short() && p.groups() >= 8*limits.Processors {
		p.tile.high *= 2
	}
}

// rowsOf takes the axis of rows out where it has one row: the innermost batches are rows then, and are one
// axis of rows where they go on in the same way in all layouts. All rows are multiplied with the same
// right-hand operands, so batches that have each their own stay batches.
func rowsOf(shape []int, layouts []ir.Layout, right func(layout int) bool) ([]int, []ir.Layout) {
	for rank := len(shape); rank > 2 && shape[rank-2] == 1; rank = len(shape) {
		for i, l := range layouts {
			if right(i) && strideOf(l, rank-3) != 0 {
				return shape, layouts
			}
		}
		shape = slices.Delete(slices.Clone(shape), rank-2, rank-1)
		for i, l := range layouts {
			if len(l.Shape) == rank {
				layouts[i] = ir.Layout{Shape: slices.Delete(slices.Clone(l.Shape), rank-2, rank-1), Stride: slices.Delete(slices.Clone(l.Stride), rank-2, rank-1), Offset: l.Offset}
			}
		}
	}
	return shape, layouts
}

// broadcasts says whether an input of shape a is read at the elements of shape b.
func broadcasts(a, b []int) bool {
	return len(a) == 0 || slices.EqualFunc(a, b, func(n, m int) bool { return n == m || n == 1 })
}

// operandLayout is how an operand lies in memory: an input, or an earlier result. A quantised weight does
// not lie there, and is walked through by its coordinates.
func operandLayout(g *backend.Group, v backend.Ref, stored map[int]result) ir.Layout {
	if i, input := v.Input(); input {
		return g.Inputs[i].Layout
	}
	if r, ok := stored[v.Index]; ok {
		return r.lies
	}
	return ir.Contiguous(g.Insts[v.Index].Shape)
}

// weight returns the quantised weight that an operand is, or nil.
func weight(g *backend.Group, v backend.Ref) *backend.Inst {
	if _, input := v.Input(); !input && g.Insts[v.Index].Op == ir.Dequantize {
		return &g.Insts[v.Index]
	}
	return nil
}

// without is an operand's layout over the product's shape: its inner axis stands still.
func without(l ir.Layout, inner int, shape []int) ir.Layout {
	r := ir.Layout{Shape: slices.Clone(shape), Stride: slices.Clone(l.Stride), Offset: l.Offset}
	for axis := range r.Stride {
		if axis == inner || l.Shape[axis] == 1 {
			r.Stride[axis] = 0
		}
	}
	return r
}

// declareOperand declares operand n of the product: a0, b0, a1, …
func (p *product) declareOperand(n int, v backend.Ref, stored map[int]result) {
	name := p.operand(n)
	place := p.operandPlace(n)
	if q := weight(p.g, v); q != nil {
		if p.weights == nil {
			p.weights = map[int]string{}
		}
		p.weights[n] = p.quantised(name+"_", ir.QuantOf(&q.Attr), q.Args, q.Attr.Flags&ir.Transposed != 0)
		return
	}
	if p.isInside(n) {
		return
	}
	if i, input := v.Input(); input {
		in := p.g.Inputs[i]
		p.pointer("const ", name, in.DType, in.Buf, place.offset)
	} else {
		s := stored[v.Index]
		p.member("device const "+memoryTypes[s.dtype]+"*", name, s.from(place))
	}
	p.declareStrides(name, place)
	p.constant(name+"_k", p.along(n))
}

// operandPlace is how operand n is walked through, and along how far elements are apart on the inner axis.
func (p *product) operandPlace(n int) *place { return &p.space.places[len(p.g.Inputs)+n] }
func (p *product) along(n int) int {
	if n%2 == 0 {
		return p.strideA[n/2]
	}
	return p.strideB[n/2]
}

// inputs are the operands of a pair, if both are inputs in memory.
func (p *product) inputs(pair int) (left, right *backend.Input, ok bool) {
	a, isA := p.inst.Args[2*pair].Input()
	b, isB := p.inst.Args[2*pair+1].Input()
	if !isA || !isB || isNumber(p.g.Inputs[a]) || isNumber(p.g.Inputs[b]) {
		return nil, nil, false
	}
	return &p.g.Inputs[a], &p.g.Inputs[b], true
}

// quantised declares a quantised right operand, whose rows are the weight's columns if it is transposed.
func (p *product) quantised(prefix string, q ir.Quant, parts []backend.Ref, transposed bool) string {
	if transposed {
		return p.dequantised(prefix, q, parts, "i0", "deep")
	}
	return p.dequantised(prefix, q, parts, "deep", "i0")
}

// operand is the name of operand n.
func (p *product) operand(n int) string { return fmt.Sprintf("%c%d", 'a'+rune(n%2), n/2) }

// operandElement is the expression of an element of operand n, at i0, i1, …, and deep of the inner axis.
func (p *product) operandElement(n int) string {
	if value, quantised := p.weights[n]; quantised {
		return value
	}
	if v := p.inst.Args[n]; p.isInside(n) {
		return fmt.Sprintf("inside%d[%s * %d + deep]", v.Index, p.few.own(), p.inside[v])
	}
	return fmt.Sprintf("loaded(a.%s[%s])", p.operand(n), p.operandIndex(n))
}

// operandIndex is the place of that element in the operand's memory.
func (p *product) operandIndex(n int) string {
	name := p.operand(n)
	return fmt.Sprintf("%s + deep * a.%s_k", p.at(name, p.operandPlace(n)), name)
}

// piece writes the product down.
func (p *product) piece() *piece {
	first := p.declare()
	if p.few != nil {
		p.waits = p.early()
		p.writeFew(first)
		of, size := register(p.inst.DType), max(p.inst.DType.Size(), 1)
		if of == "float" {
			size = 4
		}
		return &piece{text: p.text, kind: "matmul", of: of, space: p.few.space(), size: size, groups: p.groups(), threads: p.few.threads}
	}
	p.writeTiled(first)
	return &piece{text: p.text, kind: "matmul", of: "uint4", space: p.shared, size: 16, groups: p.groups(), threads: p.tile.threads()}
}

// tiles is how many tiles lie side by side, and below each other.
func (p *product) tiles() (across, down int) {
	var rows, columns int
	if p.few != nil {
		rows, columns = p.few.rows, p.few.strip()
	} else {
		rows, columns = p.tile.rows(), p.tile.columns()
	}
	return (p.space.lens[0] + columns - 1) / columns, (p.space.lens[1] + rows - 1) / rows
}

// groups is the number of threadgroups.
func (p *product) groups() int {
	across, down := p.tiles()
	return across * down * (p.space.size() / (p.space.lens[0] * p.space.lens[1]))
}

// declare declares what the product reads beside its operands, what it stores, and the lengths. It returns
// the place of the first result.
func (p *product) declare() (first int) {
	p.declareInputs(p.needed())
	p.declareNorm()
	p.declareGates()
	first = len(p.g.Inputs) + len(p.inst.Args)
	for i, r := range p.results {
		name := outputName(i)
		if r.buf == inThreadgroup {
			continue
		}
		place := &p.space.places[first+i]
		p.member("device "+memoryTypes[r.dtype]+"*", name, r.from(place))
		p.declareStrides(name, place)
	}
	p.lengths()
	return first
}

// lengths declares those of the axes, and how many tiles there are.
func (p *product) lengths() {
	p.declareLengths()
	for i, n := range p.inner {
		p.constant(fmt.Sprintf("k%d", i), n)
	}
	across, down := p.tiles()
	p.constant("across", across)
	p.constant("down", down)
}

// needed says which inputs the epilogue reads.
func (p *product) needed() need { return make(need, len(p.g.Inputs)).marked(p.g, p.after) }

// batch writes down which batch the threadgroup works on, of what is left of its number.
func (p *product) batch() { p.coordinates("left", "left", p.space.axesFrom(2)) }

// finishElement computes the epilogue at i0, i1, …, and stores the results there.
func (p *product) finishElement(sum string, first int) {
	p.line("if (i0 < a.n0 && i1 < a.n1) {")
	p.line("const %s %s = %s;", register(p.inst.DType), p.valueName(p.number), sum)
	p.loadGates()
	p.loadAll(p.needed(), false)
	p.computeAll(p.after)
	for i, r := range p.results {
		if r.buf == inThreadgroup {
			at := "i0"
			if p.gate {
				at = "(i0 - column)"
			}
			p.line("inside%d[%s * %d + %s] = %s;", r.value.Index, p.few.own(), p.inside[r.value], at, p.value(r.value))
			continue
		}
		only := ""
		if p.few != nil && p.few.inside { // every threadgroup of these rows has it: one stores it
			only = "if (group.x == 0) "
			if p.few.blocks {
				only = "if (int(group.x) < a.down) "
			}
		}
		p.store(only, i, &p.space.places[first+i], r.dtype, r.value)
	}
	p.line("}")
}
