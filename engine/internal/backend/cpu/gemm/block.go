package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// A block is the part of the product between two packings of the shared operand: rows × cols of the result, the steps
// of one stage.
type block struct {
	p         *Product
	call      *Call
	workers   *pool.Pool
	shared    []float32 // packed
	stage     *stage
	first     bool // nothing was added to the result yet
	last      bool // it is complete afterwards
	batch     int
	row, rows int
	col, cols int
}

// each calls f for each block of a matrix of the batch, in the order of the sums, until f returns false.
func (p *Product) each(b *block, f func()) {
	l := &p.layout
	rows, cols := l.shared, p.N
	if l.byRows {
		rows, cols = p.M, l.shared
	}
	for b.col = 0; b.col < p.N; b.col += cols {
		b.cols = min(cols, p.N-b.col)
		for b.row = 0; b.row < p.M; b.row += rows {
			b.rows = min(rows, p.M-b.row)
			for i := range l.stages {
				b.stage, b.first, b.last = &l.stages[i], i == 0, i == len(l.stages)-1
				if f(); b.workers.Stopped() {
					return
				}
			}
		}
	}
}

// runBlocks shares each block out to all workers.
func (p *Product) runBlocks(workers *pool.Pool, c *Call) {
	l := &p.layout
	size := l.sharedSize()
	b := &block{p: p, call: c, workers: workers, shared: c.Scratch[:size]}
	pack := func(_, i int) { b.packShared(i) }
	task := func(worker, i int) { b.task(worker, i, c.Scratch[size+worker*l.ownSize():][:l.ownSize()]) }
	for b.batch = range p.Batch {
		p.each(b, func() {
			workers.For(b.panels(), pack)
			workers.For(b.tasks(), task)
		})
	}
}

// runByBatch gives each matrix of the batch to one worker.
func (p *Product) runByBatch(workers *pool.Pool, c *Call) {
	shared, own := p.layout.sharedSize(), p.layout.ownSize()
	workers.For(p.Batch, func(worker, batch int) {
		mem := c.Scratch[worker*(shared+own):][:shared+own]
		b := &block{p: p, call: c, workers: workers, shared: mem[:shared], batch: batch}
		p.each(b, func() {
			for i := range b.panels() {
				b.packShared(i)
			}
			for i := range b.tasks() {
				b.task(worker, i, mem[shared:])
			}
		})
	})
}

// panels is the number of panels of the shared operand.
func (b *block) panels() int {
	if k := b.p.layout.kernel; b.p.layout.byRows {
		return (b.cols + k.Cols - 1) / k.Cols
	} else {
		return (b.rows + k.Rows - 1) / k.Rows
	}
}

// packShared packs a panel of it, for all chunks of the stage.
func (b *block) packShared(i int) {
	l := &b.p.layout
	unit, line, lines := l.kernel.Rows, b.row, b.rows
	if l.byRows {
		unit, line, lines = l.kernel.Cols, b.col, b.cols
	}
	j := i * unit
	for n := range b.stage.chunks {
		c := &b.stage.chunks[n]
		b.pack(b.sharedChunk(c)[j*c.k:], c, l.byRows, line+j, min(unit, lines-j))
	}
}

// sharedChunk is where a chunk of the shared operand is packed: panel after panel.
func (b *block) sharedChunk(c *chunk) []float32 { return b.shared[b.p.layout.shared*c.at:] }

// pack packs columns of the right operand, or rows of the left one, into panels. Where lines lie side by side it takes a
// few steps of all of them at a time, because processors fetch ahead what lies in a row.
func (b *block) pack(dst []float32, c *chunk, right bool, line, lines int) {
	kernel, t := b.p.layout.kernel, &b.p.Terms[c.term]
	if right && t.Codes != nil {
		b.packCodes(dst, c, line, lines)
		return
	}
	unit, s := kernel.Rows, t.A.source(b.call.A[c.term], b.batch)
	if right {
		unit, s = kernel.Cols, t.B.source(b.call.B[c.term], b.batch)
	}
	s = s.At(line, c.step)
	steps := c.k
	if s.Line == 1 && lines > unit {
		steps = 16
	}
	for step := 0; step < c.k; step += steps {
		for j := 0; j < lines; j += unit {
			n, width := min(unit, lines-j), unit
			if right {
				width = kernel.PanelCols(n)
			}
			asm.PackPanel(dst[j*c.k+step*width:], width, s.At(j, step), n, min(steps, c.k-step))
		}
	}
}

// tasks is the number of ranges that the block is cut into.
func (b *block) tasks() int {
	n := b.cols
	if b.p.layout.byRows {
		n = b.rows
	}
	return (n + b.p.layout.task - 1) / b.p.layout.task
}

// task computes one of them; own is memory for what it packs.
func (b *block) task(worker, i int, own []float32) {
	l := &b.p.layout
	for n := range b.stage.chunks {
		c := &b.stage.chunks[n]
		r := rectangle{b: b, worker: worker, chunk: c, row: b.row, rows: b.rows, col: b.col, cols: b.cols}
		if !b.first || n > 0 {
			r.add = 1
		}
		r.done = b.last && n == len(b.stage.chunks)-1 && b.call.Done != nil
		if l.byRows {
			row := i * l.task
			r.row, r.rows = b.row+row, min(l.task, b.rows-row)
			b.pack(own, c, false, r.row, r.rows)
			r.a, r.bb = own, b.sharedChunk(c)
		} else {
			col := i * l.task
			r.col, r.cols = b.col+col, min(l.task, b.cols-col)
			b.pack(own, c, true, r.col, r.cols)
			r.a, r.bb = b.sharedChunk(c), own
		}
		if !r.run() {
			return
		}
	}
}

// A rectangle is a part of the result for one chunk, with both operands packed.
type rectangle struct {
	b         *block
	worker    int
	chunk     *chunk
	a, bb     []float32 // the packed operands
	row, rows int
	col, cols int
	add       int
	done      bool
}

// run adds up the products; it returns false when the pool was told to stop. The columns are taken in pieces whose
// panels stay in the second-level cache while the panels of rows pass by, each of them staying in the first-level one.
func (r *rectangle) run() bool {
	kernel, k, call := r.b.p.layout.kernel, r.chunk.k, r.b.call
	step := max(1, maxTask/kernel.Cols) * kernel.Cols
	for col := 0; col < r.cols; col += step {
		cols := min(step, r.cols-col)
		for row := 0; row < r.rows; row += kernel.Rows {
			rows := min(kernel.Rows, r.rows-row)
			a := unsafe.SliceData(r.a[row*k:])
			for j := col; j < col+cols; j += kernel.Cols {
				n := min(kernel.Cols, r.cols-j)
				c := call.c(r.b.batch, r.row+row, r.col+j)
				kernel.Run(k, a, unsafe.SliceData(r.bb[j*k:]), 4*kernel.PanelCols(n), c, 4*call.LDC, rows, n, r.add)
			}
			if r.done {
				call.Done(r.worker, r.b.batch, r.row+row, rows, r.col+col, cols)
			}
			if r.b.workers.Stopped() {
				return false
			}
		}
	}
	return true
}
