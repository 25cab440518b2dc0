package magics

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/repl/session"
)

const ms = time.Millisecond

// recorded is a statement that ran twice, 45 ms in all. Two evaluations were asked for by In[1]:2, which
// In[2]:1 has called; the second one's samples came late, and its kernel is three launches.
func recorded() *profiled {
	asked := []string{"In[2]:1", "In[1]:2"}
	p := &profiled{runs: 2, parts: []part{{1 * ms, 19 * ms}, {21 * ms, 26 * ms}}, record: &profile.Recording{Wall: 51 * ms, Kernels: []profile.Kernel{{Name: "matmul"}}, Trace: &profile.Trace{
		Evals: []profile.Eval{
			{Launches: 1, Start: 11 * ms, Planned: 12 * ms, End: 16 * ms, Busy: 4 * ms, Stack: asked},
			{Launches: 3, Start: 21 * ms, Planned: 21 * ms, End: 41 * ms, Busy: 20 * ms, Stack: asked, Reused: true},
		},
		Launches: []profile.Launch{{Kernel: "matmul", Eval: 0, Start: 12 * ms, Time: 4 * ms}, {Kernel: "matmul", Eval: 1, Start: 21 * ms, Time: 20 * ms}},
		Copies:   []profile.Copy{{Start: 46 * ms, Time: 1 * ms, Bytes: 4}},
	}}}
	for _, s := range []struct {
		at    int
		lines string
	}{{2, "In[2]:1 In[1]:1"}, {6, "In[2]:1 In[1]:1"}, {18, "In[2]:1 In[1]:2"}, {46, "In[2]:2"}} {
		p.samples = append(p.samples, session.Sample{At: time.Duration(s.at) * ms, Lines: strings.Fields(s.lines), Memory: 8})
	}
	p.span()
	return p
}

// What is repeated for a second is looked at 250 times, what is short or of unknown length each millisecond.
func TestSampleEvery(t *testing.T) {
	for _, c := range []struct {
		n            int
		budget, want time.Duration
	}{
		{0, time.Second, 4 * time.Millisecond},
		{0, time.Minute, 4 * time.Millisecond},
		{0, 500 * time.Millisecond, 2 * time.Millisecond},
		{0, 10 * time.Millisecond, time.Millisecond},
		{1, time.Second, time.Millisecond},
		{100, time.Second, time.Millisecond},
	} {
		if got := sampleEvery(c.n, c.budget); got != c.want {
			t.Errorf("-n %d -t %v: got %v, want %v", c.n, c.budget, got, c.want)
		}
	}
}

// Where evaluations take most of the time there are fewer looks, down to a fifth.
func TestUntilLook(t *testing.T) {
	for _, c := range []struct{ passed, evaluating, want time.Duration }{
		{0, 0, 4 * ms},
		{10 * ms, 0, 4 * ms},
		{10 * ms, 5 * ms, 8 * ms},
		{10 * ms, 10 * ms, 20 * ms},
		{10 * ms, 19 * ms, 20 * ms}, // goroutines that evaluate at the same time
	} {
		if got := untilLook(4*ms, c.passed, c.evaluating); got != c.want {
			t.Errorf("%v of %v: got %v, want %v", c.evaluating, c.passed, got, c.want)
		}
	}
}

// All time of the runs counts once: that of evaluations to the line that asked for them, what is left to the
// nearest sample.
func TestSpans(t *testing.T) {
	took := map[string]time.Duration{}
	for _, s := range recorded().spans {
		took[strings.Join(s.stack(), " ")] += s.took
	}
	want := map[string]time.Duration{
		"In[2]:1 In[1]:2 kernels matmul": 24 * ms,
		"In[2]:1 In[1]:2 engine":         1 * ms,
		"In[2]:1 In[1]:1 Go":             10 * ms,
		"In[2]:1 In[1]:2 Go":             4 * ms,
		"In[2]:2 Go":                     6 * ms,
	}
	var all time.Duration
	for stack, d := range want {
		all += d
		if took[stack] != d {
			t.Errorf("%s: got %v, want %v", stack, took[stack], d)
		}
	}
	if len(took) != len(want) || all != 45*ms {
		t.Errorf("got %v", took)
	}
}

