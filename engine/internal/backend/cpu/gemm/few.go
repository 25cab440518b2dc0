package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// Few is the number of rows up to which reading the right operand is what a product costs, whatever the machine.
const Few = 8

// fewRows is the number of rows up to which the right operand is not packed, because packing it would cost more than the
// better order of a packed product gains: measured on processors with and without AVX-512, and with tiles for bf16, which
// are so fast that few rows of them make up for packing. The sums of so few rows run over all of K, so they may round
// differently from those of a product with more.
func (p *Product) fewRows() int {
	long := p.Terms[0]
	for _, t := range p.Terms {
		if t.K > long.K {
			long = t
		}
	}
	switch {
	case long.A.Elem == asm.BF16 && long.B.Elem == asm.BF16 && bf16Kernel() != nil:
		return 6
	case long.K*p.N <= 1<<20: // the caches hold it, and packing it is cheap
		return 20
	case asm.Level() != asm.AVX512: // the registers hold half as many sums
		return 32
	}
	return 48
}

const (
	// fewSums is how many results a worker sums up at a time, at most: with eight rows of b they fit the first-level cache.
	fewSums = 4096
	// fewCols and fewLeast are how many columns it takes, at most and at least: of shorter pieces of b's rows the processor
	// fetches less ahead.
	fewCols, fewLeast = 1024, 64
)

// few says whether the product has few rows and right operands that can be read as they lie.
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

// fewWidth is the number of columns of a task, so that all threads have as many tasks.
func (p *Product) fewWidth(threads int) int {
	widest := max(fewLeast, min(fewCols, fewSums/max(1, p.M)&^(fewLeast-1)))
	tasks := roundUp((p.N+widest-1)/widest, threads)
	return max(fewLeast, roundUp((p.N+tasks-1)/max(1, tasks), fewLeast))
}

// blocked says whether a term's left operand is rearranged for Axpy: the steps of a call side by side, row after row.
func (p *Product) blocked(t *Term) bool {
	return t.Codes == nil && t.B.Line == 1 && p.M > 8 && (!t.A.plain() || crowded(p.M, 4*t.A.Line))
}

// crowded says whether rows that lie stride bytes apart push each other out of the first-level cache: eight lines and more
// that are the same distance into a page share one of its sets with those of the right operand.
func crowded(rows, stride int) bool {
	const page, lines = 4096, 8
	apart := page // between lines that do not meet
	if stride != 0 {
		apart = min(page, stride&-stride)
	}
	return rows*apart > lines*page
}

// leftLen is the length of a term's left operand in the scratch memory, 0 if it is read as it lies.
func (p *Product) leftLen(t *Term) int {
	switch {
	case p.blocked(t):
		return p.Batch * p.M * roundUp(t.K, asm.FewSteps)
	case t.A.plain():
		return t.inputLen(p.M)
	}
	return roundUp(p.Batch*p.M*t.K, 16) + t.inputLen(p.M)
}

// fewScratch is room for the left operands as float32, and for each worker's sums.
func (p *Product) fewScratch(threads int) int {
	n := 0
	for i := range p.Terms {
		n += p.leftLen(&p.Terms[i])
	}
	return roundUp(n, 16) + threads*p.sumsLen(threads)
}

// sumsLen is the length of a worker's sums, and a page between them and the next worker's: the processor fetches ahead up to
// the end of a page, and would keep taking from one core what the other writes.
func (p *Product) sumsLen(threads int) int {
	const page = 4096 / 4
	return roundUp(p.M*p.fewWidth(threads), page) + page
}

// plain says whether rows can be read as float32 with contiguous steps.
func (o *Operand) plain() bool { return o.Elem == asm.F32 && o.Step == 1 }

// runFew shares out the columns of the result.
func (p *Product) runFew(workers *pool.Pool, c *Call) {
	p.spread(workers, c)
	defer clear(c.inputs)
	width := p.fewWidth(workers.Threads())
	per := (p.N + width - 1) / width
	chunks := p.Batch * per
	size := p.sumsLen(workers.Threads())
	sums := c.Scratch[len(c.Scratch)-workers.Threads()*size:]
	work := func(worker, chunk int) {
		batch, col := chunk/per, chunk%per*width
		cols := min(width, p.N-col)
		own := sums[worker*size:][:p.M*width]
		p.columns(c, batch, col, cols, own)
		switch {
		case p.passing:
			c.Done(worker, Part{batch, 0, p.M, col, cols, unsafe.SliceData(own), cols})
		case c.Done != nil:
			c.done(worker, batch, 0, p.M, col, cols)
		}
	}
	if p.Batch*p.M*p.N*p.steps() < 1<<14 { // sooner done than shared out
		for chunk := range chunks {
			work(0, chunk)
		}
		return
	}
	workers.For(chunks, work)
}

