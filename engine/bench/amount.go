package bench

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/internal/units"
)

// An amount is of work that was done.
type amount struct {
	launches     int
	bytes, flops int64
}

func (a amount) plus(b amount) amount {
	return amount{a.launches + b.launches, a.bytes + b.bytes, a.flops + b.flops}
}

func (a amount) minus(b amount) amount {
	return amount{a.launches - b.launches, a.bytes - b.bytes, a.flops - b.flops}
}

// times is the amount of n runs.
func (a amount) times(n int) amount {
	return amount{n * a.launches, int64(n) * a.bytes, int64(n) * a.flops}
}

// amount is what the run did that was looked at.
func (t *Tally) amount() amount { return amount{t.Launches, t.Bytes, t.Flops} }

// of writes the mean of n runs: "2 launches of 14.2 MFLOP and 442 kB".
func (a amount) of(n int) string {
	each := 1 / float64(max(1, n))
	launches := math.Round(100*float64(a.launches)*each) / 100
	text := units.Float(launches) + " launches"
	if launches == 1 {
		text = "1 launch"
	}
	if a.launches == 0 {
		return text
	}
	return fmt.Sprintf("%s of %s and %s", text, units.Rate(float64(a.flops)*each, "FLOP"), units.Rate(float64(a.bytes)*each, "B"))
}

// uneven says whether the runs that were timed did not all do what the one did that was looked at.
func (s *subject) uneven() bool {
	return s.samples.done != nil && s.samples.did != s.tally.amount().times(s.samples.count)
}

// work are notes on runs that did not do what others did: what is done once only, or not each time, is not in
// the median of all.
func (s *subject) work() (notes []string) {
	first, then := s.before.amount(), s.tally.amount()
	if s.samples.done != nil && first != then {
		notes = append(notes, fmt.Sprintf("the very first run, which is not timed, made %s, and the next one %s", first.of(1), then.of(1)))
	}
	if s.uneven() {
		notes = append(notes, fmt.Sprintf("the runs did not all do the same: those that were timed made %s in the mean, and one before them %s", s.samples.did.of(s.samples.count), then.of(1)))
	}
	return notes
}
