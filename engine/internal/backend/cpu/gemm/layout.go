package gemm

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// A layout is how a product is cut up.
//
// One operand, the one with fewer lines, is shared: all workers pack it together, as much at a time as
// sharedLen allows, and read it from a cache that they have in common. The tasks are ranges of the other
// operand's lines. A task packs what it needs of them itself, a chunk at a time, into memory that stays in
// its core's second-level cache.
type layout struct {
	few     bool     // few.go
	blas    bool     // blas.go
	turned  *Product // few.go
	byBatch bool     // each matrix of the batch is one worker's

	pieces  int  // tasks that the lines are cut into, at most, unless they would become too large
	byRows  bool // tasks are ranges of rows, and the right operand is shared; else of columns
	task    int  // rows or columns of a task
	shared  int  // columns or rows that are packed at a time
	stages  []stage
	ownSize int // elements of a worker's memory: for what a task packs, and for its part of the result if that is passed on
	allSize int // elements of the shared operand
	threads int

	// Of results that are passed on, with one stage:
	taskSize int // elements of all that a task packs
	group    int // lines of the shared operand whose results are handed on together
	partCols int // elements between rows of a part
	partSize int // elements of a part
}

// A chunk is a piece of a term's inner dimension.
type chunk struct {
	kernel        *micro.Kernel
	term, step, k int
	words         int  // that a line takes when it is packed
	at            int  // where the shared operand is packed
	own           int  // where a task packs, if it packs all chunks before it begins
	unpacked      bool // the left operand is read as it lies
}

// A stage is the chunks for which the shared operand is packed at a time.
type stage struct {
	chunks []chunk
	steps  int
	panels int // of the shared operand, at most
}

const (
	// sharedLen is how many elements of the shared operand are packed at a time: 8 MiB.
	sharedLen = 2 << 20
	maxShared = sharedLen / depth // lines of them, at least
	// maxTask is how many lines a task has at most: 256 of depth steps are 512 KiB.
	maxTask = 256
	// partLen is how many elements of a result that is passed on are handed on together, about.
	partLen = 16 << 10
	// minPassed is how many lines a task should have at least for that: else the shared operand is read too
	// often.
	minPassed = 64
)

// arrange decides how the product is computed on so many threads.
func (p *Product) arrange(threads int) layout {
	l := layout{threads: threads, few: p.few()}
	if l.few || p.M == 0 || p.N == 0 || p.Batch == 0 || p.steps() == 0 {
		return l
	}
	if l.blas = p.fitsBLAS(); l.blas {
		return l
	}
	if l.turned = p.turn(threads); l.turned != nil {
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
			_, area := p.cut(&l, k, maxTask)
			return area
		})
	}
	if steps := p.share(&l, kernels); steps > 0 {
		l.stages = p.stages(kernels, steps)
	}
	for i := range l.stages {
		l.place(&l.stages[i])
	}
	if p.passing && len(l.stages) == 1 {
		l.placePart(kernels)
	}
	return l
}

// share decides how many lines a task has, and how many lines and steps of the shared operand are packed at a
// time. The steps are 0 if results cannot be passed on.
func (p *Product) share(l *layout, kernels []*micro.Kernel) (steps int) {
	other, room := min(p.M, p.N), maxTask*depth
	if kernels[0] == bf16Kernel() { // takes half as much memory
		room *= 2
	}
	words, packs := 0, false // that a line takes when it is packed; whether the shared operand is
	for i := range p.Terms {
		t := &p.Terms[i]
		words += kernels[i].Words(t.K)
		packs = packs || l.byRows || !kernels[i].Unpacked(t.A.lies(), t.K)
	}
	most := maxTask
	l.shared = min(other, maxShared)
	steps = max(depth, sharedLen/l.shared/depth*depth)
	if p.passing { // all steps are packed at a time
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

// cut returns how many lines a task should have with a kernel, at most most of them, and the area that the
// busiest thread then computes, with all that lies beyond the edges of panels. More tasks suit threads that
// are not equally fast, and so fewer have to gain something.
func (p *Product) cut(l *layout, k *micro.Kernel, most int) (task int, least float64) {
	own, step, pieces := p.N, k.PanelCols(1), l.pieces
	if l.byRows {
		own, step = p.M, 1
	}
	if k == bf16Kernel() { // so fast that reading the shared operand once a task would hold it up
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

// units is how many lines a panel has: of what tasks pack, and of the shared operand.
func (l *layout) units(k *micro.Kernel) (own, shared int) {
	if l.byRows {
		return k.Rows, k.Cols
	}
	return k.Cols, k.Rows
}

// stages cuts the inner dimensions into chunks, and these into stages of at most that many steps.
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

// placePart decides how much of the result a task hands on at a time, and where it is gathered: behind all
// that the task packs. A part's rows are not a power of two apart, because lines of memory at such distances
// push each other out of a cache.
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

// ScratchLen is how many elements of scratch memory a call needs.
func (p *Product) ScratchLen() int {
	switch l := &p.layout; {
	case l.turned != nil:
		return l.turned.ScratchLen()
	case l.few:
		return p.fewScratch(l.threads)
	case l.byBatch:
		return l.threads * (l.allSize + l.ownSize)
	default:
		return l.allSize + l.threads*l.ownSize
	}
}
