package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/internal/units"
)

const (
	maxDrift   = 0.05
	leastClaim = 0.01 // a smaller difference is not claimed: where code happens to lie makes as much
)

// The words of a note, which a comparison says once.
const (
	drifted    = "drifted by "
	whyDrifted = " while it was measured: other load, heat, a changing clock, or runs that go on from those before them"
)

// report makes the results of what was sampled.
func (r *rounds) report(ctx context.Context) (*Comparison, error) {
	if r.visits() == 0 && len(r.samplers()) > 1 {
		return nil, context.Cause(ctx)
	}
	r.machine = r.watch.Machine()
	for _, s := range r.subjects {
		if err := r.doubt(ctx, s); err != nil {
			return nil, named(s.Name, err)
		}
	}
	c := &Comparison{Lines: r.lines()}
	if r.interrupted {
		c.Notes = append(c.Notes, "interrupted: this is what was known by then")
	}
	if r.again != nil && r.subjects[0].refused == "" {
		c.Same = r.same().finite()
	}
	for _, reason := range r.machine.Noise() {
		c.Notes = append(c.Notes, notQuiet+reason)
	}
	return c, nil
}

// clockTime is what the clock takes, with what is done to start a work and to stop it, and how far that is
// known: a processor does some of it while it already works, and a reading is not of the moment of its call.
func (r *rounds) clockTime(s *subject) (takes, unsure float64) {
	x := r.empty.times
	if s.idle != nil && len(s.idle.times) > 0 {
		x = s.idle.times
	}
	if len(x) == 0 {
		return 0, 0
	}
	x = sorted(x)
	takes = quantile(x, 0.5)
	return takes, max(takes/2, (quantile(x, 0.75)-quantile(x, 0.25))/2)
}

// result makes the result of one work.
func (r *rounds) result(s *subject) *Result {
	res := &Result{First: s.first, PerSample: s.samples.per, Precision: r.Precision, Tally: s.tally, Machine: r.machine, Refused: s.refused, Uneven: s.uneven(), Stopped: r.interrupted}
	if s.refused != "" || len(s.samples.times) == 0 {
		return res
	}
	clock, unsure := r.clockTime(s)
	res.Clock = clock
	res.Times = s.samples.samples(clock)
	res.Samples = len(res.Times)
	x := sorted(res.Times)
	res.Min, res.P25, res.P75 = x[0], quantile(x, 0.25), quantile(x, 0.75)
	res.Median, res.Low, res.High = medianInterval(res.Times, medianConfidence)
	if res.Samples < minKnown {
		res.Low, res.High = x[0], x[len(x)-1]
	}
	unsure /= float64(s.samples.per)
	res.Low, res.High = max(0, res.Low-unsure), res.High+unsure
	if s.floor != nil && len(s.floor.times) > 0 {
		res.Floor = median(s.floor.samples(clock))
	}
	res.Notes = r.notes(s, res)
	return res
}

func (r *rounds) notes(s *subject, res *Result) (notes []string) {
	notes = append(notes, s.tally.Notes...)
	notes = append(notes, s.work()...)
	if d := drift(res.Times); d > maxDrift || d < -maxDrift {
		notes = append(notes, fmt.Sprintf("%s%+.0f %%%s", drifted, 100*d, whyDrifted))
	}
	if res.Samples < minKnown {
		notes = append(notes, fmt.Sprintf("only %s in the time that there was", units.Plural(int64(res.Samples), "sample")))
	}
	if n := s.samples.backwards; n > 0 {
		notes = append(notes, fmt.Sprintf("the clock went backwards in %s, which are left out", units.Plural(int64(n), "sample")))
	}
	return notes
}

// same is the first work against itself.
func (r *rounds) same() Ratio {
	clock, _ := r.clockTime(r.subjects[0])
	return ratioInterval(r.again.rounds(clock), r.subjects[0].samples.rounds(clock))
}

// lines are the lines of the comparison.
func (r *rounds) lines() []Line {
	var list []Line
	for i, s := range r.subjects {
		l := Line{Name: s.Name, Result: r.result(s), Ratio: 1, Low: 1, High: 1, Verdict: "same", Differs: s.differs.texts, Apart: s.differs.apart}
		switch {
		case l.Result.Refused != "" || list != nil && list[0].Result.Refused != "":
			l.Ratio, l.Low, l.High, l.Verdict = 0, 0, 0, "refused"
		case i > 0:
			ratio := r.ratio(s)
			l.Verdict = r.verdict(ratio)
			if l.Verdict == "unknown" {
				spent := r.spent().Seconds()
				l.More = max(ratio.more(r.Tolerance, spent), r.same().more(r.Tolerance, spent))
			}
			ratio = ratio.finite()
			l.Ratio, l.Low, l.High = ratio.Ratio, ratio.Low, ratio.High
		}
		list = append(list, l)
	}
	return list
}

// ratio compares a work with the first. The interval is wider by what the first differs from itself, and,
// where one is timed in blocks and the other is not, by what is not known about the clock.
func (r *rounds) ratio(s *subject) Ratio {
	first := r.subjects[0].samples
	firstClock, firstUnsure := r.clockTime(r.subjects[0])
	clock, unsure := r.clockTime(s)
	base, times := first.rounds(firstClock), s.samples.rounds(clock)
	ratio := ratioInterval(times, base).widen(ratioInterval(r.again.rounds(firstClock), base).off())
	if a, b := median(base), median(times); s.samples.per != first.per && a > 0 && b > 0 {
		ratio = ratio.widen(firstUnsure/float64(first.per)/a + unsure/float64(s.samples.per)/b)
	}
	return ratio
}

// verdict is that of a ratio to the first work. Where the first is not known to be the same as itself,
// nothing else is.
func (r *rounds) verdict(ratio Ratio) string {
	v := ratio.verdict(r.Tolerance)
	if v == "same" && r.same().verdict(r.Tolerance) != "same" {
		return "unknown"
	}
	return v
}

// verdict says what the interval says: "slower" and "faster" where it leaves no doubt that there is a
// difference worth a name, "same" where it rules out one larger than the tolerance.
func (r Ratio) verdict(tolerance float64) string {
	switch {
	case r.Low > 1+leastClaim:
		return "slower"
	case r.High < 1/(1+leastClaim):
		return "faster"
	case r.Low >= 1/(1+tolerance) && r.High <= 1+tolerance:
		return "same"
	}
	return "unknown"
}

// more is about how many seconds are needed until the verdict is known, after so many that have been spent:
// an interval gets as narrow as the square root of the samples is large. It is 0 where that cannot be told.
func (r Ratio) more(tolerance, spent float64) float64 {
	width := math.Log(r.High/r.Low) / 2
	off := r.off()
	need := math.Log1p(tolerance) - off // to be called the same
	if off > (tolerance+leastClaim)/2 {
		need = off - leastClaim // to be called another
	}
	if need <= 0 || math.IsInf(width, 0) || math.IsNaN(width) {
		return 0
	}
	return max(0, spent*(width/need*width/need-1))
}
