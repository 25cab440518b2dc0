package library

import (
	"go/types"
	"sync/atomic"
	"time"
)

// A Clock is told when the code of cells reads the clock, to measure how long something takes.
type Clock interface {
	// Read is called before a reading, with the moment since which Since asks, or the zero Time for one that
	// may begin a measurement as well as end one.
	Read(since time.Time)
	// Began is called with a reading that a measurement may begin with.
	Began(at time.Time)
}

// A clock is package time's for cells.
type clock struct {
	watch  atomic.Pointer[Clock] // or nil
	spans  atomic.Bool           // code was checked that takes the time between two readings
	starts atomic.Bool           // code was checked that does so by a method: each reading may end a measurement
}

// Timed says whether code that was checked measures how long something takes.
func (lib *Library) Timed() bool { return lib.clock.spans.Load() }

// Watch makes c be told of readings of the clock, until nil is.
func (lib *Library) Watch(c Clock) {
	if c == nil {
		lib.clock.watch.Store(nil)
		return
	}
	lib.clock.watch.Store(&c)
}

// use notes what checked code does with the clock.
func (c *clock) use(o types.Object) {
	if f, ok := o.(*types.Func); ok && f.Pkg() != nil && f.Pkg().Path() == "time" {
		switch f.FullName() {
		case "time.Since":
			c.spans.Store(true)
		case "(time.Time).Sub":
			c.spans.Store(true)
			c.starts.Store(true)
		}
	}
}

func (c *clock) now() time.Time {
	w := c.watch.Load()
	if w == nil {
		return time.Now()
	}
	if c.starts.Load() {
		(*w).Read(time.Time{})
	}
	at := time.Now()
	(*w).Began(at)
	return at
}

func (c *clock) since(t time.Time) time.Duration {
	d := time.Since(t)
	if w := c.watch.Load(); w != nil {
		(*w).Read(t)
	}
	return d
}