func TestProfileFiles(t *testing.T) {
	p := recorded()
	text, err := p.file("x.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []traceEvent
	}
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	has := func(want traceEvent) bool {
		return slices.ContainsFunc(trace.TraceEvents, func(e traceEvent) bool {
			return e.Name == want.Name && e.Phase == want.Phase && e.Time == want.Time && e.Took == want.Took && e.TID == want.TID
		})
	}
	for _, want := range []traceEvent{
		{Name: "matmul", Phase: "X", Time: 12000, Took: 4000, TID: trackDevice},
		{Name: "In[1]:1", Phase: "X", Time: 2000, Took: 4000, TID: trackLines},
		{Name: "run 2", Phase: "X", Time: 21000, Took: 26000, TID: trackRuns},
		{Name: "evaluation 1", Phase: "X", Time: 11000, Took: 5000, TID: trackEvals},
		{Name: "plan and compile", Phase: "X", Time: 11000, Took: 1000, TID: trackEvals},
		{Name: "copy", Phase: "X", Time: 46000, Took: 1000, TID: trackCopies},
		{Name: "memory of tensors", Phase: "C", Time: 46000},
	} {
		if !has(want) {
			t.Errorf("no event %+v in\n%s", want, text)
		}
	}
	svg, err := p.file("x.svg", nil)
	if err != nil || !strings.Contains(string(svg), "<title>In[1]:2 29.0 ms (64.4 %)</title>") || !strings.Contains(string(svg), "<title>matmul 24.0 ms (53.3 %)</title>") {
		t.Errorf("got %v\n%s", err, svg)
	}
}

func TestProfileSummary(t *testing.T) {
	p := recorded()
	if got, want := p.summary(), "2 runs, median 22.5 ms (IQR 19.0 ms – 26.0 ms) · 4 samples"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Runs with short evaluations take turns with runs that are not recorded: these belong to nothing that is
// shown but their own median. What leaves work undone is recorded each time.
func TestProfileTakesTurns(t *testing.T) {
	s, err := session.New(session.Options{Commands: Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), "x, ran := tensor.Ones(8).Eval(), map[int]int{}\nkept := map[int]tensor.Tensor{}\ncount := func() { ran[0]++ }"); r.Err != nil {
		t.Fatal(r.Err)
	}
	ran := func() int {
		vars := s.Vars()
		return vars[slices.IndexFunc(vars, func(v session.Var) bool { return v.Name == "ran" })].Value.(map[int]int)[0]
	}
	for _, c := range []struct {
		name, source   string
		short          time.Duration
		launches, bare int // of 3 turns
	}{
		{"short evaluations", "count(); x.Add(1).Eval(); x.Sum().Item()", time.Hour, 2 * 3 * turn, 3 * turn},
		{"long evaluations", "count(); x.Add(1).Eval(); x.Sum().Item()", 1, 2 * 3 * turn, 0},
		{"work that is left", "count(); x.Mul(2).Eval(); kept[0] = x.Sin()", time.Hour, 2 * 3 * turn, 0},
		{"no evaluation", "count()", time.Hour, 0, 0},
	} {
		before := ran()
		w, err := (&call{s: s, magic: Lookup("profile")}).ready(parsed(c.source))
		if err != nil {
			t.Fatal(err)
		}
		p := &profiled{}
		if err := p.watch(t.Context(), s, w, watching{every: time.Hour, short: c.short}, func(time.Duration) bool { return p.runs < 3*turn }); err != nil {
			t.Fatal(err)
		}
		if n := len(p.bare); p.runs != 3*turn || n != c.bare || p.record.Launches != c.launches || len(p.record.Trace.Evals) != c.launches || p.record.Others != 0 {
			t.Errorf("%s: got %d runs and %d bare ones, %d launches, %d evaluations, and %d launches of others, want %d, %d, %d, %[5]d and 0",
				c.name, p.runs, n, p.record.Launches, len(p.record.Trace.Evals), p.record.Others, 3*turn, c.bare, c.launches)
		}
		if n := ran() - before; n != p.runs+len(p.bare) {
			t.Errorf("%s: it ran %d times, want %d", c.name, n, p.runs+len(p.bare))
		}
		if said := strings.Contains(p.summary(), "that were not recorded, median"); said != (c.bare > 0) {
			t.Errorf("%s: %s", c.name, p.summary())
		}
	}
}
