package session

import (
	"strings"
	"testing"
)

// Who takes the time by hand is told once that tensors are lazy, if the time does not have the work in it.
func TestTimesTakenByHand(t *testing.T) {
	const matrices = "x, w := tensor.Randn(256, 256).Eval(), tensor.Randn(256, 256).Eval()\nvar took time.Duration"
	for _, c := range []struct {
		name  string
		cells []string
		want  string // the notice, or nothing
	}{
		{"a graph", []string{"start := time.Now(); y := x.MatMul(w); took = time.Since(start)"}, "before matmul f32[256 256] of In[2]:1 was computed: tensors are lazy"},
		{"a dropped graph", []string{"start := time.Now()\n_ = x.MatMul(w)\n_ = w.MatMul(x)\ntook = time.Since(start)"}, "matmul f32[256 256] of In[2]:2 and 1 more were computed"},
		{"in a function", []string{"func timed() time.Duration { start := time.Now(); _ = x.MatMul(w); return time.Since(start) }", "took = timed()"}, "of In[2]:1 was computed"},
		{"a difference", []string{"start := time.Now()\n_ = x.MatMul(w)\ntook = time.Now().Sub(start)"}, "was computed"},
		{"two moments", []string{"start := time.Now()\n_ = x.MatMul(w)\nend := time.Now()\ntook = end.Sub(start)"}, "was computed"},
		{"deferred", []string{"func() { start := time.Now(); defer func() { took = time.Since(start) }(); _ = x.MatMul(w) }()"}, "was computed"},
		{"begun in another cell", []string{"start := time.Now()", "y := x.MatMul(w); took = time.Since(start)"}, "was computed"},
		{"a memory", []string{"last := time.Now()", "lap := func() { took = time.Since(last); last = time.Now() }", "lap(); _ = x.MatMul(w); lap()"}, "was computed"},

		{"evaluated", []string{"start := time.Now(); y := x.MatMul(w).Eval(); took = time.Since(start)"}, ""},
		{"a value read", []string{"start := time.Now(); s := x.MatMul(w).Sum().Item(); took = time.Since(start); s"}, ""},
		{"lazy before", []string{"y := x.MatMul(w); start := time.Now(); z := w.Add(1).Eval(); took = time.Since(start)"}, ""},
		{"lazy after", []string{"start := time.Now(); z := w.Add(1).Eval(); took = time.Since(start); y := x.MatMul(w)"}, ""},
		{"next to nothing", []string{"start := time.Now(); y := tensor.Ones(3).Add(1); took = time.Since(start)"}, ""},
		{"a step", []string{"p := w.Param()", "start := time.Now()\nfor range 3 {\n\tloss := x.MatMul(p).Square().Mean()\n\tp.Set(p.Sub(tensor.Grad(loss, p)[0]).Eval())\n}\ntook = time.Since(start)"}, ""},
		{"a file's time", []string{"var changed time.Time", "y := x.MatMul(w); took = time.Since(changed)"}, ""},
	} {
		s, said := newSession(t, Options{})
		for _, cell := range append(append([]string{matrices}, c.cells...), "took > 0") {
			if r := s.Run(t.Context(), cell); r.Err != nil {
				t.Fatalf("%s: %s\n%v", c.name, cell, r.Err)
			}
		}
		if got := said.String(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	s, said := newSession(t, Options{})
	for _, cell := range []string{matrices, "start := time.Now(); _ = x.MatMul(w); took = time.Since(start)", "start = time.Now(); _ = x.MatMul(w); took = time.Since(start)"} {
		s.Run(t.Context(), cell)
	}
	if n := strings.Count(said.String(), "the clock was read"); n != 1 {
		t.Errorf("said %d times, want once", n)
	}
}

// A unit that makes more tensors than a stopwatch holds goes on, and is told nothing.
func TestStopwatchGivesUp(t *testing.T) {
	s, said := newSession(t, Options{})
	for _, cell := range []string{"x := tensor.Randn(256, 256).Eval()", "start := time.Now(); for i := range 5000 { _ = x.Add(i) }; took := time.Since(start)", "took > 0"} {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if said.String() != "" {
		t.Errorf("said %q", said.String())
	}
}
