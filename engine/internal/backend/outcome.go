package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// An Outcome tells whether a run that was under way when Run returned has succeeded or failed. Each value
// that the run writes refers to it, so that code cannot take a value of a failed run for a valid one. A nil
// *Outcome is that of a run that is done.
//
// The backend calls Finish when the device has finished the run: at the latest before it returns from a Sync,
// or from a Download of a value that the run has written.
type Outcome struct {
	mu         sync.Mutex
	known      bool
	cannotFail bool // see CannotFail
	failed     *failure
	reads      []*Outcome // of the runs whose results this one reads, as long as they are not known
}

// A failure is the reason why a run failed. The runs that read its results share it.
type failure struct {
	err  error
	told atomic.Bool // a caller has got err
}

// Later says that the run is not done when Run returns, and returns its outcome, which is not known yet.
func (t *Table) Later() *Outcome {
	if t.outcome == nil {
		t.outcome = &Outcome{}
	}
	return t.outcome
}

// Outcome returns the outcome that Later returned, or nil.
func (t *Table) Outcome() *Outcome { return t.outcome }

// Reset makes the table ready for another run.
func (t *Table) Reset() { t.outcome, t.Began, t.Ended = nil, 0, 0 }

// Finish sets the outcome of the run: err is nil if it has succeeded. Only the first call counts.
func (o *Outcome) Finish(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known {
		return
	}
	o.known = true
	if err != nil {
		o.failed = &failure{err: err}
	}
}

// CannotFail says that no data can make the run fail: only the loss of the device, and of all values on it,
// can. Nobody needs to wait for its end to know that it has done its work.
func (o *Outcome) CannotFail() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cannotFail = true
}

// willSucceed says whether the run has succeeded, or will unless the device is lost.
func (o *Outcome) willSucceed() bool {
	if o == nil {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cannotFail && o.failed == nil
}

// WillSucceed says whether the run that writes a value has succeeded, or will unless the device is lost.
func WillSucceed(d *ir.Data) bool {
	o, _ := d.Run.(*Outcome)
	return o.willSucceed()
}

// After says that the run reads what another one writes: if that fails, so does this one.
func (o *Outcome) After(other *Outcome) {
	if known, failed := other.look(); other == o || known && failed == nil {
		return
	}
	certain := other.willSucceed()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cannotFail = o.cannotFail && certain
	if !slices.Contains(o.reads, other) {
		o.reads = append(o.reads, other)
	}
}

// look says whether the outcomes of this run and of the runs that it reads from are known, and returns the
// failure, if there is one.
func (o *Outcome) look() (known bool, failed *failure) {
	if o == nil {
		return true, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.reads) > 0 {
		known, failed := o.reads[0].look()
		if !known {
			return false, nil
		}
		if failed != nil { // the first failure is the cause of the others
			o.known, o.failed, o.reads = true, failed, nil
			return true, failed
		}
		o.reads = o.reads[1:]
	}
	o.reads = nil
	return o.known, o.failed
}

// Err returns the error of a run that is known to have failed, and notes that a caller has got it.
func (o *Outcome) Err() error {
	if _, failed := o.look(); failed != nil {
		failed.told.Store(true)
		return failed.err
	}
	return nil
}

// untold returns the error of a run that has failed, if no caller has got it yet; pending says that the
// outcome is not known.
func (o *Outcome) untold() (err error, pending bool) {
	known, failed := o.look()
	if failed != nil && failed.told.CompareAndSwap(false, true) {
		return failed.err, false
	}
	return nil, !known
}

// A Flight has the runs of a context whose outcome is not known yet. A cell has one: its end waits for the
// runs, so that a late error belongs to the cell. The zero Flight is ready.
type Flight struct {
	mu   sync.Mutex
	runs []pendingRun
}

type pendingRun struct {
	dev     *Device
	outcome *Outcome
}

var flightKey = &scope.Key{Name: "flight"}

// WithFlight returns a context whose runs are noted in f.
func WithFlight(ctx context.Context, f *Flight) context.Context {
	return context.WithValue(ctx, flightKey, f)
}

// flightOf is the flight that a run within ctx belongs to: the device's own if ctx has none.
func (d *Device) flightOf(ctx context.Context) *Flight {
	if f, ok := ctx.Value(flightKey).(*Flight); ok {
		return f
	}
	return &d.flight
}

// Track notes a run that is under way, within ctx.
func (d *Device) Track(ctx context.Context, o *Outcome) {
	f := d.flightOf(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = slices.DeleteFunc(f.runs, func(r pendingRun) bool {
		known, failed := r.outcome.look()
		return known && (failed == nil || failed.told.Load())
	})
	f.runs = append(f.runs, pendingRun{d, o})
}

// Wait waits for all runs of f, as long as ctx allows, and returns the errors that no caller has got yet.
func (f *Flight) Wait(ctx context.Context) error {
	f.mu.Lock()
	runs := f.runs
	f.runs = nil
	f.mu.Unlock()
	var errs []error
	for i, r := range runs {
		err, pending := r.outcome.untold()
		if pending {
			if err = r.dev.Seen(r.dev.backend.Sync(ctx)); err != nil {
				f.mu.Lock()
				f.runs = append(f.runs, runs[i:]...)
				f.mu.Unlock()
				return errors.Join(append(errs, err)...)
			}
			err, _ = r.outcome.untold()
		}
		if err != nil {
			errs = append(errs, r.dev.Seen(err))
		}
	}
	return errors.Join(errs...)
}

// Forget forgets all runs.
func (f *Flight) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = nil
}

// Sync waits for all work of the device, as long as ctx allows. It returns the errors that were found late
// and that no caller has got yet, of the runs within ctx and of those that belong to no context.
func (d *Device) Sync(ctx context.Context) error {
	if err := d.Seen(d.backend.Sync(ctx)); err != nil {
		return err
	}
	err := d.flight.Wait(ctx)
	if f := d.flightOf(ctx); f != &d.flight {
		err = errors.Join(err, f.Wait(ctx))
	}
	return err
}

// Await waits, as long as ctx allows, until the outcomes of the runs that write values are known, or cannot
// be failures. All values are of this device. It returns the error of one of the runs that failed.
func (d *Device) Await(ctx context.Context, values ...*ir.Data) error {
	for _, v := range values {
		o, ok := v.Run.(*Outcome)
		if !ok || o.willSucceed() {
			continue
		}
		if known, _ := o.look(); !known {
			if err := d.Seen(d.backend.Sync(ctx)); err != nil {
				return err
			}
			if known, _ = o.look(); !known {
				return fmt.Errorf("%s: the backend does not say what has become of a run", d.name)
			}
		}
		if err := d.Seen(o.Err()); err != nil {
			return err
		}
	}
	return nil
}
