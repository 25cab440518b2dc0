package bench

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

const (
	medianConfidence = 0.95
	ratioConfidence  = 0.99 // a difference that is none is claimed once in a hundred times at most
	minKnown         = 6    // samples, below which an interval of 95 % has no ends
	fewestBatches    = 12
)

func sorted(x []float64) []float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x
}

func median(x []float64) float64 { return quantile(sorted(x), 0.5) }

// quantile interpolates between the order statistics of sorted values (the definition of NumPy and R, type
// 7).
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// medianInterval returns the median of a series, in the order in which it was measured, and its interval:
// that of benchmath, which assumes nothing but that the values are independent. They are not: a machine is
// slow for a while. So the same is asked of the medians of 3, 9, 27 … neighbours, which depend less on each
// other the more they are, and the widest interval counts. The median of an odd number of values lies above
// the true median as often as below, whatever the distribution, so that each of these intervals is one of
// that median. With too few values for the confidence the ends are infinite.
func medianInterval(series []float64, confidence float64) (center, low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for size := 1; size == 1 || len(series)/size >= fewestBatches; size *= 3 {
		s := benchmath.AssumeNothing.Summary(benchmath.NewSample(batches(series, size), &benchmath.DefaultThresholds), confidence)
		if size == 1 {
			center = s.Center
		}
		low, high = min(low, s.Lo), max(high, s.Hi)
	}
	return center, low, high
}

// batches are the medians of size neighbours each. The oldest values are left out where they do not fill one.
func batches(series []float64, size int) []float64 {
	if size == 1 {
		return slices.Clone(series)
	}
	medians := make([]float64, 0, len(series)/size)
	scratch := make([]float64, size)
	for rest := series[len(series)%size:]; len(rest) > 0; rest = rest[size:] {
		copy(scratch, rest)
		slices.Sort(scratch)
		medians = append(medians, scratch[size/2])
	}
	return medians
}

// ratioInterval returns the ratio of x to base and its interval, from their times in the same rounds: what
// slowed down both is no difference. It is the median over the rounds, and of its logarithm, so that x over
// base is one over base over x.
func ratioInterval(x, base []float64) Ratio {
	n := min(len(x), len(base))
	logs := make([]float64, 0, n)
	for i := range n {
		if x[i] > 0 && base[i] > 0 {
			logs = append(logs, math.Log(x[i]/base[i]))
		}
	}
	if len(logs) == 0 {
		return Ratio{1, 0, math.Inf(1)}
	}
	center, low, high := medianInterval(logs, ratioConfidence)
	return Ratio{math.Exp(center), math.Exp(low), math.Exp(high)}
}

// widen moves the ends apart by a factor of 1+share.
func (r Ratio) widen(share float64) Ratio {
	return Ratio{r.Ratio, r.Low / (1 + share), r.High * (1 + share)}
}

// finite is the ratio with 0 for an interval that is not known.
func (r Ratio) finite() Ratio {
	if math.IsInf(r.High, 0) || math.IsInf(r.Low, 0) {
		r.Low, r.High = 0, 0
	}
	return r
}

// off is how far the ratio is from 1: 0.25 for 1.25 and for 0.8.
func (r Ratio) off() float64 { return max(r.Ratio, 1/r.Ratio) - 1 }

// drift compares the last third of the samples with the first: 0.1 means 10 % slower at the end.
func drift(samples []float64) float64 {
	third := len(samples) / 3
	if third < 3 {
		return 0
	}
	first, last := median(samples[:third]), median(samples[len(samples)-third:])
	if first <= 0 {
		return 0
	}
	return last/first - 1
}

// Share is a rate as a share of the ceiling that was measured on this machine, in the same units. It reports
// false for a share above 1.05: such a figure is no measurement of the device (the work was skipped, or its
// data stayed in a cache) and must not be shown as one.
func Share(rate, ceiling float64) (share float64, ok bool) {
	if ceiling <= 0 {
		return 0, false
	}
	share = rate / ceiling
	return share, share <= 1.05
}
