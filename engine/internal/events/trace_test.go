package events

import (
	"slices"
	"testing"
	"time"
)

// What a record traces is there in its order, whatever the planner does with its list of times afterwards.
func TestTraced(t *testing.T) {
	_, r := Open(t.Context(), Times|Trace)
	defer r.Close()
	w := &Work{Launches: []Launch{{}, {}, {}}}
	times := make([]time.Duration, 3)
	var began []time.Duration
	for i := range 5000 {
		for k := range times {
			times[k] = time.Duration(10*i + k)
		}
		began = append(began, Now())
		r.within.Traced(Run{Work: w, Began: began[i], Times: times, Reused: true})
	}
	got := r.Traced()
	if len(got.Runs) != 5000 || got.Dropped != 0 || !slices.IsSorted(began) {
		t.Fatalf("got %d runs, dropped %d, want 5000 and 0", len(got.Runs), got.Dropped)
	}
	for i, run := range got.Runs {
		if want := time.Duration(10 * i); run.Began != began[i] || !slices.Equal(run.Times, []time.Duration{want, want + 1, want + 2}) {
			t.Fatalf("run %d began at %v and took %v, want %v and %v", i, run.Began, run.Times, began[i], want)
		}
	}
}

// A run that is traced makes no objects of its own.
func TestTracedMakesFewObjects(t *testing.T) {
	_, r := Open(t.Context(), Times|Trace)
	defer r.Close()
	w, times := &Work{Launches: []Launch{{}, {}}}, make([]time.Duration, 2)
	if n := testing.AllocsPerRun(5, func() {
		for range 1000 {
			r.within.Ran(w, times, true)
			r.within.Traced(Run{Work: w, Times: times, Reused: true})
		}
	}); n > 100 {
		t.Errorf("1000 runs make %.0f objects, want at most 100", n)
	}
}
