package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Spreader is a Backend that can show memory which lies on several devices of a machine, or in several
// processes, as if it were one piece.
type Spreader interface {
	Backend
	// Spreads says of how many bytes a part is a multiple, or why there are none: errors.ErrUnsupported if
	// devices of this kind never have any.
	Spreads() (grain int, err error)
	// Part returns new memory of so many bytes, a multiple of the grain, as a file that other processes of
	// the machine can be given. It is there as long as a file or a buffer refers to it.
	Part(bytes int) (*os.File, error)
	// Spread returns a buffer of so many bytes that consists of parts, one behind the other: lengths are
	// multiples of the grain, a part of length 0 has no file. The own one can be written, all can be read.
	Spread(bytes int, parts []*os.File, lengths []int, own int) (ir.Buffer, error)
}

// A Parts is this process as one of several that hold memory together: each a part of it.
type Parts interface {
	Rank() int
	Size() int
	// Swap gives the file to all, and returns the files of all by rank, which the caller closes. A file may
	// be nil.
	Swap(file *os.File) ([]*os.File, error)
}

// Spreads says whether the device has memory that lies in parts, and if not why.
func (d *Device) Spreads() error {
	_, _, err := d.spreader()
	return err
}

func (d *Device) spreader() (s Spreader, grain int, err error) {
	s, ok := d.backend.(Spreader)
	if !ok {
		return nil, 0, fmt.Errorf("%s has no memory that several processes hold together: %w", d.name, errors.ErrUnsupported)
	}
	grain, err = s.Spreads()
	return s, grain, err
}

// lengthsOf shares bytes among so many parts, in grains.
func lengthsOf(bytes, parts, grain int) []int {
	lengths := make([]int, parts)
	each := (bytes + parts*grain - 1) / (parts * grain) * grain
	left := (bytes + grain - 1) / grain * grain
	for i := range lengths {
		lengths[i] = min(each, left)
		left -= lengths[i]
	}
	return lengths
}

// Spread makes memory of n bytes of which each process holds a part. All of them call it; each writes its
// part, for which read gives bytes from a place on, as for Fill. They read the memory when all are back.
func (d *Device) Spread(ctx context.Context, n int, by Parts, read func(at int, to []byte) error) (_ *Block, err error) {
	s, grain, err := d.spreader()
	if err != nil {
		return nil, err
	}
	lengths, own := lengthsOf(n, by.Size(), grain), by.Rank()
	var file *os.File
	if lengths[own] > 0 {
		file, err = s.Part(lengths[own])
		if full := (*OutOfMemory)(nil); errors.As(err, &full) {
			d.memory.collect(ctx)
			d.memory.trim(0)
			file, err = s.Part(lengths[own])
		}
		if err != nil {
			return nil, d.Seen(err)
		}
	}
	files, err := by.Swap(file)
	if err != nil {
		return nil, err
	}
	raw, err := s.Spread(n, files, lengths, own)
	for _, f := range files {
		f.Close() // of nil, too
	}
	if err != nil {
		return nil, d.Seen(err)
	}
	d.memory.spread(raw, int64(lengths[own]))
	b := d.block(raw, n)
	b.spread = true
	from := 0
	for _, length := range lengths[:own] {
		from += length
	}
	to := min(n, from+lengths[own])
	for staged := make([]byte, min(4*piece, max(0, to-from))); from < to; from += len(staged) {
		staged = staged[:min(len(staged), to-from)]
		if err := inPieces(staged, func(at int, to []byte) error { return read(from+at, to) }); err != nil {
			return nil, err
		}
		if err := d.Upload(b, from, staged); err != nil {
			return nil, err
		}
	}
	runtime.KeepAlive(b)
	return b, d.Seen(d.backend.Sync(ctx)) // the others do not see when it is written
}

// InParts says whether several processes hold parts of a value's memory: it is read at the rate of what joins
// them, and never written.
func InParts(d *ir.Data) bool {
	if d == nil {
		return false
	}
	b, ok := d.Buf.(*Block)
	return ok && b.spread
}

// spread notes memory of which so many bytes are held here, and that nobody else gets later.
func (m *memory) spread(raw ir.Buffer, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parts == nil {
		m.parts = map[ir.Buffer]int64{}
	}
	m.parts[raw] = bytes
	m.inUse += bytes
	m.peak = max(m.peak, m.inUse)
}
