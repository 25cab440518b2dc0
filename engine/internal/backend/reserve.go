package backend

import "github.com/mcs-notebook/mcs/engine/internal/ir"

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

// reserve notes memory whose use is what it has of it, and that nobody else gets later.
func (m *memory) reserve(raw ir.Buffer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reserved == nil {
		m.reserved = map[ir.Buffer]bool{}
	}
	m.reserved[raw] = true
}

// resident is how many bytes of reserved memory take room. The caller holds m.mu.
func (m *memory) resident() (bytes int64) {
	for raw := range m.reserved {
		bytes += int64(m.backend.(Reserver).Resident(raw))
	}
	return bytes
}

func (m *memory) isReserved(raw ir.Buffer) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reserved[raw]
}
