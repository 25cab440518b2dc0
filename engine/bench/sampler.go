package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
)

const (
	runsAbove    = 10 * time.Microsecond  // a longer run is a sample of its own
	blockTime    = 100 * time.Microsecond // shorter ones are timed in blocks of at least so long
	visitTime    = time.Millisecond       // samples of one function are taken in a row for so long, once a round
	maxBlockTime = 10 * time.Millisecond  // nor are blocks longer than this, whatever is done once
	maxVisit     = 20                     // and no more of them than this
	maxBlock     = 1_000_000              // so many runs that take less than blockTime are none
	surelyLong   = time.Millisecond       // a run for which so much is not a hiccup's
	manyRuns     = 4                      // of a run that may be shorter than it seems, to see that time grows
	outweigh     = 100                    // so many times, about, what is done once must be what is done n times
	outgrow      = 10                     // so many times the time of one run is that of maxBlock, at least
	calibrates   = 5                      // times of which the smallest counts

	maxPatience = 100 * time.Millisecond // for finding out how long one run takes
)

var errNotCalled = errors.New("bench: Around did not call its sample")

// A sampler takes the samples of one function.
type sampler struct {
	clock  Clock
	run    func(n int) error
	around func(sample func() error) error
	single bool

	nothing     time.Duration // what no runs take at least
	per         int           // runs in a sample
	visit       int           // samples in a visit
	perRunLeast float64       // seconds that a run takes at least, as far as calibration saw
	times       []float64     // seconds of each sample, with what the clock takes
	ends        []int         // where in times each visit ends
	backwards   int           // samples that ended before they began

	done  func() amount // what the function has done so far; nil: nobody knows
	count int           // runs in all visits
	did   amount        // what they did
}

func newSampler(clock Clock, w Work) *sampler {
	return &sampler{clock: clock, run: w.Run, around: w.Around, single: w.Single, done: w.done, per: 1, visit: 1}
}

// time runs the work n times by the clock.
func (s *sampler) time(n int) (took time.Duration, err error) {
	called := false
	sample := func() error {
		called = true
		if err := s.clock.Sync(); err != nil {
			return err
		}
		start := s.clock.Now()
		if err := s.run(n); err != nil {
			return err
		}
		err := s.clock.Sync()
		took = s.clock.Now() - start
		return err
	}
	if s.around == nil {
		err = sample()
		return took, err
	}
	if err = s.around(sample); err == nil && !called {
		err = errNotCalled
	}
	return took, err
}

// smallest is the shortest of several times of n runs: a hiccup makes a time longer, never shorter. Long work
// is timed once.
func (s *sampler) smallest(ctx context.Context, n int, patience time.Duration) (least time.Duration, err error) {
	for i, spent := 0, time.Duration(0); i < calibrates && (i == 0 || spent < patience); i++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		took, err := s.time(n)
		if err != nil {
			return 0, err
		}
		if i == 0 || took < least {
			least = took
		}
		spent += max(took, 1)
	}
	return max(0, least-s.nothing), nil
}

// calibrate finds how many runs are a sample, and says why it cannot: time that does not grow with n is not
// that of n runs.
func (s *sampler) calibrate(ctx context.Context, budget time.Duration) (refused string, err error) {
	patience := min(maxPatience, budget/20)
	s.per = 1
	once, err := s.smallest(ctx, 1, patience)
	if err != nil {
		return "", err
	}
	s.settle(once)
	switch {
	case s.single || once >= surelyLong:
		return "", nil
	case once < runsAbove:
		return s.calibrateBlock(ctx, once, blockTime, patience)
	}
	many, err := s.smallest(ctx, manyRuns, patience)
	if err != nil || many >= once*manyRuns/2 {
		return "", err
	}
	// Something else made one run seem long, or what is done once for all n of them takes most of the time.
	again, err := s.smallest(ctx, 1, patience)
	if err != nil {
		return "", err
	}
	once = min(once, again)
	return s.calibrateBlock(ctx, once, max(blockTime, once), patience)
}

