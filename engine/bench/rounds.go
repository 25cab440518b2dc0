package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
)

const (
	minSamples  = 3      // are taken, however long they last
	maxSamples  = 20_000 // of one function
	maxRestarts = 3      // of the samples, when calibration was wrong
	lookEvery   = 1.3    // how much more must be known before it is asked again whether that is enough
	leastShare  = 20     // the budget over this is the least time that is measured: noise comes and goes
)

// A subject is a work that is timed.
type subject struct {
	Work
	samples, floor *sampler // floor is nil without a Floor
	idle           *sampler // a run of nothing, where that takes time; or nil
	first          float64
	before, tally  Tally // of the very first run, and of one after that
	differs        difference
	refused        string
}

// rounds time works in turn.
type rounds struct {
	Options
	subjects    []*subject
	again       *sampler // the first work once more; nil where there is only one
	empty       *sampler // what the clock takes
	interrupted bool
	start       time.Duration
	looked      int
	watch       *Watch
	machine     Machine // with what it did meanwhile
}

func newRounds(works []Work, o Options) *rounds {
	r := &rounds{Options: o, empty: newSampler(o.Clock, Work{Run: func(int) error { return nil }})}
	r.empty.visit = 10
	for _, w := range works {
		if e, ok := o.Clock.(Evictor); ok && o.Cold {
			w.Single, w.Around = true, cold(e, w.Around)
		}
		s := &subject{Work: w, samples: newSampler(o.Clock, w)}
		if w.Floor != nil {
			s.floor = newSampler(o.Clock, Work{Run: w.Floor, Around: w.Around})
		}
		if w.idle != nil {
			s.idle = newSampler(o.Clock, Work{Run: func(int) error { return w.idle() }, Around: w.Around})
		}
		r.subjects = append(r.subjects, s)
	}
	return r
}

// cold empties the caches before each sample, after all that is done around it.
func cold(e Evictor, around func(func() error) error) func(func() error) error {
	return func(sample func() error) error {
		evicted := func() error {
			e.Evict()
			return sample()
		}
		if around == nil {
			return evicted()
		}
		return around(evicted)
	}
}

func (r *rounds) measure(ctx context.Context) (*Comparison, error) {
	r.watch = NewWatch(r.Clock)
	for _, s := range r.subjects {
		if err := r.prepare(ctx, s); err != nil {
			return nil, named(s.Name, err)
		}
	}
	r.tellApart()
	r.begin()
	order := rand.New(rand.NewPCG(1, uint64(len(r.subjects))))
	for restarts := 0; !r.interrupted; {
		if r.Clock.Now()-r.watch.paused >= listenEvery {
			r.watch.pause(listenFor)
		}
		if err := r.round(ctx, order); err != nil {
			return nil, err
		}
		if r.look() {
			if restarts < maxRestarts {
				wrong, err := r.misjudged(ctx)
				if err != nil {
					return nil, err
				}
				if wrong {
					restarts++
					continue
				}
			}
			if r.known() {
				break
			}
		}
		if r.late() {
			break
		}
	}
	return r.report(ctx)
}

func named(name string, err error) error {
	if name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// prepare runs a work for the first times and finds how long its samples must be.
func (r *rounds) prepare(ctx context.Context, s *subject) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	start := r.Clock.Now()
	if s.before, err = r.inspect(s); err != nil {
		return err
	}
	second := r.Clock.Now()
	s.first = (second - start).Seconds()
	if s.tally, err = r.inspect(s); err != nil {
		return err
	}
	took := r.Clock.Now() - second
	s.samples.single = s.samples.single || s.tally.Changes
	if s.refused = s.tally.Refused; s.refused == "" && s.before.Launches > 0 && s.tally.Launches == 0 {
		s.refused = fmt.Sprintf("the first run made %s, the next one none: it returned what was computed once, or waited for no goroutine that computes", units.Plural(int64(s.before.Launches), "launch"))
	}
	if s.refused != "" {
		return nil
	}
	if s.idle != nil {
		nothing, err := s.idle.smallest(ctx, 0, r.Time/leastShare)
		if err != nil {
			return err
		}
		s.samples.nothing = nothing
		if s.floor != nil {
			s.floor.nothing = nothing
		}
	}
	if took >= maxPatience {
		s.samples.settle(took) // nothing is to be found out of a run that long
	} else if s.refused, err = s.samples.calibrate(ctx, r.Time); err != nil {
		return err
	}
	if s.floor == nil {
		return nil
	}
	_, err = s.floor.calibrate(ctx, r.Time)
	s.floor.visit = 1
	return err
}

