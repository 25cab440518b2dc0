package cpu

import (
	"context"
	"sync"
	"sync/atomic"
)

// stops gives runs a flag that says whether their context is done: pieces of a kernel look at it. To have a
// context set a flag takes longer than a small kernel, and runs that follow each other mostly have the same
// context: so the flag of the last one is kept.
type stops struct {
	mu   sync.Mutex
	last *stop
}

// A stop belongs to the contexts that end at the same time.
type stop struct {
	flag atomic.Bool
	done <-chan struct{}
	off  func() bool // ends the wait for the context
	runs int         // that are under way
	kept bool        // it is stops.last
}

// of returns the stop of a context that may be done one day; the run gives it back.
func (s *stops) of(ctx context.Context) *stop {
	done := ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || s.last.done != done {
		s.forget()
		next := &stop{done: done, kept: true}
		next.off = context.AfterFunc(ctx, func() { next.flag.Store(true) })
		s.last = next
	}
	s.last.runs++
	return s.last
}

// giveBack says that a run has ended.
func (s *stops) giveBack(one *stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.runs--; one.runs == 0 && !one.kept {
		one.off()
	}
}

// forget lets go of the last one. Runs that are under way still see its flag. The caller holds mu.
func (s *stops) forget() {
	if s.last == nil {
		return
	}
	if s.last.kept = false; s.last.runs == 0 {
		s.last.off()
	}
	s.last = nil
}

func (s *stops) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
}
