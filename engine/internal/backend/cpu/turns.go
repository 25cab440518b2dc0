package cpu

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// Launches of several goroutines take turns, so that there never run more threads than a backend has, nor
// more than there are processors. A launch that is worth sharing out has all threads of its backend: two of
// them with half of the threads each are no faster together, and one alone would have half of the machine.
// Lists that are not run side by side on one thread each while others want the backend, in less time than one
// after the other would take; so do backends with fewer threads than there are processors.
//
// Whoever comes first is served first, but a list of commands that others wait for keeps its turn for a
// while, because its launches find in the caches what the last one left.
type turns struct {
	quick atomic.Int32 // idle, whole or shared

	mu      sync.Mutex
	size    int // processors
	free    int
	queue   []*waiter
	waiting atomic.Int32 // the length of queue
}

// What quick says. While one backend with all processors comes and goes alone, nothing else is looked at.
const (
	idle   int32 = iota // nobody has a turn, or waits
	whole               // somebody has all processors; nobody waits
	shared              // see the other fields
)

// slice is for how long a list keeps its turn although others wait.
const slice = time.Millisecond

// processors are those of the process, as many as Go may use when the first backend is made.
var processors = sync.OnceValue(func() *turns { return &turns{size: runtime.GOMAXPROCS(0)} })

// short is the work of a list for which one thread does when others want the backend.
const short = 50 * time.Microsecond

// A waiter is a list of commands in the queue.
type waiter struct {
	b      *Backend
	short  bool
	launch *launch // once it is its turn
	got    chan struct{}
}

// need is how many processors b's launches take.
func (t *turns) need(b *Backend) int { return min(b.pool.Threads(), t.size) }

// take waits for a turn of b's for so much work, or until ctx is done: then it returns nil.
func (t *turns) take(ctx context.Context, b *Backend, work time.Duration) *launch {
	if t.need(b) == t.size && t.quick.CompareAndSwap(idle, whole) {
		return &b.launch
	}
	w := &waiter{b: b, short: work < short, got: make(chan struct{})}
	t.mu.Lock()
	t.share()
	t.queue = append(t.queue, w)
	t.waiting.Add(1)
	t.admit()
	t.mu.Unlock()
	select {
	case <-w.got:
		return w.launch
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.queue, w)
	if i < 0 { // it came meanwhile
		return w.launch
	}
	t.leave(i)
	t.admit() // whoever waited behind it
	return nil
}

// share makes the fields say what quick said.
func (t *turns) share() {
	for {
		switch old := t.quick.Load(); {
		case old == shared:
			return
		case t.quick.CompareAndSwap(old, shared):
			if t.free = t.size; old == whole {
				t.free = 0
			}
			return
		}
	}
}

func (t *turns) leave(i int) {
	t.queue = slices.Delete(t.queue, i, i+1)
	t.waiting.Add(-1)
}

// admit lets in whose turn it is. Nobody overtakes who waits for processors; who waits for his backend's
// threads is passed by for other backends.
func (t *turns) admit() {
	var full []*Backend
	for i := 0; i < len(t.queue); {
		w := t.queue[i]
		threads := t.need(w.b)
		room := threads - w.b.used
		if w.short {
			threads = 1
		}
		if room < threads || slices.Contains(full, w.b) {
			full = append(full, w.b)
			i++
			continue
		}
		if threads > t.free {
			return
		}
		w.launch = w.b.lane(threads == t.need(w.b))
		w.b.used += threads
		t.free -= threads
		t.leave(i)
		close(w.got)
	}
	if t.free == t.size {
		t.quick.Store(idle)
	}
}

// lane returns a launch with all threads, or with one.
func (b *Backend) lane(all bool) *launch {
	if all {
		return &b.launch
	}
	n := len(b.lanes)
	if n == 0 {
		return &launch{pool: pool.Serial(b.pool.Threads()), beside: true}
	}
	l := b.lanes[n-1]
	b.lanes = b.lanes[:n-1]
	return l
}

// done ends a turn of b's.
func (t *turns) done(b *Backend, l *launch) {
	if t.quick.Load() == whole && t.quick.CompareAndSwap(whole, idle) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	threads := t.need(b)
	if l != &b.launch {
		threads = 1
		b.lanes = append(b.lanes, l)
	}
	b.used = max(0, b.used-threads) // the turn of who came when all was idle was not counted
	t.free += threads
	t.admit()
}

// overdue says whether others have waited for the end of a turn for long. Since is when they were first seen.
func (t *turns) overdue(since *time.Time) bool {
	if t.waiting.Load() == 0 {
		return false
	}
	if since.IsZero() {
		*since = time.Now()
	}
	return time.Since(*since) > slice
}
