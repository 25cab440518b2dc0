package honesty

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// The tests below measure on this machine, and only with -long. A busy machine cannot meet the limits for
// a quiet one: there the tests print the figures and the reason why they are not judged, and check only
// that no claim is wrong.

const realTrials = 100

// chain runs a chain of multiplications, beginning with x. Each waits for the one before, so the time is
// in proportion to the length, whatever the memory does.
func chain(x uint64, length int) uint64 {
	x |= 1
	for range length {
		x *= 0x9E3779B97F4A7C15
	}
	return x
}

var sink uint64

// spin runs a chain n times, each after the other: a processor would run them side by side.
func spin(length int) func(n int) error {
	return func(n int) error {
		for range n {
			sink = chain(sink, length)
		}
		return nil
	}
}

// byHand is how many seconds a spin of a length takes, by a clock that is read by hand: the median of blocks
// of a millisecond or more.
func byHand(length int) float64 {
	run := spin(length)
	n := max(1, 1_000_000/length)
	times := make([]float64, 15)
	for i := range times {
		start := time.Now()
		_ = run(n)
		times[i] = time.Since(start).Seconds() / float64(n)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// lengthOf is how long a chain is that takes so long.
func lengthOf(d time.Duration) int {
	const some = 1_000_000
	return int(d.Seconds() / byHand(some) * some)
}

// enough is the share of trials on a quiet machine, below which nothing is judged.
const enough = 0.5

// A journal has the trials of one kind: the machine's disturbances of each.
type journal struct {
	trials, quiet int
	by            map[string]int
}

// note says whether the machine was quiet during a trial.
func (j *journal) note(m bench.Machine) (quiet bool) {
	if j.by == nil {
		j.by = map[string]int{}
	}
	reasons := m.Noise()
	for _, reason := range reasons {
		// "other processes keep 1.6 of 2 processors busy": what, not how much.
		kind, _, _ := strings.Cut(strings.TrimLeft(reason, "0123456789. %"), " keep")
		j.by[kind]++
	}
	j.trials++
	if len(reasons) == 0 {
		j.quiet++
	}
	return len(reasons) == 0
}

// hopeless says, after some trials, that the machine will not be quiet in enough of them.
func (j *journal) hopeless() bool {
	return j.trials >= realTrials/5 && float64(j.quiet) < enough/2*float64(j.trials)
}

// judge fails the test for figures that miss their bars, unless the machine was disturbed: then it says so.
func (j *journal) judge(t *testing.T, failures []string) {
	t.Helper()
	if float64(j.quiet) < enough*float64(j.trials) {
		t.Logf("NOT JUDGED: the machine was quiet in %d of %d trials only, disturbed by %v; it is %s", j.quiet, j.trials, j.by, bench.Survey(t.Context()))
		for _, f := range failures {
			t.Log("would have failed: " + f)
		}
		return
	}
	for _, f := range failures {
		t.Error(f)
	}
}

// A trial is one measurement of a spin of known length.
type trial struct {
	error float64 // a share of the truth
	held  bool    // its interval holds the truth
}

// figures are the middle of the errors, and how many intervals hold the truth.
func figures(trials []trial) (typical float64, held int, text string) {
	if len(trials) == 0 {
		return 0, 0, "no trials"
	}
	slices.SortFunc(trials, func(a, b trial) int { return cmp.Compare(a.error, b.error) })
	for _, each := range trials {
		if each.held {
			held++
		}
	}
	typical = trials[len(trials)/2].error
	return typical, held, fmt.Sprintf("error %.2f %% in the middle, %.2f %% in 95 of 100; %d of %d intervals hold the truth",
		100*typical, 100*trials[len(trials)*95/100].error, held, len(trials))
}

// A hand times a spin with a clock that it reads itself, as a compiled program would: blocks of 100 µs or
// one run, around each sample of a measurement. A machine may change its speed by more than the width of
// an interval within a tenth of a second, so the true time of a measurement is the time of the same
// moments.
type hand struct {
	length, runs int
	times        []float64
}

func newHand(length int, takes time.Duration) *hand {
	return &hand{length: length, runs: max(1, int(100*time.Microsecond/takes))}
}

func (h *hand) time() {
	run := spin(h.length)
	start := time.Now()
	_ = run(h.runs)
	h.times = append(h.times, time.Since(start).Seconds()/float64(h.runs))
}

// around times a block before and after a sample.
func (h *hand) around(sample func() error) error {
	h.time()
	defer h.time()
	return sample()
}

// truth is the median and its 95 % interval, of order statistics.
func (h *hand) truth() (median, low, high float64) {
	slices.Sort(h.times)
	n := len(h.times)
	off := int(math.Ceil(0.98 * math.Sqrt(float64(n))))
	return h.times[n/2], h.times[max(0, n/2-off)], h.times[min(n-1, n/2+off)]
}

func TestSpinsOnThisMachine(t *testing.T) {
	needLong(t)
	for _, each := range spins {
		t.Run(each.length.String(), func(t *testing.T) {
			length := lengthOf(each.length)
			var j journal
			var quiet, all []trial
			for j.trials < realTrials && !j.hopeless() {
				h := newHand(length, each.length)
				r, err := bench.MeasureWork(t.Context(), bench.Work{Name: "spin", Run: spin(length), Around: h.around}, bench.Options{})
				if err != nil {
					t.Fatal(err)
				}
				truth, low, high := h.truth()
				one := trial{math.Abs(r.Median/truth - 1), r.Low <= high && low <= r.High}
				all = append(all, one)
				if j.note(r.Machine) {
					quiet = append(quiet, one)
				} else if _, known := r.Known(); known || !strings.Contains(r.String(), "not known: ") && !strings.Contains(r.String(), "time ran out: ") {
					t.Errorf("on a machine that was not quiet: got %q, want that it is not known", r)
				}
			}
			_, _, text := figures(all)
			t.Log("all trials: " + text)
			typical, held, text := figures(quiet)
			t.Log("on a quiet machine: " + text)
			var failures []string
			if typical > each.within {
				failures = append(failures, fmt.Sprintf("an error of %.2f %%, want at most %.0f %%", 100*typical, 100*each.within))
			}
			if float64(held) < holds*float64(j.quiet) {
				failures = append(failures, fmt.Sprintf("%d of %d intervals hold the truth, want %.0f %%", held, j.quiet, 100*holds))
			}
			j.judge(t, failures)
		})
	}
}

// ours are ten statements of the engine, which are compared with themselves.
func ours() map[string]func() {
	x, w := tensor.Randn(128, 256).Eval(), tensor.Randn(256, 128).Eval()
	return map[string]func(){
		"x.Add(1)":                func() { x.Add(1).Eval() },
		"x.MatMul(w)":             func() { x.MatMul(w).Eval() },
		"x.Softmax(-1)":           func() { x.Softmax(-1).Eval() },
		"x.Sum()":                 func() { x.Sum().Eval() },
		"x.Exp()":                 func() { x.Exp().Eval() },
		"x.Mul(x).Sum(1)":         func() { x.Mul(x).Sum(1).Eval() },
		"x.Silu()":                func() { x.Silu().Eval() },
		"x.Transpose().MatMul(x)": func() { x.Transpose().MatMul(x).Eval() },
		"x.Max(1)":                func() { x.Max(1).Eval() },
		"x.Sub(1).Abs()":          func() { x.Sub(1).Abs().Eval() },
	}
}

func repeat(f func()) func(n int) error {
	return func(n int) error {
		for range n {
			f()
		}
		return nil
	}
}

// A pair of works: b takes ratio times as long as a.
type pair struct {
	name  string
	ratio float64
	a, b  func(n int) error
}

func TestComparisonsOnThisMachine(t *testing.T) {
	needLong(t)
	var pairs []pair
	for _, length := range []time.Duration{time.Millisecond, 20 * time.Microsecond, time.Microsecond} {
		n := lengthOf(length)
		pairs = append(pairs, pair{"equal spins of " + length.String(), 1, spin(n), spin(n)},
			pair{"spins of " + length.String() + " and 5 % more", 1.05, spin(n), spin(n + n/20)},
			pair{"spins of " + length.String() + " and 5 % less", 1 / 1.05, spin(n + n/20), spin(n)})
	}
	statements := ours()
	names := make([]string, 0, len(statements))
	for name := range statements {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			var j journal
			verdicts := map[string]int{}
			tryOut(t, &j, verdicts, p, realTrials)
			judgeVerdicts(t, &j, verdicts, p.ratio)
		})
	}
	t.Run("ten statements, each against itself", func(t *testing.T) {
		var j journal
		all := map[string]int{}
		for _, name := range names {
			verdicts := map[string]int{}
			tryOut(t, &j, verdicts, pair{name, 1, repeat(statements[name]), repeat(statements[name])}, realTrials/len(names))
			t.Logf("%s: %v", name, verdicts)
			for v, n := range verdicts {
				all[v] += n
			}
		}
		judgeVerdicts(t, &j, all, 1)
	})
}

