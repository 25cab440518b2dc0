package cpu

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Launches of several goroutines take turns. A backend runs one launch at a time, with all of its threads: two launches
// with half of the threads each are no faster together, and one alone would have half of the machine. Backends with
// fewer threads than there are processors run side by side as long as there are processors for all.
//
// Whoever comes first is served first, but a list of commands that others wait for keeps its turn for a while, because its
// launches find in the caches what the last one left.
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

// A waiter is a list of commands in the queue.
type waiter struct {
	b   *Backend
	got chan struct{}
}

// need is how many processors b's launches take.
func (t *turns) need(b *Backend) int { return min(b.pool.Threads(), t.size) }

// take waits for b's turn, or until ctx is done: then it returns false.
func (t *turns) take(ctx context.Context, b *Backend) bool {
	if t.need(b) == t.size && t.quick.CompareAndSwap(idle, whole) {
		return true
	}
	w := &waiter{b, make(chan struct{})}
	t.mu.Lock()
	t.share()
	t.queue = append(t.queue, w)
	t.waiting.Add(1)
	t.admit()
	t.mu.Unlock()
	select {
	case <-w.got:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.queue, w)
	if i < 0 { // it came meanwhile
		return true
	}
	t.leave(i)
	t.admit() // whoever waited behind it
	return false
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

// admit lets in whose turn it is. Nobody overtakes who waits for processors; who waits for his backend only is passed by.
func (t *turns) admit() {
	for i := 0; i < len(t.queue); {
		w := t.queue[i]
		if w.b.busy {
			i++
			continue
		}
		if t.need(w.b) > t.free {
			return
		}
		w.b.busy = true
		t.free -= t.need(w.b)
		t.leave(i)
		close(w.got)
	}
	if t.free == t.size {
		t.quick.Store(idle)
	}
}

// done ends b's turn.
func (t *turns) done(b *Backend) {
	if t.quick.Load() == whole && t.quick.CompareAndSwap(whole, idle) {
		return
	}
	t.mu.Lock()
	b.busy = false
	t.free += t.need(b)
	t.admit()
	t.mu.Unlock()
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
