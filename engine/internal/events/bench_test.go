package events

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// BenchmarkRan is what the events of a launch cost within a scope: with nobody listening, with a record, with
// one around many contexts and scopes, as those of a session are, with one that notes nodes, and with one
// that traces, which reads the clock three times besides. They take turns, and the fastest turns count. With
// a launch of 5 µs the difference of "record" to "off" may be 50 ns.
func BenchmarkRan(b *testing.B) {
	w := &Work{Launches: []Launch{{Kernel: "matmul", Bytes: 1, Flops: 1}}}
	nodes, times := []*ir.Node{{}, {}, {}}, []time.Duration{1}
	const turn = 10_000
	events := func() float64 { // nanoseconds each
		start := time.Now()
		for range turn {
			ctx := scope.Context()
			rs := Of(ctx)
			run := Run{Work: w, Reused: true, Began: rs.Now(), Planned: rs.Now()}
			if rs.Timed() {
				run.Times = times
			}
			if run.Ended = rs.Now(); rs.Tracing() {
				run.Stack = ir.Stack(ctx)
			}
			rs.Ran(&run)
			rs.Computed(nodes, nil)
		}
		return float64(time.Since(start)) / turn
	}
	type other struct{ int }
	recorded := func(with Option, f func(context.Context)) {
		ctx, r := Open(b.Context(), with)
		defer r.Close()
		f(ctx)
	}
	plain := context.WithValue(b.Context(), other{}, 0)
	names := []string{"off", "record", "deep", "nodes", "trace"}
	best := []float64{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}
	for b.Loop() {
		took := make([]float64, len(names))
		scope.Within(plain, func() { took[0] = events() })
		recorded(0, func(ctx context.Context) { scope.Within(ctx, func() { took[1] = events() }) })
		recorded(0, func(ctx context.Context) {
			for i := range 8 {
				ctx = context.WithValue(ctx, other{i}, i)
			}
			scope.Within(ctx, func() { scope.Within(plain, func() { took[2] = events() }) })
		})
		recorded(Nodes, func(ctx context.Context) { scope.Within(ctx, func() { took[3] = events() }) })
		placed := ir.WithPlaces(b.Context(), func(string) string { return "In[1]:1" })
		ctx, r := Open(placed, Times|Trace)
		scope.Within(ctx, func() { took[4] = events() })
		r.Close()
		for i := range took {
			best[i] = min(best[i], took[i])
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, name := range names {
		b.ReportMetric(best[i], name+"-ns")
	}
}
