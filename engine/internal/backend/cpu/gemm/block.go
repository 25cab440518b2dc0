package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// A block is the part of the product between two packings of the shared operand: rows × cols of the result,
// and the steps of one stage.
type block struct {
	p         *Product
	call      *Call
	workers   *pool.Pool
	shared    []float32 // packed
	stage     *stage
	first     bool // the result has no sums yet
	last      bool // the result is complete after this block
	batch     int
	row, rows int
	col, cols int
}

// each calls f for each block of a matrix of the batch, in the order of the sums. It ends early when the
// pool was told to stop.
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

// A blockLoop is a block that moves over the product, and the loops that run for it.
type blockLoop struct {
	block
	copies     []packedCopy // one for each worker, if each packs the shared operand for itself
	pack, task func(worker, i int)
	share      func()
}

// A packedCopy is the block with a worker's own copy of the shared operand.
type packedCopy struct {
	block
	packed bool
}

func (p *Product) newBlockLoop(c *Call, threads int) *blockLoop {
	l, b := &p.layout, new(blockLoop)
	if l.private {
		b.copies = make([]packedCopy, threads)
	}
	b.pack = func(_, i int) { b.packShared(i) }
	b.task = func(worker, i int) {
		shared, own := l.memory(c.Scratch, worker)
		mine := &b.block
		if l.private {
			mine = b.copies[worker].of(&b.block, shared)
		}
		mine.do(worker, i, own)
	}
	b.share = func() {
		switch {
		case b.batch > 0 && l.once:
		case l.private:
			clear(b.copies)
		default:
			b.workers.For(b.stage.panels, b.pack)
		}
		b.workers.For(b.tasks(), b.task)
	}
	return b
}

// of moves the copy to a block; shared is its memory.
func (c *packedCopy) of(b *block, shared []float32) *block {
	c.block, c.shared = *b, shared
	if !c.packed {
		c.packAll()
		c.packed = true
	}
	return &c.block
}

// runBlocks divides each block among all workers.
func (p *Product) runBlocks(workers *pool.Pool, c *Call) {
	if c.kept.blocks == nil {
		c.kept.blocks = p.newBlockLoop(c, workers.Threads())
	}
	b := c.kept.blocks
	b.block = block{p: p, call: c, workers: workers, shared: c.Scratch[:p.layout.allSize]}
	defer func() {
		b.block = block{}
		clear(b.copies)
	}()
	for b.batch = range p.Batch {
		p.each(&b.block, b.share)
	}
}

// runByBatch gives each matrix of the batch to one worker.
func (p *Product) runByBatch(workers *pool.Pool, c *Call) {
	packed := make([]bool, workers.Threads())
	workers.For(p.Batch, func(worker, batch int) {
		shared, own := p.layout.memory(c.Scratch, worker)
		b := &block{p: p, call: c, workers: workers, shared: shared, batch: batch}
		p.each(b, func() {
			if !packed[worker] {
				b.packAll()
			}
			packed[worker] = p.layout.once
			for i := range b.tasks() {
				b.do(worker, i, own)
			}
		})
	})
}

// packAll packs the shared operand.
func (b *block) packAll() {
	for i := range b.stage.panels {
		b.packShared(i)
	}
}

// packShared packs piece i of the shared operand, one panel for each chunk of the stage.
func (b *block) packShared(i int) {
	l := &b.p.layout
	first, lines := b.row, b.rows
	if l.byRows {
		first, lines = b.col, b.cols
	}
	for n := range b.stage.chunks {
		c := &b.stage.chunks[n]
		if c.unpacked && !l.byRows {
			continue
		}
		_, unit := l.units(c.kernel)
		panels := (lines + unit - 1) / unit
		lo, hi := i*panels/b.stage.panels*unit, min(lines, (i+1)*panels/b.stage.panels*unit)
		if lo < hi {
			b.pack(b.shared[c.at+lo*c.words:], c, l.byRows, first+lo, hi-lo)
		}
	}
}

// pack packs columns of the right operand, or rows of the left one, into panels. If lines are side by side,
// it packs a few steps of all lines at a time, because processors prefetch contiguous memory.
func (b *block) pack(dst []float32, c *chunk, right bool, line, lines int) {
	t := &b.p.Terms[c.term]
	switch {
	case !right && c.unpacked:
		return
	case right && t.Codes != nil:
		b.packCodes(dst, c, line, lines)
		return
	}
	unit, s := c.kernel.Rows, t.A.source(b.call.A[c.term], b.batch)
	if right {
		unit, s = c.kernel.Cols, t.B.source(b.call.B[c.term], b.batch)
	}
	s = s.At(line, c.step)
	steps := c.k
	if s.Line == 1 && lines > unit {
		steps = 32 // a multiple of the steps of all kernels
	}
	for step := 0; step < c.k; step += steps {
		k := min(steps, c.k-step)
		for j := 0; j < lines; j += unit {
			n, panel := min(unit, lines-j), dst[j*c.words:]
			if right {
				c.kernel.PackRight(panel[c.kernel.Words(step)*c.kernel.PanelCols(n):], s.At(j, step), n, k)
			} else {
				c.kernel.PackLeft(panel, c.words, step, s.At(j, step), n, k)
			}
		}
	}
}

// tasks returns the number of tasks of the block.
func (b *block) tasks() int {
	n := b.cols
	if b.p.layout.byRows {
		n = b.rows
	}
	return (n + b.p.layout.task - 1) / b.p.layout.task
}