// spread writes left operands that cannot be read as they lie into the scratch memory, and what quantised weights are
// multiplied by.
func (p *Product) spread(workers *pool.Pool, c *Call) {
	at := 0
	c.inputs = append(c.inputs[:0], make([]asm.QuantInput, len(p.Terms))...)
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
		rows := func(_, lo, hi int) {
			for row := lo; row < hi; row++ {
				s := t.A.source(c.A[i], row/p.M).At(row%p.M, 0)
				if !p.blocked(t) {
					asm.Spread(dst[row*t.K:], s, t.K)
					continue
				}
				spreadSteps(dst[row/p.M*p.M*roundUp(t.K, asm.FewSteps)+row%p.M*asm.FewSteps:], p.M*asm.FewSteps, s, t.K)
			}
		}
		workers.Range(p.Batch*p.M, 1+(1<<14)/t.K, rows)
		if t.Codes != nil {
			c.inputs[i] = t.prepare(c, i, dst[roundUp(p.M*t.K, 16):], p.M, unsafe.SliceData(dst), t.K)
		}
	}
}

// spreadSteps writes n steps of line 0 as float32, asm.FewSteps of them every apart elements.
func spreadSteps(dst []float32, apart int, s asm.Source, n int) {
	var row [256]float32
	for done := 0; done < n; done += len(row) {
		m := min(len(row), n-done)
		from := row[:m]
		if s.Elem == asm.F32 && s.Step == 1 {
			from = unsafe.Slice((*float32)(s.At(0, done).Base), m)
		} else {
			asm.Spread(from, s.At(0, done), m)
		}
		for len(from) >= asm.FewSteps {
			*(*[asm.FewSteps]float32)(dst) = *(*[asm.FewSteps]float32)(from)
			from = from[asm.FewSteps:]
			dst = dst[min(apart, len(dst)):]
		}
		copy(dst, from)
	}
}

// columns computes a range of columns of one matrix.
func (p *Product) columns(c *Call, batch, col, cols int, sums []float32) {
	out, ld := unsafe.SliceData(sums), cols
	aside := p.M > 1 || p.turned
	if !aside && !p.passing {
		out, ld = c.c(batch, 0, col), c.LDC
	}
	clear(unsafe.Slice(out, p.M*cols))
	at := 0
	for i := range p.Terms {
		t := &p.Terms[i]
		n := p.leftLen(t)
		if t.K == 0 {
			continue
		}
		if t.Codes != nil {
			q := t.quant(c, i)
			q.Multiply(&c.inputs[i], col, cols, out, ld)
			at += n
			continue
		}
		b := t.B.source(c.B[i], batch).At(col, 0)
		switch {
		case p.blocked(t):
			a := c.Scratch[at+batch*p.M*roundUp(t.K, asm.FewSteps):]
			for s := 0; s < t.K; s += asm.FewSteps {
				asm.Axpy(p.M, cols, min(asm.FewSteps, t.K-s), unsafe.SliceData(a[s*p.M:]), asm.FewSteps, b.At(0, s), out, ld)
			}
		default:
			a, lda := (*float32)(t.A.source(c.A[i], batch).Base), t.A.Line
			if n > 0 {
				a, lda = unsafe.SliceData(c.Scratch[at+batch*p.M*t.K:]), t.K
			}
			if b.Line != 1 {
				asm.Dot(p.M, cols, t.K, a, lda, b, out, ld)
				break
			}
			for s := 0; s < t.K; s += asm.FewSteps {
				x := (*float32)(unsafe.Add(unsafe.Pointer(a), 4*s))
				asm.Axpy(p.M, cols, min(asm.FewSteps, t.K-s), x, lda, b.At(0, s), out, ld)
			}
		}
		at += n
	}
	switch {
	case p.passing:
	case p.turned:
		for j := range cols {
			row := unsafe.Slice(c.c(batch, col+j, 0), p.M)
			for i := range row {
				row[i] = sums[i*cols+j]
			}
		}
	case aside:
		for i := range p.M {
			copy(unsafe.Slice(c.c(batch, i, col), cols), sums[i*cols:])
		}
	}
}

// turnedCols is the number of columns up to which a product of many rows is computed with its operands in each other's place.
const turnedCols = 16

// turn returns the product of the transposed operands, whose result is written transposed, if that is a product of few rows
// by what lies well for it: then the larger operand is not packed. It is nil otherwise.
func (p *Product) turn(threads int) *Product {
	if p.N > turnedCols || p.M <= 4*turnedCols {
		return nil
	}
	t := &Product{M: p.N, N: p.M, Batch: p.Batch, turned: true}
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

// runTurned computes the product that turn returned.
func (p *Product) runTurned(workers *pool.Pool, c *Call) {
	call := Call{A: c.B, B: c.A, C: c.C, LDC: c.LDC, BatchC: c.BatchC, Scratch: c.Scratch}
	if done := c.Done; done != nil {
		call.Done = func(worker int, t Part) {
			done(worker, Part{t.Batch, t.Col, t.Cols, t.Row, t.Rows, c.c(t.Batch, t.Col, t.Row), c.LDC})
		}
	}
	p.layout.turned.runFew(workers, &call)
}
