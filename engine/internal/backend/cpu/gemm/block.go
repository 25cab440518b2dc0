package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// A layout is how a product is cut up.
type layout struct {
	few     bool // few.go
	byBatch bool // each matrix of the batch is one worker's

	kernel     *asm.MicroKernel
	rows, cols int // of what is packed at a time; multiples of the kernel's
	taskRows   int // of a task, multiples of the kernel's
	taskCols   int
	depth      int // steps that are packed at a time, at most
	threads    int
}

// Limits of what is packed at a time: 4 MiB on each side.
const (
	maxRows = 2048
	maxCols = 2048
)

// arrange decides how the product is computed on so many threads.
func (p *Product) arrange(threads int) layout {
	l := layout{threads: threads, few: p.few()}
	if l.few || p.M == 0 || p.N == 0 || p.Batch == 0 {
		return l
	}
	l.kernel = choose(p.N)
	for i := range p.Terms {
		l.depth = max(l.depth, min(p.Terms[i].K, depth))
	}
	k := l.kernel
	l.rows = min(roundUp(p.M, k.Rows), maxRows/k.Rows*k.Rows)
	l.cols = min(roundUp(p.N, k.Cols), maxCols/k.Cols*k.Cols)
	l.taskCols = min(l.cols, max(1, 256/k.Cols)*k.Cols)

	work := float64(p.M) * float64(p.N) * float64(p.steps())
	l.byBatch = p.Batch >= 2*threads && p.M <= maxRows && p.N <= maxCols && work < 1<<26
	pieces := 1
	if !l.byBatch && work > 1<<15 {
		pieces = 4 * threads
	}
	blocks := (l.cols + l.taskCols - 1) / l.taskCols
	want := (pieces + blocks - 1) / blocks // row ranges of a column block
	l.taskRows = roundUp((l.rows+want-1)/want, k.Rows)
	return l
}

func roundUp(n, step int) int { return (n + step - 1) / step * step }

// packed is the number of elements of the packed blocks of both operands.
func (l *layout) packed() int {
	return roundUp(l.rows*l.depth, 16) + roundUp(l.cols*l.depth, 16)
}

// ScratchLen is how many elements of scratch memory a call needs.
func (p *Product) ScratchLen() int {
	switch l := &p.layout; {
	case l.few:
		return p.fewScratch()
	case l.kernel == nil:
		return 0
	case l.byBatch:
		return l.threads * l.packed()
	default:
		return l.packed()
	}
}

// A block is the part of the product between two packings: rows × cols of the result, steps of one term.
type block struct {
	p         *Product
	call      *Call
	a, b      []float32 // packed
	term      int
	batch     int
	row, rows int
	col, cols int
	step, k   int
	add       int  // to what is there already
	last      bool // the result is complete afterwards
}

// each calls f for each block of a matrix of the batch, in the order of the sums, until f returns false.
func (p *Product) each(c *Call, batch int, scratch []float32, f func(*block) bool) {
	l := &p.layout
	a := roundUp(l.rows*l.depth, 16)
	b := block{p: p, call: c, batch: batch, a: scratch[:a], b: scratch[a:l.packed()]}
	last := len(p.Terms) - 1
	for p.Terms[last].K == 0 {
		last--
	}
	for b.col = 0; b.col < p.N; b.col += l.cols {
		b.cols = min(l.cols, p.N-b.col)
		for b.row = 0; b.row < p.M; b.row += l.rows {
			b.rows = min(l.rows, p.M-b.row)
			b.add = 0
			for b.term = 0; b.term <= last; b.term++ {
				for b.step = 0; b.step < p.Terms[b.term].K; b.step += depth {
					b.k = min(depth, p.Terms[b.term].K-b.step)
					b.last = b.term == last && b.step+b.k == p.Terms[last].K
					if !f(&b) {
						return
					}
					b.add = 1
				}
			}
		}
	}
}

// runBlocks shares each block out to all workers.
func (p *Product) runBlocks(workers *pool.Pool, c *Call) {
	var b *block
	pack := func(_, chunk int) { b.packPanel(chunk) }
	task := func(worker, chunk int) { b.task(worker, chunk) }
	for batch := range p.Batch {
		p.each(c, batch, c.Scratch, func(next *block) bool {
			b = next
			workers.For(b.panels(), pack)
			workers.For(b.tasks(), task)
			return !workers.Stopped()
		})
	}
}

// runByBatch gives each matrix of the batch to one worker.
func (p *Product) runByBatch(workers *pool.Pool, c *Call) {
	size := p.layout.packed()
	workers.For(p.Batch, func(worker, batch int) {
		p.each(c, batch, c.Scratch[worker*size:][:size], func(b *block) bool {
			for i := range b.panels() {
				b.packPanel(i)
			}
			for i := range b.tasks() {
				b.task(worker, i)
			}
			return !workers.Stopped()
		})
	})
}

// panels is the number of panels to pack: those of the left operand, then those of the right one.
func (b *block) panels() int {
	k := b.p.layout.kernel
	return (b.rows+k.Rows-1)/k.Rows + (b.cols+k.Cols-1)/k.Cols
}

func (b *block) packPanel(i int) {
	kernel, t := b.p.layout.kernel, &b.p.Terms[b.term]
	if left := (b.rows + kernel.Rows - 1) / kernel.Rows; i >= left {
		j := (i - left) * kernel.Cols
		n := min(kernel.Cols, b.cols-j)
		s := t.B.source(b.call.B[b.term], b.batch).At(b.col+j, b.step)
		asm.PackPanel(b.b[j*b.k:], kernel.PanelCols(n), s, n, b.k)
		return
	}
	j := i * kernel.Rows
	s := t.A.source(b.call.A[b.term], b.batch).At(b.row+j, b.step)
	asm.PackPanel(b.a[j*b.k:], kernel.Rows, s, min(kernel.Rows, b.rows-j), b.k)
}

// tasks is the number of rectangles that the block's result is cut into.
func (b *block) tasks() int {
	l := &b.p.layout
	return ((b.rows + l.taskRows - 1) / l.taskRows) * ((b.cols + l.taskCols - 1) / l.taskCols)
}

// task computes one of them. Tasks of the same columns follow each other, so that a worker meets them in a row.
func (b *block) task(worker, i int) {
	l, c := &b.p.layout, b.call
	kernel := l.kernel
	ranges := (b.rows + l.taskRows - 1) / l.taskRows
	col := i / ranges * l.taskCols
	cols := min(l.taskCols, b.cols-col)
	row := i % ranges * l.taskRows
	end := min(b.rows, row+l.taskRows)
	for ; row < end; row += kernel.Rows {
		rows := min(kernel.Rows, end-row)
		a := unsafe.SliceData(b.a[row*b.k:])
		for j := col; j < col+cols; j += kernel.Cols {
			n := min(kernel.Cols, b.cols-j)
			kernel.Run(b.k, a, unsafe.SliceData(b.b[j*b.k:]), 4*kernel.PanelCols(n), c.c(b.batch, b.row+row, b.col+j), 4*c.LDC, rows, n, b.add)
		}
		if b.last && c.Done != nil {
			c.Done(worker, b.batch, b.row+row, rows, b.col+col, cols)
		}
	}
}
