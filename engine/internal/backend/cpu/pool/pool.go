// Package pool runs loops on a fixed set of worker goroutines that stay alive between loops.
//
// Kernels are short: many last a few microseconds, and a training step launches hundreds in a row. So a
// worker that has no work looks for some for a while before it sleeps. A loop never waits for a worker that
// has not arrived: chunks are not assigned to workers, each worker that arrives claims some, and the
// goroutine that started the loop works, too. On a machine that is busy with something else a loop is slower,
// never stuck.
//
// Each loop ends with a barrier: what one loop wrote, the next one reads. Phases of one launch are loops in a
// row.
//
// Half of the cost of a short loop is that one processor has to see what another one wrote, 0.1 to 0.2 µs
// each time. So the goroutine that starts a loop writes one line of memory, which all workers watch, and a
// worker that has done its chunks says so in a line of its own. No worker registers for a loop or signs off.
// A sleeping worker arrives some 3 µs after it was woken, or 15 when its processor slept, too; to wake it
// takes the waking goroutine 4 µs. So short loops let workers sleep ([Pool.Expect]).
package pool

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// longPiece is how many grains Range gives to a worker at a time, at most.
const longPiece = 32

// A Pool is a set of workers. The goroutine that calls For counts as worker 0. Fields that change together
// share a line of memory; others have lines of their own.
type Pool struct {
	threads int
	workers []worker // none if the caller does everything
	watched atomic.Pointer[<-chan struct{}]
	seen    *<-chan struct{}      // what was watched last: mostly the next work has the same
	fault   atomic.Pointer[Fault] // of the loop
	closed  atomic.Bool
	_       [12]byte

	running  atomic.Bool   // a loop
	brief    bool          // loops are so short that sleeping workers are not woken
	expected time.Duration // when Expect was called last
	alone    time.Duration // work since then for which no worker was woken
	_        [40]byte

	loop loop
	bell bell
}

// A loop is what the workers share. A goroutine that has claimed no chunk of it may read only state.
type loop struct {
	state  atomic.Uint64 // an era
	body   func(worker, chunk int)
	ranges func(worker, lo, hi int) // instead of body: its chunks are pieces of [0, n)
	n      int
	_      [32]byte
}

// An era is the number of a loop, counted from 1, together with a number of chunks: those of the loop, or
// those of them that are claimed or done.
type era uint64

const (
	chunkBits = 24
	maxChunks = 1<<chunkBits - 1
)

func (e era) number() uint64 { return uint64(e) >> chunkBits }
func (e era) chunks() int    { return int(e & maxChunks) }

// with is the same loop with another number of chunks.
func (e era) with(chunks int) uint64 { return uint64(e)&^maxChunks | uint64(chunks) }

// A Fault is the panic of a worker, as For passes it on to its caller.
type Fault struct {
	Value any    // what the worker panicked with
	Stack string // of that worker
}

func (f *Fault) Error() string { return fmt.Sprintf("%v\n\nin a worker:\n%s", f.Value, f.Stack) }

// Unwrap returns the panic's value if it is an error.
func (f *Fault) Unwrap() error {
	err, _ := f.Value.(error)
	return err
}

// New returns a pool of that many threads, the caller of For included. 0 stands for as many as Go may use.
func New(threads int) *Pool {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Pool{threads: threads}
	if threads > 1 {
		p.workers = make([]worker, threads)
	}
	p.bell.init()
	for i := 1; i < threads; i++ {
		go p.work(i)
	}
	return p
}

// Serial returns a pool that reports that many threads, and in which the caller of For does everything. Work
// that is laid out for so many threads can run on it while the pool that has them is in use.
func Serial(threads int) *Pool { return &Pool{threads: threads} }

// Threads is the number of goroutines that take part, the caller included; worker numbers are below it.
func (p *Pool) Threads() int { return p.threads }

// Close ends the workers. No loop may be running or come later.
func (p *Pool) Close() {
	p.closed.Store(true)
	p.bell.ring(p.threads)
}

// Watch makes loops end early once a channel is closed, as that of a context is. A nil channel ends the
// watching.
func (p *Pool) Watch(done <-chan struct{}) {
	if done == nil {
		p.watched.Store(nil)
		return
	}
	if p.seen == nil || *p.seen != done {
		kept := done
		p.seen = &kept
	}
	p.watched.Store(p.seen)
}

// Stopped says whether the watched channel is closed. The body of a long chunk asks now and then, and returns
// when it is.
func (p *Pool) Stopped() bool {
	done := p.watched.Load()
	if done == nil {
		return false
	}
	select {
	case <-*done:
		return true
	default:
		return false
	}
}

// worthWaking is how much work of one thread makes it pay to wake another. Less than tiny counts as no work.
const (
	worthWaking = 40 * time.Microsecond
	tiny        = time.Microsecond
)

