package magics

import (
	"context"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/internal/testing/turns"
	"github.com/mcs-notebook/mcs/repl/session"
)

// BenchmarkProfiled is what being profiled adds to a statement, in percent: to Go of a cell alone, and to
// small kernels, of one line and of two lines of a function. Sampling and recording stand by themselves;
// "shown" is what the runs have more that %profile shows, with what computes all that a run has left, and
// "profiled" what all runs have more that %profile makes.
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
			w, err := (&call{s: s, magic: Lookup("profile")}).ready(parsed(source))
			if err != nil {
				b.Fatal(err)
			}
			// usual is how long a run took, but for the first ones: these find the caches as another side has
			// left them. A mean would be that of a few runs that the machine or the collector held up.
			usual := func(runs []time.Duration) time.Duration { return median(runs[len(runs)/6:]) }
			turn := func(ctx context.Context, runs int) time.Duration {
				var list []time.Duration
				err := w.stmt.Within(ctx, func() error {
					for range runs {
						at := time.Now()
						if _, err := w.stmt.Loop(1); err != nil {
							return err
						}
						list = append(list, time.Since(at))
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				return usual(list)
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
			every := sampleEvery(0, time.Second)
			watched := func(runs int) *profiled { // as %profile does
				p := &profiled{}
				if err := p.watch(b.Context(), s, w, watching{every: every, short: 50 * time.Microsecond}, func(time.Duration) bool { return p.runs+len(p.bare) < runs }); err != nil {
					b.Fatal(err)
				}
				return p
			}
			// Most turns of this length fit between two interruptions, and no sample falls into one of them.
			const short, long = 18, 384
			b.Run("recording", func(b *testing.B) {
				turns.Compare(b, plain(short), turns.Side{Name: "again", Run: plain(short)}, turns.Side{Name: "recorded", Run: recorded(short)})
			})
			b.Run("whole", func(b *testing.B) {
				trial := watched(long).record
				until := untilLook(every, trial.Wall, evaluating(trial))
				sampled := func() time.Duration {
					sampling := s.Sample(func() time.Duration { return until })
					defer sampling.Stop()
					return turn(b.Context(), long)
				}
				shown := func() time.Duration { return usual(watched(long).times()) }
				all := func() time.Duration {
					p := watched(long)
					took := usual(p.times())
					if len(p.bare) > 0 { // as many
						took = (took + usual(p.bare)) / 2
					}
					return took
				}
				turns.Compare(b, plain(long), turns.Side{Name: "again", Run: plain(long)}, turns.Side{Name: "sampled", Run: sampled},
					turns.Side{Name: "recorded", Run: recorded(long)}, turns.Side{Name: "shown", Run: shown}, turns.Side{Name: "profiled", Run: all})
			})
		})
	}
}

// evaluating is how long the evaluations of a recording have taken.
func evaluating(r *profile.Recording) (all time.Duration) {
	for _, e := range r.Trace.Evals {
		all += e.End - e.Start
	}
	return all
}
