// Package honesty tries to make mcs lie about time.
package honesty

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/internal/testing/benchtest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A model is a kind of machine. On a quiet one figures are exact and verdicts are right; on every other one
// they are right or not given.
type model struct {
	name  string
	noise float64 // of each run, a share
	quiet bool
	set   func(m *benchtest.Machine)
}

var models = []model{
	{"constant", 0, true, nil},
	{"gaussian noise of 1 %", 0.01, true, nil},
	{"gaussian noise of 3 %", 0.03, true, nil},
	{"a collector: 200 µs every 5 ms", 0.01, true, func(m *benchtest.Machine) {
		m.Pauses = []benchtest.Pause{{Every: 5e-3, Length: 200e-6, Regular: true}}
	}},
	{"another process now and then: 4 ms every 100 ms", 0.01, true, func(m *benchtest.Machine) {
		m.Pauses = []benchtest.Pause{{Every: 100e-3, Length: 4e-3}}
	}},
	{"drift: 10 % slower each second", 0.01, false, func(m *benchtest.Machine) {
		m.Speed = append(m.Speed, benchtest.Drift(0.1))
	}},
	{"two frequencies, 30 % apart, of 150 ms", 0.01, false, func(m *benchtest.Machine) {
		m.Speed = append(m.Speed, benchtest.TwoLevels(0.3, 0.15))
	}},
	{"a busy neighbour: 10 ms every 10 ms", 0.05, false, func(m *benchtest.Machine) {
		m.Pauses = []benchtest.Pause{{Every: 10e-3, Length: 10e-3}}
	}},
	{"a clock that is set, by 1 s forwards and backwards", 0.01, false, func(m *benchtest.Machine) {
		m.Steps = func(t float64) float64 { return math.Mod(math.Floor(t/0.37), 2) }
	}},
}

func (m model) machine(seed uint64) *benchtest.Machine {
	machine := benchtest.New(seed)
	if m.set != nil {
		m.set(machine)
	}
	// Each trial begins at another moment of the machine's disturbances.
	machine.Spend(machine.Draw.Float64())
	return machine
}

// spins are works of known length, with the largest error of measuring them on a quiet machine.
var spins = []struct {
	length time.Duration
	within float64
}{{time.Millisecond, 0.01}, {100 * time.Microsecond, 0.01}, {10 * time.Microsecond, 0.02}, {time.Microsecond, 0.10}}

const (
	holds     = 0.93 // of all intervals must hold the truth
	equals    = 0.94 // of all comparisons of equal works must be "same"
	different = 0.90 // of all comparisons of works that differ by 5 % must say so, with the right sign
)

// trials is how often each figure is simulated. The seeds are the same each time.
func trials() int {
	if long.Tests() {
		return 200
	}
	return 20
}

// truth is the median of many runs by a machine of this kind: an interruption of every fifth run of 1 ms
// is part of its median.
func (m model) truth(length time.Duration) float64 {
	if m.set == nil {
		return length.Seconds()
	}
	machine := m.machine(1000)
	machine.Reading = 0
	run := machine.Work(length, m.noise)
	times := make([]float64, 20_000)
	for i := range times {
		start := machine.Elapsed()
		run(1)
		times[i] = machine.Elapsed() - start
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// Known lengths are measured within their bars, and the interval holds them.
func TestSimulatedSpins(t *testing.T) {
	t.Parallel()
	for i, m := range models {
		if m.quiet && (i%2 == 0 || long.CI()) {
			t.Run(m.name, m.spins)
		}
	}
}

func (m model) spins(t *testing.T) {
	for _, spin := range spins {
		held, n := 0, trials()
		truth := m.truth(spin.length)
		errors := make([]float64, n)
		for i := range errors {
			machine := m.machine(uint64(i))
			r, err := bench.Measure(t.Context(), machine.Work(spin.length, m.noise), bench.Options{Clock: machine})
			if err != nil {
				t.Fatal(err)
			}
			errors[i] = math.Abs(r.Median/truth - 1)
			if r.Low <= truth && truth <= r.High {
				held++
			}
		}
		slices.Sort(errors)
		most := errors[n-1-n/100]
		figures := fmt.Sprintf("spins of %v: error %.2f %% in the middle, %.2f %% in 99 of 100; %d of %d intervals hold the truth",
			spin.length, 100*errors[n/2], 100*most, held, n)
		t.Log(figures)
		if most > spin.within || float64(held) < holds*float64(n) {
			t.Errorf("%s; want at most %.0f %%, and %.0f %%", figures, 100*spin.within, 100*holds)
		}
	}
}

// Works that are equal are called so, and a difference of 5 % is found; on a machine that is not quiet both
// may be unknown, but neither is claimed wrongly.
func TestSimulatedComparisons(t *testing.T) {
	t.Parallel()
	for i, m := range models {
		if i%2 == 0 || long.CI() {
			t.Run(m.name, func(t *testing.T) { m.comparisons(t, i) })
		}
	}
}

func (m model) comparisons(t *testing.T, nth int) {
	for i, length := range []time.Duration{2 * time.Millisecond, 50 * time.Microsecond, 500 * time.Nanosecond} {
		for j, ratio := range []float64{1, 1.05, 1 / 1.05} {
			if !long.Tests() && (i+j+nth)%3 != 0 || i != 1 && !long.CI() { // each length and ratio of a machine once, all pairs of all
				continue
			}
			verdicts, n := map[string]int{}, trials()
			for i := range n {
				machine := m.machine(uint64(i))
				c, err := bench.Compare(t.Context(), []bench.Case{
					{Name: "a", Run: machine.Work(length, m.noise)},
					{Name: "b", Run: machine.Work(time.Duration(float64(length)*ratio), m.noise)},
				}, bench.Options{Clock: machine})
				if err != nil {
					t.Fatal(err)
				}
				verdicts[c.Lines[1].Verdict]++
			}
			figures := fmt.Sprintf("%v, ratio %.3f: %v", length, ratio, verdicts)
			t.Log(figures)
			right, atLeast := expected(ratio)
			wrong := n - verdicts[right] - verdicts["unknown"]
			if float64(wrong) > (1-equals)*float64(n) || m.quiet && float64(verdicts[right]) < atLeast*float64(n) {
				t.Errorf("%s: want at least %.0f %% %s", figures, 100*atLeast, right)
			}
		}
	}
}

// expected is the right verdict for a ratio, and the share of comparisons that must find it on a quiet
// machine.
func expected(ratio float64) (verdict string, atLeast float64) {
	switch {
	case ratio > 1:
		return "slower", different
	case ratio < 1:
		return "faster", different
	}
	return "same", equals
}
