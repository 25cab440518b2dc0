package gemm

import (
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// Few is the number of rows up to which a product takes the time of reading its right operand, on any
// machine.
const Few = 8

// fewRows is the number of rows up to which the right operand is not packed, because packing it would cost
// more than the better order of a packed product gains: measured on processors with and without AVX-512, and
// with tiles for bf16, which are so fast that few rows of them make up for packing. The sums of so few rows
// are cut at other steps of K, or not at all, so they may round differently from those of a product with
// more.
func (p *Product) fewRows() int {
	long := p.Terms[0]
	for _, t := range p.Terms {
		if t.K > long.K {
			long = t
		}
	}
	switch {
	case long.A.Elem == micro.BF16 && long.B.Elem == micro.BF16 && bf16Kernel() != nil:
		return 6
	case long.K*p.N <= 1<<20: // the caches hold it, and packing it is cheap
		if p.direct(&long) != nil {
			return 64
		}
		return 20
	case isa.Level() != isa.AVX512: // the registers hold half as many sums
		return 32
	}
	return 48
}

const (
	// fewSums is how many results a worker sums up at a time, at most: with eight rows of b they fit the
	// first-level cache.
	fewSums = 4096
	// fewCols and fewLeast are how many columns it takes, at most and at least: of shorter pieces of b's rows
	// the processor fetches less ahead.
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
	if slices.ContainsFunc(p.Terms, func(t Term) bool { return p.direct(&t) != nil }) {
		widest = max(widest, directCols)
	}
	tasks := roundUp((p.N+widest-1)/widest, threads)
	return max(fewLeast, roundUp((p.N+tasks-1)/max(1, tasks), fewLeast))
}

// direct returns the kernel that multiplies packed rows by the right operand as it lies, for terms that have
// some rows more than reading that operand hides; nil for others.
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
	// nearBytes is the size of a right operand that stays in a core's own cache.
	nearBytes = 1 << 20
	// nearSteps is how many steps of such an operand a direct kernel goes through before the next rows do the
	// same; farSteps of one that comes from further away; farthestSteps of one of more than farBytes, whose
	// lines are in more pages than the processor remembers the places of.
	nearSteps, farSteps, farthestSteps = 128, 64, 32
	farBytes                           = 4 << 20
	// directCols is how many columns a worker takes, at most: a block of steps of them stays in a core's
	// second-level cache.
	directCols = 512
)

// leftLen is the length of a term's left operand in the scratch memory, 0 if it is read as it lies.
func (p *Product) leftLen(t *Term) int {
	if d := p.direct(t); d != nil {
		return roundUp(p.Batch*roundUp(p.M, d.Rows)*t.K, 16)
	}
	if t.A.plain() {
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

// sumsLen is the length of a worker's sums, and a page between them and the next worker's: the processor
// fetches ahead up to the end of a page, and would keep taking from one core what the other writes.
func (p *Product) sumsLen(threads int) int {
	const page = 4096 / 4
	return roundUp(p.M*p.fewWidth(threads), page) + page
}

// plain says whether rows can be read as float32 with contiguous steps.
func (o *Operand) plain() bool { return o.Elem == micro.F32 && o.Step == 1 }

// runFew shares out the columns of the result.
func (p *Product) runFew(workers *pool.Pool, c *Call) {
	p.spread(workers, c)
	defer clear(c.inputs)
	if c.kept.columns == nil {
		c.kept.columns = p.shareOfColumns(workers.Threads(), c)
	}
	width := p.fewWidth(workers.Threads())
	chunks := p.Batch * ((p.N + width - 1) / width)
	if p.Batch*p.M*p.N*p.steps() < 1<<14 { // sooner done than shared out
		for chunk := range chunks {
			c.kept.columns(0, chunk)
		}
		return
	}
	workers.For(chunks, c.kept.columns)
}

// shareOfColumns returns what computes a chunk of the columns.
func (p *Product) shareOfColumns(threads int, c *Call) func(worker, chunk int) {
	width, size := p.fewWidth(threads), p.sumsLen(threads)
	per := (p.N + width - 1) / width
	return func(worker, chunk int) {
		batch, col := chunk/per, chunk%per*width
		cols := min(width, p.N-col)
		own := c.Scratch[len(c.Scratch)-(threads-worker)*size:][:p.M*width]
		p.columns(c, batch, col, cols, own)
		switch {
		case p.passing:
			c.Done(worker, Part{batch, 0, p.M, col, cols, unsafe.SliceData(own), cols})
		case c.Done != nil:
			c.done(worker, batch, 0, p.M, col, cols)
		}
	}
}

// spread writes left operands that cannot be read as they lie into the scratch memory, and what quantised
// weights are multiplied by.
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

// spreadRows returns what writes rows of term i's left operand into the scratch memory, from element at on.
func (p *Product) spreadRows(c *Call, i, at int) func(worker, lo, hi int) {
	t := &p.Terms[i]
	return func(_, lo, hi int) {
		for row := lo; row < hi; row++ {
			micro.Spread(c.Scratch[at+row*t.K:], t.A.source(c.A[i], row/p.M).At(row%p.M, 0), t.K)
		}
	}
}

// packRows returns what packs the left operand of term i into panels for d, all steps of one after the other,
// from element at of the scratch memory on.
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

// multiplyDirect adds the product of packed rows and columns of b to out, or sets out to it.
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
		ahead := uintptr(b.At(0, s).Base) // what is here already costs nothing
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

// multiplyRows adds the product of rows, lda apart, and columns of b to out.
func (p *Product) multiplyRows(steps int, a *float32, lda int, b micro.Source, cols int, out *float32, ld int) {
	if b.Line != 1 {
		micro.Dot(p.M, cols, steps, a, lda, b, out, ld)
		return
	}
	for s := 0; s < steps; s += micro.FewSteps {
		x := (*float32)(unsafe.Add(unsafe.Pointer(a), 4*s))
		micro.Axpy(p.M, cols, min(micro.FewSteps, steps-s), x, lda, b.At(0, s), out, ld)
	}
}

// columns computes a range of columns of one matrix.
func (p *Product) columns(c *Call, batch, col, cols int, sums []float32) {
	out, ld := unsafe.SliceData(sums), cols
	aside := p.M > 1 && p.M <= Few || p.turned
	if !aside && !p.passing {
		out, ld = c.c(batch, 0, col), c.LDC
	}
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
			p.multiplyRows(t.K, a, lda, b.At(col, 0), cols, out, ld)
		}
		at, add = at+n, 1
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

// turnedCols is the number of columns up to which a product of many rows is computed with its operands in
// each other's place.
const turnedCols = 16

// turn returns the product of the transposed operands, whose result is written transposed, if that is a
// product of few rows by what lies well for it: then the larger operand is not packed. It is nil otherwise.
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
	if c.kept.turned == nil {
		c.kept.turned = new(Call)
		if c.Done != nil {
			c.kept.turned.Done = func(worker int, t Part) {
				c.Done(worker, Part{t.Batch, t.Col, t.Cols, t.Row, t.Rows, c.c(t.Batch, t.Col, t.Row), c.LDC})
			}
		}
	}
	t := c.kept.turned
	t.A, t.B, t.C, t.LDC, t.BatchC, t.Scratch = c.B, c.A, c.C, c.LDC, c.BatchC, c.Scratch
	p.layout.turned.runFew(workers, t)
	t.A, t.B, t.C, t.Scratch = nil, nil, nil, nil
}
