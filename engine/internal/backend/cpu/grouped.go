package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A grouped computes grouped_matmul or grouped_weight: it packs rows by group, and then computes one product
// for each group that has rows. Groups differ in nothing but their number of rows, and so do the products.
type grouped struct {
	in     *backend.Inst
	out    backend.Output
	groups int
	k, n   int // of each matrix
	index  *operand
	rows   []packedRows // x, and dy of grouped_weight
	w      *backend.Input
	quant  ir.Quant // of a stack of weights in codes, which has parts
	parts  [3]place
	sums   dtype.Type // F32 or F64

	order    []int // the rows, group by group
	starts   []int // of each group in order, and the end
	products map[int]*groupedProduct
}

// packedRows are an operand's rows, copied in the order of their groups.
type packedRows struct {
	*operand
	dtype dtype.Type
	width int
	at    unsafe.Pointer // during a launch
}

// mostGrouped is how many products are kept for numbers of rows that came before.
const mostGrouped = 256

// compileGrouped compiles grouped_matmul and grouped_weight.
func compileGrouped(c *standalone) func(*launch) {
	p := &grouped{in: c.in, out: c.g.Outputs[0], sums: tile.Register(c.in.DType), index: c.index(2)}
	x, y, rows := c.shape(0), c.shape(1), 1
	if c.in.Op == ir.GroupedMatMul {
		p.w = c.input(1)
		if len(c.in.Args) > 3 {
			var err error
			p.parts, err = quantParts(c.g, append([]backend.Ref{c.in.Args[1]}, c.in.Args[3:]...))
			c.failed(err)
			p.quant = ir.QuantOf(&c.in.Attr)
			y = p.quant.Shape()
		}
		p.groups, p.k, p.n = y[0], y[1], y[2]
	} else {
		rows, p.groups, p.k, p.n = 2, c.in.Shape[0], x[1], y[1]
	}
	for i := range rows {
		p.rows = append(p.rows, packedRows{operand: c.operand(i, c.shape(i), c.dtype(i)), dtype: c.dtype(i), width: c.shape(i)[1]})
	}
	return p.run
}

func (p *grouped) run(l *launch) {
	index := p.index.indices(l)
	if !checkIndices(l, p.in.Op, 0, p.groups, index) || ir.Size(p.in.Shape) == 0 {
		return
	}
	p.sort(index)
	for i := range p.rows {
		p.rows[i].pack(l, p.order)
	}
	for group := range p.groups {
		from, to := p.starts[group], p.starts[group+1]
		switch {
		case l.pool.Stopped():
			return
		case from < to:
			l.scratch.within(func() { p.product(to-from).run(l, p, group, from) })
		case p.in.Op == ir.GroupedWeight:
			clear(unsafe.Slice((*byte)(p.matrix(l, group)), p.k*p.n*p.out.DType.Size()))
		}
	}
}

// sort puts the rows into the order of their groups.
func (p *grouped) sort(index []int64) {
	p.order, p.starts = append(p.order[:0], make([]int, len(index))...), append(p.starts[:0], make([]int, p.groups+1)...)
	for _, i := range index {
		p.starts[fromStart(i, p.groups)]++
	}
	end := 0
	for group, n := range p.starts {
		end += n
		p.starts[group] = end
	}
	for row := len(index) - 1; row >= 0; row-- {
		group := fromStart(index[row], p.groups)
		p.starts[group]--
		p.order[p.starts[group]] = row
	}
}

func (r *packedRows) pack(l *launch, order []int) {
	line := r.width * r.size
	r.at = unsafe.Pointer(unsafe.SliceData(l.scratch.bytes(len(order) * line)))
	l.pool.Range(len(order), 1+mapGrain/max(1, r.width), func(worker, lo, hi int) {
		for i := lo; i < hi && !l.pool.Stopped(); i++ {
			r.copyTo(worker, unsafe.Add(r.at, i*line), order[i]*r.width, r.width)
		}
	})
}

// row is the packed row i.
func (r *packedRows) row(i int) unsafe.Pointer { return unsafe.Add(r.at, i*r.width*r.size) }

