package magics

import (
	"context"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// What being profiled adds to a statement: Go of a cell alone, and small kernels. The two take turns, so that
// what slows down the machine slows down both; "added" is the median of what the rounds say, in percent.
func BenchmarkProfiled(b *testing.B) {
	s, err := session.New(session.Options{Commands: Table{}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(b.Context(), "func busy(n int) int {\n\tlist := make([]int, 8)\n\tfor i := range n {\n\t\tlist[i%8]++\n\t}\n\treturn list[0]\n}\nx := tensor.Ones(128, 128).Eval()"); r.Err != nil {
		b.Fatal(r.Err)
	}
	for name, source := range map[string]string{"go": "busy(100000)", "kernels": "x.Add(1).Softmax(-1).Sum().Item()"} {
		b.Run(name, func(b *testing.B) {
			w, err := (&call{s: s, magic: Lookup("profile")}).compile(source)
			if err != nil {
				b.Fatal(err)
			}
			const each = 20 * time.Millisecond
			round := func(ctx context.Context) float64 { // seconds a run
				runs, took := 0, time.Duration(0)
				for start := time.Now(); time.Since(start) < each; runs++ {
					if _, err := w.once(ctx, func(run func() error) error {
						at := time.Now()
						err := run()
						took += time.Since(at)
						return err
					}); err != nil {
						b.Fatal(err)
					}
				}
				return took.Seconds() / float64(runs)
			}
			var added []time.Duration // as parts in 1e9, for their median
			round(b.Context())
			for b.Loop() {
				plain := round(b.Context())
				sampling := s.Sample()
				profiled := 0.0
				profile.RecordTraced(b.Context(), func(ctx context.Context) { profiled = round(ctx) })
				sampling.Stop()
				added = append(added, time.Duration(1e9*(profiled/plain-1)))
			}
			b.ReportMetric(100*middle(added).Seconds(), "%added")
		})
	}
}

func middle(list []time.Duration) time.Duration {
	p := profiled{runs: list}
	return p.median()
}
