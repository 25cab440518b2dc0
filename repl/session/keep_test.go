package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A call that fails leaves the variables that should have got its results as they were. Of each row the
// second cell fails.
func TestFailedCallsKeepWhatWas(t *testing.T) {
	for _, c := range []struct{ name, before, cell, ask, want string }{
		{"a variable", "n := 7", `n := strconv.Atoi("x")`, "n", "7"},
		{"an assignment", "n := 7", `n = strconv.Atoi("x")`, "n", "7"},
		{"a var declaration", "n := 7", `var n = strconv.Atoi("x")`, "n", "7"},
		{"another type", `n := "seven"`, `n := strconv.Atoi("x")`, "n", `"seven"`},
		{"another type, used by a closure", `n := "seven"; f := func() string { return n }`, `n := strconv.Atoi("x")`, "f(), n", `"seven", "seven"`},
		{"a value beside the error", "n := int64(7)", `n := strconv.ParseInt("99999999999999999999", 10, 64)`, "n", "7 int64"},
		{"a map's element", `m := map[string]int{"a": 7}`, `m["a"] = strconv.Atoi("x")`, "m", `map[string]int{"a": 7}`},
		{"a field", `p := struct{ n int }{7}`, `p.n = strconv.Atoi("x")`, "p.n", "7"},
		{"two values", "a, b := 1, 2; two := func() (int, int, error) { return 3, 4, io.EOF }", "a, b := two()", "a, b", "1, 2"},
		{"a file", `txt := "kept"`, `txt := data.ReadText("nofile")`, "txt", `"kept"`},
		{"what came before is assigned", "n := 7; b := 1", "b = 2; c := 3\n" + `n := strconv.Atoi("x")`, "n, b, c", "7, 2, 3"},
		{"what comes after is not", "d := 5", `n := strconv.Atoi("x")` + "\nd := `text`", "d", "5"},
		{"a panic", `n := "seven"; var m map[string]int; f := func() int { m["a"] = 1; return 2 }`, "n := f()", "n", `"seven"`},
		{"a name that was new", "", `n := strconv.Atoi("x")`, "n", "In[3]:1:1: undefined: n"},
		{"a call that was interrupted", "h := 1; f := func() (int, error) { return 2, fmt.Errorf(`stopped: %w`, context.Canceled) }", "h := f()", "h", "2"},
		{"a call that was interrupted and has nothing", "h := 1; f := func() (int, error) { return 0, context.Canceled }", "h := f()", "h", "1"},
		{"an error that is taken", "n := 7", "n, err := strconv.Atoi(`x`); if err != nil { panic(err) }", "n", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, out := newSession(t, Options{})
			if r := s.Run(t.Context(), c.before); r.Err != nil {
				t.Fatal(r.Err)
			}
			var refused *CheckError
			if r := s.Run(t.Context(), c.cell); r.Err == nil || errors.As(r.Err, &refused) {
				t.Fatalf("%s: got %v, want an error that it returns", c.cell, r.Err)
			}
			if got, _, _ := strings.Cut(transcript(s, out, c.ask), "\n"); got != c.want {
				t.Errorf("%s is %s, want %s", c.ask, got, c.want)
			}
		})
	}
}

