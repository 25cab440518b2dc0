package cpu

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A matMul is a compiled group of kind MatMul: its products in order. Each is a phase of the launch, so that a later
// one can read what an earlier one made.
type matMul struct {
	g       *backend.Group
	phases  []*phase
	places  map[backend.Ref]place // values that exist in memory
	scratch int                   // bytes
}

// A place is where a dense value is during a launch: in a buffer of the command, or in its scratch memory when buf is
// negative.
type place struct {
	buf    int
	offset int // bytes
	dtype  dtype.Type
}

// at returns the place's address.
func (p place) at(l *launch, scratch []byte) unsafe.Pointer {
	switch {
	case p == nowhere:
		return nil
	case p.buf < 0:
		return unsafe.Pointer(unsafe.SliceData(scratch[p.offset:]))
	}
	return unsafe.Add(l.pointer(p.buf), p.offset)
}

// A phase is one product, and the elementwise instructions that follow it: they run on each part of the result as soon
// as it is complete, while it is in the cache.
type phase struct {
	inst       int
	dtype      dtype.Type // of the registers
	m, n       int        // of a matrix of the batch, as it is computed
	batch      int
	terms      []gemm.Term
	left       []place
	right      []place // of a quantised weight: its codes
	scales     []place // of a quantised weight; nowhere otherwise
	zeros      []place // likewise, if it has zero points
	raw        place   // of the product before the epilogue; nowhere if only the epilogue reads it
	product    *gemm.Product
	passing    bool // the product hands its results on to the epilogue and keeps none
	plain      *plainProduct
	double     *gemm.Double
	weights    []writtenWeight // what a product of float64 reads instead of codes
	call       gemm.Call
	states     perWorker  // of the epilogue; without a program there is none
	narrow     dtype.Type // f16 or bf16: the epilogue is nothing but rounding to it
	rounded    unsafe.Pointer
	given      []place
	outs       []place
	done       func(worker int, part gemm.Part)
	resultSize int
}

func compileMatMul(g *backend.Group) (func(*launch), error) {
	m := &matMul{g: g, places: map[backend.Ref]place{}}
	e := newEpilogues(g)
	for i := range g.Insts {
		if g.Insts[i].Op != ir.MatMul {
			continue
		}
		p := &phase{inst: i, resultSize: elementsOf(g.Insts[i].Shape)}
		if err := m.operands(p); err != nil {
			return nil, err
		}
		if err := m.epilogue(p, e.after(i)); err != nil {
			return nil, err
		}
		m.phases = append(m.phases, p)
	}
	for _, o := range g.Outputs {
		if _, ok := m.places[o.Value]; !ok {
			return nil, fmt.Errorf("output %v does not follow from a product", o.Value)
		}
	}
	return m.run, nil
}

// reserve returns a place for n elements in the scratch memory.
func (m *matMul) reserve(t dtype.Type, n int) place {
	p := place{buf: -1, offset: m.scratch, dtype: t}
	m.scratch += (n*t.Size() + alignment - 1) &^ (alignment - 1)
	return p
}

// run computes the phases one after the other.
func (m *matMul) run(l *launch) {
	scratch := l.scratch.bytes(m.scratch)
	for _, p := range m.phases {
		if p.resultSize == 0 {
			continue
		}
		p.run(l, scratch)
		if l.pool.Stopped() {
			return
		}
	}
}

func (p *phase) run(l *launch, scratch []byte) {
	if p.states.prog != nil {
		p.states.bind(l)
		defer p.states.release()
		for worker := range p.states.all {
			s := p.states.at(worker)
			for i, at := range p.given {
				s.SetGiven(i, at.at(l, scratch), 0)
			}
			for i, at := range p.outs {
				s.SetOut(i, at.at(l, scratch), 0)
			}
		}
	}
	c := &p.call
	c.A, c.B, c.Scales, c.Zeros = c.A[:0], c.B[:0], c.Scales[:0], c.Zeros[:0]
	for i := range p.left {
		c.A = append(c.A, p.left[i].at(l, scratch))
		c.B = append(c.B, p.right[i].at(l, scratch))
		c.Scales = append(c.Scales, p.scales[i].at(l, scratch))
		c.Zeros = append(c.Zeros, p.zeros[i].at(l, scratch))
	}
	raw := p.raw.at(l, scratch)
	if p.narrow != dtype.Invalid {
		p.rounded = p.outs[0].at(l, scratch)
	}
	defer func() {
		p.rounded = nil
		clear(c.A)
		clear(c.B)
		clear(c.Scales)
		clear(c.Zeros)
		c.C, c.Scratch = nil, nil
	}()
	if p.plain != nil {
		p.plain.run(&productCall{l.pool, c.A, c.B, raw}, p.done)
		return
	}
	if p.dtype == dtype.F64 {
		p.runDouble(l, scratch, raw)
		return
	}
	if p.product == nil && p.raw == nowhere {
		p.product = gemm.NewPassing(p.m, p.n, p.batch, p.terms, l.pool.Threads())
		p.passing = p.product != nil
	}
	if p.product == nil {
		p.product = gemm.New(p.m, p.n, p.batch, p.terms, l.pool.Threads())
	}
	if raw == nil && !p.passing {
		raw = unsafe.Pointer(unsafe.SliceData(l.scratch.floats(p.resultSize)))
	}
	c.C, c.LDC, c.BatchC = (*float32)(raw), p.n, p.m*p.n
	c.Done = p.done
	c.Scratch = l.scratch.floats(p.product.ScratchLen())
	p.product.Run(l.pool, c)
}

