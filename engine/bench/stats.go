package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

func sorted(x []float64) []float64 { return slices.Sorted(slices.Values(x)) }

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

// medianInterval returns the median of sorted values and its 95 % interval from order statistics: the number
// of values below the true median is binomial, whatever the distribution. Below 6 values the interval is all
// of them.
func medianInterval(sorted []float64) (median, low, high float64) {
	n := len(sorted)
	half := 0.98 * math.Sqrt(float64(n)) // 1.96 standard deviations of B(n, 1/2)
	i := max(0, int(math.Floor(float64(n)/2-half)))
	j := min(n-1, int(math.Ceil(float64(n)/2+half)))
	return quantile(sorted, 0.5), sorted[i], sorted[j]
}

// resamples of the bootstrap: the ends of a 95 % interval are then known to a few per mille of its width.
const resamples = 1000

// ratioInterval returns the ratio of the medians of x and base and its 95 % interval. Values at the same
// index were measured in the same round; the bootstrap draws rounds, so that what slowed down both is no
// difference.
func ratioInterval(x, base []float64) (ratio, low, high float64) {
	ratio = quantile(sorted(x), 0.5) / quantile(sorted(base), 0.5)
	n := len(x)
	if n < 2 || &x[0] == &base[0] {
		return ratio, ratio, ratio
	}
	draw := rand.New(rand.NewPCG(2, uint64(n)))
	a, b := make([]float64, n), make([]float64, n)
	ratios := make([]float64, resamples)
	for k := range ratios {
		for i := range n {
			j := draw.IntN(n)
			a[i], b[i] = x[j], base[j]
		}
		slices.Sort(a)
		slices.Sort(b)
		ratios[k] = quantile(a, 0.5) / quantile(b, 0.5)
	}
	slices.Sort(ratios)
	return ratio, quantile(ratios, 0.025), quantile(ratios, 0.975)
}

// drift compares the last third of the samples with the first: 0.1 means 10 % slower at the end.
func drift(samples []float64) float64 {
	third := len(samples) / 3
	if third < 3 {
		return 0
	}
	first := quantile(sorted(samples[:third]), 0.5)
	last := quantile(sorted(samples[len(samples)-third:]), 0.5)
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