// A cell that is interrupted leaves what it has assigned, zeros too, and what the other names meant before.
func TestInterruptedCellsKeepWhatWas(t *testing.T) {
	const before = `n := "seven"; spin := func() int { close(begun); for { } }; zero := func() int { return 0 }`
	for _, c := range []struct{ name, cell, ask, want string }{
		{"a declaration with another type", "n := spin()", "n", `"seven"`},
		{"a declaration with the same type", "n := fmt.Sprint(spin())", "n", `"seven"`},
		{"a name that was new", "m := spin()", "m", "In[4]:1:1: undefined: m"},
		{"a zero that was assigned", "n := zero(); spin()", "n", "0"},
		{"a zero that was assigned before a loop", "n := zero(); close(begun); for { }", "n", "0"},
		{"a zero that was assigned, and what follows", "a, n := zero(), zero(); b := spin()", "a, n", "0, 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, out := newSession(t, Options{})
			run(t, s, "begun := make(chan bool)")
			run(t, s, before)
			at := slices.IndexFunc(s.Vars(), func(v Var) bool { return v.Name == "begun" })
			begun := s.Vars()[at].Value.(chan bool)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-begun
				cancel()
			}()
			if r := s.Run(ctx, c.cell); !errors.Is(r.Err, ErrInterrupted) {
				t.Fatalf("%s: got %v, want an interruption", c.cell, r.Err)
			}
			if got, _, _ := strings.Cut(transcript(s, out, c.ask), "\n"); got != c.want {
				t.Errorf("%s is %s, want %s", c.ask, got, c.want)
			}
		})
	}
}

// A training that stops early leaves the steps that it has made, for any reason to stop. A training that
// was interrupted with its cell reports only that.
func TestStoppedTrainingsAreAssigned(t *testing.T) {
	const model = `m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 24, Seed: 1})
text := strings.Repeat("func add(a, b int) int { return a + b }\n", 20)
type failing struct { data.Source; at int; fail func() error }
func (f failing) Batch(n int) (data.Batch, error) {
	if n == f.at {
		if err := f.fail(); err != nil { return data.Batch{}, err }
	}
	return f.Source.Batch(n)
}
windows := data.Windows(text, 16, 2); h := 7`
	const cell = `h := train.Run(ctx, m, %s, train.Options{Steps: 100_000, LR: optim.Constant(1e-3), Seed: 7%s})`
	for _, c := range []struct{ name, data, options, want string }{
		{"an interruption", "windows", "", "interrupted"},
		{"an interruption, into checkpoints", "windows", ", Checkpoint: dir, CheckpointEvery: 1, Resume: true", "interrupted"},
		{"an interruption that cannot be saved", "failing{windows, 3, func() error { os.RemoveAll(dir); return os.WriteFile(dir, nil, 0o666) }}",
			", Checkpoint: dir, CheckpointEvery: 1000", "not a directory; paused at step "},
		{"a pause", "failing{windows, 3, func() error { return io.ErrNoProgress }}", "", "In[4]:1:12: multiple Read calls return no data or error; paused at step 3 of 100000"},
		{"a number that is not finite", "failing{windows, 3, func() error { nn.Params(m)[0].Value().Set(nn.Params(m)[0].Value().Mul(math.NaN())); return nil }}", "",
			"In[4]:1:12: train: step 4: the loss is NaN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(c.data, "os.RemoveAll(dir)") {
				t.Skip("a folder with an open file cannot be removed there")
			}
			ctx, cancel := context.WithCancel(t.Context())
			s, out := newSession(t, Options{Progress: func(_ string, done, _ int64, _ string, _ time.Duration) {
				if done > 3 {
					cancel()
				}
			}})
			for _, cell := range []string{model, fmt.Sprintf("dir := %q", filepath.Join(t.TempDir(), "run")), `os.MkdirAll(filepath.Dir(dir), 0o777)`} {
				run(t, s, cell)
			}
			if r := s.Run(ctx, fmt.Sprintf(cell, c.data, c.options)); r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
				t.Errorf("got %v, want %s", r.Err, c.want)
			}
			if got := strings.TrimSpace(transcript(s, out, "h.Steps() > 2")); got != "true" {
				t.Errorf("h.Steps() > 2 is %s, want true", got)
			}
		})
	}
}

// Complaints about a completed assignment are about the typed text.
func TestCompletedAssignmentsComplain(t *testing.T) {
	s, out := newSession(t, Options{})
	run(t, s, `s := "text"`)
	const want = "In[2]:1:5: cannot use strconv.Atoi(\"1\") (value of type int) as string value in assignment; write s := strconv.Atoi(\"1\")"
	if got, _, _ := strings.Cut(transcript(s, out, `s = strconv.Atoi("1")`), "\n"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
