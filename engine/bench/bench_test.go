package bench_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/benchtest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

func measure(t *testing.T, m *benchtest.Machine, w bench.Work, o bench.Options) *bench.Result {
	t.Helper()
	o.Clock = m
	r, err := bench.MeasureWork(t.Context(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func compare(t *testing.T, m *benchtest.Machine, o bench.Options, works ...bench.Work) *bench.Comparison {
	t.Helper()
	o.Clock = m
	c, err := bench.CompareWorks(t.Context(), works, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMeasure(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cost   time.Duration
		noise  float64
		blocks bool // whether short runs are timed in blocks
		within float64
		text   string
	}{
		{"steady and short", 100 * time.Nanosecond, 0.001, true, 1, "blocks of "},
		{"just short enough for blocks", 9 * time.Microsecond, 0.001, true, 1, "blocks of 13 runs"},
		{"just long enough to be a sample", 11 * time.Microsecond, 0.001, false, 1, " runs, known to 0."},
		{"steady and long", 50 * time.Millisecond, 0.001, false, 2, "median of 11 runs, known to 0.1 %"},
		{"too noisy for the time", 20 * time.Millisecond, 0.25, false, 3, "time ran out: known to "},
		{"longer than the budget: three samples, five runs", 3 * time.Second, 0.001, false, 15.2, "not known: less than 6 samples"},
	} {
		m := benchtest.New(1)
		r := measure(t, m, bench.Work{Run: m.Work(tt.cost, tt.noise)}, bench.Options{})
		if e := math.Abs(r.Median/tt.cost.Seconds() - 1); e > tt.noise/2+0.002 {
			t.Errorf("%s: median %v, want %v", tt.name, r.Median, tt.cost.Seconds())
		}
		if r.P25 > r.Median || r.Median > r.P75 || r.Low > r.Median || r.Median > r.High || r.Min > r.P25 {
			t.Errorf("%s: out of order: %+v", tt.name, r)
		}
		if (r.PerSample > 1) != tt.blocks {
			t.Errorf("%s: %d runs a sample", tt.name, r.PerSample)
		}
		if m.Elapsed() > tt.within {
			t.Errorf("%s: spent %v s, want at most %v", tt.name, m.Elapsed(), tt.within)
		}
		if r.Samples < 3 || len(r.Times) != r.Samples || r.Runs() > m.Runs {
			t.Errorf("%s: %d samples, %d of them kept, %d runs of %d", tt.name, r.Samples, len(r.Times), r.Runs(), m.Runs)
		}
		if !strings.Contains(r.String(), tt.text) {
			t.Errorf("%s: got %q, want %q in it", tt.name, r, tt.text)
		}
	}
}

// The samples of runs above 10 µs are the runs: nine of 1 ms and one of 20 ms show both.
func TestLongRunsAreKept(t *testing.T) {
	m := benchtest.New(1)
	i := 0
	r := measure(t, m, bench.Work{Run: func(n int) error {
		for range n {
			if i++; i%10 == 0 {
				m.Spend(20e-3)
			} else {
				m.Spend(1e-3)
			}
		}
		return nil
	}}, bench.Options{Samples: 100})
	slow := 0
	for _, x := range r.Times {
		if x > 15e-3 {
			slow++
		}
	}
	if r.PerSample != 1 || math.Abs(float64(slow)/float64(r.Samples)-0.1) > 0.02 || math.Abs(r.Median-1e-3) > 1e-6 || math.Abs(r.Min-1e-3) > 1e-6 {
		t.Errorf("got %d slow of %d samples, median %v, min %v, want a tenth, 1 ms and 1 ms", slow, r.Samples, r.Median, r.Min)
	}
}

// One hiccup while it calibrates must not leave work of 1 µs with one run a sample.
func TestCalibrationSurvivesHiccups(t *testing.T) {
	for _, at := range [][]int{{1}, {2}, {3}, {1, 2, 3}, {3, 4, 5, 6, 7, 8, 9, 10, 11}} {
		m := benchtest.New(1)
		calls := 0
		quiet := m.Work(time.Microsecond, 0.01)
		r := measure(t, m, bench.Work{Run: func(n int) error {
			calls++
			for _, c := range at {
				if c == calls {
					m.Spend(5e-3)
				}
			}
			return quiet(n)
		}}, bench.Options{})
		if r.PerSample < 50 || math.Abs(r.Median/1e-6-1) > 0.01 {
			t.Errorf("hiccups in calls %v: %d runs a sample, median %v, want blocks, 1 µs", at, r.PerSample, r.Median)
		}
	}
}

// What is done once for all n runs is outweighed by them.
func TestWhatIsDoneOnce(t *testing.T) {
	for _, once := range []time.Duration{5 * time.Microsecond, 80 * time.Microsecond} {
		m := benchtest.New(1)
		r := measure(t, m, bench.Work{Run: func(n int) error {
			m.Spend(once.Seconds())
			m.Spend(float64(n) * 50e-9)
			return nil
		}}, bench.Options{})
		if r.Refused != "" || math.Abs(r.Median/50e-9-1) > 0.015 {
			t.Errorf("%v done once: got %v s in blocks of %d runs, want 50 ns", once, r.Median, r.PerSample)
		}
	}
}

// What a session does around a sample is outside of the clock, and what the clock takes is taken off.
func TestWhatIsNotTimed(t *testing.T) {
	m := benchtest.New(1)
	m.Reading = 2 * time.Microsecond
	entered := 0
	r := measure(t, m, bench.Work{Run: m.Work(20*time.Microsecond, 0.001), Around: func(sample func() error) error {
		entered++
		m.Spend(80e-6)
		defer m.Spend(30e-6)
		return sample()
	}}, bench.Options{})
	if math.Abs(r.Median/20e-6-1) > 0.001 || math.Abs(r.Clock-2e-6) > 1e-9 || entered < r.Samples {
		t.Errorf("got %v s, the clock took %v s, entered %d times for %d samples, want 20 µs, 2 µs", r.Median, r.Clock, entered, r.Samples)
	}
	if r.Low > 19.1e-6 || r.High < 20.9e-6 {
		t.Errorf("got [%v, %v], want an interval that holds what half a reading of the clock makes", r.Low, r.High)
	}
	if _, err := bench.MeasureWork(t.Context(), bench.Work{Run: m.Work(1, 0), Around: func(func() error) error { return nil }}, bench.Options{Clock: m}); err == nil {
		t.Error("Around that does not call its sample: got no error")
	}
}

// The floor is the statement's own calls with an empty body, from samples of the same minutes.
func TestFloor(t *testing.T) {
	m := benchtest.New(1)
	m.Speed = append(m.Speed, benchtest.Drift(0.5))
	r := measure(t, m, bench.Work{Run: m.Work(30*time.Microsecond, 0.001), Floor: m.Work(6*time.Microsecond, 0.001)}, bench.Options{Time: time.Second, Precision: 1e-9})
	if math.Abs(r.Floor/r.Median-0.2) > 0.01 {
		t.Errorf("got %v s of %v s, want a fifth, though the machine drifts", r.Floor, r.Median)
	}
}

// A work of which each run needs something restored is timed one run at a time, however short it is.
func TestSingle(t *testing.T) {
	m := benchtest.New(1)
	w := bench.Work{Single: true, Run: func(n int) error {
		if n != 1 {
			t.Errorf("got %d runs in a sample", n)
		}
		m.Spend(2e-6)
		return nil
	}}
	if r := measure(t, m, w, bench.Options{}); r.PerSample != 1 || math.Abs(r.Median/2e-6-1) > 0.001 {
		t.Errorf("got %v s, %d runs a sample", r.Median, r.PerSample)
	}
}

// With empty caches each sample is one run, and another time than with warm ones.
func TestCold(t *testing.T) {
	m := benchtest.New(1)
	work := func(n int) error {
		for range n {
			if m.Cold {
				m.Spend(20e-6)
			}
			m.Cold = false
			m.Spend(5e-6)
		}
		return nil
	}
	entered := false
	around := func(sample func() error) error {
		entered = true
		return sample()
	}
	for _, tt := range []struct {
		cold bool
		want float64
	}{{false, 5e-6}, {true, 25e-6}} {
		r := measure(t, m, bench.Work{Run: work, Around: around}, bench.Options{Cold: tt.cold})
		if math.Abs(r.Median/tt.want-1) > 0.01 || (r.PerSample == 1) != tt.cold || !entered {
			t.Errorf("cold %v: got %v s, %d runs a sample, want %v s", tt.cold, r.Median, r.PerSample, tt.want)
		}
	}
}

// Reading more than a cache holds takes longer after it was emptied.
func TestEvict(t *testing.T) {
	// Each line says which one is next, in an order that no prefetcher guesses.
	x := make([]int, 256<<10/8)
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(x) / 8)
	for i, line := range order {
		x[8*line] = 8 * order[(i+1)%len(order)]
	}
	at := 0
	read := func(n int) error {
		for range n * len(order) {
			at = x[at]
		}
		return nil
	}
	o := bench.Options{Time: 200 * time.Millisecond}
	warm, err := bench.Measure(t.Context(), read, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Cold = true
	cold, err := bench.Measure(t.Context(), read, o)
	if err != nil {
		t.Fatal(err)
	}
	if cold.Median < 1.2*warm.Median {
		t.Errorf("got %v s cold and %v s warm in the median, want more for empty caches", cold.Median, warm.Median)
	}
}

// Functions that do not run the work n times are no measurement.
func TestRefusesWhatIgnoresN(t *testing.T) {
	for _, tt := range []struct {
		name string
		cost time.Duration
	}{{"nothing", 0}, {"1 µs", time.Microsecond}, {"9 µs", 9 * time.Microsecond}, {"50 µs", 50 * time.Microsecond}, {"900 µs", 900 * time.Microsecond}} {
		m := benchtest.New(1)
		once := m.Work(tt.cost, 0.001)
		r := measure(t, m, bench.Work{Run: func(int) error { return once(1) }}, bench.Options{})
		if text := r.String(); !strings.HasPrefix(text, "no time: its time does not grow with the number of runs") || r.Median != 0 || r.Times != nil {
			t.Errorf("%s: got %q, median %v", tt.name, text, r.Median)
		}
	}
}

// slow is a machine that does 60 GFLOP/s at most, and knows it.
func slow(again *int) func(bool) (bench.Ceilings, error) {
	return func(a bool) (bench.Ceilings, error) {
		if a {
			*again++
		}
		return bench.Ceilings{Arithmetic: map[string]float64{"f32": 60e9}, Memory: []bench.Level{{Name: "memory", Size: 1 << 26, Rate: 10e9}}}, nil
	}
}

// Times that cannot be those of the work are not shown, but the reason.
func TestRefusesWhatIsNotTheWork(t *testing.T) {
	product := bench.Tally{Launches: 1, Flops: 2e9, DType: dtype.F32}
	always := func(tally bench.Tally) func(int) bench.Tally { return func(int) bench.Tally { return tally } }
	for _, tt := range []struct {
		name  string
		cost  time.Duration
		tally func(call int) bench.Tally // what Inspect says, the first time and later
		want  string                     // nothing: it is believed
		again int                        // how often ceilings are measured again
	}{
		{"a product at half of the peak", 66 * time.Millisecond, always(product), "", 0},
		{"as fast as the peak, and a little faster", 32900 * time.Microsecond, always(product), "", 1},
		{"a memo that claims a product each run", 23 * time.Microsecond, always(product), "no time: 87.0 TFLOP/s would be 1449 times as much as this device can do in f32", 1},
		{"a memo that launches once", 23 * time.Microsecond, func(call int) bench.Tally {
			if call == 1 {
				return product
			}
			return bench.Tally{}
		}, "no time: the first run made 1 launch, the next one none", 0},
		{"a chain that grows", 66 * time.Millisecond, func(call int) bench.Tally {
			return bench.Tally{Launches: 1, Flops: 1e9 * int64(call*call)}
		}, "no time: a run did 4.00 GFLOP of arithmetic before the samples and 9.00 GFLOP after them", 0},
		{"launches that grow", 66 * time.Millisecond, func(call int) bench.Tally {
			return bench.Tally{Launches: 1 << call}
		}, "no time: a run made 4 launches before the samples and 8 after them", 0},
		{"a graph that nobody computes", time.Microsecond, always(bench.Tally{Refused: "3 nodes were made and not computed"}), "no time: 3 nodes were made and not computed", 0},
		{"work without launches", time.Microsecond, always(bench.Tally{}), "", 0},
	} {
		m := benchtest.New(1)
		again, calls := 0, 0
		m.Limits = slow(&again)
		run := m.Work(tt.cost, 0.001)
		r := measure(t, m, bench.Work{Run: run, Inspect: func() (bench.Tally, error) {
			calls++
			return tt.tally(calls), run(1)
		}}, bench.Options{})
		if text := r.String(); tt.want != "" && (!strings.HasPrefix(text, tt.want) || r.Median != 0) || tt.want == "" && r.Refused != "" || again != tt.again {
			t.Errorf("%s: got %q, and measured ceilings again %d times, want %q, %d times", tt.name, text, again, tt.want, tt.again)
		}
	}
}

// In a comparison the reason stands in the place of the time, and nothing is compared with it.
func TestRefusedCase(t *testing.T) {
	m := benchtest.New(1)
	once := m.Work(time.Millisecond/2, 0.01)
	ignores := bench.Work{Name: "ignores", Run: func(int) error { return once(1) }}
	c := compare(t, m, bench.Options{}, bench.Work{Name: "a", Run: m.Work(time.Millisecond, 0.01)}, ignores)
	if text := c.String(); !strings.Contains(text, "—  not compared") || !strings.Contains(text, "ignores: no time: its time does not grow") || c.Lines[1].Verdict != "refused" {
		t.Errorf("got %s", text)
	}
	if c = compare(t, m, bench.Options{}, ignores, bench.Work{Name: "a", Run: m.Work(time.Millisecond, 0.01)}); c.Lines[1].Verdict != "refused" || c.Lines[1].Result.Median == 0 {
		t.Errorf("the first is refused: got %+v", c.Lines[1])
	}
	if text := c.String(); strings.Contains(text, "against itself") {
		t.Errorf("the first is refused: got\n%s", text)
	}
	m = benchtest.New(1)
	once = m.Work(time.Millisecond/2, 0.01)
	if c = compare(t, m, bench.Options{}, ignores, ignores); m.Elapsed() > 0.2 || c.Lines[0].Verdict != "refused" || c.Lines[1].Verdict != "refused" {
		t.Errorf("all are refused: got %s after %v s", c, m.Elapsed())
	}
}

func TestMeasureNotes(t *testing.T) {
	m := benchtest.New(1)
	m.Speed = append(m.Speed, benchtest.Drift(1))
	r := measure(t, m, bench.Work{Run: m.Work(5*time.Millisecond, 0.001)}, bench.Options{Precision: 1e-9, Time: time.Second})
	if text := r.String(); !strings.Contains(text, "drifted by +") {
		t.Errorf("a machine that gets slower: got %q, want a note about drift", text)
	}
	m = benchtest.New(1)
	r = measure(t, m, bench.Work{Run: m.Work(time.Minute, 0)}, bench.Options{})
	if text := r.String(); !strings.Contains(text, "only 3 samples") {
		t.Errorf("long work: got %q, want a note about few samples", text)
	}
	m = benchtest.New(1)
	m.Steps = func(at float64) float64 { return -0.5 * math.Floor(at/0.3) }
	r = measure(t, m, bench.Work{Run: m.Work(20*time.Millisecond, 0.001)}, bench.Options{Time: time.Second, Precision: 1e-9})
	if text := r.String(); !strings.Contains(text, "the clock went backwards in ") || math.Abs(r.Median/20e-3-1) > 0.001 {
		t.Errorf("a clock that is set back: got %q", text)
	}
}

// On a busy machine it is said that the figure is not known, whatever its interval, and why.
func TestMeasureOnABusyMachine(t *testing.T) {
	m := benchtest.New(1)
	m.Self = bench.Machine{Cores: 2, Others: 1.6}
	r := measure(t, m, bench.Work{Run: m.Work(5*time.Millisecond, 0.001)}, bench.Options{})
	const why = "the machine was not quiet: other processes keep 1.6 of 2 processors busy"
	if _, ok := r.Known(); ok || !strings.Contains(r.String(), "not known: the machine was not quiet") || !strings.Contains(r.String(), why) {
		t.Errorf("got %q, known: %v", r, ok)
	}
	c := compare(t, m, bench.Options{}, bench.Work{Name: "a", Run: m.Work(5*time.Millisecond, 0.001)}, bench.Work{Name: "b", Run: m.Work(5*time.Millisecond, 0.001)})
	if strings.Count(c.String(), why) != 1 {
		t.Errorf("got\n%s\nwant the reason once", c)
	}
}

func TestMeasureEndsEarly(t *testing.T) {
	broken := errors.New("broken")
	m := benchtest.New(1)
	if _, err := bench.Compare(t.Context(), []bench.Case{{"a", func(int) error { return broken }}}, bench.Options{Clock: m}); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "a: ") {
		t.Errorf("failing work: got error %v, want a: broken", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := 30
	c, err := bench.Compare(ctx, []bench.Case{{"a", func(n int) error {
		if left--; left == 0 {
			cancel()
		}
		m.Spend(float64(n) * 3e-3)
		return nil
	}}}, bench.Options{Clock: m, Precision: 1e-9, Samples: 1000})
	if err != nil || len(c.Notes) != 1 || c.Lines[0].Result.Samples == 0 {
		t.Errorf("interrupted: got %+v, %v, want what was known and a note", c, err)
	}
	if _, err := bench.Measure(ctx, m.Work(time.Millisecond, 0), bench.Options{Clock: m}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted before the first sample: got error %v", err)
	}
	if _, err := bench.Compare(t.Context(), nil, bench.Options{}); err == nil {
		t.Error("nothing to compare: got no error")
	}
	if _, err := bench.Compare(t.Context(), []bench.Case{{Name: "a"}}, bench.Options{}); err == nil || err.Error() != `bench: case 0 ("a") has no Run` {
		t.Errorf("without a function: got error %v", err)
	}
}

// An interrupt between the last sample and the end loses nothing.
func TestInterruptedAtTheEnd(t *testing.T) {
	m := benchtest.New(1)
	ctx, cancel := context.WithCancel(t.Context())
	run := m.Work(50*time.Millisecond, 0.01)
	calls := 0
	r, err := bench.MeasureWork(ctx, bench.Work{Run: run, Inspect: func() (bench.Tally, error) {
		if calls++; calls > 2 {
			cancel()
			return bench.Tally{}, context.Canceled
		}
		return bench.Tally{Launches: 1}, run(1)
	}}, bench.Options{Clock: m})
	if err != nil || r.Samples < 10 || !strings.Contains(r.String(), "interrupted") {
		t.Errorf("got %v, %v, want what was measured, and a note", r, err)
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
		{"equal", 2 * time.Millisecond, 2 * time.Millisecond, 0.05, "same", "~ no difference larger than "},
		{"equal and short", 300 * time.Nanosecond, 300 * time.Nanosecond, 0.05, "same", "~ no difference larger than "},
		{"equal, but who knows", 100 * time.Millisecond, 100 * time.Millisecond, 0.3, "unknown", " s more would tell"},
		{"too few", time.Minute, 2 * time.Minute, 0, "unknown", "not known: too few rounds"},
	} {
		m := benchtest.New(1)
		c := compare(t, m, bench.Options{}, bench.Work{Name: "a", Run: m.Work(tt.a, tt.noise)}, bench.Work{Name: "b", Run: m.Work(tt.b, tt.noise)})
		l := c.Lines[1]
		if l.Verdict != tt.verdict || !strings.Contains(l.Versus(), tt.versus) {
			t.Errorf("%s: got %q, %q, want %q with %q", tt.name, l.Verdict, l.Versus(), tt.verdict, tt.versus)
		}
		if truth := float64(tt.b) / float64(tt.a); l.Low != 0 && (l.Low > truth || l.High < truth || l.Low > l.Ratio || l.Ratio > l.High) {
			t.Errorf("%s: ratio %v in [%v, %v], the truth is %v", tt.name, l.Ratio, l.Low, l.High, truth)
		}
		if c.Lines[0].Ratio != 1 {
			t.Errorf("%s: the first case has ratio %v", tt.name, c.Lines[0].Ratio)
		}
		if _, err := c.JSON(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// Works that take about as long are sampled alike, also where one is just above the bound for blocks: of runs
// that take 5 or 15 µs the median is another than that of means of many. Works that take much longer are not
// repeated for the sake of others.
func TestCompareSamplesAlike(t *testing.T) {
	m := benchtest.New(1)
	uneven := func(share float64) func(n int) error {
		return func(n int) error {
			for range n {
				m.Spend(5e-6 * share)
				if m.Draw.IntN(3) == 0 {
					m.Spend(10e-6 * share)
				}
			}
			return nil
		}
	}
	long := m.Work(5*time.Millisecond, 0.01)
	c := compare(t, m, bench.Options{}, bench.Work{Name: "a", Run: uneven(1)}, bench.Work{Name: "b", Run: uneven(2.1)}, bench.Work{Name: "long", Run: long})
	a, b, l := c.Lines[0].Result, c.Lines[1].Result, c.Lines[2].Result
	if a.PerSample != b.PerSample || a.PerSample == 1 || l.PerSample != 1 || math.Abs(c.Lines[1].Ratio-2.1) > 0.05 {
		t.Errorf("got %d, %d and %d runs a sample, ratio %v, want the same for two, 1 for the third, and 2.1", a.PerSample, b.PerSample, l.PerSample, c.Lines[1].Ratio)
	}
}

// A machine that slows down in the middle slows both cases down: taking turns keeps the ratio.
func TestCompareIsFairWhenTheMachineDrifts(t *testing.T) {
	m := benchtest.New(1)
	m.Speed = append(m.Speed, benchtest.Drift(2), benchtest.TwoLevels(0.3, 0.07))
	c := compare(t, m, bench.Options{Time: time.Second}, bench.Work{Name: "a", Run: m.Work(2*time.Millisecond, 0.01)}, bench.Work{Name: "b", Run: m.Work(3*time.Millisecond, 0.01)})
	if l := c.Lines[1]; math.Abs(l.Ratio-1.5) > 0.05 || l.Verdict != "slower" {
		t.Errorf("got ratio %v [%v, %v] %s, want 1.5 slower", l.Ratio, l.Low, l.High, l.Verdict)
	}
}

// In a program, and in a loop, a result is a value: no clock, no context and no Eval are needed.
func TestTime(t *testing.T) {
	long.InCI(t, "measures for a second")
	x := tensor.Randn(64, 64).Eval()
	r := bench.Time(func() { x.Exp().Sum() })
	if r.Tally.Launches == 0 || r.Median <= 0 || !strings.Contains(r.Text(80), "median of ") {
		t.Errorf("got %+v, %q, want the time of what was launched", r.Tally, r)
	}
	if r.Tally.Device <= 0 || r.Tally.Heap <= 0 || r.Host() < 0 {
		t.Errorf("got %+v, %v s on the host, want what the device and the host did", r.Tally, r.Host())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tensor.Within(ctx, func() {
		if r := bench.Time(func() {}); r == nil || r.Refused == "" || r.Median != 0 {
			t.Errorf("interrupted: got %+v, want a result that says so", r)
		}
	})
}
