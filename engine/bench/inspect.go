package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/internal/units"
)

// inspect runs a work once and says what that did.
func (r *rounds) inspect(s *subject) (Tally, error) {
	t, err := s.Inspect()
	if t.Shapes == nil {
		t.Shapes = shapes(t.Results)
	}
	if c, ok := r.Clock.(*deviceClock); ok {
		for _, name := range t.Devices {
			if !slices.Contains(c.devices, name) {
				c.devices = append(c.devices, name)
			}
		}
	}
	if err == nil {
		err = r.Clock.Sync()
	}
	return t, err
}

// grown is by what a run does more after all samples than before them, if it depends on those before it.
const grown = 1.5

// grows says that each run does more than the one before.
func (s *subject) grows(end Tally) string {
	advice := ": " + s.carries()
	if then, now := max(s.before.Flops, s.tally.Flops), end.Flops; then > 0 && float64(now) > grown*float64(then) {
		return fmt.Sprintf("a run did %s of arithmetic before the samples and %s after them%s", units.Rate(float64(then), "FLOP"), units.Rate(float64(now), "FLOP"), advice)
	}
	if then, now := max(s.before.Launches, s.tally.Launches), end.Launches; then > 0 && float64(now) > grown*float64(then) {
		return fmt.Sprintf("a run made %s before the samples and %d after them%s", units.Plural(int64(then), "launch"), now, advice)
	}
	return ""
}

// carries says that runs go on from one another, and what can be done about that.
func (w *Work) carries() string {
	if w.Advice == "" {
		return "each run starts from what the one before left"
	}
	return "each run starts from what the one before left; " + w.Advice
}

const (
	beforeSamples = 2 // inspections are made before the samples are taken
	deviceTimes   = 5 // and so many after them, where runs are short: the smallest time of the device counts
)

// doubt refuses a work whose time cannot be that of the same work, done each time.
func (r *rounds) doubt(ctx context.Context, s *subject) (err error) {
	if s.refused != "" || r.interrupted || len(s.samples.times) == 0 {
		return nil
	}
	clock, _ := r.clockTime(s)
	took := median(s.samples.samples(clock))
	if took < r.Time.Seconds() && s.tally.Launches > 0 {
		for i := range deviceTimes {
			end, err := r.inspect(s)
			if err != nil && ctx.Err() != nil {
				r.interrupted = true
				return nil
			}
			if err != nil {
				return err
			}
			if s.refused = s.grows(end); s.refused != "" {
				return nil
			}
			if i == 0 || end.Device < s.tally.Device {
				s.tally.Device = end.Device
			}
			if took > r.Time.Seconds()/50 {
				break
			}
		}
	}
	if s.uneven() { // nobody knows how much was done in which time
		return nil
	}
	if s.refused, err = believe(ctx, r.Clock, s.tally, took); ctx.Err() != nil {
		return nil // what was measured is known, and what it is a share of is not
	}
	return err
}
