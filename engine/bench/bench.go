// Package bench times work so that the figures can be trusted: repeated until they are stable, on a device
// that has finished, with their spread, and compared side by side instead of one after the other.
//
// What is timed is a function that runs the work n times. All that it made is computed before the clock
// stops, however it was kept or dropped. [Time] and [Measure] time one function, [Compare] several in turn;
// [Work] is a function with all that can be said about it.
//
// Reading order: bench.go (what is asked), result.go (what is answered), clock.go, settle.go (what a
// run is), sampler.go (how long a
// sample is), rounds.go (who is timed when), stats.go (what the samples say), text.go.
package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// Options say how long to measure. The zero value is a good default.
type Options struct {
	Time      time.Duration // budget for one function; 0: 2 s. At least 3 samples are taken, however long they last
	Samples   int           // take at least so many samples if the budget allows; 0: 10
	Precision float64       // stop when the median is known to this share (95 % interval, half its width); 0: 0.02
	Tolerance float64       // how large a difference may be that counts as none; 0: 0.03
	Unchecked bool          // do not compare what the works of a comparison give
	Cold      bool          // empty the caches before each sample, which is one run then
	Clock     Clock         // nil: the machine's
}

func (o Options) withDefaults() Options {
	if o.Time <= 0 {
		o.Time = 2 * time.Second
	}
	if o.Samples <= 0 {
		o.Samples = 10
	}
	if o.Precision <= 0 {
		o.Precision = 0.02
	}
	if o.Tolerance <= 0 {
		o.Tolerance = 0.03
	}
	if o.Clock == nil {
		o.Clock = newDeviceClock()
	}
	return o
}

// A Case is one of the functions that [Compare] times.
type Case struct {
	Name string
	Run  func(n int) error // runs the work n times
}

// A Work is a function to time and what is known about it. Only Run is needed.
type Work struct {
	Name string
	Run  func(n int) error // runs the work n times; with an Inspect it returns when all is computed

	// Within calls f within ctx: it enters what the work runs in, a session for example. Nil: tensor.Within.
	// What a Run of nothing takes is taken off each sample then.
	Within func(ctx context.Context, f func() error) error

	// Each is Run for work that makes lazy tensors: it calls ran after each run. Without it Run(1) is called
	// often.
	Each func(n int, ran func() error) error

	// Results returns what the last run has come to: tensors, numbers, slices of numbers.
	Results func() []any

	// Restore puts back, outside of the clock, what the runs of a sample have changed, and says whether there
	// was anything: then a sample is one run, however short, so that each run starts from the same state.
	Restore func() (changed bool)

	// Advice is how to give each run the same start, for work that is refused because it goes on from run to
	// run.
	Advice string

	// Around calls sample once, and does what has to be done before and after outside of the clock: enter a
	// session, restore what the work changes. Each sample is within one call.
	Around func(sample func() error) error

	// Single says that a sample is one run, however short, because Around has to restore something after
	// each.
	Single bool

	// Floor makes the calls of Run with an empty body. What it takes is shown beside the time, from samples
	// of the same minutes; it is not taken off.
	Floor func(n int) error

	// Look is called before a run that is looked at, and what it returns after that: it says what a reader
	// should know of the run.
	Look func() (after func() []string)

	// Inspect runs the work once and says what that did; its error ends the measurement. It is called outside
	// of the clock and of Around: for the very first run, after that, and when all samples are taken. Without
	// it package bench counts, and computes in each run what that made: a tensor that was dropped, too.
	Inspect func() (Tally, error)

	// idle does what Run does beside the work; what that takes is taken off each sample.
	idle func() error

	// done is what all runs so far have done.
	done func() amount
}

// Time times f, with the evaluation of what it makes. It obeys the context of the goroutine (see
// tensor.Within). What keeps f from being timed is in the result, which is never nil.
func Time(f func()) *Result {
	r, err := Measure(scope.Context(), func(n int) error {
		for range n {
			f()
		}
		return nil
	}, Options{})
	if err != nil {
		return &Result{Refused: err.Error()}
	}
	return r
}

// Measure times fn(n), which runs the work n times. What that made is computed inside of the clock. If ctx
// ends it returns what it knows, with a note; without any sample that is ctx's error. An error of fn ends it.
func Measure(ctx context.Context, fn func(n int) error, o Options) (*Result, error) {
	return MeasureWork(ctx, Work{Run: fn}, o)
}

// MeasureWork is [Measure] of a work about which more is known.
func MeasureWork(ctx context.Context, w Work, o Options) (*Result, error) {
	c, err := CompareWorks(ctx, []Work{w}, o)
	if err != nil {
		return nil, err
	}
	r := c.Lines[0].Result
	r.Notes = append(r.Notes, c.Notes...)
	return r, nil
}

// Compare times the cases in turn, in another order each round, so that a machine that slows down slows all
// of them down. The first is what the others are compared with, and is timed twice a round: what it differs
// from itself by is no difference of the others.
func Compare(ctx context.Context, cases []Case, o Options) (*Comparison, error) {
	works := make([]Work, len(cases))
	for i, c := range cases {
		works[i] = Work{Name: c.Name, Run: c.Run}
	}
	return CompareWorks(ctx, works, o)
}

// CompareWorks is [Compare] of works about which more is known.
func CompareWorks(ctx context.Context, works []Work, o Options) (*Comparison, error) {
	if len(works) == 0 {
		return nil, errors.New("bench: got nothing to compare")
	}
	for i, w := range works {
		if w.Run == nil {
			return nil, fmt.Errorf("bench: case %d (%q) has no Run", i, w.Name)
		}
	}
	works, end := settled(ctx, works)
	defer end()
	return newRounds(works, o.withDefaults()).measure(ctx)
}
