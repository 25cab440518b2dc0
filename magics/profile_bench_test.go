package magics

import (
	"context"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/internal/turns"
	"github.com/mcs-notebook/mcs/repl/session"
)

// BenchmarkProfiled is what being profiled adds to a statement, in percent: to Go of a cell alone, and to
// small kernels, of one line and of two lines of a function; and what sampling and recording add, each alone.
func BenchmarkProfiled(b *testing.B) {
	s, err := session.New(session.Options{Commands: Table{}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(b.Context(), "func busy(n int) int {\n\tlist := make([]int, 8)\n\tfor i := range n {\n\t\tlist[i%8]++\n\t}\n\treturn list[0]\n}\nx := tensor.Ones(128, 128).Eval()\nfunc step() float64 {\n\ty := x.Add(1).Eval()\n\treturn y.Sum().Item()\n}"); r.Err != nil {
		b.Fatal(r.Err)
	}
	for name, source := range map[string]string{"go": "busy(1000)", "kernels": "x.Add(1).Softmax(-1).Sum().Item()", "lines": "step()"} {
		b.Run(name, func(b *testing.B) {
			w, err := (&call{s: s, magic: Lookup("profile")}).compile(source)
			if err != nil {
				b.Fatal(err)
			}
			turn := func(ctx context.Context, runs int) (took time.Duration) {
				warm := runs / 5 // these runs find the caches as another side has left them
				err := w.stmt.Within(ctx, func() error {
					var start time.Time
					for i := range warm + runs {
						if i == warm {
							start = time.Now()
						}
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
				return took / time.Duration(runs)
			}
			plain := func(runs int) func() time.Duration {
				return func() time.Duration { return turn(b.Context(), runs) }
			}
			recorded := func(runs int) func() time.Duration {
				return func() (took time.Duration) {
					profile.RecordTraced(b.Context(), func(ctx context.Context) { took = turn(ctx, runs) })
					return took
				}
			}
			sampled := func(f func() time.Duration) func() time.Duration {
				return func() time.Duration {
					sampling := s.Sample(sampleEvery(0, time.Second)) // as %profile does
					defer sampling.Stop()
					return f()
				}
			}
			// Most turns of this length fit between two interruptions, and no sample falls into one of them.
			const short, long = 15, 300
			b.Run("recording", func(b *testing.B) {
				turns.Compare(b, plain(short), turns.Side{Name: "again", Run: plain(short)}, turns.Side{Name: "recorded", Run: recorded(short)})
			})
			b.Run("whole", func(b *testing.B) {
				turns.Compare(b, plain(long), turns.Side{Name: "again", Run: plain(long)},
					turns.Side{Name: "sampled", Run: sampled(plain(long))}, turns.Side{Name: "profiled", Run: sampled(recorded(long))})
			})
		})
	}
}