// tellApart says how the works differ, and lets go of their values: they may be large.
func (r *rounds) tellApart() {
	first := r.subjects[0]
	for _, s := range r.subjects[1:] {
		if s.refused == "" && first.refused == "" {
			s.differs = differences(first.Name, first.tally, s.tally, r.Unchecked)
		}
	}
	for _, s := range r.subjects {
		s.before.Results, s.tally.Results = nil, nil
	}
}

// align gives works that take about as long the same number of runs in a sample and of samples in a visit:
// the median of means of ten runs is another than that of a thousand, where some runs take longer.
func (r *rounds) align() {
	runs := 1
	for _, s := range r.subjects {
		if s.refused == "" {
			runs = max(runs, s.samples.per)
		}
	}
	visit := maxVisit
	for _, s := range r.subjects {
		if s.samples.join(runs); s.refused == "" && s.samples.per == runs {
			visit = min(visit, s.samples.visit)
		}
	}
	for _, s := range r.subjects {
		if s.samples.per == runs {
			s.samples.visit = min(visit, s.samples.visit)
		}
	}
}

// begin drops all samples.
func (r *rounds) begin() {
	r.align()
	r.start, r.looked = r.Clock.Now(), 0
	for _, s := range r.samplers() {
		s.times, s.ends, s.count, s.did = nil, nil, 0, amount{}
	}
	r.again = nil
	if len(r.subjects) > 1 && r.subjects[0].refused == "" {
		again := *r.subjects[0].samples // which has no samples
		r.again = &again
	}
}

// samplers are all that a round visits.
func (r *rounds) samplers() []*sampler {
	list := []*sampler{r.empty}
	if r.again != nil {
		list = append(list, r.again)
	}
	for _, s := range r.subjects {
		if s.refused != "" {
			continue
		}
		list = append(list, s.samples)
		if s.floor != nil {
			list = append(list, s.floor)
		}
		if s.idle != nil {
			list = append(list, s.idle)
		}
	}
	return list
}

// round visits all samplers, in another order each time.
func (r *rounds) round(ctx context.Context, order *rand.Rand) error {
	list := r.samplers()
	for _, i := range order.Perm(len(list)) {
		if err := list[i].sample(ctx); err != nil {
			if r.interrupted = ctx.Err() != nil; r.interrupted {
				return nil
			}
			return named(r.nameOf(list[i]), err)
		}
	}
	return nil
}

func (r *rounds) nameOf(s *sampler) string {
	for _, each := range r.subjects {
		if s == each.samples || s == each.floor || s == each.idle {
			return each.Name
		}
	}
	return r.subjects[0].Name
}

// visits is how many rounds are complete.
func (r *rounds) visits() int {
	n := len(r.empty.ends)
	for _, s := range r.samplers() {
		n = min(n, len(s.ends))
	}
	return n
}

// look says whether there are so many more samples than at the last look that another one pays. Few looks
// also keep the intervals right: among very many looks one would find a narrow interval by chance.
func (r *rounds) look() bool {
	n := r.visits()
	if n < minSamples || float64(n) < lookEvery*float64(r.looked) {
		return false
	}
	r.looked = n
	return true
}

// misjudged calibrates again if a work turned out to be shorter than it had seemed. The samples begin anew
// then, for all.
func (r *rounds) misjudged(ctx context.Context) (wrong bool, err error) {
	for _, s := range r.subjects {
		if s.refused != "" || !s.samples.misjudged() {
			continue
		}
		wrong = true
		if s.refused, err = s.samples.calibrate(ctx, r.Time); err != nil {
			if r.interrupted = ctx.Err() != nil; r.interrupted {
				return false, nil
			}
			return false, named(s.Name, err)
		}
	}
	if wrong {
		r.begin()
	}
	return wrong, nil
}

func (r *rounds) spent() time.Duration { return r.Clock.Now() - r.start }

// late says whether there is no more time, or no more room.
func (r *rounds) late() bool {
	n := r.visits()
	if n < minSamples {
		return len(r.samplers()) == 1 // all are refused
	}
	for _, s := range r.samplers() {
		if s != r.empty && len(s.times) >= maxSamples {
			return true
		}
	}
	return r.spent() >= r.Time*time.Duration(len(r.subjects))
}

// known says whether enough is known of every work.
func (r *rounds) known() bool {
	if r.spent() < r.Time*time.Duration(len(r.subjects))/leastShare {
		return false
	}
	if len(r.subjects) == 1 {
		s := r.subjects[0]
		if s.refused != "" || len(s.samples.times) < r.Samples {
			return s.refused != ""
		}
		_, ok := r.result(s).Known()
		return ok
	}
	return r.visits() >= r.Samples && !slices.ContainsFunc(r.subjects[1:], func(s *subject) bool {
		return s.refused == "" && r.subjects[0].refused == "" && r.verdict(r.ratio(s)) == "unknown"
	})
}
