package backend

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// memory is a device's caching allocator. A buffer that comes back is kept in the list of its size class,
// because a training step asks for the same sizes again and again. Freed buffers arrive in a queue of their
// own, so that a cleanup never waits for an allocation.
type memory struct {
	name    string
	backend Backend
	hints   Hints
	gc      func() // see collectGarbage

	mu          sync.Mutex
	lists       map[int][]ir.Buffer // by class size
	inUse, peak int64
	kept        int64
	served      int64               // bytes of blocks handed out since the last collection that we asked for
	collected   time.Time           // when that was over
	cost        time.Duration       // and what it took
	reserved    reservation         // see Reserver
	parts       map[ir.Buffer]int64 // see Spreader: what is held of each here
	taken       uint64              // how often memory was taken
	idle        *time.Timer         // set while memory is kept

	freed struct {
		sync.Mutex
		list []ir.Buffer
	}
}

// After Hints.CollectAfter bytes were handed out, the device runs the Go collector before it asks the backend
// for new memory. The collector sees only the small handles of blocks: by itself it would let unused memory
// pile up. And memory that was used before needs no page faults, which cost a training step more than a
// collection.
//
// Hints.CollectEarly bytes are enough while collections have taken less than 1/rareness of the time. Then a
// loop that drops its results works on memory that the caches still hold.
const rareness = 40

// classSize rounds up to a size class: eight for each power of two, so that at most an eighth is wasted, and
// where an eighth is much, more.
func classSize(n int) int {
	const (
		least = 256
		much  = 64 << 20
	)
	if n <= least {
		return least
	}
	step := min(1<<(bits.Len(uint(n-1))-4), much)
	return (n + step - 1) &^ (step - 1)
}

// takeBlock returns a buffer of at least n bytes that the collector will bring back.
func (m *memory) takeBlock(n int) (ir.Buffer, error) {
	raw, err := m.allocate(n)
	if err == nil {
		m.mu.Lock()
		m.served += int64(raw.Bytes())
		m.mu.Unlock()
	}
	return raw, err
}

// allocate returns a buffer of at least n bytes.
func (m *memory) allocate(n int) (ir.Buffer, error) {
	if n < 0 {
		return nil, fmt.Errorf("%s: alloc: got %d bytes, want 0 or more", m.name, n)
	}
	size := classSize(n)
	raw, err := m.tryAllocate(size)
	if err == nil {
		return raw, nil
	}
	var full *OutOfMemory
	if !errors.As(err, &full) {
		return nil, err
	}
	m.collect(scope.Context())
	m.trim(0)
	if raw, err = m.tryAllocate(size); errors.As(err, &full) {
		return nil, m.explain(full, n)
	}
	return raw, err
}

func (m *memory) tryAllocate(size int) (ir.Buffer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drain()
	if raw := m.reuse(size); raw != nil {
		return raw, nil
	}
	if m.due() {
		m.served = 0
		m.mu.Unlock()
		start := time.Now()
		m.collect(scope.Context())
		m.mu.Lock()
		m.collected = time.Now()
		m.cost = m.collected.Sub(start)
		m.drain()
		if raw := m.reuse(size); raw != nil {
			return raw, nil
		}
	}
	raw, err := m.backend.Alloc(size)
	if err != nil {
		return nil, err
	}
	m.use(size)
	return raw, nil
}

// due says whether it is time to ask the collector for blocks that nothing refers to.
func (m *memory) due() bool {
	return m.served > max(m.hints.CollectAfter, m.inUse/2) || m.served > max(m.hints.CollectEarly, m.inUse/8) && time.Since(m.collected) > rareness*m.cost
}

func (m *memory) reuse(size int) ir.Buffer {
	list := m.lists[size]
	if len(list) == 0 {
		return nil
	}
	raw := list[len(list)-1]
	list[len(list)-1] = nil
	m.lists[size] = list[:len(list)-1]
	m.kept -= int64(size)
	m.use(size)
	return raw
}

func (m *memory) use(size int) {
	m.taken++
	m.inUse += int64(size)
	m.peak = max(m.peak, m.inUse)
}

// queue takes a buffer back. It never waits for the backend.
func (m *memory) queue(raw ir.Buffer) {
	m.freed.Lock()
	m.freed.list = append(m.freed.list, raw)
	m.freed.Unlock()
}

// drain puts queued buffers on their lists, or frees them when enough is kept. The caller holds m.mu.
func (m *memory) drain() {
	m.freed.Lock()
	defer m.freed.Unlock()
	for i, raw := range m.freed.list {
		m.freed.list[i] = nil
		if m.release(raw) {
			continue
		}
		size := raw.Bytes()
		m.inUse -= int64(size)
		if m.kept+int64(size) > m.hints.Kept {
			m.backend.Free(raw)
			continue
		}
		m.kept += int64(size)
		m.lists[size] = append(m.lists[size], raw)
	}
	m.freed.list = m.freed.list[:0]
	if m.kept > 0 && m.idle == nil && m.hints.Idle > 0 {
		m.watch(m.taken)
	}
}

// watch gives kept memory back when none was taken for Hints.Idle. The caller holds m.mu.
func (m *memory) watch(taken uint64) {
	m.idle = time.AfterFunc(m.hints.Idle, func() {
		m.mu.Lock()
		m.idle = nil
		now := m.taken
		if m.kept > 0 && now != taken {
			m.watch(now)
		}
		m.mu.Unlock()
		if now == taken {
			m.trim(0)
		}
	})
}

// end keeps nothing any more: what comes back later is freed at once.
func (m *memory) end() {
	m.mu.Lock()
	m.hints.Kept = 0
	m.mu.Unlock()
	m.trim(0)
}

// trim frees kept buffers until at most limit bytes are kept.
func (m *memory) trim(limit int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drain()
	for size, list := range m.lists {
		for len(list) > 0 && m.kept > limit {
			m.backend.Free(list[len(list)-1])
			list[len(list)-1] = nil
			list = list[:len(list)-1]
			m.kept -= int64(size)
		}
		if len(list) == 0 {
			delete(m.lists, size)
			continue
		}
		m.lists[size] = list
	}
}

// explain says what was wanted and what holds the memory.
func (m *memory) explain(e *OutOfMemory, want int) *OutOfMemory {
	inUse, _, _ := m.counters()
	r := *e
	r.Want = int64(want)
	r.Held = fmt.Sprintf("tensors and running plans hold %d bytes", inUse)
	return &r
}

func (m *memory) counters() (inUse, peak, kept int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drain()
	inUse = m.inUse + m.resident()
	m.peak = max(m.peak, inUse)
	return inUse, m.peak, m.kept
}

func (m *memory) resetPeak() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drain()
	m.peak = m.inUse + m.resident()
}

// collect runs the collector, or stops waiting for it when ctx is done: with a large heap on a busy machine a
// collection takes longer than a person waits after Ctrl-C. It then ends by itself.
func (m *memory) collect(ctx context.Context) {
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		m.gc()
	}()
	select {
	case <-collected:
	case <-ctx.Done():
	}
}

// collectGarbage runs the Go collector and waits until the cleanups of what it found have run.
func collectGarbage() {
	done := make(chan struct{})
	runtime.AddCleanup(new([64]byte), func(done chan struct{}) { close(done) }, done)
	runtime.GC()
	select {
	case <-done:
	case <-time.After(100 * time.Millisecond): // the cleanups are busy elsewhere: go on with what was found
	}
}
