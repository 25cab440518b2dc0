package gemm

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// A layout divides a product into tasks.
//
// The operand with fewer lines is shared: all workers pack it together, at most sharedLen elements at a
// time, and read it from a cache that they share. If it is small each packs all of it, because to fetch what
// another core has just written takes as long as packing, and much longer where cores have different caches.
// A task is a range of lines of the other operand. It packs them itself, a chunk at a time, into memory that
// stays in the second-level cache of its core.
type layout struct {
	few        bool     // the product is computed by few.go
	blas       bool     // the product is computed by blas.go
	transposed *Product // the product of the transposed operands, see few.go
	byBatch    bool     // each matrix of the batch belongs to one worker
	private    bool     // each worker packs the shared operand for itself
	once       bool     // all matrices of the batch have one shared operand, which is packed for the first

	pieces  int  // the largest number of tasks, unless the tasks would become too large
	byRows  bool // tasks are ranges of rows and the right operand is shared; else ranges of columns
	task    int  // rows or columns of a task
	shared  int  // columns or rows of the shared operand that are packed at a time
	stages  []stage
	ownSize int // elements of a worker's memory: for the lines of a task, and for its part of the result if that is passed on
	allSize int // elements of the shared operand
	threads int

	// For results that are passed on, in one stage:
	taskSize int // elements of all packed lines of a task
	group    int // lines of the shared operand whose results are handed on together
	partCols int // elements between rows of a part
	partSize int // elements of a part
}

// A chunk is a piece of a term's inner dimension.
type chunk struct {
	kernel        *micro.Kernel
	term, step, k int
	words         int  // of a packed line
	at            int  // where the shared operand is packed
	own           int  // where a task packs this chunk, if it packs all chunks first
	unpacked      bool // the left operand is read unpacked
}

// A stage is a group of chunks; the shared operand is packed for all of them at once.
type stage struct {
	chunks []chunk
	steps  int
	panels int // the largest number of panels of the shared operand
}

const (
	// sharedLen is the number of elements of the shared operand that are packed at a time: 8 MiB.
	sharedLen = 2 << 20
	maxShared = sharedLen / depth // the smallest number of its lines
	// passedLen is the number of elements that all lines of a task may have if results are passed on: 512
	// KiB.
	passedLen = 1 << 17
	// partLen is about the number of elements that are handed on together.
	partLen = 16 << 10
	// minPassed is the number of lines that a task needs for passing results on. With fewer the shared
	// operand would be read too often.
	minPassed = 64
)

// arrange chooses the layout of the product for a number of threads.
func (p *Product) arrange(threads int) layout {
	l := layout{threads: threads, few: p.few()}
	if l.few || p.M == 0 || p.N == 0 || p.Batch == 0 || p.steps() == 0 {
		return l
	}
	if l.blas = p.fitsBLAS(); l.blas {
		return l
	}
	if l.transposed = p.transpose(threads); l.transposed != nil {
		return l
	}
	l.byRows = p.M > p.N
	work := float64(p.M) * float64(p.N) * float64(p.steps())
	l.byBatch = p.Batch >= 2*threads && work < 1<<26
	if l.pieces = 1; !l.byBatch && work > 1<<15 {
		l.pieces = 4 * threads
	}
	kernels := make([]*micro.Kernel, len(p.Terms))
	for i := range p.Terms {
		kernels[i] = choose(p.Terms[i].A.Elem, p.Terms[i].B.Elem, func(k *micro.Kernel) float64 {
			_, area := p.cut(&l, k, maxTask())
			return area
		})
	}
	if steps := p.share(&l, kernels); steps > 0 {
		l.stages = p.stages(kernels, steps)
	}
	for i := range l.stages {
		l.place(&l.stages[i])
	}
	l.private = l.byBatch || threads > 1 && l.allSize <= copiesFor(machine.Caches(), threads)
	l.once = len(l.stages) == 1 && l.shared >= min(p.M, p.N) && !slices.ContainsFunc(p.Terms, func(t Term) bool {
		o := t.A
		if l.byRows {
			o = t.B
		}
		return len(o.Batch) > 0 && slices.ContainsFunc(o.Batch, func(at int) bool { return at != o.Batch[0] })
	})
	if p.passing && len(l.stages) == 1 {
		l.placePart(kernels)
	}
	return l
}

// share decides the lines of a task, and the lines and steps of the shared operand that are packed at a
// time. steps is 0 if results cannot be passed on.
func (p *Product) share(l *layout, kernels []*micro.Kernel) (steps int) {
	other, room := min(p.M, p.N), passedLen
	if kernels[0] == bf16Kernel() { // takes half the memory
		room *= 2
	}
	words, packs := 0, false // words of a packed line; whether the shared operand is packed
	for i := range p.Terms {
		t := &p.Terms[i]
		words += kernels[i].Words(t.K)
		packs = packs || l.byRows || !kernels[i].Unpacked(t.A.lies(), t.K)
	}
	most := maxTask()
	l.shared = min(other, maxShared)
	steps = max(depth, sharedLen/l.shared/depth*depth)
	if p.passing { // all steps are packed at once
		if most = min(most, room/words); most < minPassed {
			return 0
		}
		l.shared, steps = min(other, sharedLen/words), p.steps()
	}
	if !packs {
		l.shared, steps = other, p.steps()
	}
	l.task, _ = p.cut(l, kernels[0], most)
	return steps
}

