package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
)

const (
	maxUnsettled = 4096 // tensors without values that a stopwatch holds for a unit
	maxReadings  = 64   // of the clock that it remembers
)

// A stopwatch looks at times that cells take by hand: time.Since(start) after tensors were made, which are
// lazy, is the time of building a graph.
type stopwatch struct {
	ledger *tensor.Ledger

	mu       sync.Mutex
	readings []reading // the newest
	left     []string  // what the first measurement has left out
}

type reading struct {
	at   time.Time
	mark tensor.Mark
}

// timedByHand tells, once in a session, of a time that a unit measures and that does not have the work in it.
// The unit runs within the context, and then after is called. Only sessions whose code takes times pay for
// it.
func (s *Session) timedByHand(ctx context.Context, u *compile.Unit) (within context.Context, after func()) {
	if s.told["clock"] || !u.Runs || !s.library.Timed() {
		return ctx, func() {}
	}
	w := &stopwatch{ledger: tensor.NewLedger(ctx)}
	w.ledger.Limit(maxUnsettled)
	s.library.Watch(w)
	return w.ledger.Context(), func() {
		s.library.Watch(nil)
		w.ledger.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.left) == 0 {
			return
		}
		s.once("clock")
		what, was, them := w.left[0], "was", "it"
		if more := len(w.left) - 1; more > 0 {
			what, was, them = fmt.Sprintf("%s and %d more", what, more), "were", "them"
		}
		s.Tell("the clock was read before %s %s computed: tensors are lazy, and the time is that of building a graph. "+
			"Eval computes %s before; %%time and %%timeit have all that a statement makes in its time", what, was, them)
	}
}

// Began notes where a measurement may begin.
func (w *stopwatch) Began(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.readings) == maxReadings {
		w.readings = slices.Delete(w.readings, 0, maxReadings/2)
	}
	w.readings = append(w.readings, reading{at, w.ledger.Mark()})
}

// Read looks for what was made since a moment and is not computed.
func (w *stopwatch) Read(since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if mark, ok := w.since(since); ok && w.left == nil {
		w.left = w.ledger.Unsettled(mark)
	}
}

// since returns the mark of a moment. That of an earlier unit is before all marks; a time that comes from
// elsewhere, as a file's, measures nothing here.
func (w *stopwatch) since(at time.Time) (m tensor.Mark, ok bool) {
	if at.IsZero() {
		if n := len(w.readings); n > 0 {
			return w.readings[n-1].mark, true
		}
		return 0, false
	}
	for _, r := range slices.Backward(w.readings) {
		if r.at == at {
			return r.mark, true
		}
	}
	return 0, at != at.Round(0) // which has no reading of the monotonic clock
}
