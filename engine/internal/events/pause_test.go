package events

import "testing"

// What is done while a record that traces is paused is told to those around it alone, and is neither counted
// nor taken for the work of others.
func TestPause(t *testing.T) {
	outside, around := Open(t.Context(), 0)
	defer around.Close()
	traced, trace := Open(outside, Times|Trace)
	defer trace.Close()
	inside, ledger := Open(traced, Nodes)
	defer ledger.Close()
	w := &Work{Launches: []Launch{{}, {}}}
	before := Total()
	run := func() { Of(inside).Ran(&Run{Work: w, Reused: true}) }
	run()
	resume := Pause(inside)
	if rs := Of(inside); rs.Timed() || rs.Tracing() {
		t.Error("while the record is paused somebody wants times")
	}
	run()
	Of(inside).Copied(4)
	opened.all.Load().Ran(&Run{Work: w, Reused: true}) // of a goroutine without a scope
	resume()
	run()
	count := func(r *Record) (n int) {
		for _, runs := range r.Counts().Runs {
			n += runs.Count
		}
		return n
	}
	if a, b, c := count(around), count(trace), count(ledger); a != 4 || b != 2 || c != 2 {
		t.Errorf("the record around has %d runs, the paused ones %d and %d, want 4, 2 and 2", a, b, c)
	}
	counts := trace.Counts()
	if all := int(Total() - before); counts.Apart != 4 || all-counts.Apart != 4 || counts.Copies != 0 || counts.ApartTook <= 0 {
		t.Errorf("of %d launches got %d apart in %v and %d copies, want 4 of 8, some time and no copy", all, counts.Apart, counts.ApartTook, counts.Copies)
	}
	if n, _ := Evaluating(traced); n != 2 || len(trace.Traced().Runs) != 2 {
		t.Errorf("got %d evaluations and %d traced runs, want 2", n, len(trace.Traced().Runs))
	}
	Pause(outside)() // nothing there traces
	if run(); count(around) != 5 {
		t.Error("a record that does not trace was paused")
	}
}