// Expect tells the pool how long the next loops would take on one thread. If that, with what was expected
// shortly before, makes it pay to wake workers, Expect wakes them at once: they arrive while the caller
// prepares the first loop. Otherwise sleeping workers sleep on, until Expect is told of more. Like For, it
// must not be called by two goroutines at once.
func (p *Pool) Expect(work time.Duration) {
	if p.brief = work < tiny; p.brief || !p.bell.asleep() {
		return
	}
	at := now()
	if at-p.expected > mostPatience { // workers that are needed so seldom would sleep again meanwhile
		p.alone = 0
	}
	p.expected = at
	if p.alone += work; p.alone < worthWaking {
		p.brief = true
		return
	}
	p.alone = 0
	p.bell.ring(p.threads - 1)
}

// For calls body for each chunk in [0, chunks), on all workers, and returns when all calls have. No two calls
// that run at the same time have the same worker number. When the watched flag is set the remaining chunks
// are skipped. If a body panics, For panics: with a *Fault when several workers took part. A pool runs one
// loop at a time: a body must not call For, and goroutines that share a pool must take turns.
func (p *Pool) For(chunks int, body func(worker, chunk int)) {
	if chunks <= 0 {
		return
	}
	if chunks == 1 || p.workers == nil {
		for c := 0; c < chunks && !p.Stopped(); c++ {
			body(0, c)
		}
		return
	}
	if chunks > maxChunks {
		p.Range(chunks, 1, func(worker, lo, hi int) {
			for ; lo < hi && !p.Stopped(); lo++ {
				body(worker, lo)
			}
		})
		return
	}
	p.begin()
	p.loop.body = body
	p.run(chunks)
}

// Range splits [0, n) into pieces of at least grain and calls body for each; see For.
func (p *Pool) Range(n, grain int, body func(worker, lo, hi int)) {
	if n <= 0 {
		return
	}
	// Four pieces for each worker, so that a late or slow worker holds up the others by a quarter of its
	// share; more when the work is long, so that it ends soon after it was told to stop.
	grain = max(1, grain)
	pieces := max(1, min(n/grain, 4*p.threads))
	if p.workers == nil {
		pieces = 1
	}
	pieces = min(max(pieces, n/(longPiece*grain)), maxChunks)
	if pieces == 1 || p.workers == nil {
		for i := 0; i < pieces && !p.Stopped(); i++ {
			body(0, border(n, i, pieces), border(n, i+1, pieces))
		}
		return
	}
	p.begin()
	p.loop.ranges, p.loop.n = body, n
	p.run(pieces)
}

// border is where piece i of [0, n) begins. The product would overflow an int of 32 bits.
func border(n, i, pieces int) int { return int(int64(n) * int64(i) / int64(pieces)) }

func (p *Pool) begin() {
	if !p.running.CompareAndSwap(false, true) {
		panic("pool: a loop was started while another one runs")
	}
}

// run opens the loop whose body is set, works on it, and waits until all of its chunks are done.
func (p *Pool) run(chunks int) {
	e := era((era(p.loop.state.Load()).number()+1)<<chunkBits | uint64(chunks))
	p.loop.state.Store(uint64(e))
	if !p.brief {
		p.bell.ring(min(chunks, p.threads) - 1)
	}
	p.take(0, e, 1)
	for n := 1; p.done(e) < chunks; n++ {
		relax()
		if n%burst == 0 {
			p.take(0, e, 0)
			runtime.Gosched() // the worker that this waits for may have no processor
		}
	}
	p.loop.body, p.loop.ranges = nil, nil
	f := p.fault.Load()
	if f != nil {
		p.fault.Store(nil)
	}
	p.running.Store(false)
	if f != nil {
		panic(f)
	}
}

// done is how many of a loop's chunks are done.
func (p *Pool) done(e era) int {
	n := 0
	for i := range p.workers {
		if d := era(p.workers[i].done.Load()); d.number() == e.number() {
			n += d.chunks()
		}
	}
	return n
}

// take works on a loop's chunks until none are left. In the span of another worker that has begun, it leaves
// the last rest chunks to that worker: taking them would save half of a chunk's time at most, and would move
// their memory from one processor's cache to another's, in this loop and in the next one over the same
// memory.
func (p *Pool) take(worker int, e era, rest int) {
	if !p.try(worker, e, rest) {
		p.try(worker, e, 0) // skips what is left
	}
}

// try is take, except that it returns false after a panic.
func (p *Pool) try(worker int, e era, rest int) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			p.fault.CompareAndSwap(nil, faultOf(v))
		}
	}()
	own := &p.workers[worker]
	own.began.Store(uint64(e))
	for i := range p.threads {
		s := (worker + i) % p.threads
		lo, hi := e.chunks()*s/p.threads, e.chunks()*(s+1)/p.threads
		leave := rest
		if i == 0 {
			leave = 0
		}
		for {
			c, n := p.workers[s].claim(e, lo, hi, leave, p.halted())
			if n == 0 {
				break
			}
			own.count(e, n)
			if !p.halted() {
				p.call(worker, c, e.chunks())
			}
		}
		own.report()
	}
	return true
}

// halted says whether what is left of the loop is to be skipped.
func (p *Pool) halted() bool { return p.fault.Load() != nil || p.Stopped() }

func (p *Pool) call(worker, chunk, chunks int) {
	if l := &p.loop; l.ranges != nil {
		l.ranges(worker, border(l.n, chunk, chunks), border(l.n, chunk+1, chunks))
	} else {
		l.body(worker, chunk)
	}
}
