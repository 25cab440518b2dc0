package backend

import (
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Reserver is a Backend that has memory of which only what was written takes room: a cache that may become
// long costs nothing as long as it is short.
type Reserver interface {
	Backend
	// Reserve returns memory as Alloc does. It does not count in what Alloc may give.
	Reserve(bytes int) (ir.Buffer, error)
	// Resident is how many bytes of it take room.
	Resident(buf ir.Buffer) int
}

// Sparse says whether Reserve gives memory that takes room only where it was written.
func (d *Device) Sparse() bool {
	_, ok := d.backend.(Reserver)
	return ok
}

// Reserve is Alloc of memory that is not recycled, and that takes room only where it was written if the
// device is sparse.
func (d *Device) Reserve(n int) (*Block, error) {
	r, ok := d.backend.(Reserver)
	if !ok || n <= smallBlock {
		return d.Alloc(n)
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	raw, err := r.Reserve(n)
	if err != nil {
		return nil, d.Seen(err)
	}
	d.memory.reserve(raw)
	return d.block(raw, n), nil
}

// A reservation is the memory that a device has reserved.
type reservation struct {
	takes  map[ir.Buffer]int64 // bytes, when they were last counted
	looked time.Time           // when that was over
	cost   time.Duration       // and what it took
}

// reserve notes memory that nobody else gets later.
func (m *memory) reserve(raw ir.Buffer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reserved.takes == nil {
		m.reserved.takes = map[ir.Buffer]int64{}
	}
	m.reserved.takes[raw] = 0
}

// resident is how many bytes of reserved memory take room. To ask the system takes a millisecond for each GiB
// that was reserved, so it is asked anew only where that is a small part of the time. The caller holds m.mu.
func (m *memory) resident() (bytes int64) {
	r := &m.reserved
	if start := time.Now(); len(r.takes) > 0 && start.Sub(r.looked) > rareness*r.cost {
		for raw := range r.takes {
			r.takes[raw] = int64(m.backend.(Reserver).Resident(raw))
		}
		r.looked = time.Now()
		r.cost = r.looked.Sub(start)
	}
	for _, n := range r.takes {
		bytes += n
	}
	return bytes
}

// release gives reserved or spread memory back to the backend, and says whether it was that. The caller holds
// m.mu.
func (m *memory) release(raw ir.Buffer) bool {
	if bytes, ok := m.parts[raw]; ok {
		delete(m.parts, raw)
		m.inUse -= bytes
		m.backend.Free(raw)
		return true
	}
	if _, ok := m.reserved.takes[raw]; !ok {
		return false
	}
	m.peak = max(m.peak, m.inUse+m.resident()) // a cache takes the most at its end
	delete(m.reserved.takes, raw)
	m.backend.Free(raw)
	return true
}

// takes is how many bytes a buffer takes, of n.
func (m *memory) takes(raw ir.Buffer, n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes, ok := m.parts[raw]; ok {
		return int(bytes)
	}
	if _, ok := m.reserved.takes[raw]; !ok {
		return n
	}
	m.resident()
	return int(m.reserved.takes[raw])
}
