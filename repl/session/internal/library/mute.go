package library

import (
	"bytes"
	"context"
	"sync"
)

// A Mute drops and counts the output of code within its context, while it is on.
type Mute struct {
	streams *Streams

	mu    sync.Mutex
	on    bool
	lines int
}

type muteKey struct{}

// Mute returns a context within which output is dropped while the Mute is on.
func (ss *Streams) Mute(ctx context.Context) (context.Context, *Mute) {
	m := &Mute{streams: ss}
	return context.WithValue(ctx, muteKey{}, m), m
}

// While calls f with the Mute on. Text that other code writes to the files os.Stdout and os.Stderr
// meanwhile looks the same as f's, and is dropped, too.
func (m *Mute) While(f func() error) error {
	m.set(true)
	defer m.set(false)
	return f()
}

func (m *Mute) set(on bool) {
	m.streams.Flush()
	m.mu.Lock()
	m.on = on
	m.mu.Unlock()
	for _, s := range []*Stream{m.streams.Out, m.streams.Err} {
		s.mu.Lock()
		if s.mute = nil; on {
			s.mute = m
		}
		s.mu.Unlock()
	}
}

// drop says whether b was dropped.
func (m *Mute) drop(b []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.on {
		m.lines += bytes.Count(b, []byte("\n"))
	}
	return m.on
}

// Lines returns the number of dropped lines.
func (m *Mute) Lines() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lines
}
