package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A tile is the part of a product that a threadgroup computes. The threadgroup has depth elements of the
// inner axis in its memory at a time. Each thread computes high×wide elements, which are threads/across rows
// and across columns apart, so that neighbouring threads read neighbouring elements.
//
// With matrices, simdgroups multiply 8×8 matrices: four of them share the tile, each has high×wide matrices
// of the sums, and the tile of sums goes through threadgroup memory to the epilogue.
type tile struct {
	rows, columns, depth int
	high, wide           int
	across               int // threads along the columns
	threads              int
	matrices             bool
}

// The tiles: a square one, and one of matrices; few.go has products of few rows. That of matrices moves
// 2·64·16 elements to threadgroup memory for 2·64·64·16 operations: 64 operations an element, so arithmetic
// is the limit. With f32 it takes 8 KB of that memory, and 16 KB for the sums; a core of the M series has 32
// KB.
var (
	squareTile = tile{rows: 64, columns: 64, depth: 16, high: 4, wide: 4, across: 16, threads: 256}
	matrixTile = tile{rows: 64, columns: 64, depth: 16, high: 4, wide: 4, across: 64, threads: 128, matrices: true}
)

// leastMatrix is how many rows and columns a product has at least that is worth a tile of matrices.
const leastMatrix = 32

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
	tile    tile
	cell    string              // type of an element in threadgroup memory
	few     *few                // how threads share a product of few rows; else nil, and tile says
	inside  map[backend.Ref]int // the values that stay in threadgroup memory, and how long a row of each is
}

// A result is a value that a product stores: an output of the group, or what a later product reads.
type result struct {
	value backend.Ref
	dtype dtype.Type
	buf   int // the command's, or workspace
	at    int // bytes into the workspace
	lies  ir.Layout
}

// renderMatMul writes the products of a group down, each as a dispatch: a later one may read what an earlier
// one has stored.
func renderMatMul(g *backend.Group, limits Limits) (*Kernel, error) {
	if k := fused(g, limits); k != nil {
		return k, nil
	}
	k := &Kernel{}
	stored := map[int]result{} // what products have stored, by instruction
	for i, in := range g.Insts {
		switch in.Op {
		case ir.LoRALinear:
			return nil, &Unsupported{g.Name, in.Op.String()}
		case ir.MatMul:
			p := newProduct(g, i, stored, nil, k, limits)
			if ir.Size(in.Shape) == 0 {
				continue
			}
			if steps := p.byLibrary(stored, k, limits); steps != nil {
				k.Dispatches = append(k.Dispatches, steps...)
				continue
			}
			k.Dispatches = append(k.Dispatches, p.dispatch())
		}
	}
	k.shareWorkspace()
	return k, nil
}

