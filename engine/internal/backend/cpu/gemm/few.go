package gemm

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// Few is the number of rows up to which a product takes, on every machine, the time of reading its right
// operand.
const Few = 8

// fewRows returns the number of rows up to which the right operand is not packed, because packing it would
// take longer than a packed product saves. The sums of so few rows are cut at other steps of K, or not at
// all, so they may round differently from those of a product with more rows.
func (p *Product) fewRows() int {
	long := &p.Terms[0]
	for i := range p.Terms {
		if t := &p.Terms[i]; t.K > long.K {
			long = t
		}
	}
	if long.A.Elem == micro.BF16 && long.B.Elem == micro.BF16 && bf16Kernel() != nil {
		return 6
	}
	if p.transposed {
		return transposedCols
	}
	how, far := 0, 0
	if long.B.Elem != micro.F32 {
		how = 2
	}
	if p.direct(long) == nil {
		how++
	}
	if long.Codes != nil {
		how = 4
	}
	for far < 2 && long.K*p.N > 1<<(18+2*far) {
		far++
	}
	return fewest[isa.Level()][how][far]
}

// fewest holds the largest numbers of few rows for weights of up to 2¹⁸ elements, up to 2²⁰, and more: in f32
// with contiguous rows and without, in 16 bits likewise, and in codes. They were measured with matrices of
// 512, 1024 and 2048 lines on a processor with AVX-512, and with its AVX2. A direct kernel widens 16 bits
// again for each panel of rows; without one, columns are read again for every four rows.
var fewest = [isa.NumSets][5][3]int{
	isa.AVX512:   {{64, 64, 64}, {20, 20, 12}, {24, 32, 32}, {16, 20, 24}, {20, 20, 48}},
	isa.AVX2:     {{64, 32, 16}, {20, 20, Few}, {16, 16, 24}, {Few, 16, 20}, {20, 20, 32}},
	isa.NEON:     {{20, 20, 32}, {20, 20, 32}, {20, 20, 32}, {20, 20, 32}, {20, 20, 32}},
	isa.Portable: {{20, 20, 32}, {20, 20, 32}, {20, 20, 32}, {20, 20, 32}, {20, 20, 32}},
}

const (
	// fewSums is the largest number of results that a worker sums at a time. With eight rows of b they fit
	// the first-level cache.
	fewSums = 4096
	// fewCols and fewLeast are the largest and the smallest number of columns of a task. In shorter pieces
	// of the rows of b the processor prefetches less. Rows of more than longRow columns are cut into pieces
	// of up to as many: pieces of a page lie on two, and a task visits more pages than the processor
	// remembers addresses of.
	fewCols, fewLeast = 1024, 64
	longRow           = 4096
	// partRows is the number of rows up to which reading b takes longer than the arithmetic, partSteps the
	// number of steps from which on they may be cut.
	partRows, partSteps = 4, 64
)

// few reports whether the product has few rows, and right operands that the kernels can read unpacked.
func (p *Product) few() bool {
	for i := range p.Terms {
		switch t := &p.Terms[i]; {
		case t.Codes != nil:
			if t.Codes.Transposed || p.Batch > 1 {
				return false
			}
		case t.B.Line != 1 && t.B.Step != 1:
			return false
		}
	}
	return len(p.Terms) > 0 && p.M <= p.fewRows()
}

// parts returns the number of parts that the steps are cut into: two where a task then reads whole rows of a
// large right operand, one after the other. Of half of the columns it would read half of each row, and the
// processor would fetch the other half ahead, too, which displaces what the core's cache holds of the
// operand. The number decides the order of additions, so it depends on shapes alone.
func (p *Product) parts() int {
	bytes := 0
	for i := range p.Terms {
		t := &p.Terms[i]
		if t.Codes != nil || t.B.Line != 1 {
			return 1
		}
		bytes += t.K * p.N * t.B.Elem.Size()
	}
	if bytes <= nearBytes || p.steps() < partSteps || p.Batch > 1 || p.M > partRows || p.transposed {
		return 1
	}
	return 2
}

// part returns the steps of a term that belong to a part.
func (p *Product) part(t *Term, part int) (from, to int) {
	if p.parts() == 1 {
		return 0, t.K
	}
	half := min(t.K, roundUp(t.K/2, 8))
	return part * half, half + part*(t.K-half)
}

