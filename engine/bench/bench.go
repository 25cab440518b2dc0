// Package bench times work so that the figures can be trusted: repeated until they are stable, on a device
// that has finished, with their spread, and compared side by side instead of one after the other.
//
// What is timed is a function that runs the work n times and returns when everything that it made is
// computed; tensors are lazy, so it must evaluate them. [Measure] times one function, [Compare] several in
// turn. Reading order: bench.go, stats.go, text.go.
package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
)

// Options say how long to measure. The zero value is a good default.
type Options struct {
	Time      time.Duration // budget for one function; 0: 2 s. At least 3 samples are taken, however long they last
	Samples   int           // take at least so many samples if the budget allows; 0: 10
	Precision float64       // stop when the median is known to this share (95 % interval, half its width); 0: 0.02
}

// Result is what was measured. Times are in seconds for one run.
type Result struct {
	Median    float64
	P25, P75  float64 // the middle half of the samples lies between them
	Low, High float64 // 95 % interval of the median
	Min       float64
	First     float64 // the very first run, with planning and compiling
	Samples   int
	PerSample int      // runs in a sample: short work is timed in blocks
	Notes     []string // what the reader should know: drift, few samples, interrupted
}

// Runs is how often the work ran in all samples.
func (r *Result) Runs() int { return r.Samples * r.PerSample }

// A Case is one of the functions that Compare times.
type Case struct {
	Name string
	Run  func(n int) error // runs the work n times and returns when all is computed
}

// Comparison is what Compare measured: one line for each case, in their order. The first case is what the
// others are compared with.
type Comparison struct {
	Lines []Line
	Notes []string
}

// A Line of a comparison.
type Line struct {
	Name      string
	Result    *Result
	Ratio     float64 // this median over the first case's
	Low, High float64 // 95 % interval of the ratio
	Verdict   string  // "slower", "faster", "same" (the interval holds 1) or "unknown" (too few samples)
}

const (
	minBlock     = time.Millisecond // a sample lasts at least so long: reading the clock then costs nothing
	minSamples   = 3
	maxSamples   = 10_000
	verdictAfter = 6 // samples of each case, below which there is no verdict
	maxDrift     = 0.05
)

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
	return o
}

// A clock tells the time after the device has finished.
type clock func() (time.Time, error)

func deviceClock() (time.Time, error) {
	err := device.Default().Sync()
	return time.Now(), err
}

// Measure times fn(n), which runs the work n times and returns when everything that it made is computed. If
// ctx ends it returns what it knows, with a note; without any sample that is ctx's error. An error of fn ends
// it.
func Measure(ctx context.Context, fn func(n int) error, o Options) (*Result, error) {
	c, err := compare(ctx, deviceClock, []Case{{Name: "", Run: fn}}, o)
	if err != nil {
		return nil, err
	}
	r := c.Lines[0].Result
	r.Notes = append(r.Notes, c.Notes...)
	return r, nil
}

// Compare times the cases in turn, in another order each round, so that a machine that slows down slows all
// of them down. Ratios come with intervals from resampling the rounds.
func Compare(ctx context.Context, cases []Case, o Options) (*Comparison, error) {
	if len(cases) == 0 {
		return nil, errors.New("bench: got no cases to compare")
	}
	return compare(ctx, deviceClock, cases, o)
}

// A sampler times one case.
type sampler struct {
	Case
	now       clock
	first     float64
	perSample int
	samples   []float64 // seconds a run, in the order of rounds
}