// newProduct finds out what product i of a group stores, and where. It takes the workspace that it needs;
// with inside, what later products read stays in threadgroup memory.
func newProduct(g *backend.Group, i int, stored map[int]result, inside map[backend.Ref]int, k *Kernel, limits Limits) *product {
	p := &product{inst: &g.Insts[i], number: i, after: make([]bool, len(g.Insts)), inside: inside}
	isProduct := func(i int) bool { return g.Insts[i].Op == ir.MatMul }
	for _, o := range g.Outputs {
		if rootedIn(g, o.Value, i) {
			mark(g, p.after, o.Value, isProduct)
			p.results = append(p.results, result{value: o.Value, dtype: o.DType, buf: o.Buf, lies: outputLayout(&o)})
		}
	}
	for _, later := range g.Insts[i+1:] {
		for _, a := range later.Args {
			if later.Op == ir.MatMul && rootedIn(g, a, i) {
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
		shape := shapeOf(g, v)
		p.inside[v] = ceilPower(shape[len(shape)-1])
		p.results = append(p.results, result{value: v, dtype: dtype.F32, buf: inThreadgroup})
		return
	}
	dt := dtypeOf(g, v)
	if dt.Float() {
		dt = dtype.F32 // not rounded: nobody asked for the value
	}
	p.results = append(p.results, result{value: v, dtype: dt, buf: workspace, at: k.Scratch, lies: ir.Contiguous(shapeOf(g, v))})
	k.Scratch += (ir.Size(shapeOf(g, v))*dt.Size() + 63) &^ 63
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
	p.walker = newWalker(newText(g, s.wide), s)
	for n, a := range p.inst.Args {
		p.declareOperand(n, a, stored)
	}
	p.tile, p.cell = squareTile, register(p.inst.DType)
	switch m, n := s.lens[1], s.lens[0]; {
	case m <= mostFewRows:
		p.few = p.newFew(limits)
	case p.inst.DType.Float() && min(m, n) >= leastMatrix:
		p.tile, p.cell = matrixTile, p.commonType(stored)
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

// commonType is the type in which all operands can stand in threadgroup memory as they are: f16 or bf16 if
// each of them is that, else f32.
func (p *product) commonType(stored map[int]result) string {
	common := ""
	for _, a := range p.inst.Args {
		dt := dtype.F32
		if i, input := a.Input(); input {
			dt = p.g.Inputs[i].DType
		} else if r, ok := stored[a.Index]; ok {
			dt = r.dtype
		}
		if typ := memoryTypes[dt]; common == "" || common == typ {
			common = typ
		} else {
			return memoryTypes[dtype.F32]
		}
	}
	return common
}

// broadcasts says whether an input of shape a is read at the elements of shape b.
func broadcasts(a, b []int) bool {
	if len(a) == 0 {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && a[i] != 1 {
			return false
		}
	}
	return true
}

// operandLayout is how an operand lies in memory: an input, or an earlier result. A quantised weight does not
// lie there, and is walked through by its coordinates.
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
	place := &p.space.places[len(p.g.Inputs)+n]
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
	} else if s := stored[v.Index]; s.buf == workspace {
		p.member("device const "+memoryTypes[s.dtype]+"*", name, Field{Kind: Scratch, Size: 8, At: s.at})
	} else {
		p.pointer("const ", name, s.dtype, s.buf, 0)
	}
	p.declareStrides(name, place)
	inner := p.strideA[n/2]
	if n%2 == 1 {
		inner = p.strideB[n/2]
	}
	p.constant(name+"_k", inner)
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
		return fmt.Sprintf("inside%d[i1 * %d + deep]", v.Index, p.inside[v])
	}
	name := p.operand(n)
	return fmt.Sprintf("loaded(a.%s[%s + deep * a.%s_k])", name, p.at(name, &p.space.places[len(p.g.Inputs)+n]), name)
}

func (p *product) dispatch() Dispatch {
	first, threads := p.declare(), p.tile.threads
	if p.few != nil {
		threads = p.few.threads
		p.line("threadgroup %s space[%d];", register(p.inst.DType), p.few.space())
		p.writeFew(first)
	} else {
		p.begin()
		for n := range p.inner {
			p.multiply(n)
		}
		p.end(first)
	}
	function, source := p.finish("matmul", describe(p.g), parameters, [3]int{threads, 1, 1})
	return Dispatch{Function: function, Text: source, Args: p.args, Groups: [3]int{p.groups(), 1, 1}, Threads: [3]int{threads, 1, 1}}
}

// tiles is how many tiles lie side by side, and below each other.
func (p *product) tiles() (across, down int) {
	rows, columns := p.tile.rows, p.tile.columns
	if p.few != nil {
		rows, columns = p.few.rows, p.few.strip()
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
	need := p.needed()
	for i := range p.g.Inputs {
		if need[i] {
			p.declareInput(i)
			p.declareStrides(fmt.Sprintf("x%d", i), &p.space.places[i])
		}
	}
	first = len(p.g.Inputs) + len(p.inst.Args)
	for i, r := range p.results {
		name := fmt.Sprintf("y%d", i)
		switch r.buf {
		case inThreadgroup:
			continue
		case workspace:
			p.member("device "+memoryTypes[r.dtype]+"*", name, Field{Kind: Scratch, Size: 8, At: r.at})
		default:
			p.pointer("", name, r.dtype, r.buf, 0)
		}
		p.declareStrides(name, &p.space.places[first+i])
	}
	for axis, n := range p.space.lens {
		p.constant(fmt.Sprintf("n%d", axis), n)
	}
	for i, n := range p.inner {
		p.constant(fmt.Sprintf("k%d", i), n)
	}
	across, down := p.tiles()
	p.constant("across", across)
	p.constant("down", down)
	return first
}

// needed says which inputs the epilogue reads.
func (p *product) needed() []bool {
	need := make([]bool, len(p.g.Inputs))
	note := func(v backend.Ref) {
		if i, input := v.Input(); input {
			need[i] = true
		}
	}
	for i, in := range p.g.Insts {
		if p.after[i] {
			for _, a := range in.Args {
				note(a)
			}
		}
	}
	return need
}

// begin writes down which tile the threadgroup computes, and clears the sums.
func (p *product) begin() {
	t, typ := p.tile, register(p.inst.DType)
	p.line("%[1]s left = %[1]s(group.x);", p.index)
	p.line("const %s column = left %% a.across * %d;", p.index, t.columns)
	p.line("left /= a.across;")
	p.line("const %s row = left %% a.down * %d;", p.index, t.rows)
	p.line("left /= a.down;")
	p.batch()
	p.line("const int me = int(at.x);")
	if !t.matrices {
		p.line("const int x = me %% %d, y = me / %d;", t.across, t.across)
	}
	p.line("threadgroup %s left_tile[%d];", p.cell, t.rows*t.depth)
	p.line("threadgroup %s right_tile[%d];", p.cell, t.depth*t.columns)
	if t.matrices {
		p.line("threadgroup float sum_tile[%d];", t.rows*t.columns)
		p.line("const int down = int(simd) / 2 * %d, right = int(simd) %% 2 * %d;", t.rows/2, t.columns/2)
		p.line("simdgroup_float8x8 sum[%d];", t.high*t.wide)
		p.line("for (int e = 0; e < %d; e++) sum[e] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);", t.high*t.wide)
		return
	}
	p.line("%s sum[%d];", typ, t.high*t.wide)
	p.line("for (int e = 0; e < %d; e++) sum[e] = %s(0);", t.high*t.wide, typ)
}

// batch writes down which batch the threadgroup works on, of what is left of its number.
func (p *product) batch() {
	for axis := 2; axis < len(p.space.lens)-1; axis++ {
		p.line("const %s i%d = left %% a.n%d;", p.index, axis, axis)
		p.line("left /= a.n%d;", axis)
	}
	if rank := len(p.space.lens); rank > 2 {
		p.line("const %s i%d = left;", p.index, rank-1)
	}
}

// multiply adds pair n to the sums.
func (p *product) multiply(n int) {
	t := p.tile
	apart := t.threads / t.across
	p.line("for (%[1]s k = 0; k < a.k%[2]d; k += %[3]d) {", p.index, n, t.depth)
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	p.fetch("left_tile", 2*n, t.rows, t.depth, p.strideA[n] == 1, "row", "1")
	p.fetch("right_tile", 2*n+1, t.depth, t.columns, p.strideB[n] != 1, "column", "0")
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	if t.matrices {
		p.matrices()
		return
	}
	p.line("for (int d = 0; d < %d; d++) {", t.depth)
	typ := register(p.inst.DType)
	p.line("%s l[%d], r[%d];", typ, t.high, t.wide)
	p.line("for (int i = 0; i < %d; i++) l[i] = left_tile[(y + %d * i) * %d + d];", t.high, apart, t.depth)
	p.line("for (int j = 0; j < %d; j++) r[j] = right_tile[d * %d + x + %d * j];", t.wide, t.columns, t.across)
	p.line("for (int i = 0; i < %d; i++) {", t.high)
	p.line("for (int j = 0; j < %[1]d; j++) sum[%[1]d * i + j] = op_fma(l[i], r[j], sum[%[1]d * i + j]);", t.wide)
	p.line("}")
	p.line("}")
	p.line("}")
}

// matrices multiplies what the tiles hold, 8 of the inner axis at a time.
func (p *product) matrices() {
	t := p.tile
	p.line("for (int d = 0; d < %d; d += 8) {", t.depth)
	p.line("simdgroup_matrix<%s, 8, 8> l[%d];", p.cell, t.high)
	p.line("simdgroup_matrix<%s, 8, 8> r[%d];", p.cell, t.wide)
	p.line("for (int i = 0; i < %d; i++) simdgroup_load(l[i], left_tile + ((down + 8 * i) * %d + d), %d);", t.high, t.depth, t.depth)
	p.line("for (int j = 0; j < %d; j++) simdgroup_load(r[j], right_tile + (d * %d + right + 8 * j), %d);", t.wide, t.columns, t.columns)
	p.line("for (int i = 0; i < %d; i++) {", t.high)
	p.line("for (int j = 0; j < %[1]d; j++) simdgroup_multiply_accumulate(sum[%[1]d * i + j], l[i], r[j], sum[%[1]d * i + j]);", t.wide)
	p.line("}")
	p.line("}")
	p.line("}")
}

// fetch loads a part of operand n, high×wide, into threadgroup memory; 0 stands beyond its edges.
// Neighbouring threads load what lies side by side in the operand's memory: along the rows of the part, or
// down its columns.
func (p *product) fetch(to string, n, high, wide int, alongRows bool, from, axis string) {
	if n%2 == 1 && p.words(n) {
		p.fetchWords(to, n, high, wide)
		return
	}
	p.line("for (int e = me; e < %d; e += %d) {", high*wide, p.tile.threads)
	if alongRows {
		p.line("const int under = e / %d, beside = e %% %d;", wide, wide)
	} else {
		p.line("const int under = e %% %d, beside = e / %d;", high, high)
	}
	outer, inner := "under", "beside" // along the result's axis, and along the inner one
	if n%2 == 1 {
		outer, inner = inner, outer
	}
	p.line("const %s i%s = %s + %s, deep = k + %s;", p.index, axis, from, outer, inner)
	p.line("%s v = %s(0);", p.cell, p.cell)
	p.line("if (i%s < a.n%s && deep < a.k%d) v = %s(%s);", axis, axis, n/2, p.cell, p.operandElement(n))
	p.line("%s[under * %d + beside] = v;", to, wide)
	p.line("}")
}

// end computes the epilogue for each element of the thread, and stores the results.
func (p *product) end(first int) {
	t, sum := p.tile, "sum[e]"
	if t.matrices {
		p.line("for (int i = 0; i < %d; i++) {", t.high)
		p.line("for (int j = 0; j < %[1]d; j++) simdgroup_store(sum[%[1]d * i + j], sum_tile + ((down + 8 * i) * %[2]d + right + 8 * j), %[2]d);", t.wide, t.columns)
		p.line("}")
		p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
		p.line("for (int e = me; e < %d; e += %d) {", t.rows*t.columns, t.threads)
		p.line("const %s i0 = column + e %% %d, i1 = row + e / %d;", p.index, t.columns, t.columns)
		sum = "sum_tile[e]"
	} else {
		p.line("for (int e = 0; e < %d; e++) {", t.high*t.wide)
		p.line("const %s i0 = column + x + %d * (e %% %d), i1 = row + y + %d * (e / %d);", p.index, t.across, t.wide, t.threads/t.across, t.wide)
	}
	p.finishElement(sum, first)
	p.line("}")
}

// finishElement computes the epilogue at i0, i1, …, and stores the results there.
func (p *product) finishElement(sum string, first int) {
	p.line("if (i0 < a.n0 && i1 < a.n1) {")
	p.line("const %s t%d = %s;", register(p.inst.DType), p.number, sum)
	for i, need := range p.needed() {
		if need {
			p.load(i, false)
		}
	}
	for i := range p.g.Insts {
		if p.after[i] {
			p.compute(i)
		}
	}
	for i, r := range p.results {
		name, only := fmt.Sprintf("y%d", i), ""
		if r.buf == inThreadgroup {
			p.line("inside%d[i1 * %d + i0] = %s;", r.value.Index, p.inside[r.value], p.value(r.value))
			continue
		}
		if p.few != nil && p.few.inside { // every threadgroup has it: one stores it
			only = "if (group.x == 0) "
		}
		p.line("%sa.%s[%s] = %s(%s);", only, name, p.at(name, &p.space.places[first+i]), memoryTypes[r.dtype], p.value(r.value))
	}
	p.line("}")
}
