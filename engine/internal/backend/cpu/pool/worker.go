package pool

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A worker that found nothing to do looks out for at least, and at most, so long before it sleeps. Most
// launches of a busy session lie closer to each other than the longest.
const (
	leastPatience = 25 * time.Microsecond
	mostPatience  = 400 * time.Microsecond
)

// burst is how many pauses lie between two times that a waiting goroutine lets others have its processor: the
// session's, or the collector's. A pause lasts 4 ns on some processors and 60 on others.
const burst = 32

// A worker has a span of each loop's chunks, with which it starts, so that the same worker meets the same
// memory in each of a row of equal loops. It helps with the others' when its own is done.
type worker struct {
	// claimed is the era in which a chunk of the span was last claimed, and the first chunk that was not. The
	// era of an earlier loop says that none was.
	claimed atomic.Uint64
	// done is the era in which the worker last did something, and how many chunks it did.
	done atomic.Uint64
	// doing is what done will be.
	doing era
	// began is the last era in which the worker itself looked for chunks.
	began atomic.Uint64
	_     [96]byte // processors fetch lines by twos
}

// claim takes the next of the chunks lo to hi, of which it leaves some to the worker if he has begun, or all
// of them. It returns the first one, and how many.
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

// count adds chunks to what will be reported.
func (w *worker) count(e era, n int) {
	if w.doing.number() != e.number() {
		w.doing = era(e.with(0))
	}
	w.doing += era(n)
}

// report lets others see what was counted, and what was written meanwhile.
func (w *worker) report() {
	if d := uint64(w.doing); w.done.Load() != d {
		w.done.Store(d)
	}
}

var epoch = time.Now()

// now is a time that never goes back.
func now() time.Duration { return time.Since(epoch) }

// work is a worker's life.
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
		// To wait longer was in vain. Who is called but now and then soon hardly waits at all.
		patience = max(leastPatience, patience/2)
		p.sleep(last)
	}
}

// wanted says whether there is a loop after the last one, or nothing to come.
func (p *Pool) wanted(last era) bool {
	return era(p.loop.state.Load()) != last || p.closed.Load()
}

// linger waits for a loop without sleeping, and says whether one came. The goroutine keeps its processor in
// short bursts only, so that neither the collector nor anybody else waits for it.
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

// sleep waits until the bell rings. A loop that opened before the worker was known to sleep must not be
// missed: the worker says that it sleeps, then looks once more.
func (p *Pool) sleep(last era) {
	ticket := p.bell.enter()
	if !p.wanted(last) {
		p.bell.wait(ticket)
	}
	p.bell.leave()
}
