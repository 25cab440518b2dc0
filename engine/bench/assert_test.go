package bench

import (
	"math"
	"strings"
	"testing"
)

// judged has a at 10 ms, b 8 to 12 % slower, c twice as slow, and d without a time.
var judged = &Comparison{Lines: []Line{
	{Name: "a", Ratio: 1, Low: 1, High: 1, Result: &Result{Median: 10e-3, Low: 9.9e-3, High: 10.1e-3, Samples: 100, Tally: Tally{Launches: 3, Heap: 1024}}},
	{Name: "b", Ratio: 1.1, Low: 1.08, High: 1.12, Result: &Result{Median: 11e-3, Low: 10.9e-3, High: 11.1e-3, Samples: 100, Tally: Tally{Launches: 6}}},
	{Name: "x.Sum(1 < 2)", Ratio: 2, Low: 1.98, High: 2.02, Result: &Result{Median: 20e-3, Low: 19e-3, High: 21e-3, Samples: 100, Tally: Tally{Uncounted: true}}},
	{Name: "d", Result: &Result{Refused: "it ignores n"}},
	{Name: "e", Ratio: 3, Result: &Result{Median: 30e-3, Samples: 3}},
}}

func TestAssertions(t *testing.T) {
	names := []string{"a", "b", "x.Sum(1 < 2)", "d", "e"}
	for _, tt := range []struct {
		text, verdict, says string
	}{
		{"b <= 1.2*a", "true", "b takes 11.0 ms, a takes 10.0 ms; left over right 0.917 [0.9, 0.933]"},
		{"b <= 1.05*a", "false", ""},
		{"b <= 1.1*a", "not known", "[0.982, 1.02]"},
		{"b > a", "true", ""},
		{"a >= b", "false", ""},
		{"a < b * 0.95", "true", ""},
		{"a < b/2", "false", ""},
		{"a <= a", "true", ""},
		{"a < a", "false", ""},
		{"x.Sum(1 < 2) >= 1.7*b", "true", ""},
		{"1.7*b <= x.Sum(1 < 2)", "true", ""},
		{"x.Sum(1 < 2) > 1.8 * b", "not known", ""},
		{"a < 11ms", "true", "a takes 10.0 ms, 11.0 ms"},
		{"a < 10 ms", "not known", ""},
		{"5ms > a", "false", ""},
		{"a.launches <= 3", "true", "a.launches is 3, 3"},
		{"a.launches < 3", "false", ""},
		{"b.launches <= 2*a.launches", "true", ""},
		{"b.heap <= 0", "true", ""},
		{"a.launches > 0", "true", ""},
		{"0 >= a.launches", "false", ""},
		{"a.heap <= b.heap", "false", ""},
		{"x.Sum(1 < 2).flops <= a.flops", "not known", "x.Sum(1 < 2) has a kernel whose operations nobody counted"},
		{"d < a", "not known", "d has no time: it ignores n"},
		{"e > a", "not known", ""},
		{"e > 1ms", "not known", ""},
	} {
		a, err := ParseAssertion(tt.text, names)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if j := a.Judge(judged); j.Verdict != tt.verdict || !strings.Contains(j.Text, tt.says) || j.Holds() != (tt.verdict == "true") {
			t.Errorf("%s: got %s, %q, want %s with %q", tt.text, j.Verdict, j.Text, tt.verdict, tt.says)
		}
	}
}

// A case that is alone is called a, too, whatever its statement is.
func TestAssertionOfOneCase(t *testing.T) {
	one := &Comparison{Lines: judged.Lines[:1]}
	name := one.Lines[0].Name
	one.Lines[0].Name = "1+1"
	defer func() { one.Lines[0].Name = name }()
	for _, text := range []string{"a < 11ms", "1+1 < 11ms", "a.launches <= 3", "1.5*a < 20ms"} {
		a, err := ParseAssertion(text, []string{"1+1"})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if j := a.Judge(one); !j.Holds() {
			t.Errorf("%s: got %q", text, j.Text)
		}
	}
}

func TestParseAssertionErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "want two sides of <, <=, > or >="},
		{"a", "want two sides of <, <=, > or >="},
		{"a == b", "want two sides of <, <=, > or >="},
		{"a < nothing", `got "nothing", want a number, a duration, or a case (a, b) with a factor`},
		{"a < b/0", `got "b/0", want`},
		{"1ms < 2ms", "want the name of a case in it: one of a, b"},
		{"a < b.launches", "want the same of both cases"},
		{"a < -5ms", `got "-5ms", want finite numbers above 0`},
		{"0s < a", `got "0s", want finite numbers above 0`},
		{"a < -1*b", "want finite numbers above 0"},
		{"a < 0*b", "want finite numbers above 0"},
		{"b/-2 > a", "want finite numbers above 0"},
		{"a < NaN", "want finite numbers above 0"},
		{"a < Inf*b", "want finite numbers above 0"},
		{"a.launches > -1", "want finite numbers above 0"},
		{"a.launches <= NaN", "want finite numbers above 0"},
		{"a.launches < 5ms", "want a count without a unit"},
		{"a < 5", "want a duration with its unit, as in 5ms"},
		{"0.5 > a", "want a duration with its unit, as in 5ms"},
	} {
		if a, err := ParseAssertion(tt.text, []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %+v, %v, want %q", tt.text, a, err, tt.want)
		}
	}
}

func TestParseRange(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []float64 // none: an error
	}{
		{"r=4..64*2", []float64{4, 8, 16, 32, 64}},
		{"r=4..100*2", []float64{4, 8, 16, 32, 64}},
		{"r = 0..1+0.25", []float64{0, 0.25, 0.5, 0.75, 1}},
		{"r=1..3", []float64{1, 2, 3}},
		{"r=1,10, 100", []float64{1, 10, 100}},
		{"r=1e-3..1e-1*10", []float64{1e-3, 1e-2, 1e-1}},
		{"r=7", []float64{7}},
		{"r", nil}, {"=1", nil}, {"r=", nil}, {"r=a..b", nil}, {"r=4..1", nil}, {"r=1..4*1", nil}, {"r=0..4*2", nil}, {"r=0..4+0", nil}, {"r=0..1e9", nil}, {"r=1..NaN", nil},
	} {
		r, err := ParseRange(tt.text)
		if (err == nil) != (tt.want != nil) || len(r.Values) != len(tt.want) && err == nil {
			t.Errorf("%s: got %v, %v, want %v", tt.text, r.Values, err, tt.want)
			continue
		}
		for i, x := range tt.want {
			if math.Abs(r.Values[i]-x) > 1e-9 || r.Name != "r" {
				t.Errorf("%s: got %q, %v, want %v", tt.text, r.Name, r.Values, tt.want)
			}
		}
	}
}
