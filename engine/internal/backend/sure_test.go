package backend

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A device that counts how often it is waited for; what is under way then ends.
type waited struct {
	Backend
	times int
	runs  []*Outcome
}

func (w *waited) Sync(context.Context) error {
	w.times++
	for _, o := range w.runs {
		o.Finish(nil)
	}
	return nil
}

// An optimizer's step that no data can make fail need not be waited for, unless it reads what such a run
// writes: then nobody knows yet whether the step is made.
func TestSureRunsAreNotWaitedFor(t *testing.T) {
	for _, c := range []struct {
		name         string
		sure, before bool // whether the run is sure, and the one whose results it reads
		waits        int
	}{
		{"a run that can fail", false, true, 1},
		{"a sure run", true, true, 0},
		{"a sure run after one that can fail", true, false, 1},
	} {
		before, run := &Outcome{}, &Outcome{}
		w := &waited{runs: []*Outcome{before, run}}
		if c.before {
			before.CannotFail()
		}
		if c.sure {
			run.CannotFail()
		}
		run.After(before)
		if err := (&Device{backend: w}).Await(t.Context(), &ir.Data{Run: run}); err != nil || w.times != c.waits {
			t.Errorf("%s: got %v, waited %d times, want %d", c.name, err, w.times, c.waits)
		}
	}
}
