package session

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
)

// A shown value is computed and written while its cell runs, under its guard: every failure is the cell's
// error, at its place, and the session continues.
func TestShowing(t *testing.T) {
	const declared = "func (t T) String() string { "
	for _, c := range []struct{ name, before, cell, want string }{
		{"an index outside", "x := tensor.Randn(3)", "x.Take(tensor.From([]int{99}), 0)", "In[2]:1:3: "},
		{"a class outside", "x := tensor.Randn(2, 3)", "tensor.CrossEntropy(x, tensor.From([]int{0, 7}), tensor.CrossEntropyOptions{})", "In[2]:1:8: "},
		{"too large", "", "tensor.Zeros(1 << 40)", "In[1]:1:8: "},
		{"several values", "x := tensor.Randn(3)", "y := 1\ny, x.Take(tensor.From([]int{99}), 0)", "In[2]:2:6: "},
		{"what defers free is shown before", "x := tensor.Ones(2)", "y := x.Add(x).Eval(); defer y.Free(); y", "[2. 2.]"},
		{"String panics", "type T struct{}; " + declared + `panic("boom") }`, "T{}", "<String panics: boom> T"},
		{"String recurses", "type T struct{}; " + declared + "return fmt.Sprint(t) }", "T{}", "stack limit reached"},
		{"Error recurses", "type T struct{}; func (t T) Error() string { return fmt.Sprint(t) }", "error(T{})", "stack limit reached"},
		{"String allocates", "type T struct{}; " + declared + `s := "x"; xs := [][]byte{}; for { xs = append(xs, make([]byte, 64<<20)) }; return s }`, "T{}",
			"memory limit reached"},
		{"String exits", "type T struct{}; " + declared + `runtime.Goexit(); return "" }`, "T{}", "runtime.Goexit was called"},
		{"String in a slice", "type T struct{}; " + declared + `panic("boom") }`, "[]T{{}}", "[<String panics: boom>] []T"},
		{"Error panics", "type T struct{}; func (t T) Error() string { panic(`boom`) }", "error(T{})", "panic: boom"},
		{"panic with what panics", "type T struct{}; func (t T) Error() string { panic(`boom`) }", "panic(T{})", "panic: "},
		{"panic with what recurses", "type T struct{}; func (t T) Error() string { return fmt.Sprint(t) }", "panic(T{})", "panic: "},
		{"a goroutine panics with what panics", "type T struct{}; func (t T) Error() string { panic(`boom`) }",
			"go func() { panic(T{}) }(); time.Sleep(100 * time.Millisecond); 1", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, out := newSession(t, Options{limits: supervise.Limits{Memory: 1 << 30}})
			transcript(s, out, "kept := 41")
			s.past.n = 0
			if c.before != "" {
				run(t, s, c.before)
			}
			if got := transcript(s, out, c.cell); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := run(t, s, "kept + 1"); got != "42" {
				t.Errorf("afterwards kept + 1 is %s", got)
			}
		})
	}
}

// A value that does not end while it is shown is interrupted like any cell.
func TestShowingIsInterrupted(t *testing.T) {
	for _, body := range []string{"for {}", "select {}", "<-make(chan int)", "time.Sleep(time.Hour)", "return fmt.Sprint(T{}, T{n: 1})"} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			begun := make(signal, 1)
			s, err := New(Options{Stdout: begun})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			run(t, s, "type T struct{ n int }\nfunc (t T) String() string { if t.n == 0 { fmt.Print(1); select {} }; "+body+"; return ``}\nx := 41")
			for _, cell := range []string{"T{n: 1}", "T{}", "[]any{1, T{}}", "panic(T{})"} {
				ctx, cancel := context.WithCancel(t.Context())
				go cancelRunning(s, ctx, cancel, 50*time.Millisecond)
				start := time.Now()
				r := s.Run(ctx, cell)
				cancel()
				if r.Err == nil || len(r.Shown) > 0 {
					t.Errorf("%s: got %v, %v, want an interruption", cell, r.Shown, r.Err)
				}
				if got := run(t, s, "x + 1"); got != "42" {
					t.Errorf("%s: afterwards x + 1 is %s", cell, got)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("%s: it took %v until the next cell had run", cell, took)
				}
			}
		})
	}
}

// TestDrawingsOfACellThatShowsNothing: what a cell showed is not taken for granted because it has an Out[n].
func TestDrawingsOfACellThatShowsNothing(t *testing.T) {
	s, _ := newSession(t, Options{})
	s.drawings.begin()
	r := &Result{Out: true}
	if s.showDrawings(r); len(r.Shown) != 0 {
		t.Errorf("it shows %v", r.Shown)
	}
}

// A front end that shows values by itself gets them before later code of the cell prints.
func TestShowsInOrder(t *testing.T) {
	var log strings.Builder
	s, err := New(Options{Stdout: &log, Show: func(v display.Value) { log.WriteString("[" + v.Text(0) + "]") }, Commands: echoes{},
		Render: func(v display.Value, _ int) display.Value { return display.Bundled(v, 80) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Run(t.Context(), "fmt.Print(1)\n%two\nfmt.Print(3)\n4")
	if r.Err != nil || log.String() != "1[%two]3" || len(r.Shown) != 1 || r.Shown[0].Text(0) != "4" {
		t.Errorf("got %q, %v, %v", log.String(), r.Shown, r.Err)
	}
}

// echoes are commands that show their line.
type echoes struct{}

func (echoes) Run(_ context.Context, _ *Session, line string) (display.Value, error) {
	return display.Text(line), nil
}

// The last states of drawings are among what a cell shows, and known as such.
func TestDrawn(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "type pen struct{}\nfunc (pen) Snapshot() any { return tensor.From(float32(7)) }")
	r := s.Run(t.Context(), "progress.Draw(ctx, pen{})\n8")
	if r.Err != nil || len(r.Shown) != 2 || !slices.Equal(r.Drawn, []int{0}) {
		t.Errorf("got %v, drawn %v, %v", r.Shown, r.Drawn, r.Err)
	}
}