// fewWidth returns the number of columns of a task, such that all threads get the same number of tasks.
func (p *Product) fewWidth(threads int) int {
	most, parts := fewCols, p.parts()
	if p.N > longRow || parts > 1 {
		most = longRow
	}
	if threads%parts == 0 {
		threads /= parts
	}
	widest := max(fewLeast, min(most, fewSums/max(1, p.M)&^(fewLeast-1)))
	if slices.ContainsFunc(p.Terms, func(t Term) bool { return p.direct(&t) != nil }) {
		widest = max(widest, directCols)
	}
	tasks := roundUp((p.N+widest-1)/widest, threads)
	return max(fewLeast, roundUp((p.N+tasks-1)/max(1, tasks), fewLeast))
}

// direct returns the kernel that multiplies packed rows by the unpacked right operand, for terms with more
// rows than the time of reading that operand hides; nil for other terms.
func (p *Product) direct(t *Term) (best *micro.DirectKernel) {
	if t.Codes != nil || t.B.Line != 1 || p.M <= Few {
		return nil
	}
	for _, k := range micro.DirectKernels() {
		if best == nil || roundUp(p.M, k.Rows) < roundUp(p.M, best.Rows) {
			best = k
		}
	}
	return best
}

const (
	// nearBytes is the size of a right operand that stays in the cache of one core.
	nearBytes = 1 << 20
	// nearSteps is the number of steps of such an operand that a direct kernel takes before the next rows
	// take the same. farSteps is the number for operands that come from further away, farthestSteps for those
	// of more than farBytes, which have more pages than the processor can remember addresses of. They are
	// equal on every machine, because they decide the order of additions.
	nearSteps, farSteps, farthestSteps = 128, 64, 32
	farBytes                           = 4 << 20
	// directCols is the largest number of columns of a task: a block of steps of them stays in the
	// second-level cache of a core.
	directCols = 512
)

// leftLen returns the length of a term's left operand in the scratch memory, 0 if it is read where it is.
func (p *Product) leftLen(t *Term) int {
	if d := p.direct(t); d != nil {
		return roundUp(p.Batch*roundUp(p.M, d.Rows)*t.K, 16)
	}
	if t.A.plain() {
		return t.inputLen(p.M)
	}
	return roundUp(p.Batch*p.M*t.K, 16) + t.inputLen(p.M)
}

// fewScratch returns the scratch length: left operands as float32, and memories for sums.
func (p *Product) fewScratch(threads int) int {
	n := 0
	for i := range p.Terms {
		n += p.leftLen(&p.Terms[i])
	}
	return roundUp(n, 16) + p.memories(threads)*p.sumsLen(threads)
}

// memories returns the number of memories for sums: one for each worker, or, where another worker may
// complete them, one for each task.
func (p *Product) memories(threads int) int {
	parts, width := p.parts(), p.fewWidth(threads)
	if parts == 1 {
		return threads
	}
	return parts * ((p.N + width - 1) / width)
}

// sumsLen returns the length of such a memory with a page after them. The processor prefetches up to the
// end of a page, and would otherwise take from one core the lines that another core writes.
func (p *Product) sumsLen(threads int) int {
	const page = 4096 / 4
	return roundUp(p.M*p.fewWidth(threads), page) + page
}

// plain reports whether rows can be read as float32 with contiguous steps.
func (o *Operand) plain() bool { return o.Elem == micro.F32 && o.Step == 1 }

// runFew divides the columns of the result among the workers.
func (p *Product) runFew(workers *pool.Pool, c *Call) {
	p.spread(workers, c)
	defer clear(c.inputs)
	if c.kept.columns == nil {
		c.kept.columns = p.shareOfColumns(workers.Threads(), c)
	}
	width := p.fewWidth(workers.Threads())
	chunks := p.Batch * ((p.N + width - 1) / width) * p.parts()
	clear(c.kept.arrived)
	if p.Batch*p.M*p.N*p.steps() < 1<<14 { // one worker is done sooner than several can start
		for chunk := range chunks {
			c.kept.columns(0, chunk)
		}
		return
	}
	workers.For(chunks, c.kept.columns)
}

