package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/stdlib"
)

// run runs cells that must not fail, and returns the transcript of the last.
func run(t *testing.T, s *Session, cells ...string) string {
	t.Helper()
	var text string
	for _, c := range cells {
		r := s.Run(t.Context(), c)
		if r.Err != nil {
			t.Fatalf("%s: %v", c, r.Err)
		}
		text = ""
		for _, v := range r.Shown {
			text += v.Text(80)
		}
	}
	return text
}

func TestParams(t *testing.T) {
	params := map[string]string{"steps": "7", "rate": "-0.5", "name": "a \"b\"", "quick": "true", "x": "q"}
	s, _ := newSession(t, Options{Params: params})
	for _, c := range []struct{ cell, want string }{
		{"steps := 100; steps", "7"},
		{"rate := 1e-3; rate", "-0.5 float64"},
		{"var name = \"z\"\nname == `a \"b\"`", "true"},
		{"quick := false; quick", "true"},
		{"steps := 1 + 1; steps", "2"},
		{"other := 5; other", "5"},
		{"{ steps := 9; _ = steps }\nsteps", "2"},
	} {
		if got := run(t, s, c.cell); got != c.want {
			t.Errorf("%s: got %s, want %s", c.cell, got, c.want)
		}
	}
	want := `In[8]:1:6: -p x=q: got "q", want an integer as in the cell` + "\n    x := 3\n         ^"
	if r := s.Run(t.Context(), "x := 3"); r.Err == nil || r.Err.Error() != want {
		t.Errorf("got %v, want %s", r.Err, want)
	}
}

func TestVars(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "x := 41\nfunc f(n int) string { return \"\" }\ntype T struct{ A int }\nconst c = 2.5\nimport str \"strings\"", "x++\nt := &T{3}")
	var got []string
	for _, v := range s.Vars() {
		got = append(got, fmt.Sprintf("%s %s %s In[%d]", v.Name, v.Kind, v.Type, v.Cell))
	}
	want := "T type struct{A int} In[1]\nc const float64 In[1]\nf func func(n int) string In[1]\nstr import strings In[0]\nt var *T In[2]\nx var int In[1]"
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
	for _, v := range s.Vars() {
		if v.Name == "x" && v.Value != 42 {
			t.Errorf("x is %v, want 42", v.Value)
		}
	}
}

func TestDelete(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "x := 1\ny := 2\nget := func() int { return y }")
	for _, name := range []string{"x", "y"} {
		if err := s.Delete(name); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.Run(t.Context(), "x"); r.Err == nil {
		t.Error("x is still there")
	}
	if got := run(t, s, "get()"); got != "2" {
		t.Errorf("a closure over a deleted variable gives %s, want 2", got)
	}
	if err := s.Delete("nothing"); err == nil || err.Error() != "delete: no cell has declared nothing" {
		t.Errorf("got %v", err)
	}
	if err := s.Delete("ctx"); err == nil {
		t.Error("ctx can be deleted")
	}
}

func TestReset(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "x := 1\nfunc f() int { return x }")
	s.Reset()
	if r := s.Run(t.Context(), "f()"); r.Err == nil {
		t.Error("f is still there")
	}
	if got := run(t, s, "x := \"new\"; x"); got != `"new"` {
		t.Errorf("got %s", got)
	}
	if h := s.History(); len(h) != 3 || h[1].N != 2 || !h[1].Err || h[0].Err {
		t.Errorf("history: %+v", h)
	}
	if s.Next() != 4 {
		t.Errorf("next is %d, want 4", s.Next())
	}
}

// commands is a table of commands for tests.
type commands map[string]func(ctx context.Context, s *Session) (display.Value, error)

func (c commands) Run(ctx context.Context, s *Session, line string) (display.Value, error) {
	if f := c[line]; f != nil {
		return f(ctx, s)
	}
	return nil, fmt.Errorf("no command %s", line)
}