// cut returns the number of lines of a task for a kernel, at most most, and the area that the busiest
// thread then computes, with the results beyond the edges of panels. More tasks suit threads of unequal
// speed, so fewer tasks have to be clearly better.
func (p *Product) cut(l *layout, k *micro.Kernel, most int) (task int, least float64) {
	own, step, pieces := p.N, k.PanelCols(1), l.pieces
	if l.byRows {
		own, step = p.M, 1
	}
	if k == bf16Kernel() { // so fast that each task's reading of the shared operand would limit it
		pieces = (pieces + 1) / 2
	}
	least = math.Inf(1)
	for n := pieces; n >= min(pieces, l.threads); n-- {
		lines := min(roundUp((own+n-1)/n, step), max(step, most/step*step))
		m, cols := p.M, lines
		if l.byRows {
			m, cols = lines, p.N
		}
		tasks := (own + lines - 1) / lines
		if a := float64((tasks+l.threads-1)/l.threads) * area(k, m, cols); a < 0.985*least {
			task, least = lines, a
		}
	}
	return task, least
}

// units returns the number of lines in a panel of the task's operand, and of the shared one.
func (l *layout) units(k *micro.Kernel) (own, shared int) {
	if l.byRows {
		return k.Rows, k.Cols
	}
	return k.Cols, k.Rows
}

// stages cuts the inner dimensions into chunks, and groups these into stages of at most steps steps.
func (p *Product) stages(kernels []*micro.Kernel, steps int) []stage {
	var all []stage
	for i := range p.Terms {
		t, longest := &p.Terms[i], depth*kernels[i].Depth()
		for step := 0; step < t.K; step += longest {
			c := chunk{kernel: kernels[i], term: i, step: step, k: min(longest, t.K-step)}
			c.words, c.unpacked = c.kernel.Words(c.k), c.kernel.Unpacked(t.A.lies(), c.k)
			if n := len(all); n == 0 || all[n-1].steps+c.k > steps {
				all = append(all, stage{})
			}
			s := &all[len(all)-1]
			s.chunks = append(s.chunks, c)
			s.steps += c.k
		}
	}
	return all
}

// place decides where the chunks of a stage are packed.
func (l *layout) place(s *stage) {
	at, mine := 0, 0
	for i := range s.chunks {
		c := &s.chunks[i]
		own, shared := l.units(c.kernel)
		c.at, c.own = at, mine
		if !c.unpacked || l.byRows {
			at += roundUp(roundUp(l.shared, shared)*c.words, 16)
			s.panels = max(s.panels, (l.shared+shared-1)/shared)
		}
		if !c.unpacked || !l.byRows {
			size := roundUp(roundUp(l.task, own)*c.words, 16)
			mine += size
			l.ownSize = max(l.ownSize, size)
		}
	}
	l.allSize, l.taskSize = max(l.allSize, at), mine
}

// placePart decides how much of the result a task hands on at a time, and where: after the task's packed
// lines. The rows of a part are not a power of two apart, because such lines displace each other in a
// cache.
func (l *layout) placePart(kernels []*micro.Kernel) {
	unit := 1
	for _, k := range kernels {
		_, shared := l.units(k)
		unit = lcm(unit, shared)
	}
	l.group = max(1, min(l.shared, partLen/l.task)/unit) * unit
	rows, cols := l.group, l.task
	if l.byRows {
		rows, cols = cols, rows
	}
	l.partCols = roundUp(cols, 32) + 16
	l.partSize = rows * l.partCols
	l.ownSize = l.taskSize + l.partSize
}

func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

func roundUp(n, step int) int { return (n + step - 1) / step * step }

// ScratchLen returns the number of elements of scratch memory that a call needs.
func (p *Product) ScratchLen() int {
	switch l := &p.layout; {
	case l.transposed != nil:
		return l.transposed.ScratchLen()
	case l.few:
		return p.fewScratch(l.threads)
	case l.private:
		return l.threads * (l.allSize + l.ownSize)
	default:
		return l.allSize + l.threads*l.ownSize
	}
}

// memory returns a worker's part of the scratch memory: for the shared operand, which may be that of all
// workers, and its own.
func (l *layout) memory(scratch []float32, worker int) (shared, own []float32) {
	if l.private {
		scratch = scratch[worker*(l.allSize+l.ownSize):]
		return scratch[:l.allSize], scratch[l.allSize:][:l.ownSize]
	}
	return scratch[:l.allSize], scratch[l.allSize+worker*l.ownSize:][:l.ownSize]
}
