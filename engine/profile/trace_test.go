package profile_test

import (
	"context"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A trace has each launch: what it does, what it reads from which other one, and where it comes from, also of
// a compiled function, whose graph is gone when it runs.
func TestTrace(t *testing.T) {
	x := tensor.Ones(4, 5).Eval()
	f := tensor.Compile(func(args ...tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{args[0].Exp().Softmax(-1).Sum()} })
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"lazy", func() { x.Exp().Softmax(-1).Sum().Eval() }},
		{"compiled", func() { f(x) }},
	} {
		ctx := profile.WithPlaces(context.Background(), func(op string) string { return "here" })
		r := profile.RecordTraced(ctx, func(context.Context) { c.run() })
		if len(r.Trace.Launches) != r.Launches || r.Launches < 2 || len(r.Trace.Evals) != 1 {
			t.Fatalf("%s: got %d launches of %d in %d evaluations, want all of them in one", c.name, len(r.Trace.Launches), r.Launches, len(r.Trace.Evals))
		}
		first, last := r.Trace.Launches[0], r.Trace.Launches[r.Launches-1]
		if first.Reads[0].Launch != -1 || last.Reads[0].Launch != r.Launches-2 || !last.Writes[0].Result {
			t.Errorf("%s: got %+v and %+v, want the first to read what was there, and the last what the one before it made", c.name, first, last)
		}
		if got := profile.Origins(&first, &last); !slices.Contains(got, "here exp, softmax, sum") && !slices.Contains(got, "here exp, softmax") {
			t.Errorf("%s: got %q", c.name, got)
		}
		e := r.Trace.Evals[0]
		if e.Start > e.Planned || e.Planned > e.End || first.Start+first.Time > last.Start || last.Start+last.Time > e.End {
			t.Errorf("%s: got times out of their order: %+v, %+v, %+v", c.name, e, first, last)
		}
	}
}