func compare(ctx context.Context, now clock, cases []Case, o Options) (*Comparison, error) {
	o = o.withDefaults()
	list := make([]*sampler, len(cases))
	for i, c := range cases {
		list[i] = &sampler{Case: c, now: now}
		if err := list[i].calibrate(ctx); err != nil {
			return nil, named(c.Name, err)
		}
	}
	start, err := now()
	if err != nil {
		return nil, err
	}
	budget := o.Time * time.Duration(len(cases))
	order := rand.New(rand.NewPCG(1, uint64(len(cases))))
	interrupted := false
	for round := 0; round < maxSamples && !interrupted; round++ {
		for _, i := range order.Perm(len(list)) {
			if interrupted = ctx.Err() != nil; interrupted {
				break
			}
			if err := list[i].sample(); err != nil {
				if interrupted = ctx.Err() != nil; interrupted {
					break
				}
				return nil, named(list[i].Name, err)
			}
		}
		t, err := now()
		if err != nil {
			return nil, err
		}
		if done(list, o, t.Sub(start) >= budget) {
			break
		}
	}
	return report(ctx, list, interrupted)
}

func named(name string, err error) error {
	if name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// calibrate runs the work once, and then finds how many runs make a sample long enough.
func (s *sampler) calibrate(ctx context.Context) error {
	first, err := s.time(1)
	if err != nil {
		return err
	}
	s.first, s.perSample = first.Seconds(), 1
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		took, err := s.time(s.perSample)
		if err != nil {
			return err
		}
		if took >= minBlock {
			return nil
		}
		// Aim a little above, and never grow by more than ten times: the first runs are not typical.
		grow := 10.0
		if took > 0 {
			grow = min(grow, 1.2*float64(minBlock)/float64(took))
		}
		s.perSample = max(s.perSample+1, int(float64(s.perSample)*grow))
	}
}

func (s *sampler) time(n int) (time.Duration, error) {
	start, err := s.now()
	if err != nil {
		return 0, err
	}
	if err := s.Run(n); err != nil {
		return 0, err
	}
	end, err := s.now()
	return end.Sub(start), err
}

func (s *sampler) sample() error {
	took, err := s.time(s.perSample)
	if err == nil {
		s.samples = append(s.samples, took.Seconds()/float64(s.perSample))
	}
	return err
}

// done says whether every case is known well enough, or the time is up.
func done(list []*sampler, o Options, late bool) bool {
	for _, s := range list {
		n := len(s.samples)
		if n < minSamples {
			return false
		}
		if late {
			continue
		}
		// Looking at every sample would make many samples cost their square.
		if n < o.Samples || n > 100 && n%(n/50) != 0 {
			return false
		}
		median, low, high := medianInterval(sorted(s.samples))
		if high-low > 2*o.Precision*median {
			return false
		}
	}
	return true
}

// report makes the result of what was sampled.
func report(ctx context.Context, list []*sampler, interrupted bool) (*Comparison, error) {
	rounds := len(list[0].samples)
	for _, s := range list {
		rounds = min(rounds, len(s.samples))
	}
	if rounds == 0 {
		return nil, ctx.Err()
	}
	c := new(Comparison)
	if interrupted {
		c.Notes = append(c.Notes, "interrupted: this is what was known by then")
	}
	for _, s := range list {
		line := Line{Name: s.Name, Result: s.result()}
		line.Ratio, line.Low, line.High = ratioInterval(s.samples[:rounds], list[0].samples[:rounds])
		line.Verdict = verdict(line, rounds)
		c.Lines = append(c.Lines, line)
	}
	return c, nil
}

func (s *sampler) result() *Result {
	x := sorted(s.samples)
	r := &Result{First: s.first, Samples: len(x), PerSample: s.perSample, Min: x[0], P25: quantile(x, 0.25), P75: quantile(x, 0.75)}
	r.Median, r.Low, r.High = medianInterval(x)
	if d := drift(s.samples); d > maxDrift || d < -maxDrift {
		r.Notes = append(r.Notes, fmt.Sprintf("drifted by %+.0f %% while it was measured: other load, heat or a changing clock", 100*d))
	}
	if len(x) < verdictAfter {
		r.Notes = append(r.Notes, fmt.Sprintf("only %d samples in the time that there was", len(x)))
	}
	return r
}

func verdict(l Line, rounds int) string {
	switch {
	case rounds < verdictAfter:
		return "unknown"
	case l.Low > 1:
		return "slower"
	case l.High < 1:
		return "faster"
	}
	return "same"
}
