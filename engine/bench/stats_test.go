package bench

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The interval must hold the true median about 95 times in 100, whatever the distribution, and also where
// neighbours are alike: with a machine that is slow for a while, one value says little more than the one
// before it.
func TestMedianIntervalHoldsTheMedian(t *testing.T) {
	const trials = 500
	for _, tt := range []struct {
		name    string
		n       int
		next    func(draw *rand.Rand, before float64) float64
		median  float64
		atLeast int
	}{
		{"10 normal values", 10, func(d *rand.Rand, _ float64) float64 { return d.NormFloat64() }, 0, 465},
		{"30 exponential values", 30, func(d *rand.Rand, _ float64) float64 { return d.ExpFloat64() }, math.Ln2, 465},
		{"300 exponential values", 300, func(d *rand.Rand, _ float64) float64 { return d.ExpFloat64() }, math.Ln2, 465},
		{"300 values that follow each other", 300, func(d *rand.Rand, x float64) float64 { return 0.7*x + d.NormFloat64() }, 0, 455},
		{"1500 values that follow each other closely", 1500, func(d *rand.Rand, x float64) float64 { return 0.95*x + d.NormFloat64() }, 0, 455},
	} {
		draw := rand.New(rand.NewPCG(3, 3))
		held := 0
		for range trials {
			x := make([]float64, tt.n)
			value := 0.0
			for range 100 {
				value = tt.next(draw, value)
			}
			for i := range x {
				value = tt.next(draw, value)
				x[i] = value
			}
			if _, low, high := medianInterval(x, medianConfidence); low <= tt.median && tt.median <= high {
				held++
			}
		}
		if held < tt.atLeast {
			t.Errorf("%s: the interval held the median %d times in %d, want at least %d", tt.name, held, trials, tt.atLeast)
		}
	}
}

// Below the number of values that an interval needs it has no ends.
func TestMedianIntervalOfFewValues(t *testing.T) {
	for _, tt := range []struct {
		n     int
		known bool
	}{{1, false}, {3, false}, {5, false}, {6, true}} {
		x := []float64{3, 1, 2, 5, 4, 6}[:tt.n]
		_, low, high := medianInterval(x, medianConfidence)
		if known := !math.IsInf(low, 0) && !math.IsInf(high, 0); known != tt.known {
			t.Errorf("%d values: got [%v, %v], want an interval: %v", tt.n, low, high, tt.known)
		}
	}
	if minKnown != 6 {
		t.Errorf("minKnown is %d", minKnown)
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		ratio Ratio
		want  string
	}{
		{Ratio{1.05, 1.02, 1.08}, "slower"},
		{Ratio{0.95, 0.92, 0.98}, "faster"},
		{Ratio{1.00, 0.98, 1.02}, "same"},
		{Ratio{1.01, 1.005, 1.015}, "same"}, // a difference, but none worth a name
		{Ratio{1.00, 0.90, 1.10}, "unknown"},
		{Ratio{1.02, 0.99, 1.06}, "unknown"},
		{Ratio{2, 0, math.Inf(1)}, "unknown"},
	} {
		if got := tt.ratio.verdict(0.03); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.ratio, got, tt.want)
		}
		mirrored := Ratio{1 / tt.ratio.Ratio, 1 / tt.ratio.High, 1 / tt.ratio.Low}
		opposite := map[string]string{"slower": "faster", "faster": "slower"}
		want := tt.want
		if o := opposite[want]; o != "" {
			want = o
		}
		if got := mirrored.verdict(0.03); got != want {
			t.Errorf("%v, the other way round: got %q, want %q", mirrored, got, want)
		}
	}
}

// A ratio that is not known says how much more time would tell, where that can be told.
func TestMore(t *testing.T) {
	for _, tt := range []struct {
		ratio     Ratio
		spent     float64
		low, high float64
	}{
		{Ratio{1.00, 0.94, 1 / 0.94}, 1, 2.5, 4},  // twice as wide as allowed: four times the samples
		{Ratio{1.05, 0.99, 1.11}, 2, 1, 6},        // a difference of 5 % must be told from 1 %
		{Ratio{1.5, 0, math.Inf(1)}, 1, 0, 0},     // no interval yet
		{Ratio{1.02, 1.019, 1.031}, 1, 0, 0.0001}, // wide enough apart soon
	} {
		if got := tt.ratio.more(0.03, tt.spent); got < tt.low || got > tt.high {
			t.Errorf("%v after %v s: got %v s more, want %v to %v", tt.ratio, tt.spent, got, tt.low, tt.high)
		}
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