func TestCommands(t *testing.T) {
	s, out := newSession(t, Options{Commands: commands{
		"%say": func(context.Context, *Session) (display.Value, error) { return display.Text("said"), nil },
		"%load": func(ctx context.Context, s *Session) (display.Value, error) {
			return nil, s.Run(ctx, "loaded := 5\nfunc twice(n int) int { return 2 * n }").Err
		},
		"%del": func(ctx context.Context, s *Session) (display.Value, error) { return nil, s.Delete("loaded") },
		"x?":   func(context.Context, *Session) (display.Value, error) { return display.Text("about x"), nil },
	}})
	for _, c := range []struct{ cell, shown, err string }{
		{"%say", "said", ""},
		{"x := 1\n%say\nx + 1", "said 2", ""},
		{"x?", "about x", ""},
		{"%nope", "", "no command %nope"},
		{"%load\ntwice(loaded)", "10", ""},
		{"%say\nundefinedq", "said", "In[7]:2:1: undefined: undefinedq\n    undefinedq\n    ^^^^^^^^^^"},
		{"%del\nloaded", "", "In[8]:2:1: undefined: loaded\n    loaded\n    ^^^^^^"},
	} {
		out.Reset()
		r := s.Run(t.Context(), c.cell)
		shown := strings.Fields(out.String()) // what commands show before code runs
		for _, v := range r.Shown {
			shown = append(shown, v.Text(80))
		}
		err := ""
		if r.Err != nil {
			err = r.Err.Error()
		}
		if g := strings.Join(shown, " "); g != c.shown || err != c.err {
			t.Errorf("%s: got %q, %q; want %q, %q", c.cell, g, err, c.shown, c.err)
		}
	}
	without, _ := newSession(t, Options{})
	if r := without.Run(t.Context(), "%say"); r.Err == nil || r.Err.Error() != "In[1]: %say: this session has no commands" {
		t.Errorf("got %v", r.Err)
	}
}

func TestCompile(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "n := 0\nfunc inc() int { n++; return n }\nfunc fail() error { return io.EOF }")
	for _, c := range []struct {
		stmts string
		times int
		value any
		err   string
	}{
		{"inc()", 3, 3, ""},
		{"y := inc(); y * 10", 2, 50, ""},
		{"", 1000, nil, ""},
		{"n = 100", 1, nil, ""},
		{"for i := range 3 { _ = i }", 2, nil, ""},
		{"n", 1, 100, ""},
		{"fail()", 1, nil, "EOF"},
	} {
		st, err := s.Compile(c.stmts)
		if err != nil {
			t.Errorf("Compile(%q): %v", c.stmts, err)
			continue
		}
		v, err := st.Run(t.Context(), c.times)
		if v != c.value || fmt.Sprint(err) != map[bool]string{true: "<nil>", false: c.err}[c.err == ""] {
			t.Errorf("%q: got %v, %v; want %v, %s", c.stmts, v, err, c.value, c.err)
		}
	}
	if _, err := s.Compile("inc() +"); err == nil {
		t.Error("half an expression compiles")
	}
	want := "1:1: undefined: incc; did you mean inc?\n    incc()\n    ^^^^"
	if _, err := s.Compile("incc()"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if r := s.Run(t.Context(), "y"); r.Err == nil {
		t.Error("a variable of a compiled statement is one of the session's")
	}
}

func TestResult(t *testing.T) {
	s, out := newSession(t, Options{})
	r := s.Run(t.Context(), "fmt.Println(\"printed\")\n7")
	if r.N != 1 || !r.Out || len(r.Shown) != 1 || r.Elapsed <= 0 || out.String() != "printed\n" {
		t.Errorf("got %+v, printed %q", r, out)
	}
	r = s.Run(t.Context(), "io.EOF")
	if r.Out || !errors.Is(r.Err, io.EOF) {
		t.Errorf("a shown error: got %+v", r)
	}
	r = s.Run(t.Context(), "func f() (int, error) { return 0, io.EOF }\nx := f()")
	var failed *FailedError
	if !errors.Is(r.Err, io.EOF) || !errors.As(r.Err, &failed) || failed.Diag.Line != 2 || failed.Diag.Col != 6 {
		t.Errorf("an error that was left out: got %v", r.Err)
	}
	r = s.Run(t.Context(), "os.Exit(3)")
	var exit stdlib.ExitRequest
	if !errors.As(r.Err, &exit) || exit.Code != 3 {
		t.Errorf("exit: got %v", r.Err)
	}
	r = s.Run(t.Context(), "panic(\"p\")")
	var p *PanicError
	if !errors.As(r.Err, &p) || p.Value != "p" || s.LastPanic() != p || len(p.Frames) != 1 || p.Frames[0] != (Frame{Cell: 5, Line: 1, Col: 1}) || len(p.Stack) == 0 {
		t.Errorf("panic: got %#v", r.Err)
	}
}

