package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// settling is a work whose runs compute all that they make before the clock stops: tensors are lazy, so the
// time of a run that left some would be that of building a graph. What runs make is thrown away, and memory
// is given back at once.
type settling struct {
	Work
	ledger  *tensor.Ledger
	lazy    bool // runs leave tensors: each is one run by itself, so that equal work of several is not merged
	results bool // those are to be computed, too, which may have been made before
	changes bool // runs change what Restore puts back
	counted int  // inspections; later ones ask for the time of each kernel, too
	carried error
}

// settled returns works that compute what they make, and a function that ends that. A work that is inspected
// by its own function knows what it does.
func settled(ctx context.Context, works []Work) (list []Work, end func()) {
	var ledgers []*tensor.Ledger
	for _, w := range works {
		if w.Inspect == nil {
			s := &settling{Work: w, ledger: tensor.NewLedger(ctx)}
			ledgers = append(ledgers, s.ledger)
			w.Run, w.Around, w.Inspect, w.idle, w.done = s.run, s.around, s.inspect, s.idle, s.done
		}
		list = append(list, w)
	}
	return list, func() {
		for _, l := range ledgers {
			l.Close()
		}
	}
}

// around does what has to be done around a sample, which is within the ledger's context.
func (s *settling) around(sample func() error) error {
	return s.restored(func() error { return s.within(s.ledger.Context(), sample) })
}

// restored does what has to be done around within, which calls a sample, and puts back what that has changed.
func (s *settling) restored(within func() error) (err error) {
	if s.Around != nil {
		err = s.Around(within)
	} else {
		err = within()
	}
	if s.Restore != nil && s.Restore() {
		s.changes = true
	}
	return err
}

func (s *settling) within(ctx context.Context, f func() error) (err error) {
	if s.Within != nil {
		return s.Within(ctx, f)
	}
	tensor.Within(ctx, func() { err = f() })
	return err
}

// run is what is timed.
func (s *settling) run(n int) error {
	switch {
	case s.lazy && s.Each != nil:
		return s.Each(n, s.settle)
	case s.lazy:
		for range n {
			if err := s.Run(1); err != nil {
				return err
			}
			if err := s.settle(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.Run(n); err != nil {
		return err
	}
	return s.ledger.Settle()
}

// idle is what is timed without the work. Only a session's loop is known to do nothing for no runs: a
// function may be one that ignores how many are asked for.
func (s *settling) idle() error {
	if s.Within != nil {
		return s.run(0)
	}
	return s.ledger.Settle()
}

// done is what the runs so far have done.
func (s *settling) done() (a amount) {
	a.launches, a.bytes, a.flops = s.ledger.Launched()
	return a
}

// settle computes what a run has left.
func (s *settling) settle() error {
	if s.results {
		return s.ledger.Settle(s.tensors()...)
	}
	return s.ledger.Settle()
}

// LeftOut is a note on n tensors that a run made and that were not computed: see tensor.Sum.
func LeftOut(n int) string {
	return fmt.Sprintf("not in the time: %s that nobody read, and of which most was computed for others", units.Plural(int64(n), "tensor"))
}

// Remarks are notes on work that a reader would take to be in the time of a run of the ledger, or not to be
// in it: on what was made elsewhere and computed by the run, and on results that the run has not computed.
func Remarks(l *tensor.Ledger, results ...tensor.Tensor) (list []string) {
	if l.Guarded() {
		list = append(list, "each launch was waited for and looked at: the guard against NaN is on")
	}
	before, meanwhile := l.Elsewhere(results...)
	for _, each := range []struct {
		what string
		work []string
	}{
		{"in the time, though it was made before or elsewhere: ", l.Older(results...)},
		{"not in the time, because it was computed before: ", before},
		{"not in the time of this code, because others computed it meanwhile: ", meanwhile},
	} {
		if n := len(each.work); n > 1 {
			list = append(list, fmt.Sprintf("%s%s and %d more", each.what, each.work[0], n-1))
		} else if n == 1 {
			list = append(list, each.what+each.work[0])
		}
	}
	return list
}

// tensors are those among the results of the last run.
func (s *settling) tensors() (list []tensor.Tensor) {
	if s.Results == nil {
		return nil
	}
	for _, v := range s.Results() {
		if t, ok := v.(tensor.Tensor); ok {
			list = append(list, t)
		}
	}
	return list
}

// inspect runs the work once and says what that did.
func (s *settling) inspect() (t Tally, err error) {
	var before, after runtime.MemStats
	var seen []string
	begun := s.ledger.Sum()
	once := func() error {
		look := func() []string { return nil }
		if s.Look != nil {
			look = s.Look()
		}
		runtime.ReadMemStats(&before)
		if err := s.Run(1); err != nil {
			return err
		}
		defer func() { seen = look() }()
		if s.carried = s.ledger.Inputs(); s.carried != nil && !errors.Is(s.carried, tensor.ErrCarried) {
			return s.carried
		}
		s.results = s.results || !s.ledger.Covers(s.tensors()...)
		err := s.settle()
		runtime.ReadMemStats(&after)
		return err
	}
	record := profile.Record
	if s.counted++; s.counted > beforeSamples {
		record = profile.RecordTimed
	}
	var rec *profile.Recording
	err = s.restored(func() (err error) { // what Around does is not the run's
		rec = record(s.ledger.Context(), func(ctx context.Context) { err = s.within(ctx, once) })
		return err
	})
	if err == nil && rec == nil {
		err = errNotCalled
	}
	if err != nil {
		return Tally{}, err
	}
	all := s.ledger.Sum()
	s.lazy = s.lazy || s.results || all.Settled > begun.Settled
	t = Tally{
		Launches: rec.Launches, Flops: rec.Flops(), Uncounted: rec.Uncounted(), Bytes: rec.Bytes(), Working: rec.Working, Devices: rec.Devices, DType: rec.DType, Made: all.Made - begun.Made, Left: all.Left - begun.Left, Changes: s.changes,
		Device: rec.DeviceTime().Seconds(),
		Allocs: float64(after.Mallocs - before.Mallocs), Heap: float64(after.TotalAlloc - before.TotalAlloc),
	}
	for _, m := range rec.Merged {
		t.Merged += m.Times
	}
	t.Notes = rec.Notes()
	if t.Left > 0 {
		t.Notes = append(t.Notes, LeftOut(t.Left))
	}
	t.Notes = slices.Concat(t.Notes, Remarks(s.ledger, s.tensors()...), seen)
	if s.carried != nil {
		t.Refused = s.carries()
	}
	if s.Results != nil {
		t.Results = s.Results()
	}
	return t, nil
}
