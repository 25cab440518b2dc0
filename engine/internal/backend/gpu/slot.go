package gpu

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A slot is the memory of one run of a program, and the work of such a run. Where memory is unified, the host
// fills and reads block itself, and the staging memory is nil.
type slot struct {
	host    Buffer // staging memory that the host fills
	block   Buffer // of the device, to which it is copied
	report  Buffer // staging memory that has the records, in the same places; nil if nothing can fault
	runs    int
	filled  filling
	repeats bool   // the run's table is that of the one before, which the device has got
	pinned  []pin  // those of the last run, see pinned
	graph   Graph  // nil if there is none
	bound   []byte // the structs that its launches carry, each in its place
	left    []bool // the dispatches that the graph leaves out, see kernel.Dispatch.Same
}

// A filling is what a slot's arguments are made of: the addresses and the numbers of a table.
type filling struct {
	addresses []uint64 // 0 for memory that there is not
	numbers   []ir.Scalar
}

func fillingOf(t *backend.Table) filling {
	f := filling{make([]uint64, len(t.Bufs)), slices.Clone(t.Scalars)}
	for i, m := range t.Bufs {
		if m != nil {
			f.addresses[i] = m.(*buffer).Address()
		}
	}
	return f
}

// mostSlots is how many sets of addresses a program with products of a library has graphs of.
const mostSlots = 4

// slot returns memory for a run with a table: that of a run which had the same one, if there is one, or else
// the same addresses for a library, and of several the one that was used least recently. b.mu is held.
func (b *Backend) slot(l *loaded, t *backend.Table) (*slot, error) {
	f := fillingOf(t)
	at := slices.IndexFunc(l.slots, func(s *slot) bool {
		return slices.Equal(s.filled.addresses, f.addresses) && slices.Equal(s.filled.numbers, f.numbers)
	})
	if at >= 0 {
		s := l.slots[at]
		l.slots = slices.Delete(l.slots, at, at+1)
		s.repeats = true
		return s, nil
	}
	pinned := l.pinned(t)
	if at = slices.IndexFunc(l.slots, func(s *slot) bool { return slices.Equal(s.pinned, pinned) }); at < 0 && l.made >= mostSlots && len(l.slots) > 0 {
		at = 0
	}
	if at >= 0 {
		s := l.slots[at]
		l.slots = slices.Delete(l.slots, at, at+1)
		s.filled, s.repeats = f, false
		return s, nil
	}
	s := &slot{filled: f}
	var err error
	if s.block, err = b.take(l.copied, DeviceMemory); err != nil {
		return nil, err
	}
	if !b.info.Unified {
		if s.host, err = b.stage(l.bytes); err == nil && l.ends > stopWord {
			s.report, err = b.stage(l.ends)
		}
	}
	if err != nil {
		b.drop(s)
		return nil, err
	}
	l.made++
	return s, nil
}

// args is what the host fills.
func (s *slot) args() []byte {
	if s.host == nil {
		return s.block.Host()
	}
	return s.host.Host()
}

// records is the memory that has the fault records. The host reads them when the run is done.
func (s *slot) records() Buffer {
	if s.report == nil {
		return s.block
	}
	return s.report
}

// drop gives a slot back that no work uses any more. b.mu is held.
func (b *Backend) drop(s *slot) {
	b.unstage(s.host)
	b.unstage(s.report)
	if s.graph != nil {
		s.graph.Close()
	}
	if s.block != nil {
		b.freed.Lock()
		b.freed.list = append(b.freed.list, s.block)
		b.freed.Unlock()
	}
}
