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

// turns lets the lists of commands of several goroutines take turns. So no more threads run than a backend
// has, nor more than there are processors.
//
// A list whose work is worth sharing out gets all threads of its backend: two such lists with half of the
// threads each would be no faster together, and a list that is alone would have half of the machine. A short
// list gets one thread while other goroutines want the backend: several short lists run side by side, which
// takes less time than one after the other. Backends with fewer threads than there are processors run side by
// side, too.
//
// The list that came first is served first. A list keeps its turn for a while although others wait, because
// its next launch finds in the caches what its last one left.
type turns struct {
	quick atomic.Int32 // idle, whole or shared

	mu      sync.Mutex
	size    int // processors
	free    int
	queue   []*waiter
	waiting atomic.Int32 // the length of queue
}

// The values of quick. While a single backend with all processors takes all turns, no other field is read.
const (
	idle   int32 = iota // no list has a turn, and none waits
	whole               // one list has all processors, and none waits
	shared              // the other fields say
)

// slice is how long a list keeps its turn while others wait.
const slice = time.Millisecond

// processors are those of the process, as many as Go may use when the first backend is made.
var processors = sync.OnceValue(func() *turns { return &turns{size: runtime.GOMAXPROCS(0)} })

// short is the work below which a list gets one thread while other goroutines want the backend.
const short = 50 * time.Microsecond

// A waiter is a list of commands in the queue.
type waiter struct {
	b      *Backend
	short  bool
	launch *launch       // set when its turn comes
	got    chan struct{} // closed then
}

// need is how many processors b's launches take.
func (t *turns) need(b *Backend) int { return min(b.pool.Threads(), t.size) }

// acquire waits until b may run a list of so much work. It returns nil when ctx is done first.
func (t *turns) acquire(ctx context.Context, b *Backend, work time.Duration) *launch {
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
	if i < 0 { // the list's turn came meanwhile
		return w.launch
	}
	t.leave(i)
	t.admit() // the lists behind this one need not wait for it any more
	return nil
}

// share sets quick to shared, after it has written into the other fields what quick said.
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

// admit gives turns to lists of the queue. A list that waits for processors is not overtaken. A list that
// waits for threads of its own backend is overtaken by lists of other backends.
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

// lane returns a launch with all of b's threads, or with one.
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

// release ends a turn of b's and gives its processors to the lists that wait.
func (t *turns) release(b *Backend, l *launch) {
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
	b.used = max(0, b.used-threads) // this turn was not counted if nothing else ran when it began
	t.free += threads
	t.admit()
}

// overdue says whether other lists have waited for the end of a turn for longer than slice. It writes into
// since when it first saw them.
func (t *turns) overdue(since *time.Time) bool {
	if t.waiting.Load() == 0 {
		return false
	}
	if since.IsZero() {
		*since = time.Now()
	}
	return time.Since(*since) > slice
}
