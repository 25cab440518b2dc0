package magics

import (
	"context"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// BenchmarkProfiled is what being profiled adds to a statement, in percent: to Go of a cell alone, and to
// small kernels; and what sampling and recording add, each alone. They take turns with the statement that is
// not profiled, and the fastest turns count, because what slows down the machine slows down some of them.
func BenchmarkProfiled(b *testing.B) {
	s, err := session.New(session.Options{Commands: Table{}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(b.Context(), "func busy(n int) int {\n\tlist := make([]int, 8)\n\tfor i := range n {\n\t\tlist[i%8]++\n\t}\n\treturn list[0]\n}\nx := tensor.Ones(128, 128).Eval()"); r.Err != nil {
		b.Fatal(r.Err)
	}
	for name, source := range map[string]string{"go": "busy(1000)", "kernels": "x.Add(1).Softmax(-1).Sum().Item()"} {
		b.Run(name, func(b *testing.B) {
			w, err := (&call{s: s, magic: Lookup("profile")}).compile(source)
			if err != nil {
				b.Fatal(err)
			}
			const runs = 100
			turn := func(ctx context.Context) (took time.Duration) {
				err := w.stmt.Within(ctx, func() error {
					start := time.Now()
					for range runs {
						if _, err := w.stmt.Loop(1); err != nil {
							return err
						}
					}
					took = time.Since(start)
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				return took
			}
			sampled := func(f func()) {
				sampling := s.Sample()
				defer sampling.Stop()
				f()
			}
			recorded := func(f func(ctx context.Context)) { profile.RecordTraced(b.Context(), f) }
			var took [4]time.Duration
			best := [4]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour}
			for b.Loop() {
				took[0] = turn(b.Context())
				sampled(func() { took[1] = turn(b.Context()) })
				recorded(func(ctx context.Context) { took[2] = turn(ctx) })
				sampled(func() { recorded(func(ctx context.Context) { took[3] = turn(ctx) }) })
				for i := range took {
					best[i] = min(best[i], took[i])
				}
			}
			added := func(i int) float64 { return 100 * (float64(best[i])/float64(best[0]) - 1) }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(best[0].Nanoseconds())/runs, "plain-ns")
			b.ReportMetric(added(1), "sampled-%added")
			b.ReportMetric(added(2), "recorded-%added")
			b.ReportMetric(added(3), "%added")
		})
	}
}
