package backend

import (
	"context"
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

// A Cmd is a launch with its memory, for code that has no plan: see [Submit].
type Cmd struct {
	Kernel  Kernel
	Bufs    []Slice
	Scalars []ir.Scalar
}

// Submit runs commands once and waits for them.
func Submit(ctx context.Context, b Backend, cmds []Cmd, times []time.Duration) error {
	p, t, err := bound(b, cmds)
	if err != nil {
		return err
	}
	defer func() {
		if scratch := t.Bufs[p.Bufs-1]; scratch != nil {
			b.Free(scratch)
		}
	}()
	loaded, err := b.Load(p)
	if err != nil {
		return err
	}
	defer loaded.Close()
	if err := b.Run(ctx, loaded, t, times); err != nil {
		return err
	}
	if err := b.Sync(ctx); err != nil {
		return err
	}
	return t.Outcome().Err()
}

// bound returns a program of commands and the table to run it with. The last place is scratch memory, which
// all commands share.
func bound(b Backend, cmds []Cmd) (*Program, *Table, error) {
	p, t, scratch := &Program{Commit: len(cmds)}, &Table{}, 0
	for _, c := range cmds {
		l := Launch{Kernel: c.Kernel}
		for _, s := range c.Bufs {
			l.Bufs = append(l.Bufs, Place{len(t.Bufs), s.Offset})
			t.Bufs = append(t.Bufs, s.Buf)
		}
		for _, v := range c.Scalars {
			l.Scalars = append(l.Scalars, Scalar{Index: len(t.Scalars)})
			t.Scalars = append(t.Scalars, v)
		}
		p.Launches = append(p.Launches, l)
		scratch = max(scratch, c.Kernel.Scratch())
	}
	for i := range p.Launches {
		p.Launches[i].Scratch.Index = len(t.Bufs)
	}
	t.Bufs = append(t.Bufs, nil)
	p.Bufs, p.Scalars = len(t.Bufs), len(t.Scalars)
	if scratch == 0 {
		return p, t, nil
	}
	buf, err := b.Alloc(scratch)
	t.Bufs[p.Bufs-1] = buf
	return p, t, err
}
