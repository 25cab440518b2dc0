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
	few     bool // few.go
	byBatch bool // each matrix of the batch is one worker's

	kernel   *asm.MicroKernel
	byRows   bool // tasks are ranges of rows, and the right operand is shared; else of columns
	task     int  // rows or columns of a task
	shared   int  // columns or rows that are packed at a time
	stages   []stage
	maxDepth int // of a chunk
	maxStage int // of a stage
	threads  int
}

// A chunk is a piece of a term's inner dimension.
type chunk struct {
	term, step, k int
	at            int // steps before it in its stage
}

// A stage is the chunks for which the shared operand is packed at a time.
type stage struct {
	chunks []chunk
	steps  int
}

const (
	// sharedLen is how many elements of the shared operand are packed at a time: 8 MiB.
	sharedLen = 2 << 20
	maxShared = sharedLen / depth // lines of them, at least
	// maxTask is how many lines a task has at most: 256 of depth steps are 512 KiB.
	maxTask = 256
)

// arrange decides how the product is computed on so many threads.
func (p *Product) arrange(threads int) layout {
	l := layout{threads: threads, few: p.few()}
	if l.few || p.M == 0 || p.N == 0 || p.Batch == 0 || p.steps() == 0 {
		return l
	}
	l.kernel = choose(p.M, p.N)
	own, unit, other, otherUnit := p.N, l.kernel.Cols, p.M, l.kernel.Rows
	if l.byRows = p.M > p.N; l.byRows {
		own, unit, other, otherUnit = other, otherUnit, own, unit
	}
	l.shared = min(roundUp(other, otherUnit), maxShared/otherUnit*otherUnit)
	l.stages = p.stages(max(depth, sharedLen/l.shared/depth*depth))
	for _, s := range l.stages {
		l.maxStage = max(l.maxStage, s.steps)
		for _, c := range s.chunks {
			l.maxDepth = max(l.maxDepth, c.k)
		}
	}
	work := float64(p.M) * float64(p.N) * float64(p.steps())
	l.byBatch = p.Batch >= 2*threads && work < 1<<26
	pieces := 1
	if !l.byBatch && work > 1<<15 {
		pieces = 4 * threads
	}
	l.task = min(roundUp((own+pieces-1)/pieces, unit), max(1, maxTask/unit)*unit)
	return l
}

// stages cuts the inner dimensions into chunks, and these into stages of at most that many steps.
func (p *Product) stages(steps int) []stage {
	var all []stage
	for i := range p.Terms {
		for step := 0; step < p.Terms[i].K; step += depth {
			c := chunk{term: i, step: step, k: min(depth, p.Terms[i].K-step)}
			if n := len(all); n == 0 || all[n-1].steps+c.k > steps {
				all = append(all, stage{})
			}
			s := &all[len(all)-1]
			c.at = s.steps
			s.chunks = append(s.chunks, c)
			s.steps += c.k
		}
	}
	return all
}

func roundUp(n, step int) int { return (n + step - 1) / step * step }

// sharedSize and ownSize are the numbers of elements of the packed shared operand and of what a task packs.
func (l *layout) sharedSize() int { return roundUp(l.shared*l.maxStage, 16) }
func (l *layout) ownSize() int    { return roundUp(l.task*l.maxDepth, 16) }

// ScratchLen is how many elements of scratch memory a call needs.
func (p *Product) ScratchLen() int {
	switch l := &p.layout; {
	case l.few:
		return p.fewScratch(l.threads)
	case l.kernel == nil:
		return 0
	case l.byBatch:
		return l.threads * (l.sharedSize() + l.ownSize())
	default:
		return l.sharedSize() + l.threads*l.ownSize()
	}
}