// operands reads how the operands of a product lie.
func (m *matMul) operands(p *phase) error {
	in := &m.g.Insts[p.inst]
	rank := len(in.Shape)
	p.m, p.n = in.Shape[rank-2], in.Shape[rank-1]
	batch := slices.Clone(in.Shape[:rank-2])
	var lays []ir.Layout // left and right of each term, with all batch axes
	for i := 0; i < len(in.Args); i += 2 {
		var t gemm.Term
		for side, arg := range in.Args[i : i+2] {
			read := m.operand
			if side == 1 {
				read = func(r backend.Ref) (ir.Layout, place, error) { return m.rightOperand(p, &t, r) }
			}
			lay, at, err := read(arg)
			if err != nil {
				return err
			}
			lay = withBatch(lay, batch)
			lays = append(lays, lay)
			o := gemm.Operand{Elem: elemOf(at.dtype), Line: lay.Stride[rank-2], Step: lay.Stride[rank-1]}
			if side == 0 {
				t.K, t.A = lay.Shape[rank-1], o
				p.left = append(p.left, at)
			} else {
				o.Line, o.Step = o.Step, o.Line
				t.B = o
				p.right = append(p.right, at)
			}
		}
		if t.K == 0 { // adds nothing, and need not have an address
			n := len(p.left) - 1
			p.left, p.right, p.scales, p.zeros, lays = p.left[:n], p.right[:n], p.scales[:n], p.zeros[:n], lays[:2*n]
			continue
		}
		p.terms = append(p.terms, t)
	}
	for len(batch) > 0 && p.joinRows(batch, lays) {
		batch = batch[:len(batch)-1]
	}
	p.batch = elementsOf(batch)
	for i := range p.terms {
		p.terms[i].A.Batch = offsets(lays[2*i], batch)
		p.terms[i].B.Batch = offsets(lays[2*i+1], batch)
	}
	p.dtype = tile.Register(in.DType)
	switch p.dtype {
	case dtype.F32:
		p.asRow()
		return nil
	case dtype.F64:
		return nil
	}
	p.plain = &plainProduct{dtype: in.DType, m: p.m, n: p.n, batch: p.batch, terms: p.terms}
	return nil
}

// operand returns the layout of an argument and where its first element is.
func (m *matMul) operand(r backend.Ref) (ir.Layout, place, error) {
	i, ok := r.Input()
	if !ok {
		at, ok := m.places[r]
		if !ok {
			return ir.Layout{}, at, fmt.Errorf("operand %v is not an input or the result of an earlier product", r)
		}
		return ir.Contiguous(shapeOf(m.g, r)), at, nil
	}
	in := &m.g.Inputs[i]
	return in.Layout, place{buf: in.Buf, offset: in.Layout.Offset * in.DType.Size(), dtype: in.DType}, nil
}

// withBatch returns the layout with the batch axes that it lacks, or has with length 1, repeated.
func withBatch(l ir.Layout, batch []int) ir.Layout {
	r := ir.Layout{Shape: slices.Clone(batch), Stride: make([]int, len(batch)), Offset: l.Offset}
	own := len(l.Shape) - 2
	for i := range own {
		if to := len(batch) - own + i; l.Shape[i] != 1 {
			r.Stride[to] = l.Stride[i]
		}
	}
	r.Shape = append(r.Shape, l.Shape[own:]...)
	r.Stride = append(r.Stride, l.Stride[own:]...)
	return r
}

// joinRows makes the last batch axis part of the rows, if the right operands are the same all along it and the left ones
// go on from row to row: one large product instead of many.
func (p *phase) joinRows(batch []int, lays []ir.Layout) bool {
	axis := len(batch) - 1
	for i := range p.terms {
		step := lays[2*i].Stride[axis]
		if lays[2*i+1].Stride[axis] != 0 || (p.m > 1 && batch[axis] > 1 && step != p.m*p.terms[i].A.Line) {
			return false
		}
	}
	for i := range p.terms {
		if p.m == 1 {
			p.terms[i].A.Line = lays[2*i].Stride[axis]
		}
	}
	p.m *= batch[axis]
	return true
}

