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
	before   usage // when the newest run began
}

const (
	watchEvery = 2 * time.Millisecond
	// watchRarely is for goroutines that earlier cells have left: they may run for days.
	watchRarely = 10 * time.Millisecond
	// manyGoroutines are more than endless recursion can be blamed on.
	manyGoroutines = 20000
)

// usage is how much of the machine's memory code of cells may be using. Tensors are no part of the heap.
type usage struct{ heap, tensors uint64 }

func measureUsage() usage {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	return usage{heap: samples[0].Value.Uint64(), tensors: uint64(device.HostInUse())}
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
		if !c.over(now, before) {
			continue
		}
		if !doubles { // that leaves no time: a collection waits for each copy of the whole
			runtime.GC() // garbage counts, too, until it is collected
		}
		if doubles || c.over(measureUsage(), before) {
			c.stopNewest()
		}
	}
}

// abandon has the interpreter drop the calls of a cell; see [rt.Runtime]. The goroutine that calls it waits
// while the code of other cells gets out of the way, so that its stack grows no more.
func (c *code) abandon(cell *rt.Cell, deep uint64, cause error) {
	halted, background := make(chan struct{}), c.rt.Current() == nil
	go func() {
		c.halted(cell, func() {
			c.rt.Drop(cell, cause)
			close(halted)
			for deadline := time.Now().Add(deepGrace); c.rt.CellOf(deep) == cell && time.Now().Before(deadline); {
				time.Sleep(watchEvery)
			}
		})
		c.stoppedCell(cause, background)
	}()
	<-halted
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

// othersRun says whether a goroutine of another cell runs, or could if there were a processor for it. The
// runtime walks through all stacks to say so, which takes seconds for a deep one: it is asked only where
// there are others.
func (c *code) othersRun(cell *rt.Cell) bool {
	if !c.rt.Others(cell) {
		return false
	}
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
