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
	limits   Limits
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
func (l Limits) over(u, before usage) bool {
	return u.heap > max(l.Memory, before.heap+l.Memory/16) ||
		u.heap+u.tensors > max(l.Whole, before.heap+before.tensors+l.Whole/16)
}

// watch makes the guard look out from now on.
func (g *guard) watch(rn *Runner) {
	now := measureUsage()
	if g.limits.over(now, usage{}) {
		runtime.GC()
		now = measureUsage()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before = now
	if !g.watching {
		g.watching = true
		go g.run(rn)
	}
}

// full says whether more memory is in use than may be, garbage not counted.
func (g *guard) full() bool {
	g.mu.Lock()
	before := g.before
	g.mu.Unlock()
	if !g.limits.over(measureUsage(), before) {
		return false
	}
	runtime.GC()
	return g.limits.over(measureUsage(), before)
}

func (g *guard) run(rn *Runner) {
	var last usage
	for {
		every := watchEvery
		if rn.rt.Current() == nil {
			every = watchRarely
		}
		time.Sleep(every)
		g.mu.Lock()
		if !rn.rt.Busy() {
			g.watching = false
			g.mu.Unlock()
			return
		}
		before := g.before
		g.mu.Unlock()
		now := measureUsage()
		doubles := now.heap > last.heap+g.limits.Memory/4
		last = now
		switch {
		case now.stacks > before.stacks+stackLimit:
			g.stopDeepest(rn)
		case g.limits.over(now, before):
			if !doubles { // that leaves no time: a collection waits for each copy of the whole
				runtime.GC() // garbage counts, too, until it is collected
				now = measureUsage()
			}
			switch {
			case !g.limits.over(now, before):
			case now.stacks > before.stacks+stackLimit/8: // to unwind so many calls would take as much again
				g.stopDeepest(rn)
			default:
				g.stopNewest(rn)
			}
		}
	}
}

// stopDeepest stops the cell of the goroutine with the most calls. Unwinding a million of them one by one
// would take long: the interpreter drops them.
func (g *guard) stopDeepest(rn *Runner) {
	if runtime.NumGoroutine() > manyGoroutines {
		g.stopNewest(rn)
		return
	}
	deepest, depth := uint64(0), -1
	for _, state := range goroutines() {
		if state.depth > depth && rn.rt.CellOf(state.id) != nil {
			deepest, depth = state.id, state.depth
		}
	}
	cell := rn.rt.CellOf(deepest)
	if cell == nil { // it has ended meanwhile
		return
	}
	background := rn.rt.Current() == nil
	rn.halted(cell, func() {
		rn.rt.Drop(cell, rt.ErrStack)
		for deadline := time.Now().Add(deepGrace); rn.rt.CellOf(deepest) == cell && time.Now().Before(deadline); {
			time.Sleep(watchEvery)
		}
	})
	g.stoppedCell(rn, rt.ErrStack, background)
}

// stopNewest stops the cell that runs; or else the newest of those that have left goroutines.
func (g *guard) stopNewest(rn *Runner) {
	cause := error(rt.ErrMemory)
	if n := runtime.NumGoroutine(); n > manyGoroutines {
		cause = fmt.Errorf("%w: %d goroutines", rt.ErrMemory, n)
	}
	cell := rn.rt.Current()
	background := cell == nil
	if background {
		cell = rn.rt.Newest()
	}
	if cell == nil {
		return
	}
	idle := rn.rt.Idle(cell)
	rn.rt.Interrupt(cell, cause)
	select {
	case <-idle:
	case <-time.After(rn.Grace / 4): // a value that doubles leaves no time to unwind
		rn.halted(cell, func() {
			select {
			case <-idle:
			case <-time.After(rn.Grace / 10):
			}
		})
	}
	g.stoppedCell(rn, cause, background)
}

// halted calls f while the interpreter abandons the code of a cell that was told to stop. Code of other cells
// waits meanwhile.
func (rn *Runner) halted(cell *rt.Cell, f func()) {
	rn.halting.Lock()
	defer rn.halting.Unlock()
	release := rn.rt.Park()
	defer release()
	for end := time.Now().Add(rn.Grace); !rn.interp.Looks() && time.Now().Before(end); {
		time.Sleep(watchEvery)
	}
	for end := time.Now().Add(rn.Grace / 10); ; {
		time.Sleep(watchEvery) // for the others to get there
		if !rn.othersRun(cell) || time.Now().After(end) {
			break
		}
	}
	number := rn.interp.RunNumber()
	rn.interp.Halt()
	defer rn.interp.Resume(number)
	f()
}

// othersRun says whether a goroutine of another cell runs, or could if there were a processor for it.
func (rn *Runner) othersRun(cell *rt.Cell) bool {
	return slices.ContainsFunc(goroutines(), func(g goroutineState) bool {
		of := rn.rt.CellOf(g.id)
		return of != nil && of != cell && (g.state == "running" || g.state == "runnable")
	})
}

// stoppedCell releases the memory of a stopped cell, and reports the stop if nobody waits for the cell.
func (g *guard) stoppedCell(rn *Runner, cause error, background bool) {
	if background {
		rn.host.Tell("a goroutine of an earlier cell was stopped: %v", cause)
	}
	runtime.GC()
	g.mu.Lock()
	g.before = measureUsage()
	g.mu.Unlock()
}