// TestSince: a cell, and those that began after it.
func TestSince(t *testing.T) {
	s, _ := newSession(t, Options{})
	for _, text := range []string{"a := 1", "nonsense +", "b := 2"} {
		s.Run(t.Context(), text)
	}
	for n, want := range []int{0, 3, 2, 1, 0} {
		if got := s.Since(n); len(got) != want || want > 0 && (got[0].N != n || got[want-1].Source != "b := 2") {
			t.Errorf("since %d: got %v, want %d cells", n, got, want)
		}
	}
}

func TestStdin(t *testing.T) {
	s, _ := newSession(t, Options{Stdin: strings.NewReader("12 abc\n")})
	if got := run(t, s, "var n int\nvar w string\nfmt.Scan(&n, &w);\nfmt.Sprint(n, w)"); got != `"12 abc"` && got != `"12abc"` {
		t.Errorf("got %s", got)
	}
}

func TestContextCarriesProgress(t *testing.T) {
	var got []string
	s, _ := newSession(t, Options{Progress: func(task string, done, total int64, note string, took time.Duration) {
		got = append(got, fmt.Sprint(task, done, total, note, took))
	}})
	run(t, s, `progress.Report(ctx, progress.Event{Task: "step", Done: 1, Total: 2, Note: "n", Elapsed: 2e9})`)
	if len(got) != 1 || got[0] != "step1 2n2s" {
		t.Errorf("got %q", got)
	}
}

// The old value of a variable that is declared again is garbage, and so are the temporaries of a cell.
func TestOldValuesAreCollected(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "x := 0")
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run(t, s, "x := make([]byte, 1<<20)", "x := fmt.Sprint(len(x))")
	before := heap()
	for range 20 {
		run(t, s, "x := make([]byte, 1<<20)", "x := fmt.Sprint(len(make([]byte, 1<<20)))", "len(make([]byte, 1<<20)) + 1", "make([]byte, 1<<20);")
	}
	if grown := int64(heap()) - int64(before); grown > 16<<20 {
		t.Errorf("80 values of 1 MiB: the heap grew by %d bytes", grown)
	}
}

// A loop at the top of a cell over values and errors that leaves out the error ends with it.
func TestLoopsCheckErrors(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, `import "iter"
func f(n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		if n > 2 {
			yield(-1, io.EOF)
		}
	}
}
seen := []int{}`)
	for _, c := range []struct{ cell, want string }{
		{"for i := range f(2) { seen = append(seen, i) }", "[0 1]"},
		{"for i := range f(3) { seen = append(seen, i) }", "[0 1 2]"},
		{"g := f(3)\nfor i := range g {\n seen = append(seen, i) }", "[0 1 2]"},
		{"out: for i := range f(4) { for { continue out }; seen = append(seen, i) }", "[]"},
		{"for range f(5) { seen = append(seen, 7) }", "[7 7 7 7 7]"},
		{"for i := range f(5) { if i == 2 { break }; seen = append(seen, i) }", "[0 1]"},
		{"for i, err := range f(3) { if err == nil { seen = append(seen, i) } }", "[0 1 2]"},
	} {
		run(t, s, "seen = nil;")
		r := s.Run(t.Context(), c.cell)
		wrong := strings.Contains(c.cell, "(3)") && !strings.Contains(c.cell, "err") || strings.Contains(c.cell, "(4)") || strings.Contains(c.cell, "for range")
		var failed *FailedError
		if errors.Is(r.Err, io.EOF) != wrong || wrong && (!errors.As(r.Err, &failed) || failed.Diag.Line != 1+strings.Count(c.cell[:strings.Index(c.cell, "range")], "\n")) {
			t.Errorf("%s: got %v", c.cell, r.Err)
		}
		if got := run(t, s, "fmt.Sprint(seen)"); got != strconv.Quote(c.want) {
			t.Errorf("%s: saw %s, want %s", c.cell, got, c.want)
		}
	}
	if r := s.Run(t.Context(), "func h() { for i := range f(3) { _ = i } }\nh()"); r.Err != nil {
		t.Errorf("inside of a function Go's rule holds: got %v", r.Err)
	}
}