// shareOfColumns returns the function that computes a chunk: a range of the columns, or a part of its steps.
// The worker that computes the last part completes the range.
func (p *Product) shareOfColumns(threads int, c *Call) func(worker, chunk int) {
	width, size, parts, memories := p.fewWidth(threads), p.sumsLen(threads), p.parts(), p.memories(threads)
	per := (p.N + width - 1) / width
	aside := p.M > 1 && p.M <= Few || p.transposed || p.passing || parts > 1
	c.kept.arrived = make([]uint32, per)
	return func(worker, chunk int) {
		pair, part := chunk/parts, chunk%parts
		batch, col := pair/per, pair%per*width
		cols := min(width, p.N-col)
		sums := func(i int) []float32 { return c.Scratch[len(c.Scratch)-(memories-i)*size:][:p.M*cols] }
		own := worker
		if parts > 1 {
			own = chunk
		}
		if aside {
			p.columns(c, batch, col, cols, part, unsafe.SliceData(sums(own)), cols)
		} else {
			p.columns(c, batch, col, cols, part, c.c(batch, 0, col), c.LDC)
		}
		if parts > 1 {
			if atomic.AddUint32(&c.kept.arrived[pair], 1) < uint32(parts) {
				return
			}
			own = chunk - part
			all := sums(own)
			for i, x := range sums(own + 1) {
				all[i] += x
			}
		}
		switch {
		case p.passing:
			c.Done(worker, Part{batch, 0, p.M, col, cols, unsafe.SliceData(sums(own)), cols})
			return
		case aside:
			p.copyOut(c, batch, col, cols, sums(own))
		}
		if c.Done != nil {
			c.done(worker, batch, 0, p.M, col, cols)
		}
	}
}

// copyOut writes the sums of some columns to the result.
func (p *Product) copyOut(c *Call, batch, col, cols int, sums []float32) {
	if !p.transposed {
		for i := range p.M {
			copy(unsafe.Slice(c.c(batch, i, col), cols), sums[i*cols:])
		}
		return
	}
	for j := range cols {
		row := unsafe.Slice(c.c(batch, col+j, 0), p.M)
		for i := range row {
			row[i] = sums[i*cols+j]
		}
	}
}

// spread prepares in the scratch memory the left operands that cannot be read where they are, and those of
// quantised weights.
func (p *Product) spread(workers *pool.Pool, c *Call) {
	at := 0
	c.inputs = append(c.inputs[:0], make([]micro.QuantInput, len(p.Terms))...)
	for i := range p.Terms {
		t := &p.Terms[i]
		n := p.leftLen(t)
		if n == 0 || t.K == 0 {
			continue
		}
		dst := c.Scratch[at:]
		at += n
		if t.Codes != nil && t.A.plain() {
			c.inputs[i] = t.prepare(c, i, dst, p.M, (*float32)(t.A.source(c.A[i], 0).Base), t.A.Line)
			continue
		}
		for len(c.kept.spreads) <= i {
			c.kept.spreads = append(c.kept.spreads, nil)
		}
		d := p.direct(t)
		if c.kept.spreads[i] == nil {
			if d != nil {
				c.kept.spreads[i] = p.packRows(c, i, d, at-n)
			} else {
				c.kept.spreads[i] = p.spreadRows(c, i, at-n)
			}
		}
		if d != nil {
			workers.Range(p.Batch*((p.M+d.Rows-1)/d.Rows), 1+(1<<14)/(d.Rows*t.K), c.kept.spreads[i])
			continue
		}
		workers.Range(p.Batch*p.M, 1+(1<<14)/t.K, c.kept.spreads[i])
		if t.Codes != nil {
			c.inputs[i] = t.prepare(c, i, dst[roundUp(p.M*t.K, 16):], p.M, unsafe.SliceData(dst), t.K)
		}
	}
}

// spreadRows returns a function that writes rows of term i's left operand into the scratch memory, from
// element at on.
func (p *Product) spreadRows(c *Call, i, at int) func(worker, lo, hi int) {
	t := &p.Terms[i]
	return func(_, lo, hi int) {
		if t.A.Line == 1 && t.K%8 == 0 && lo/p.M == (hi-1)/p.M { // columns lie side by side: vectors turn them as a panel
			s := t.A.source(c.A[i], lo/p.M).At(lo%p.M, 0)
			s.Line, s.Step = s.Step, s.Line
			micro.PackPanel(c.Scratch[at+lo*t.K:], t.K, s, t.K, hi-lo)
			return
		}
		for row := lo; row < hi; row++ {
			micro.Spread(c.Scratch[at+row*t.K:], t.A.source(c.A[i], row/p.M).At(row%p.M, 0), t.K)
		}
	}
}

// packRows returns a function that packs the left operand of term i into panels for d, all steps one after
// the other, from element at of the scratch memory on.
func (p *Product) packRows(c *Call, i int, d *micro.DirectKernel, at int) func(worker, lo, hi int) {
	t := &p.Terms[i]
	panels := (p.M + d.Rows - 1) / d.Rows
	return func(_, lo, hi int) {
		for n := lo; n < hi; n++ {
			row := n % panels * d.Rows
			micro.PackPanel(c.Scratch[at+n*d.Rows*t.K:], d.Rows, t.A.source(c.A[i], n/panels).At(row, 0), min(d.Rows, p.M-row), t.K)
		}
	}
}

