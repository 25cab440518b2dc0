// Package benchtest simulates machines, so that the figures of package bench can be compared with the
// truth. Time passes only when work runs and when the clock is read. Disturbances of the work are random,
// from a seed.
package benchtest

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
)

// A Machine is a simulated bench.Clock. Its fields are set before it measures.
type Machine struct {
	Reading time.Duration                            // time of one reading of the clock
	Speed   []func(t float64) float64                // factors on the time of work at t seconds
	Pauses  []Pause                                  // interruptions of work
	Steps   func(t float64) float64                  // error of the clock at t seconds, added to each reading
	Self    bench.Machine                            // result of Machine
	Beside  float64                                  // processors that other work of the process keeps busy
	Limits  func(again bool) (bench.Ceilings, error) // result of Ceilings; nil: no ceiling is known

	Draw *rand.Rand
	now  float64
	due  []float64
	Runs int  // of all works
	Cold bool // the caches are empty
}

// A Pause stops work again and again: on average Every passes between pauses, and a pause takes Length.
// With Regular both are nearly constant, as for a garbage collector.
type Pause struct {
	Every, Length float64
	Regular       bool
}

// New returns a quiet machine whose clock takes 40 ns.
func New(seed uint64) *Machine {
	return &Machine{Reading: 40 * time.Nanosecond, Draw: rand.New(rand.NewPCG(seed, 1))}
}

// Now reads the clock.
func (m *Machine) Now() time.Duration {
	m.now += m.Reading.Seconds()
	shown := m.now
	if m.Steps != nil {
		shown += m.Steps(m.now)
	}
	return time.Duration(shown * float64(time.Second))
}

// Sync has nothing to wait for.
func (m *Machine) Sync() error { return nil }

// Machine returns the field Self.
func (m *Machine) Machine() bench.Machine { return m.Self }

// Listen lets time pass, in which other work of the process goes on.
func (m *Machine) Listen(long time.Duration) (busy, passed time.Duration) {
	m.now += long.Seconds()
	return time.Duration(m.Beside * float64(long)), long
}

// Ceilings calls the field Limits.
func (m *Machine) Ceilings(_ context.Context, again bool) (bench.Ceilings, error) {
	if m.Limits == nil {
		return bench.Ceilings{}, nil
	}
	return m.Limits(again)
}

// Evict empties the caches: Cold says how much longer the work's next run takes.
func (m *Machine) Evict() {
	m.Spend(10e-3)
	m.Cold = true
}

// Elapsed returns the simulated time in seconds.
func (m *Machine) Elapsed() float64 { return m.now }

// Work returns work that takes d for each run, with relative random noise.
func (m *Machine) Work(d time.Duration, noise float64) func(n int) error {
	return func(n int) error {
		m.Runs += n
		m.Spend(d.Seconds() * (float64(n) + noise*math.Sqrt(float64(n))*m.Draw.NormFloat64()))
		return nil
	}
}

// Spend lets work of so many seconds run, as a quiet machine would.
func (m *Machine) Spend(seconds float64) {
	for _, f := range m.Speed {
		seconds *= f(m.now)
	}
	end := m.now + max(0, seconds)
	for len(m.due) < len(m.Pauses) {
		m.due = append(m.due, m.now+m.wait(m.Pauses[len(m.due)]))
	}
	for i, p := range m.Pauses {
		for m.due[i] < end {
			length := p.Length
			if !p.Regular {
				length *= m.Draw.ExpFloat64()
			}
			if m.due[i] >= m.now { // else it was while nobody worked
				end += length
			}
			m.due[i] += length + m.wait(p)
		}
	}
	m.now = end
}

func (m *Machine) wait(p Pause) float64 {
	if p.Regular {
		return p.Every
	}
	return p.Every * m.Draw.ExpFloat64()
}

// Drift makes work slower by a share of its time for each second that passes.
func Drift(share float64) func(t float64) float64 {
	return func(t float64) float64 { return 1 + share*t }
}

// TwoLevels makes work slower by a share for half of the time: the clock of a processor that alternates
// between two frequencies, each for so many seconds.
func TwoLevels(share, each float64) func(t float64) float64 {
	return func(t float64) float64 {
		if int(t/each)%2 == 0 {
			return 1
		}
		return 1 + share
	}
}
