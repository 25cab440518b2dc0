// Package turns holds in benchmarks what a thing costs against the time of the work that it is added to.
package turns

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/perf/benchmath"
)

// A Side is the work with something added. Run does it and returns how long it took.
type Side struct {
	Name string
	Run  func() time.Duration
}

// Compare reports in percent what each side adds to the time of plain, and the ends of its interval of 95 %.
// Each turn of a side stands between two turns of plain and is held against their mean, in another order each
// round: so a machine that is slow for a while, or becomes slower, is slow for both. The median of these
// ratios counts. A side that is plain itself shows what the figures are worth.
//
// Where other processes take turns as well, what a side adds to its fastest turns, the tenth part of them,
// says more: it is reported in nanoseconds.
func Compare(b *testing.B, plain func() time.Duration, sides ...Side) {
	ratios, took := make([][]float64, len(sides)), make([][]float64, len(sides))
	var all []float64
	for b.Loop() {
		before := plain()
		for _, i := range rand.Perm(len(sides)) {
			own := sides[i].Run()
			after := plain()
			took[i] = append(took[i], float64(own))
			ratios[i] = append(ratios[i], float64(own)/float64(before), float64(own)/float64(after))
			all = append(all, float64(after))
			before = after
		}
	}
	fast := func(list []float64) float64 {
		slices.Sort(list)
		return list[len(list)/10]
	}
	least := fast(all)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(all[len(all)/2], "plain-ns")
	for i, s := range sides {
		m := benchmath.AssumeNothing.Summary(benchmath.NewSample(ratios[i], &benchmath.DefaultThresholds), 0.95)
		b.ReportMetric(100*(m.Center-1), s.Name+"-%added")
		b.ReportMetric(100*(m.Lo-1), s.Name+"-%low")
		b.ReportMetric(100*(m.Hi-1), s.Name+"-%high")
		b.ReportMetric(fast(took[i])-least, s.Name+"-ns")
	}
}
