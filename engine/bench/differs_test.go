package bench

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Sides that do different work are named, also where the difference is one that people overlook.
func TestDifferences(t *testing.T) {
	x := tensor.Randn(8, 8).Eval()
	given := func(v ...any) Tally { return Tally{Launches: 1, Flops: 1000, DType: dtype.F32, Results: v} }
	for _, tt := range []struct {
		name         string
		first, other Tally
		want         string // nothing: they are the same
	}{
		{"the same", given(x), given(x.Add(0).Eval()), ""},
		{"rounding", given(x), given(x.Mul(1.000001).Eval()), ""},
		{"half the precision: TF32 against f32", given(x), given(x.Mul(1.001).Eval()), "differs from a by up to 0.1 % of the largest value, more than by rounding"},
		{"another shape", given(x), given(x.Sum(1).Eval()), "gives f32[8], and a f32[8 8]"},
		{"another type", given(x), given(x.Cast(dtype.BF16).Eval()), "gives bf16[8 8], and a f32[8 8]"},
		{"nothing", given(x), given(), "gives nothing, and a f32[8 8]"},
		{"NaN", given(1.0), given(math.NaN()), "gives NaN in 1 place where a does not, or the other way round"},
		{"infinity", given(1.0), given(math.Inf(1)), "gives other values than a"},
		{"infinities", given(math.Inf(1)), given(math.Inf(1)), ""},
		{"only zeros", given(0.0), given(1.0), "gives other values than a"},
		{"NaN in both", given(math.NaN()), given(math.NaN()), ""},
		{"numbers", given([]int{1, 2}), given([]int{1, 3}), "differs from a by up to 50 % of the largest value"},
		{"large integers", given(1 << 40), given(1<<40 + 1), "differs from a by up to"},
		{"items of tensors, rounded", given(float64(float32(0.1))), given(float64(float32(0.1000002))), ""},
		{"numbers that are no items", given(0.1), given(0.1000002), "differs from a by up to"},
		{"text", given("a"), given("b"), "gives other values than a"},
		{"less arithmetic", given(), Tally{Launches: 1, Flops: 500, DType: dtype.F32}, "does 500 FLOP of arithmetic, and a 1.00 kFLOP"},
		{"arithmetic that nobody counted", given(), Tally{Launches: 1, Uncounted: true, DType: dtype.F32}, ""},
		{"more launches", given(), Tally{Launches: 4, Flops: 1000, DType: dtype.F32}, "makes 4 launches, and a 1"},
		{"arithmetic in another type", given(), Tally{Launches: 1, Flops: 1000, DType: dtype.BF16}, "computes in bf16, and a in f32"},
	} {
		tt.first.Shapes, tt.other.Shapes = shapes(tt.first.Results), shapes(tt.other.Results)
		got := differences("a", tt.first, tt.other, false)
		if text := strings.Join(got.texts, "; "); !strings.HasPrefix(text, tt.want) || (text == "") != (tt.want == "") {
			t.Errorf("%s: got %q, want %q", tt.name, text, tt.want)
		}
		if _, err := json.Marshal(got.apart); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if got := differences("a", given(1.0), given(2.0), true); got.texts != nil || got.apart >= 0 {
		t.Errorf("unchecked: got %+v", got)
	}
}

// Values are compared, and then given back, before anything is timed.
func TestResultsAreLetGo(t *testing.T) {
	inspect := func(v float64) func() (Tally, error) {
		return func() (Tally, error) { return Tally{Results: []any{v}}, nil }
	}
	spin := func(n int) error {
		for i := range n {
			spun += float64(i)
		}
		return nil
	}
	c, err := CompareWorks(t.Context(), []Work{{Name: "a", Run: spin, Inspect: inspect(1)}, {Name: "b", Run: spin, Inspect: inspect(3)}}, Options{Time: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := c.Lines[1]
	if b.Apart != 2 || len(b.Differs) != 1 || b.Result.Tally.Results != nil || !slices.Equal(b.Result.Tally.Shapes, []string{"float64"}) {
		t.Errorf("got %+v, %+v", b, b.Result.Tally)
	}
	if !strings.Contains(c.String(), "b: differs from a by up to 200 % of the largest value") {
		t.Errorf("got %s", c)
	}
}

var spun float64

// A median that is not known says what ended its measurement.
func TestCertainty(t *testing.T) {
	for _, tt := range []struct {
		samples int
		high    float64
		want    string
	}{
		{3, 1.1, "not known: less than 6 samples"},
		{100, 1.01, "known to 1.0 %"},
		{100, 1.1, "time ran out: known to 10 %, not to 2 %"},
		{maxSamples, 1.1, "20,000 samples is the limit: known to 10 %, not to 2 %"},
		{100, 6, "time ran out: not known to 2 %, the runs differ too much"},
	} {
		r := &Result{Samples: tt.samples, Median: 1, Low: 2 - tt.high, High: tt.high, Precision: 0.02}
		if got := r.Certainty(); got != tt.want {
			t.Errorf("%d samples: got %q, want %q", tt.samples, got, tt.want)
		}
		r.Stopped = true
		if got, want := r.Certainty(), strings.Replace(tt.want, "time ran out", "interrupted", 1); got != want {
			t.Errorf("%d samples, interrupted: got %q, want %q", tt.samples, got, want)
		}
	}
}

// What drifted is said once for a comparison, a median near 0 by its upper end, and a small difference of
// values with its size.
func TestNoticesAreShort(t *testing.T) {
	c := &Comparison{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c.Lines = append(c.Lines, Line{Name: name, Result: &Result{Notes: []string{drifted + "-40 %" + whyDrifted}}})
	}
	want := "drifted: a by -40 %, b by -40 %, c by -40 % and 2 more while they were measured: other load, heat, a changing clock, or runs that go on from those before them"
	if got := strings.Join(c.Remarks(), "\n"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (&Result{High: 321e-9, P75: 3e-9}).Spread(), "95 % below 321 ns · middle half below 3.00 ns"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := (&Result{High: 321e-9, Min: 1e-9, P25: 2e-9, P75: 3e-9}).Spread(), "95 % below 321 ns · min 1.00 ns · middle half 2.00 ns – 3.00 ns"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, got := apart("a", []any{0.1}, []any{0.1 * (1 + 3.6e-10)}); !strings.Contains(got, "by up to 3.6e-08 % of the largest value, more than by rounding") {
		t.Errorf("got %q", got)
	}
}