// asRow turns a product with one column around: c is then a row, and the left operand can be read as it lies.
func (p *phase) asRow() {
	if p.n != 1 || p.m <= gemm.Few || slices.ContainsFunc(p.terms, func(t gemm.Term) bool { return t.Codes != nil }) {
		return
	}
	p.m, p.n = p.n, p.m
	p.left, p.right = p.right, p.left
	for i := range p.terms {
		t := &p.terms[i]
		t.A, t.B = t.B, t.A
	}
}

// offsets lists the offset of each matrix of a batch, nil when there is one.
func offsets(l ir.Layout, batch []int) []int {
	n := elementsOf(batch)
	if n <= 1 {
		return nil
	}
	r := make([]int, n)
	for i := range r {
		for axis, rest := len(batch)-1, i; axis >= 0; axis-- {
			r[i] += rest % batch[axis] * l.Stride[axis]
			rest /= batch[axis]
		}
	}
	return r
}

func elemOf(t dtype.Type) micro.Elem {
	switch t {
	case dtype.F16:
		return micro.F16
	case dtype.BF16:
		return micro.BF16
	}
	return micro.F32
}

// epilogue compiles the instructions after a product, and decides where its results are.
func (m *matMul) epilogue(p *phase, e epilogue) error {
	raw := backend.Ref{Index: p.inst}
	reg := tile.Register(m.g.Insts[p.inst].DType)
	type result struct {
		value backend.Ref
		place place
	}
	var results []result
	for _, o := range m.g.Outputs {
		if slices.Contains(e.values, o.Value) {
			results = append(results, result{o.Value, place{buf: o.Buf, dtype: o.DType}})
		}
	}
	for _, v := range e.values {
		t := tile.Register(m.g.Insts[v.Index].DType)
		at := slices.IndexFunc(results, func(r result) bool { return r.value == v && r.place.dtype == t })
		if at < 0 && e.inner[v] {
			results = append(results, result{v, m.reserve(t, p.resultSize)})
			at = len(results) - 1
		}
		if at >= 0 {
			m.places[v] = results[at].place
		} else {
			i := slices.IndexFunc(results, func(r result) bool { return r.value == v })
			m.places[v] = results[i].place // only stored
		}
	}
	// The sums are gathered where the product itself is wanted; or else in the only result, if it is as wide: the
	// epilogue works in place.
	at := slices.IndexFunc(results, func(r result) bool { return r.value == raw && r.place.dtype == reg })
	switch {
	case at >= 0:
		p.raw = results[at].place
	case len(results) == 1 && results[0].place.dtype == reg:
		p.raw = results[0].place
	case reg == dtype.F32:
		p.raw = nowhere
	default:
		p.raw = m.reserve(reg, p.resultSize)
	}
	spec := tile.Spec{Group: m.g, Shape: m.g.Insts[p.inst].Shape, Insts: e.insts}
	for _, r := range results {
		if r.value == raw && r.place == p.raw {
			continue
		}
		spec.Outs = append(spec.Outs, tile.Out{Value: r.value, DType: r.place.dtype})
		p.outs = append(p.outs, r.place)
	}
	if len(spec.Outs) == 0 {
		return nil
	}
	if p.raw == nowhere && len(spec.Outs) == 1 && spec.Outs[0].Value == raw {
		p.narrow, p.done = spec.Outs[0].DType, p.round
		return nil
	}
	spec.Given, p.given = append(spec.Given, raw), append(p.given, p.raw)
	for _, v := range e.given {
		spec.Given, p.given = append(spec.Given, v), append(p.given, m.places[v])
	}
	prog, err := tile.Compile(spec)
	if err != nil {
		return err
	}
	p.states.prog = prog
	p.done = p.finish
	return nil
}

// round writes a part of the result as numbers of fewer bits. A program does the same, but asks more for a short row.
func (p *phase) round(_ int, r gemm.Part) {
	size := p.narrow.Size()
	to := unsafe.Add(p.rounded, ((r.Batch*p.m+r.Row)*p.n+r.Col)*size)
	for i := range r.Rows {
		narrowTo(p.narrow, unsafe.Add(to, i*p.n*size), unsafe.Add(unsafe.Pointer(r.C), 4*i*r.LDC), r.Cols)
	}
}

// finish runs the epilogue over a part of the result.
func (p *phase) finish(worker int, r gemm.Part) {
	s := p.states.at(worker)
	at := (r.Batch*p.m+r.Row)*p.n + r.Col
	if p.raw != nowhere && r.Cols == p.n {
		s.Run(at, r.Rows*r.Cols)
		return
	}
	c := unsafe.Pointer(r.C)
	for i := range r.Rows {
		if p.raw == nowhere {
			s.SetGiven(0, unsafe.Add(c, 4*i*r.LDC), at+i*p.n)
		}
		s.Run(at+i*p.n, r.Cols)
	}
}
