package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A tile is the part of a product that a threadgroup computes: parts of both operands pass through its
// memory, the sums stay in registers. There is no best tile for a device, only one that is large enough
// that arithmetic is the limit, and small enough that there are many.
//
// A tile of 64×64 with 32 of the inner axis reads 8 KB of halves for 262,144 operations: 32 operations a
// byte. An M-series GPU needs some 35 of its memory (14 TFLOP/s and 400 GB/s, of an M3 Max) where no cache
// helps, and there a neighbour has read half of it before. Its 10 KB let three groups share the 32 KB of a
// core, so one computes while others load. What limits it is the arithmetic of the simdgroup matrices.
//
// NVIDIA's tile is 128×128×32: 64 operations a byte, for a GPU that has ten times the arithmetic and loads
// ahead: two stages of 16 KB, one of which fills while the other is multiplied.
//
// Products of few columns or of few rows, as those of adapters, have thin tiles: memory limits them. NVIDIA's
// are 32 rows or 64 columns, so that an adapter's of 4096 rows have one for each processor and need not be
// cut along the inner axis. Up to five parts of 4 KB are loaded ahead.
type tile struct {
	by           means
	across, down int  // simdgroups along the columns, and along the rows
	high, wide   int  // each simdgroup's blocks of 16×16; or, by threads, each thread's elements
	stages       int  // how many parts of the inner axis are in threadgroup memory: all but one are loaded ahead
	woven        bool // how lines lie in threadgroup memory: woven (prelude/mma.h), or a few elements apart
}

// means is what multiplies.
type means uint8

const (
	// Each thread has high×wide sums. The threads of a simdgroup stand in four rows of eight; their rows are
	// four apart.
	byThreads   means = iota
	byMatrices        // simdgroup matrices of 8×8
	byFragments       // NVIDIA's matrix units
)

// blocks is the name of the blocks that multiply: see matrix.metal.
func (t *tile) blocks() string {
	if t.by == byFragments {
		return "fragment"
	}
	return "matrix"
}

func (t *tile) threads() int { return simdWidth * t.across * t.down }

// tall is how many rows a simdgroup ends at a time, and broad how many columns it has.
func (t *tile) tall() int {
	if t.by == byThreads {
		return 4
	}
	return 16
}

func (t *tile) broad() int {
	if t.by == byThreads {
		return 8 * t.wide
	}
	return 16 * t.wide
}

func (t *tile) rows() int    { return t.tall() * t.high * t.down }
func (t *tile) columns() int { return t.broad() * t.across }

// stride is how far lines of wide elements lie apart in threadgroup memory. Sixteen bytes more than they
// have let eight lines begin in eight different places of its banks.
func (t *tile) stride(size, wide int) int {
	if t.woven {
		return wide
	}
	return wide + max(16/size, 4)
}

// place is the expression of an element's place in a part with lines of wide elements.
func (t *tile) place(typ string, size, wide int, line, beside string) string {
	if t.woven {
		return fmt.Sprintf("woven<%s, %d>(%s, %s)", typ, wide, line, beside)
	}
	return fmt.Sprintf("(%s) * %d + %s", line, t.stride(size, wide), beside)
}

// endPad is how many numbers more than it has a line of sums takes in threadgroup memory.
const endPad = 8

// stage is the threadgroup memory that a part of a pair's operands takes.
func (t *tile) stage(left, right side) int {
	return left.size*max(t.rows()*t.stride(left.size, left.depth), left.depth*t.stride(left.size, t.rows())) +
		right.size*max(t.columns()*t.stride(right.size, right.depth), right.depth*t.stride(right.size, t.columns()))
}

// ends is the threadgroup memory that sums of so many bytes take.
func (t *tile) ends(sum int) int { return t.down * t.tall() * (t.columns() + endPad) * sum }

// Products have at least leastMatrix rows and columns to be worth a tile of matrices, and up to mostThin of
// one of them to be thin.
const (
	leastMatrix = mostFewRows + 1
	mostThin    = 32
)

// Thin products wait for memory: parts of theirs that fill bytesAhead bytes are in threadgroup memory, but
// no more than mostStages of them.
const (
	bytesAhead = 24 << 10
	mostStages = 6
)

// thin says whether memory limits a product of matrix units.
func (t *tile) thin(rows, columns int) bool {
	return t.by == byFragments && min(rows, columns) <= mostThin
}

// tileOf chooses the tile of a product of rows×columns of a type, in batches. exact says that NVIDIA's
// matrix units can multiply its longest pair: they take at most 11 bits of a number, so one operand has no
// more of them, or may be rounded.
func tileOf(rows, columns, batches int, dt dtype.Type, exact bool, l Limits) tile {
	t := tile{by: byMatrices, across: 2, down: 2, high: 2, wide: 2, stages: 1}
	if l.Family == NVIDIA {
		t.by, t.stages, t.woven = byFragments, 2, true
	}
	if !dt.Float() || min(rows, columns) < leastMatrix || l.Family == NVIDIA && !exact {
		t.by, t.down, t.high, t.wide = byThreads, 4, 4, 4
	}
	switch {
	case columns <= mostThin && t.by == byThreads:
		t.across, t.down = 1, 8
	case rows <= mostThin && t.by == byThreads:
		t.across, t.down = 4, 2
	case t.thin(rows, columns) && columns <= mostThin:
		t.across, t.high, t.wide = 1, 1, (columns+15)/16
	case t.thin(rows, columns):
		t.down, t.high = 1, (rows+15)/16
	case columns <= mostThin:
		t.across, t.down = 1, 4
	case rows <= mostThin:
		t.across, t.down = 4, 1
	case l.Family == NVIDIA && dt.Float():
		big := t
		if t.by == byThreads {
			big.high, big.wide = 8, 8
		} else {
			big.across, big.high = 4, 4
		}
		if big.count(rows, columns, batches) >= l.Processors {
			t = big
		}
	}
	for t.threads() > l.Threads && t.down*t.across > 1 {
		if t.down > 1 {
			t.down /= 2
		} else {
			t.across /= 2
		}
	}
	return t
}

// count is the number of tiles of a product.
func (t *tile) count(rows, columns, batches int) int {
	return (rows + t.rows() - 1) / t.rows() * ((columns + t.columns() - 1) / t.columns()) * batches
}
