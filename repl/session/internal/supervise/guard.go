package supervise

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// A guard looks out for code of cells that uses up the machine: a cell that runs, and the goroutines that
// earlier ones have left. It works while there are any.
type guard struct {
	mu       sync.Mutex
	watching bool
	before   usage // when the newest run began: stacks that were deep once are given back only by collections
}

// The limits of the guard. A goroutine's stack counts twice while it grows.
const (
	watchEvery = 2 * time.Millisecond
	// watchRarely is for goroutines that earlier cells have left: they may run for days.
	watchRarely = 10 * time.Millisecond
	stackLimit  = 256 << 20
	// manyGoroutines are more than endless recursion can be blamed on.
	manyGoroutines = 20000
)

// usage is how much memory code of cells may be using. Tensors are no part of the heap.
type usage struct{ stacks, heap, tensors uint64 }

func measureUsage() usage {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	u := usage{stacks: samples[0].Value.Uint64(), heap: samples[1].Value.Uint64()}
	u.tensors = uint64(device.InUse())
	return u
}

// over says whether more memory is in use than may be. Where too much was held already when the newest run
// began, there must be room to give it up.
func (l *Limits) over(u, before usage) bool {
	return u.heap > max(l.Memory, before.heap+l.Memory/16) ||
		u.heap+u.tensors > max(l.Whole, before.heap+before.tensors+l.Whole/16)
}

// watch makes the guard look out from now on.
func (c *code) watch() {
	now := measureUsage()
	if c.over(now, usage{}) {
		runtime.GC()
		now = measureUsage()
	}
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	c.guard.before = now
	if !c.guard.watching {
		c.guard.watching = true
		go c.lookOut()
	}
}

// full says whether more memory is in use than may be, garbage not counted.
func (c *code) full() bool {
	c.guard.mu.Lock()
	before := c.guard.before
	c.guard.mu.Unlock()
	if !c.over(measureUsage(), before) {
		return false
	}
	runtime.GC()
	return c.over(measureUsage(), before)
}

// lookOut stops code that uses up the machine, until no code of cells is left.
func (c *code) lookOut() {
	var last usage
	for {
		every := watchEvery
		if c.rt.Current() == nil {
			every = watchRarely
		}
		time.Sleep(every)
		c.guard.mu.Lock()
		if !c.rt.Busy() {
			c.guard.watching = false
			c.guard.mu.Unlock()
			return
		}
		before := c.guard.before
		c.guard.mu.Unlock()
		now := measureUsage()
		doubles := now.heap > last.heap+c.Memory/4
		last = now
		switch {
		case now.stacks > before.stacks+stackLimit:
			c.stopDeepest()
		case c.over(now, before):
			if !doubles { // that leaves no time: a collection waits for each copy of the whole
				runtime.GC() // garbage counts, too, until it is collected
				now = measureUsage()
			}
			switch {
			case !c.over(now, before):
			case now.stacks > before.stacks+stackLimit/8: // to unwind so many calls would take as much again
				c.stopDeepest()
			default:
				c.stopNewest()
			}
		}
	}
}

// stopDeepest stops the cell of the goroutine with the most calls. Unwinding a million of them one by one
// would take long: the interpreter drops them.
func (c *code) stopDeepest() {
	if runtime.NumGoroutine() > manyGoroutines {
		c.stopNewest()
		return
	}
	deepest, depth := uint64(0), -1
	for _, state := range goroutines() {
		if state.depth > depth && c.rt.CellOf(state.id) != nil {
			deepest, depth = state.id, state.depth
		}
	}
	cell := c.rt.CellOf(deepest)
	if cell == nil { // it has ended meanwhile
		return
	}
	background := c.rt.Current() == nil
	c.halted(cell, func() {
		c.rt.Drop(cell, rt.ErrStack)
		for deadline := time.Now().Add(deepGrace); c.rt.CellOf(deepest) == cell && time.Now().Before(deadline); {
			time.Sleep(watchEvery)
		}
	})
	c.stoppedCell(rt.ErrStack, background)
}

// stopNewest stops the cell that runs; or else the newest of those that have left goroutines.
func (c *code) stopNewest() {
	cause := error(rt.ErrMemory)
	if n := runtime.NumGoroutine(); n > manyGoroutines {
		cause = fmt.Errorf("%w: %d goroutines", rt.ErrMemory, n)
	}
	cell := c.rt.Current()
	background := cell == nil
	if background {
		cell = c.rt.Newest()
	}
	if cell == nil {
		return
	}
	idle := c.rt.Idle(cell)
	c.rt.Interrupt(cell, cause)
	select {
	case <-idle:
	case <-time.After(c.Grace / 4): // a value that doubles leaves no time to unwind
		c.halted(cell, func() {
			select {
			case <-idle:
			case <-time.After(c.Grace / 10):
			}
		})
	}
	c.stoppedCell(cause, background)
}

// halted calls f while the interpreter abandons the code of a cell that was told to stop. Code of other cells
// waits meanwhile.
func (c *code) halted(cell *rt.Cell, f func()) {
	c.halting.Lock()
	defer c.halting.Unlock()
	release := c.rt.Park()
	defer release()
	for end := time.Now().Add(c.Grace); !c.interp.Looks() && time.Now().Before(end); {
		time.Sleep(watchEvery)
	}
	for end := time.Now().Add(c.Grace / 10); ; {
		time.Sleep(watchEvery) // for the others to get there
		if !c.othersRun(cell) || time.Now().After(end) {
			break
		}
	}
	number := c.interp.RunNumber()
	c.interp.Halt()
	defer c.interp.Resume(number)
	f()
}

// othersRun says whether a goroutine of another cell runs, or could if there were a processor for it.
func (c *code) othersRun(cell *rt.Cell) bool {
	return slices.ContainsFunc(goroutines(), func(g goroutineState) bool {
		of := c.rt.CellOf(g.id)
		return of != nil && of != cell && (g.state == "running" || g.state == "runnable")
	})
}

// stoppedCell releases the memory of a stopped cell, and reports the stop if nobody waits for the cell.
func (c *code) stoppedCell(cause error, background bool) {
	if background {
		c.host.Tell("a goroutine of an earlier cell was stopped: %v", cause)
	}
	runtime.GC()
	c.guard.mu.Lock()
	c.guard.before = measureUsage()
	c.guard.mu.Unlock()
}
