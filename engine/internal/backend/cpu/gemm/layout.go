package gemm

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
)

// A layout is how a product is cut up.
//
// One operand, the one with fewer lines, is shared: all workers pack it together, as much at a time as sharedLen
// allows, and read it from a cache that they have in common. The tasks are ranges of the other operand's lines. A task
// packs what it needs of them itself, a chunk at a time, into memory that stays in its core's second-level cache.
type layout struct {
	few     bool     // few.go
	turned  *Product // few.go
	byBatch bool     // each matrix of the batch is one worker's

	byRows  bool // tasks are ranges of rows, and the right operand is shared; else of columns
	task    int  // rows or columns of a task
	shared  int  // columns or rows that are packed at a time
	stages  []stage
	ownSize int // elements of what a task packs, and of its part of the result if that is passed on
	allSize int // elements of the shared operand
	threads int

	// Of results that are passed on:
	group    int // lines of the shared operand whose results are handed on together
	partCols int // elements between rows of a part
	partSize int // elements of a part
}

// A chunk is a piece of a term's inner dimension.
type chunk struct {
	kernel        *asm.MicroKernel
	term, step, k int
	words         int // that a line takes when it is packed
	at            int // where the shared operand is packed
	own           int // where a task packs, if it packs all chunks before it begins
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
	// partRows is how many rows of a result that is passed on are handed on together, about.
	partRows = 32
	// maxPassed is how many elements a packed line may have for that: a task should have some lines more than a panel.
	maxPassed = maxTask * depth / 64
)

// arrange decides how the product is computed on so many threads.
func (p *Product) arrange(threads int) layout {
	l := layout{threads: threads, few: p.few()}
	if l.few || p.M == 0 || p.N == 0 || p.Batch == 0 || p.steps() == 0 {
		return l
	}
	if l.turned = p.turn(threads); l.turned != nil {
		return l
	}
	kernels := make([]*asm.MicroKernel, len(p.Terms))
	for i := range p.Terms {
		kernels[i] = choose(p.M, p.N, p.Terms[i].A.Elem, p.Terms[i].B.Elem)
	}
	l.byRows = p.M > p.N
	own, other := p.N, p.M
	if l.byRows {
		own, other = other, own
	}
	words := 0 // that a line takes when it is packed
	for i := range p.Terms {
		words += kernels[i].Words(p.Terms[i].K)
	}
	if p.passing && words > maxPassed {
		return l
	}
	l.shared = min(other, maxShared)
	work := float64(p.M) * float64(p.N) * float64(p.steps())
	l.byBatch = p.Batch >= 2*threads && work < 1<<26
	pieces, most := 1, maxTask
	if !l.byBatch && work > 1<<15 {
		pieces = 4 * threads
		if kernels[0] == bf16Kernel() { // so fast that reading the shared operand again for each task would hold it up
			pieces = 2 * threads
		}
	}
	unit, _ := l.units(kernels[0])
	steps := max(depth, sharedLen/l.shared/depth*depth)
	if p.passing { // all steps of the shared operand are packed at a time, and all of a task's
		l.shared, steps = min(other, sharedLen/words), p.steps()
		most = min(most, maxTask*depth/words)
	}
	l.task = min(roundUp((own+pieces-1)/pieces, unit), max(1, most/unit)*unit)
	l.stages = p.stages(kernels, steps)
	for i := range l.stages {
		l.place(&l.stages[i])
	}
	if p.passing {
		l.placePart(kernels)
	}
	return l
}

// units is how many lines a panel has: of what tasks pack, and of the shared operand.
func (l *layout) units(k *asm.MicroKernel) (own, shared int) {
	if l.byRows {
		return k.Rows, k.Cols
	}
	return k.Cols, k.Rows
}

// stages cuts the inner dimensions into chunks, and these into stages of at most that many steps.
func (p *Product) stages(kernels []*asm.MicroKernel, steps int) []stage {
	var all []stage
	for i := range p.Terms {
		for step := 0; step < p.Terms[i].K; step += depth {
			c := chunk{kernel: kernels[i], term: i, step: step, k: min(depth, p.Terms[i].K-step)}
			c.words = c.kernel.Words(c.k)
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
		at += roundUp(roundUp(l.shared, shared)*c.words, 16)
		size := roundUp(roundUp(l.task, own)*c.words, 16)
		mine += size
		l.ownSize = max(l.ownSize, size)
		s.panels = max(s.panels, (l.shared+shared-1)/shared)
	}
	l.allSize = max(l.allSize, at)
}

// placePart decides how much of the result a task hands on at a time, and where it is gathered: behind all that the task
// packs. A part's rows are not a power of two apart, because lines of memory at such distances push each other out of a cache.
func (l *layout) placePart(kernels []*asm.MicroKernel) {
	unit := 1
	for _, k := range kernels {
		_, shared := l.units(k)
		unit = lcm(unit, shared)
	}
	rows, cols := max(1, partRows/unit)*unit, l.task
	l.group = rows
	if l.byRows {
		l.group = max(1, maxTask/unit) * unit
		rows, cols = l.task, l.group
	}
	l.partCols = roundUp(cols, 32) + 16
	l.partSize = rows * l.partCols
	last := &l.stages[0].chunks[len(l.stages[0].chunks)-1]
	own, _ := l.units(last.kernel)
	l.ownSize = last.own + roundUp(roundUp(l.task, own)*last.words, 16) + l.partSize
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