func tryOut(t *testing.T, j *journal, verdicts map[string]int, p pair, trials int) {
	for end := j.trials + trials; j.trials < end && !j.hopeless(); {
		c, err := bench.Compare(t.Context(), []bench.Case{{Name: "a", Run: p.a}, {Name: "b", Run: p.b}}, bench.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j.note(c.Lines[1].Result.Machine)
		verdicts[c.Lines[1].Verdict]++
	}
}

// judgeVerdicts compares verdicts with the right ones for a ratio. Few are wrong on any machine; on a
// quiet one most are right, too.
func judgeVerdicts(t *testing.T, j *journal, verdicts map[string]int, ratio float64) {
	right, atLeast := expected(ratio)
	t.Logf("%v", verdicts)
	wrong := j.trials - verdicts[right] - verdicts["unknown"]
	if float64(wrong) > (1-equals)*float64(j.trials) {
		t.Errorf("%d of %d verdicts are wrong: %v; on a machine that is not quiet, too, they are to be right or unknown", wrong, j.trials, verdicts)
	}
	var failures []string
	if float64(verdicts[right]) < atLeast*float64(j.trials) {
		failures = append(failures, fmt.Sprintf("%v, want at least %.0f of 100 %s", verdicts, 100*atLeast, right))
	}
	j.judge(t, failures)
}

func needLong(t *testing.T) {
	t.Helper()
	if !long.Tests() {
		t.Skip("measures on this machine for minutes; run with -long")
	}
}
