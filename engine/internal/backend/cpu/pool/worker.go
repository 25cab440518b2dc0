package pool

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A worker that finds no work looks for some for at least leastPatience and at most mostPatience before it
// sleeps. Most launches of a busy session follow each other within mostPatience.
const (
	leastPatience = 25 * time.Microsecond
	mostPatience  = 400 * time.Microsecond
)

// burst is how many pauses a waiting goroutine makes before it offers its processor to other goroutines, such
// as the session's or the collector's. A pause lasts 4 ns on some processors and 60 on others.
const burst = 32

// A worker starts each loop with its own span of the chunks, so that in equal loops one after the other the
// same worker meets the same memory. When its span is done it helps with those of other workers.
type worker struct {
	// claimed is the era in which a worker last claimed a chunk of the span, with the first chunk that no
	// worker has claimed yet. While it is the era of an earlier loop, all chunks are free.
	claimed atomic.Uint64
	// done is the era in which the worker last did chunks, with how many it did.
	done atomic.Uint64
	// doing is what done will be at the next report.
	doing era
	// began is the last era in which the worker itself took chunks; others may claim some of its span before.
	began atomic.Uint64
	_     [96]byte // processors fetch lines by twos
}

// claim claims the next chunk of the worker's span, chunks lo to hi, or with all whatever is left of it. If
// the worker itself has begun, the last leave chunks stay for it. It returns the first claimed chunk and how
// many there are.
func (w *worker) claim(e era, lo, hi, leave int, all bool) (chunk, n int) {
	for {
		old := era(w.claimed.Load())
		next := lo
		if old.number() > e.number() { // the loop is over
			return 0, 0
		}
		if old.number() == e.number() {
			next = old.chunks()
		}
		if leave > 0 && era(w.began.Load()) != e {
			leave = 0
		}
		n = 1
		if all {
			n = hi - next
		}
		if next+n+leave > hi || n == 0 {
			return 0, 0
		}
		if w.claimed.CompareAndSwap(uint64(old), e.with(next+n)) {
			return next, n
		}
	}
}

// count adds n chunks, which the worker has done, to its next report.
func (w *worker) count(e era, n int) {
	if w.doing.number() != e.number() {
		w.doing = era(e.with(0))
	}
	w.doing += era(n)
}

// report lets other goroutines see the chunks that were counted, and with them the memory that they wrote.
func (w *worker) report() {
	if d := uint64(w.doing); w.done.Load() != d {
		w.done.Store(d)
	}
}

var epoch = time.Now()

// now is a time that never goes back, for differences.
func now() time.Duration { return time.Since(epoch) }

// work is what a worker does until the pool is closed.
func (p *Pool) work(id int) {
	var last era
	patience := mostPatience
	for !p.closed.Load() {
		if e := era(p.loop.state.Load()); e != last {
			last = e
			p.take(id, e, 1)
			continue
		}
		if p.linger(last, patience) {
			patience = min(mostPatience, 2*patience)
			continue
		}
		// The wait was in vain. A worker that is seldom needed soon hardly waits at all.
		patience = max(leastPatience, patience/2)
		p.sleep(last)
	}
}

// wanted says whether there is a loop after the last one, or the pool was closed.
func (p *Pool) wanted(last era) bool {
	return era(p.loop.state.Load()) != last || p.closed.Load()
}

// linger waits for a loop without sleeping, and says whether one came. The worker keeps its processor in
// short bursts only, so that neither the collector nor another goroutine has to wait for it.
func (p *Pool) linger(last era, patience time.Duration) bool {
	for until := now() + patience; now() < until; runtime.Gosched() {
		for range burst {
			if p.wanted(last) {
				return true
			}
			relax()
		}
	}
	return p.wanted(last)
}

// sleep waits until the bell rings. A loop may begin just before the worker goes to sleep, and would not ring
// for it. So the worker first announces that it sleeps, and then looks once more.
func (p *Pool) sleep(last era) {
	ticket := p.bell.enter()
	if !p.wanted(last) {
		p.bell.wait(ticket)
	}
	p.bell.leave()
}
