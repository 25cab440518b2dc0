package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Spreader is a Device that has memory of which several processes hold parts: see backend.Spreader.
type Spreader interface {
	Device
	Spreads() (grain int, err error)
	Part(bytes int) (*os.File, error)
	Spread(bytes int, parts []*os.File, lengths []int, own int) (Buffer, error)
}

// Spreads says of how many bytes parts are multiples.
func (b *Backend) Spreads() (grain int, err error) {
	s, ok := b.device.(Spreader)
	if !ok {
		return 0, fmt.Errorf("%s has no memory that several processes hold together: %w", b.name, errors.ErrUnsupported)
	}
	return s.Spreads()
}

// Part makes a part. When there is no memory left it waits for what was freed.
func (b *Backend) Part(bytes int) (*os.File, error) {
	s := b.device.(Spreader)
	f, err := s.Part(bytes)
	if errors.Is(err, OutOfMemory) {
		b.mu.Lock()
		if err = b.wait(context.Background(), 0); err == nil {
			err = b.drain(true)
		}
		b.mu.Unlock()
		if err == nil {
			f, err = s.Part(bytes)
		}
	}
	if errors.Is(err, OutOfMemory) {
		return nil, &backend.OutOfMemory{Device: b.name, Want: int64(bytes), Free: -1}
	}
	return f, err
}

// Spread maps parts in a row.
func (b *Backend) Spread(bytes int, parts []*os.File, lengths []int, own int) (ir.Buffer, error) {
	raw, err := b.device.(Spreader).Spread(bytes, parts, lengths, own)
	if err != nil {
		return nil, err
	}
	return &buffer{Buffer: raw, bytes: bytes}, nil
}