// matrix is where the result of grouped_weight for a group begins.
func (p *grouped) matrix(l *launch, group int) unsafe.Pointer {
	return unsafe.Add(l.pointer(p.out.Buf), group*p.k*p.n*p.out.DType.Size())
}

// A groupedProduct is the product of a number of rows.
type groupedProduct struct {
	multiplier
	arguments
	m int // rows of the result
}

// product returns the product of that many rows.
func (p *grouped) product(rows int) *groupedProduct {
	if q := p.products[rows]; q != nil {
		return q
	}
	if p.products == nil || len(p.products) >= mostGrouped {
		p.products = map[int]*groupedProduct{}
	}
	problem := &problem{m: rows, n: p.n, batch: 1}
	t := gemm.Term{K: p.k, A: gemm.Operand{Elem: elemOf(p.rows[0].dtype), Line: p.k, Step: 1}}
	switch {
	case p.quant.Matrices > 0:
		t.Codes = codesOf(p.quant, p.parts[1].dtype)
	case p.w != nil:
		t.B = gemm.Operand{Elem: elemOf(p.w.DType), Line: p.w.Layout.Stride[2], Step: p.w.Layout.Stride[1]}
	default:
		problem.m, t.K = p.k, rows
		t.A.Line, t.A.Step = 1, p.k
		t.B = gemm.Operand{Elem: elemOf(p.rows[1].dtype), Line: 1, Step: p.n}
	}
	if t.K > 0 {
		problem.terms = []gemm.Term{t}
	}
	q := &groupedProduct{multiplier: newMultiplier(problem, p.sums), m: problem.m}
	p.products[rows] = q
	return q
}

// run computes the product of a group's rows, the first of which is the packed row from.
func (q *groupedProduct) run(l *launch, p *grouped, group, from int) {
	q.a, q.b = append(q.a[:0], p.rows[0].row(from)), q.b[:0]
	q.scales, q.extra = append(q.scales[:0], nil), append(q.extra[:0], nil)
	var place func(row int) unsafe.Pointer
	if p.w != nil {
		if p.quant.Matrices > 0 {
			q.b = append(q.b, nil)
			q.b[0], q.scales[0], q.extra[0] = p.codes(l, group)
		} else {
			at := p.w.Layout.Offset + group*p.w.Layout.Stride[0]
			q.b = append(q.b, unsafe.Add(l.pointer(p.w.Buf), at*p.w.DType.Size()))
		}
		to := l.pointer(p.out.Buf)
		place = func(row int) unsafe.Pointer { return unsafe.Add(to, p.order[from+row]*p.n*p.out.DType.Size()) }
	} else {
		q.b = append(q.b, p.rows[1].row(from))
		to := p.matrix(l, group)
		place = func(row int) unsafe.Pointer { return unsafe.Add(to, row*p.n*p.out.DType.Size()) }
	}
	defer q.release()
	if p.sums == dtype.F64 {
		q.c = unsafe.Pointer(unsafe.SliceData(l.scratch.bytes(8 * q.m * p.n)))
	}
	q.done = func(_ int, part gemm.Part) {
		from, line, size := unsafe.Pointer(part.C), part.LDC, 4
		if p.sums == dtype.F64 {
			from, line, size = unsafe.Add(q.c, 8*(part.Row*p.n+part.Col)), p.n, 8
		}
		for row := range part.Rows {
			to := unsafe.Add(place(part.Row+row), part.Col*p.out.DType.Size())
			narrowTo(p.out.DType, to, unsafe.Add(from, row*line*size), part.Cols)
		}
	}
	q.multiply(l, nil, &q.arguments)
}

// codes are where the parts of a group's matrix begin.
func (p *grouped) codes(l *launch, group int) (codes, scales, extra unsafe.Pointer) {
	block := group * p.quant.Blocks()
	at := func(part, each int) unsafe.Pointer {
		from := p.parts[part].at(l, nil)
		if from == nil || part == 2 && p.quant.Form == ir.Table {
			return from
		}
		return unsafe.Add(from, block*each*p.parts[part].dtype.Size())
	}
	scaled := p.quant.Groups() * micro.Lanes
	return at(0, p.quant.Lines()*4*micro.Lanes), at(1, scaled), at(2, scaled)
}
