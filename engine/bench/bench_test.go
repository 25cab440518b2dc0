package bench

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A fakeMachine has a clock that moves only when work runs on it.
type fakeMachine struct {
	t     time.Time
	noise *rand.Rand
	runs  int
}

func newMachine() *fakeMachine {
	return &fakeMachine{t: time.Unix(0, 0), noise: rand.New(rand.NewPCG(1, 1))}
}

func (m *fakeMachine) now() (time.Time, error) { return m.t, nil }

// work costs d a run, give or take the share of noise.
func (m *fakeMachine) work(d time.Duration, noise float64) func(n int) error {
	return func(n int) error {
		m.runs += n
		m.t = m.t.Add(time.Duration(float64(n) * float64(d) * (1 + noise*m.noise.NormFloat64())))
		return nil
	}
}

func measure(t *testing.T, m *fakeMachine, fn func(n int) error, o Options) *Result {
	t.Helper()
	c, err := compare(t.Context(), m.now, []Case{{Run: fn}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c.Lines[0].Result
}

func TestMeasure(t *testing.T) {
	for _, tt := range []struct {
		name      string
		cost      time.Duration
		noise     float64
		perSample bool // whether short runs are timed in blocks
		within    time.Duration
	}{
		{"steady and short", 100 * time.Nanosecond, 0.001, true, 100 * time.Millisecond},
		{"steady and long", 50 * time.Millisecond, 0.001, false, time.Second},
		{"noisy: until the budget is spent", 2 * time.Millisecond, 0.5, false, 3 * time.Second},
		{"longer than the budget: three samples", 3 * time.Second, 0.001, false, 20 * time.Second},
	} {
		m := newMachine()
		r := measure(t, m, m.work(tt.cost, tt.noise), Options{})
		if e := math.Abs(r.Median/tt.cost.Seconds() - 1); e > tt.noise/2+0.001 {
			t.Errorf("%s: median %v, want %v", tt.name, r.Median, tt.cost.Seconds())
		}
		if r.P25 > r.Median || r.Median > r.P75 || r.Low > r.Median || r.Median > r.High || r.Min > r.P25 {
			t.Errorf("%s: out of order: %+v", tt.name, r)
		}
		if (r.PerSample > 1) != tt.perSample {
			t.Errorf("%s: %d runs a sample", tt.name, r.PerSample)
		}
		if spent := m.t.Sub(time.Unix(0, 0)); spent > tt.within {
			t.Errorf("%s: spent %v, want at most %v", tt.name, spent, tt.within)
		}
		if r.Samples < minSamples || r.Runs() > m.runs {
			t.Errorf("%s: %d samples, %d runs of %d", tt.name, r.Samples, r.Runs(), m.runs)
		}
	}
}

func TestMeasureNotes(t *testing.T) {
	m := newMachine()
	cost := float64(5 * time.Millisecond)
	r := measure(t, m, func(n int) error {
		cost *= 1.01
		m.t = m.t.Add(time.Duration(cost))
		return nil
	}, Options{Precision: 1e-9, Time: time.Second})
	if text := r.String(); !strings.Contains(text, "drifted by +") {
		t.Errorf("work that gets slower: got %q, want a note about drift", text)
	}
	m = newMachine()
	r = measure(t, m, m.work(time.Minute, 0), Options{})
	if text := r.String(); !strings.Contains(text, "only 3 samples") {
		t.Errorf("long work: got %q, want a note about few samples", text)
	}
}

func TestMeasureEndsEarly(t *testing.T) {
	broken := errors.New("broken")
	m := newMachine()
	if _, err := compare(t.Context(), m.now, []Case{{"a", func(int) error { return broken }}}, Options{}); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "a: ") {
		t.Errorf("failing work: got error %v, want a: broken", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := 20
	c, err := compare(ctx, m.now, []Case{{"a", func(n int) error {
		if left--; left == 0 {
			cancel()
		}
		m.t = m.t.Add(time.Duration(n) * 3 * time.Millisecond)
		return nil
	}}}, Options{Precision: 1e-9, Samples: 1000})
	if err != nil || len(c.Notes) != 1 || c.Lines[0].Result.Samples == 0 {
		t.Errorf("interrupted: got %+v, %v, want what was known and a note", c, err)
	}
	if _, err := Measure(ctx, m.work(time.Millisecond, 0), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted before the first sample: got error %v", err)
	}
	if _, err := Compare(t.Context(), nil, Options{}); err == nil {
		t.Error("nothing to compare: got no error")
	}
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name    string
		a, b    time.Duration
		noise   float64
		verdict string
		versus  string
	}{
		{"twice as slow", 2 * time.Millisecond, 4 * time.Millisecond, 0.01, "slower", "2.0"},
		{"half", 4 * time.Millisecond, 2 * time.Millisecond, 0.01, "faster", "× faster ["},
		{"equal", 2 * time.Millisecond, 2 * time.Millisecond, 0.05, "same", "no difference ["},
		{"too few", time.Minute, 2 * time.Minute, 0, "unknown", "too few samples for a verdict: 3, needs 6"},
	} {
		m := newMachine()
		c, err := compare(t.Context(), m.now, []Case{{"a", m.work(tt.a, tt.noise)}, {"b", m.work(tt.b, tt.noise)}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		l := c.Lines[1]
		if l.Verdict != tt.verdict || !strings.Contains(l.Versus(), tt.versus) {
			t.Errorf("%s: got %q, %q, want %q with %q", tt.name, l.Verdict, l.Versus(), tt.verdict, tt.versus)
		}
		if truth := float64(tt.b) / float64(tt.a); l.Low > truth || l.High < truth || l.Low > l.Ratio || l.Ratio > l.High {
			t.Errorf("%s: ratio %v in [%v, %v], the truth is %v", tt.name, l.Ratio, l.Low, l.High, truth)
		}
		if c.Lines[0].Ratio != 1 {
			t.Errorf("%s: the first case has ratio %v", tt.name, c.Lines[0].Ratio)
		}
	}
}

// A machine that slows down in the middle slows both cases down: interleaving keeps the ratio.
func TestCompareIsFairWhenTheMachineDrifts(t *testing.T) {
	m := newMachine()
	slow := 1.0
	work := func(d time.Duration) func(n int) error {
		return func(n int) error {
			slow *= 1.005
			m.t = m.t.Add(time.Duration(float64(n) * float64(d) * slow))
			return nil
		}
	}
	c, err := compare(t.Context(), m.now, []Case{{"a", work(2 * time.Millisecond)}, {"b", work(3 * time.Millisecond)}}, Options{Precision: 1e-9, Time: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if l := c.Lines[1]; math.Abs(l.Ratio-1.5) > 0.05 || l.Verdict != "slower" {
		t.Errorf("got ratio %v [%v, %v] %s, want 1.5 slower", l.Ratio, l.Low, l.High, l.Verdict)
	}
}

// The interval must hold the true median about 95 times in 100, whatever the distribution.
func TestMedianInterval(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{10, 30, 300} {
		held := 0
		for range 1000 {
			x := make([]float64, n)
			for i := range x {
				x[i] = draw.ExpFloat64()
			}
			if _, low, high := medianInterval(sorted(x)); low <= math.Ln2 && math.Ln2 <= high {
				held++
			}
		}
		if held < 935 {
			t.Errorf("n = %d: the interval held the median %d times in 1000, want 950", n, held)
		}
	}
}

func TestText(t *testing.T) {
	r := &Result{Median: 12.3e-6, P25: 12e-6, P75: 13e-6, Samples: 100, PerSample: 80}
	if got, want := r.String(), "12.3 µs  median of 8,000 runs (IQR 12.0 µs – 13.0 µs)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	slow := &Result{Median: 24.6e-6, P25: 24e-6, P75: 25e-6, Samples: 100, PerSample: 80}
	c := &Comparison{Lines: []Line{
		{Name: "fused", Result: r, Ratio: 1},
		{Name: "plain", Result: slow, Ratio: 2, Low: 1.95, High: 2.05, Verdict: "slower"},
	}, Notes: []string{"a note"}}
	const want = "        median                   vs fused\nfused  12.3 µs\nplain  24.6 µs  2.00× slower [1.95, 2.05]\na note"
	if got := c.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		rate, ceiling, share float64
		ok                   bool
	}{{50, 100, 0.5, true}, {102, 100, 1.02, true}, {200, 100, 2, false}, {1, 0, 0, false}} {
		if share, ok := Share(tt.rate, tt.ceiling); share != tt.share || ok != tt.ok {
			t.Errorf("Share(%v, %v) = %v, %v, want %v, %v", tt.rate, tt.ceiling, share, ok, tt.share, tt.ok)
		}
	}
}