// calibrateBlock finds how many runs last so long that what is done once for all of them is nothing beside
// them: reading the clock, and what the function does before and after its loop.
func (s *sampler) calibrateBlock(ctx context.Context, once, target, patience time.Duration) (refused string, err error) {
	took := once
	for grown := false; ; grown = true {
		for took < target {
			if s.per >= maxBlock && (took < blockTime || took < once*outgrow) {
				return fmt.Sprintf("its time does not grow with the number of runs: 1 run took %s, %s took %s", units.Duration(once), units.Plural(int64(s.per), "run"), units.Duration(took)), nil
			}
			if s.per >= maxBlock {
				break
			}
			// Aim a little above, and never grow by more than ten times: the first runs are not typical.
			grow := 10.0
			if took > 0 {
				grow = min(grow, 1.2*float64(target)/float64(took))
			}
			s.per = min(maxBlock, max(s.per+1, int(float64(s.per)*grow)))
			if took, err = s.smallest(ctx, s.per, patience); err != nil {
				return "", err
			}
		}
		s.settle(took)
		fixed, err := s.fixed(ctx, patience)
		fixed = min(fixed, once) // which holds all that is done once
		if err != nil || grown || fixed < took/outweigh {
			return "", err
		}
		target = min(maxBlockTime, fixed*outweigh)
	}
}

// fixed is how much of the time of a sample does not depend on how many runs it has: the smaller of two
// estimates, because another process may have made one of them.
func (s *sampler) fixed(ctx context.Context, patience time.Duration) (least time.Duration, err error) {
	for i := range 2 {
		single, err := s.smallest(ctx, s.per, patience)
		if err != nil {
			return 0, err
		}
		double, err := s.smallest(ctx, 2*s.per, patience)
		if err != nil {
			return 0, err
		}
		if fixed := 2*single - double; i == 0 || fixed < least {
			least = fixed
		}
	}
	return least, nil
}

// settle notes that a sample takes at least least, and chooses how many are taken in a row.
func (s *sampler) settle(least time.Duration) {
	s.perRunLeast = least.Seconds() / float64(s.per)
	s.visit = min(maxVisit, max(1, int(visitTime/max(least, 1))))
	if s.single {
		s.visit = 1 // what is done around each sample may take longer than it
	}
}

// join makes samples of n runs, if that does not make them too long.
func (s *sampler) join(n int) {
	if took := time.Duration(s.perRunLeast * float64(n) * float64(time.Second)); !s.single && s.per < n && took <= maxBlockTime {
		s.per = n
		s.settle(took)
	}
}

// sample takes the samples of one visit.
func (s *sampler) sample(ctx context.Context) error {
	var before amount
	if s.done != nil {
		before = s.done()
	}
	for range s.visit {
		if err := ctx.Err(); err != nil {
			return err
		}
		took, err := s.time(s.per)
		if err != nil {
			return err
		}
		if took < 0 {
			s.backwards++
			continue
		}
		s.times = append(s.times, took.Seconds())
	}
	s.ends = append(s.ends, len(s.times))
	if s.count += s.visit * s.per; s.done != nil {
		s.did = s.did.plus(s.done().minus(before))
	}
	return nil
}

// misjudged says whether calibration saw the work slower than it is: its samples are then too short for the
// clock.
func (s *sampler) misjudged() bool {
	typical := time.Duration(median(s.times) * float64(time.Second))
	if s.per == 1 {
		return !s.single && typical < runsAbove/2
	}
	return typical < blockTime/2
}

// rounds gives one time for each visit, the median of its samples, in seconds a run. Clock is what the clock
// takes.
func (s *sampler) rounds(clock float64) []float64 {
	list := make([]float64, len(s.ends))
	start := 0
	for i, end := range s.ends {
		if start < end {
			list[i] = s.perRun(median(s.times[start:end]), clock)
		}
		start = end
	}
	return list
}

func (s *sampler) perRun(sample, clock float64) float64 {
	return max(0, sample-clock) / float64(s.per)
}

// samples are all samples in their order, in seconds a run.
func (s *sampler) samples(clock float64) []float64 {
	list := make([]float64, len(s.times))
	for i, t := range s.times {
		list[i] = s.perRun(t, clock)
	}
	return list
}
