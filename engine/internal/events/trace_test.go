package events

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
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
		r.within.Ran(&Run{Work: w, Began: began[i], Times: times, Reused: true})
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
			r.within.Ran(&Run{Work: w, Times: times, Reused: true})
		}
	}); n > 100 {
		t.Errorf("1000 runs make %.0f objects, want at most 100", n)
	}
}

// Runs of several plans from several places, with and without origins and times, read as they were told.
func TestTracedPlaces(t *testing.T) {
	_, r := Open(t.Context(), Trace)
	defer r.Close()
	works := []*Work{{Launches: []Launch{{}}}, {Launches: []Launch{{}, {}}}, {Launches: make([]Launch, 3*leastBlock)}}
	stacks := []string{"", "In[1]:1", "In[1]:1\nIn[1]:2"}
	origins := [][][]ir.Origin{{{{Place: "a"}}}, nil, {{{Place: "b"}}, nil}}
	var want []Run
	for i := range 300 {
		w := works[i%len(works)]
		if i > 100 {
			w = works[i%2] // another order
		}
		run := Run{Work: w, Stack: stacks[i%len(stacks)], Origins: origins[i/7%len(origins)], Reused: i%2 == 0,
			Began: time.Duration(i), Planned: time.Duration(2 * i), Ended: time.Duration(3 * i)}
		if i%5 != 0 {
			run.Times = make([]time.Duration, len(w.Launches))
			run.Times[len(run.Times)-1] = time.Duration(i)
		}
		want = append(want, run)
		r.within.Ran(&run)
		if i%10 == 0 {
			r.within.Copying(int64(i)).Done()
		}
	}
	got := r.Traced()
	if got.Dropped != 0 || len(got.Copies) != 30 || got.Copies[29].Bytes != 290 {
		t.Fatalf("dropped %d, copied %v", got.Dropped, got.Copies)
	}
	for i := range want {
		if !reflect.DeepEqual(got.Runs[i], want[i]) {
			t.Fatalf("run %d: got %v, want %v", i, got.Runs[i], want[i])
		}
	}
	counts := map[*Work]int{}
	for _, runs := range r.Counts().Runs {
		counts[runs.Work] += runs.Count
	}
	if sum := counts[works[0]] + counts[works[1]] + counts[works[2]]; sum != 300 || counts[works[2]] != 33 {
		t.Errorf("counted %v", counts)
	}
}

// A copy that was too short to be timed stands after what was traced before it, and took no time.
func TestCopiedAfter(t *testing.T) {
	_, r := Open(t.Context(), Trace)
	defer r.Close()
	opened := r.tape.ended
	r.within.Copied(4)
	r.within.Ran(&Run{Work: &Work{}, Began: opened, Ended: opened + 5})
	r.within.Copied(8)
	r.copied(16, opened+10, 3)
	r.within.Copied(32)
	want := []Copy{{opened, 0, 4}, {opened + 5, 0, 8}, {opened + 10, 3, 16}, {opened + 13, 0, 32}}
	if got := r.Traced().Copies; opened == 0 || !slices.Equal(got, want) {
		t.Errorf("opened at %v: got %v, want %v", opened, got, want)
	}
}
