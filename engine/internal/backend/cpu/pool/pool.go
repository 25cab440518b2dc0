// Package pool runs loops on a fixed set of worker goroutines that stay alive between loops.
//
// Kernels are short: many last a few microseconds, and a training step launches hundreds in a row. So a worker that has
// nothing to do spins for a moment before it parks, and a loop never waits for a worker that has not arrived: the
// chunks of a loop belong to nobody, whoever comes takes them, and the goroutine that started the loop works too. On a
// machine that is busy with something else the loop is then merely slower, never stuck.
//
// Each loop ends with a barrier: what one loop wrote, the next one reads. Phases of one launch are loops in a row.
package pool

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// longPiece is how many grains Range gives to a worker at a time, at most.
const longPiece = 32

// spins is how often an idle worker looks for work before it parks: some 0.3 ms, longer than what lies between the launches
// of a busy session. Waking a parked one takes 70 µs on Linux, of which Go's scheduler sleeps most.
const spins = 4000

// A Pool is a set of workers. The goroutine that calls For counts as worker 0.
type Pool struct {
	threads int
	call    sync.Mutex // held during a parallel loop

	// state is the loop's number (upper 32 bits), whether it may be entered (bit 31), and how many workers besides the
	// caller are in it (the rest).
	state atomic.Uint64
	loop  loop

	workers []worker
	parked  atomic.Int32
	stop    atomic.Pointer[atomic.Bool]
	closed  atomic.Bool
}

const (
	entering = 1 << 31
	inside   = entering - 1
)

// A loop is what the workers share. Its fields change only while nobody is inside.
type loop struct {
	body  func(worker, chunk int)
	spans []span
	fault atomic.Pointer[Fault]
}

// A span is a range of chunks. Worker w starts with span w, so that the same worker meets the same memory in each of
// a row of equal loops, and helps with the others' when its own is done.
type span struct {
	next atomic.Int64
	end  int64
	_    [48]byte
}

type worker struct {
	wake   chan struct{}
	parked atomic.Bool
}

// A Fault is the panic of a worker, as For passes it on to its caller.
type Fault struct {
	Value any    // what the worker panicked with
	Stack string // where it did
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
	p := &Pool{threads: threads, workers: make([]worker, threads)}
	p.loop.spans = make([]span, threads)
	for i := 1; i < threads; i++ {
		p.workers[i].wake = make(chan struct{}, 1)
		go p.work(i)
	}
	return p
}

// Threads is the number of goroutines that take part, the caller included; worker numbers are below it.
func (p *Pool) Threads() int { return p.threads }

// Close ends the workers. No loop may be running or come later.
func (p *Pool) Close() {
	p.closed.Store(true)
	for i := 1; i < p.threads; i++ {
		select {
		case p.workers[i].wake <- struct{}{}:
		default:
		}
	}
}

// Watch makes loops end early once flag is set; nil watches nothing.
func (p *Pool) Watch(flag *atomic.Bool) { p.stop.Store(flag) }

// Stopped says whether the watched flag is set. Long chunks ask now and then and return when it is.
func (p *Pool) Stopped() bool {
	flag := p.stop.Load()
	return flag != nil && flag.Load()
}

// For calls body for each chunk in [0, chunks), on all workers, and returns when all calls have. No two calls that run
// at the same time have the same worker number. When the watched flag is set the remaining chunks are skipped. If a
// body panics, For panics: with a *Fault when several workers took part. Bodies must not call For.
func (p *Pool) For(chunks int, body func(worker, chunk int)) {
	if chunks <= 0 {
		return
	}
	if chunks == 1 || p.threads == 1 {
		for c := 0; c < chunks && !p.Stopped(); c++ {
			body(0, c)
		}
		return
	}
	p.call.Lock()
	defer p.call.Unlock()
	p.open(chunks, body)
	p.wake(min(chunks, p.threads) - 1)
	p.take(0)
	p.state.And(^uint64(entering))
	for n := 0; p.state.Load()&inside != 0; n++ {
		pause(n)
	}
	p.loop.body = nil
	if f := p.loop.fault.Swap(nil); f != nil {
		panic(f)
	}
}

// Range splits [0, n) into pieces of at least grain and calls body for each; see For.
func (p *Pool) Range(n, grain int, body func(worker, lo, hi int)) {
	if n <= 0 {
		return
	}
	// Four pieces a worker, so that one who is late or slow holds up the others by a quarter of his share; more when the
	// work is long, so that it ends soon when it is to be stopped.
	grain = max(1, grain)
	pieces := max(1, min(n/grain, 4*p.threads))
	if p.threads == 1 {
		pieces = 1
	}
	pieces = max(pieces, n/(longPiece*grain))
	if pieces == 1 {
		if !p.Stopped() {
			body(0, 0, n)
		}
		return
	}
	p.For(pieces, func(worker, chunk int) {
		body(worker, n*chunk/pieces, n*(chunk+1)/pieces)
	})
}

func (p *Pool) open(chunks int, body func(worker, chunk int)) {
	p.loop.body = body
	for i := range p.loop.spans {
		s := &p.loop.spans[i]
		s.next.Store(int64(chunks * i / p.threads))
		s.end = int64(chunks * (i + 1) / p.threads)
	}
	p.state.Store((p.state.Load()>>32+1)<<32 | entering)
}

// wake rouses up to n parked workers.
func (p *Pool) wake(n int) {
	for i := 1; i < p.threads && n > 0 && p.parked.Load() > 0; i++ {
		if w := &p.workers[i]; w.parked.CompareAndSwap(true, false) {
			p.parked.Add(-1)
			w.wake <- struct{}{}
			n--
		}
	}
}

// take works on chunks until none is left.
func (p *Pool) take(worker int) {
	defer func() {
		if v := recover(); v != nil {
			f, ok := v.(*Fault)
			if !ok {
				f = &Fault{Value: v, Stack: string(debug.Stack())}
			}
			p.loop.fault.CompareAndSwap(nil, f)
		}
	}()
	for i := range p.threads {
		s := &p.loop.spans[(worker+i)%p.threads]
		for s.next.Load() < s.end {
			c := s.next.Add(1) - 1
			if c >= s.end || p.loop.fault.Load() != nil || p.Stopped() {
				break
			}
			p.loop.body(worker, int(c))
		}
	}
}

// work is a worker's life.
func (p *Pool) work(id int) {
	var last uint64 // the loop that was worked on
	for idle := 0; !p.closed.Load(); idle++ {
		s := p.state.Load()
		if s&entering != 0 && s>>32 != last {
			if p.state.CompareAndSwap(s, s+1) {
				last = s >> 32
				p.take(id)
				p.state.Add(^uint64(0))
				idle = 0
			}
			continue
		}
		if idle < spins {
			pause(idle)
			continue
		}
		p.park(id, last)
		idle = 0
	}
}

// park sleeps until a loop wants the worker. A loop that opened before the worker was seen to sleep must not be missed:
// the worker says that it sleeps, then looks once more.
func (p *Pool) park(id int, last uint64) {
	w := &p.workers[id]
	w.parked.Store(true)
	p.parked.Add(1)
	if s := p.state.Load(); (s&entering != 0 && s>>32 != last) || p.closed.Load() {
		if w.parked.CompareAndSwap(true, false) {
			p.parked.Add(-1)
			return
		}
	}
	<-w.wake
}
