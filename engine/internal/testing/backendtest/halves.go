package backendtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// halves holds the rule for values of f16 and bf16 that lie between ops, on random graphs. Without fusion
// each is rounded: the bits are those of one op evaluated after the other, so it does not count what was
// looked at. With fusion those within a group stay f32, and the results are no further from float64's, on
// average.
func (s *suite) halves(t *testing.T) {
	seeds := 60
	if s.few {
		seeds = 6
	}
	for _, dt := range []dtype.Type{dtype.F16, dtype.BF16} {
		if !slices.Contains(s.dtypes, dt) {
			continue
		}
		var fused, plain distance
		for seed := range seeds {
			c := RandomGraph(5+seed/2, 3+seed/6)
			name := fmt.Sprintf("graph %d %v", seed, dt)
			each, err := unfused(func() ([]Values, error) { return Evaluate(s.dev, name, dt, c) })
			if err != nil {
				t.Fatalf("%s, unfused: %v", name, err)
			}
			steps, err := Evaluate(s.dev, name, dt, Case{Build: func(b *B, dt dtype.Type) []*ir.Node {
				nodes := c.Build(b, dt)
				b.inSteps(nodes, map[*ir.Node]bool{})
				return nodes
			}})
			if err != nil {
				t.Fatalf("%s, in steps: %v", name, err)
			}
			exact, err := Evaluate(s.exact, name, dtype.F64, Case{Build: func(b *B, _ dtype.Type) []*ir.Node {
				b.half = dt
				return c.Build(b, dtype.F64)
			}})
			if err != nil {
				t.Fatalf("%s, in f64: %v", name, err)
			}
			together, err := Evaluate(s.dev, name, dt, c)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range each {
				if err := steps[i].compare(&each[i], 0, true); err != nil {
					t.Errorf("%s: result %d of %d: evaluated in steps, beside unfused: %v", name, i, len(each), err)
				}
				plain.add(&each[i], &exact[i])
				fused.add(&together[i], &exact[i])
			}
		}
		t.Logf("%v: %d values are off by %.3f units fused, by %.3f unfused; at most %.0f and %.0f", dt, plain.count, fused.mean(), plain.mean(), fused.most, plain.most)
		if fused.mean() > plain.mean() {
			t.Errorf("%v: fused results are off by %.3f units, unfused ones by %.3f, want no more", dt, fused.mean(), plain.mean())
		}
	}
}

// inSteps evaluates what the nodes need and can be evaluated, one op at a time; views are read by the next
// op.
func (b *B) inSteps(nodes []*ir.Node, seen map[*ir.Node]bool) {
	for _, n := range nodes {
		if seen[n] {
			continue
		}
		seen[n] = true
		b.inSteps(n.Src, seen)
		if n.Op == ir.Const || n.Value() != nil || ir.RowOf(n.Op).Family == ir.FamilyView {
			continue
		}
		if err := plan.Run(scope.Context(), []*ir.Node{n}); err != nil {
			panic(stop{err})
		}
	}
}

// A distance is how far values are from those of float64, in units in their last places.
type distance struct {
	sum, most float64
	count     int
}

func (d *distance) add(got, exact *Values) {
	for i, x := range exact.F {
		unit := max(math.Abs(x), 1.0/64) * ulp(got.DType) // near 0 the units are those of what was added up
		off := math.Abs(got.F[i]-x) / unit
		d.sum += off
		d.most = max(d.most, off)
		d.count++
	}
}

func (d *distance) mean() float64 { return d.sum / float64(d.count) }
