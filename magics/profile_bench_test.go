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
// What the profile adds beyond both is to compute what a run has left, as for each time that is shown.
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
			// mean is how long a run took, but for the first ones: these find the caches as another side has
			// left them.
			mean := func(p *profiled) (took time.Duration) {
				runs := p.parts[p.runs/6:]
				for _, each := range runs {
					took += each.took
				}
				return took / time.Duration(len(runs))
			}
			turn := func(ctx context.Context, runs int) time.Duration {
				p := &profiled{}
				err := w.stmt.Within(ctx, func() error {
					for range runs {
						at := time.Now()
						if _, err := w.stmt.Loop(1); err != nil {
							return err
						}
						p.parts = append(p.parts, part{took: time.Since(at)})
						p.runs++
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				return mean(p)
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
				if err := p.watch(b.Context(), s, w, every, false, func(time.Duration) bool { return p.runs < runs }); err != nil {
					b.Fatal(err)
				}
				return p
			}
			// Most turns of this length fit between two interruptions, and no sample falls into one of them.
			const short, long = 18, 360
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
				turns.Compare(b, plain(long), turns.Side{Name: "again", Run: plain(long)}, turns.Side{Name: "sampled", Run: sampled},
					turns.Side{Name: "recorded", Run: recorded(long)}, turns.Side{Name: "profiled", Run: func() time.Duration { return mean(watched(long)) }})
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