// multiplyDirect multiplies packed rows by columns of b, and adds the product to out, or stores it there.
func (p *Product) multiplyDirect(t *Term, d *micro.DirectKernel, rows []float32, b micro.Source, cols int, out *float32, ld, add int) {
	const line = 64
	size := b.Elem.Size()
	steps, apart := nearSteps, size*b.Step
	switch all := apart * t.K; {
	case all > farBytes:
		steps = farthestSteps
	case all > nearBytes:
		steps = farSteps
	}
	for s := 0; s < t.K; s += steps {
		k := min(steps, t.K-s)
		ahead := uintptr(b.At(0, s).Base) // prefetching data that is read now costs nothing
		far := 0
		if s+k < t.K && steps != nearSteps {
			ahead, far = ahead+uintptr(k*apart), apart
		}
		at := ahead
		for j := 0; j < cols; j += d.Cols {
			for i := 0; i < p.M; i += d.Rows {
				d.Multiply(k, &rows[i*t.K+s*d.Rows], b.At(j, s), (*float32)(unsafe.Add(unsafe.Pointer(out), 4*(i*ld+j))), ld,
					min(d.Rows, p.M-i), min(d.Cols, cols-j), add, int(at), far)
				if at += 2 * line; far == 0 || at >= ahead+uintptr(cols*size) {
					at = ahead
				}
			}
		}
		add = 1
	}
}

// columns computes a part of the steps of a range of columns of one matrix of the batch, into rows of out.
func (p *Product) columns(c *Call, batch, col, cols, part int, out *float32, ld int) {
	at, add := 0, 0
	for i := range p.Terms {
		t := &p.Terms[i]
		n := p.leftLen(t)
		if t.K == 0 {
			continue
		}
		d := p.direct(t)
		if d == nil && add == 0 {
			for i := range p.M {
				clear(unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(out), 4*i*ld)), cols))
			}
		}
		switch b := t.B.source(c.B[i], batch); {
		case t.Codes != nil:
			q := t.quant(c, i)
			q.Multiply(&c.inputs[i], col, cols, out, ld)
		case d != nil:
			rows := c.Scratch[at+batch*roundUp(p.M, d.Rows)*t.K:]
			p.multiplyDirect(t, d, rows, b.At(col, 0), cols, out, ld, add)
		default:
			a, lda := (*float32)(t.A.source(c.A[i], batch).Base), t.A.Line
			if n > 0 {
				a, lda = unsafe.SliceData(c.Scratch[at+batch*p.M*t.K:]), t.K
			}
			multiply := micro.Axpy
			if t.B.Line != 1 {
				multiply = micro.Dot
			}
			if from, to := p.part(t, part); from < to {
				multiply(p.M, cols, to-from, (*float32)(unsafe.Add(unsafe.Pointer(a), 4*from)), lda, b.At(col, from), out, ld)
			}
		}
		at, add = at+n, 1
	}
}

// transposedCols is the number of columns up to which a product of many rows is computed as the product of
// the transposed operands.
const transposedCols = 16

// transpose returns the product of the transposed operands, which writes its result transposed. It returns
// nil unless that product has few rows and a right operand that can be read unpacked, so that the larger
// operand is not packed.
func (p *Product) transpose(threads int) *Product {
	if p.N > transposedCols || p.M <= 4*transposedCols {
		return nil
	}
	t := &Product{M: p.N, N: p.M, Batch: p.Batch, transposed: true}
	for _, x := range p.Terms {
		if x.Codes != nil || x.A.Step != 1 && x.A.Line != 1 {
			return nil
		}
		t.Terms = append(t.Terms, Term{K: x.K, A: x.B, B: x.A})
	}
	if !t.few() {
		return nil
	}
	t.layout = layout{few: true, threads: threads}
	return t
}

// runTransposed computes the product that transpose returned.
func (p *Product) runTransposed(workers *pool.Pool, c *Call) {
	if c.kept.transposed == nil {
		c.kept.transposed = new(Call)
		if c.Done != nil {
			c.kept.transposed.Done = func(worker int, t Part) {
				c.Done(worker, Part{t.Batch, t.Col, t.Cols, t.Row, t.Rows, c.c(t.Batch, t.Col, t.Row), c.LDC})
			}
		}
	}
	t := c.kept.transposed
	t.A, t.B, t.C, t.LDC, t.BatchC, t.Scratch = c.B, c.A, c.C, c.LDC, c.BatchC, c.Scratch
	p.layout.transposed.runFew(workers, t)
	t.A, t.B, t.C, t.Scratch = nil, nil, nil, nil
}
