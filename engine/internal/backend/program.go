package backend

import (
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Program is a list of launches, one after the other, whose memory and numbers are places in a [Table]. It
// holds no memory, so it can be loaded once and run again and again.
type Program struct {
	Launches []Launch
	Bufs     int // how many places for memory a table has
	Scalars  int // and for numbers
	// Commit is the first of the launches that must all take effect or none: the step of an optimizer, which
	// writes over what it reads. It is len(Launches) if there are none. From there on a run is not
	// interrupted, and it takes effect only if no launch before has found an error.
	Commit int
}

// A Launch is one kernel and the places of its operands. There may be any number of operands: an optimizer's
// step has seven for each parameter.
type Launch struct {
	Kernel  Kernel
	Bufs    []Place  // inputs and outputs, by Input.Buf and Output.Buf
	Scalars []Scalar // by Input.Scalar
	Scratch Place    // the Kernel.Scratch bytes, which nothing else uses meanwhile, aligned to 64 bytes
}

// A Place is memory of a table, from a byte offset on. Places in one buffer are aligned to 64 bytes, unless a
// view begins there: that is aligned to its elements.
type Place struct {
	Index  int // in Table.Bufs
	Offset int
}

// A Scalar is a number of a table, or one that is the same in each run.
type Scalar struct {
	Index int // in Table.Scalars; -1 for the same in each run,
	Value ir.Scalar
}

// A Table has the memory and the numbers of one run of a program.
type Table struct {
	Bufs    []ir.Buffer
	Scalars []ir.Scalar
	// Began is when the first launch of a timed run began (ticks.Now); 0 if there was none.
	Began time.Duration
	// Ended is when the last one had ended, from a backend that has looked at the clock then; else 0.
	Ended   time.Duration
	outcome *Outcome
}

// At returns the memory of a place.
func (t *Table) At(p Place) Slice { return Slice{t.Bufs[p.Index], p.Offset} }

// Scalar returns the value of a number in the run.
func (t *Table) Scalar(s Scalar) ir.Scalar {
	if s.Index < 0 {
		return s.Value
	}
	return t.Scalars[s.Index]
}

// A Loaded is a program that a backend has prepared.
type Loaded interface {
	// Close gives back what the program has on the device, but not its kernels, which may have been closed
	// before. As with Free, any goroutine may call it while runs are under way.
	Close()
}

// A Slice is a buffer from a byte offset on.
type Slice struct {
	Buf    ir.Buffer
	Offset int
}