// do computes task i; own is the worker's memory for packing.
func (b *block) do(worker, i int, own []float32) {
	if b.p.passing {
		b.pass(worker, i, own)
	} else {
		b.keep(worker, i, own)
	}
}

// keep is do for a result that is kept: each chunk adds to the whole part of the task.
func (b *block) keep(worker, i int, own []float32) {
	l := &b.p.layout
	for n := range b.stage.chunks {
		c := &b.stage.chunks[n]
		r := rectangle{b: b, worker: worker, chunk: c, row: b.row, rows: b.rows, col: b.col, cols: b.cols, ldc: b.call.LDC}
		if !b.first || n > 0 {
			r.add = 1
		}
		r.done = b.last && n == len(b.stage.chunks)-1 && b.call.Done != nil
		if l.byRows {
			row := i * l.task
			r.row, r.rows = b.row+row, min(l.task, b.rows-row)
			b.pack(own, c, false, r.row, r.rows)
			r.left, r.right = own, b.shared[c.at:]
		} else {
			col := i * l.task
			r.col, r.cols = b.col+col, min(l.task, b.cols-col)
			b.pack(own, c, true, r.col, r.cols)
			r.left, r.right = b.shared[c.at:], own
		}
		r.c = b.call.c(b.batch, r.row, r.col)
		if !r.run() {
			return
		}
	}
}

// pass is do for a result that is only passed on: the sums of some lines are completed in the worker's own
// memory.
func (b *block) pass(worker, i int, own []float32) {
	l := &b.p.layout
	part := own[l.ownSize-l.partSize:]
	mine, all := b.cols, b.rows // number of lines: of the operand that the task packs, and of the shared one
	if l.byRows {
		mine, all = all, mine
	}
	first, lines := i*l.task, min(l.task, mine-i*l.task)
	for n := range b.stage.chunks {
		c := &b.stage.chunks[n]
		if l.byRows {
			b.pack(own[c.own:], c, false, b.row+first, lines)
		} else {
			b.pack(own[c.own:], c, true, b.col+first, lines)
		}
	}
	for at := 0; at < all; at += l.group {
		r := rectangle{b: b, worker: worker, row: b.row + at, rows: min(l.group, all-at), col: b.col + first, cols: lines}
		if l.byRows {
			r.row, r.rows, r.col, r.cols = b.row+first, lines, b.col+at, min(l.group, all-at)
		}
		r.c, r.ldc = unsafe.SliceData(part), l.partCols
		for n := range b.stage.chunks {
			r.chunk, r.add = &b.stage.chunks[n], min(n, 1)
			own, shared := own[r.chunk.own:], b.shared[r.chunk.at:]
			if l.byRows {
				r.left, r.right = own, shared[at*r.chunk.words:]
			} else if r.left, r.right = nil, own; !r.chunk.unpacked {
				r.left = shared[at*r.chunk.words:]
			}
			if !r.run() {
				return
			}
		}
		b.call.Done(worker, Part{b.batch, r.row, r.rows, r.col, r.cols, r.c, r.ldc})
	}
}

// A rectangle is a part of the result for one chunk, with both operands packed.
type rectangle struct {
	b           *block
	worker      int
	chunk       *chunk
	left, right []float32
	row, rows   int
	col, cols   int
	c           *float32
	ldc         int
	add         int
	done        bool // the part is complete afterwards, and is handed on
}

// leftRows returns the address of the left rows, packed or not, and their distance in bytes.
func (r *rectangle) leftRows() (rows unsafe.Pointer, apart int) {
	if !r.chunk.unpacked {
		return unsafe.Pointer(unsafe.SliceData(r.left)), 4 * r.chunk.words
	}
	a := &r.b.p.Terms[r.chunk.term].A
	s := a.source(r.b.call.A[r.chunk.term], r.b.batch).At(r.row, r.chunk.step)
	return s.Base, s.Line * s.Elem.Size()
}

// run adds up the products; it returns false when the pool was told to stop. It takes pieces of the columns
// whose panels stay in the second-level cache, while the panels of rows pass through the first-level cache.
//
// Whole rows of the result are handed on together if they fit that cache too, because their memory is
// contiguous.
func (r *rectangle) run() bool {
	kernel, words, call := r.chunk.kernel, r.chunk.words, r.b.call
	left, lda := r.leftRows()
	most := maxTask()
	step := max(1, most/kernel.Cols) * kernel.Cols
	together := r.done && r.cols == r.b.p.N && r.rows*r.cols <= most*depth
	for col := 0; col < r.cols; col += step {
		cols := min(step, r.cols-col)
		right := unsafe.SliceData(r.right[col*words:])
		for row, rows := 0, 0; row < r.rows; row += rows {
			rows = kernel.RowsAtOnce(r.rows - row)
			a, c := (*float32)(unsafe.Add(left, row*lda)), (*float32)(unsafe.Add(unsafe.Pointer(r.c), 4*(row*r.ldc+col)))
			kernel.Multiply(words, a, lda, right, c, 4*r.ldc, rows, cols, r.add)
			if r.done && !together {
				call.done(r.worker, r.b.batch, r.row+row, rows, r.col+col, cols)
			}
			if r.b.workers.Stopped() {
				return false
			}
		}
	}
	if together {
		call.done(r.worker, r.b.batch, r.row, r.rows, r.col, r.cols)
	}
	return true
}
