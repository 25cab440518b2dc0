package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/notation"
)

// TestAssigned finds what statements assign to, however deep.
func TestAssigned(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), `p, q, r, n, steps := 1, 2, 3, 4, 5
list := []int{}
type Box struct{ N int; Deep map[string]int }
func (b *Box) Grow() { b.N++; steps++ }
func step() { p = p * 2; other() }
func other() { q, r := 1, 2; _, _ = q, r; list = append(list, 1) }
box := Box{}
closure := func() { n++ }
var byName = map[string]func(){}
byName["r"] = func() { r++ }
type Job struct{ run func() }
job := &Job{}
func hire() { job.run = func() { steps++ } }
func maker() func() { return func() { q = 2 } }
made := maker()
var later func()
later = closure
var as any = closure
go func() { r = r + 0 }()
model := nn.NewLinear(2, 2)
z, w := tensor.Ones(2, 2), tensor.Ones(2, 2)`); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, tt := range []struct{ stmts, want string }{
		{"p + q", ""},
		{"p = 3", "p"},
		{"p++; q += 1", "p q"},
		{"p, unknown := 1, 2; _ = unknown", ""},
		{"step()", "list p"},
		{"if p > 0 { for range 3 { func() { q = 1 }() } }", "q"},
		{"f(&p)", "p"},
		{"box.N = 4", "box"},
		{"box.Grow()", "box steps"},
		{"for p = range 3 {}", "p"},
		{"closure()", "n"},
		{"f := closure; f()", "n"},
		{"byName[\"r\"]()", "r"},
		{"job.run()", "steps"},
		{"made()", "q"},
		{"later()", "n"},
		{"as.(func())()", "n"},
		{"model.Forward(x)", ""},
		{"z[:, 0] = 1", "z"},
		{"z[1:] += w[0, 1]", "z"},
		{"w = z[:, 0]", "w"},
		{"not Go", ""},
	} {
		stmts, _ := notation.ParseStatements(tt.stmts)
		if got := strings.Join(s.Assigned(stmts), " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.stmts, got, tt.want)
		}
	}
}

// TestSnapshot puts variables back, whatever their type, and says which were others.
func TestSnapshot(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(cell string) Result {
		r := s.Run(t.Context(), cell)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return r
	}
	run("a, b, c := 1, \"x\", []int{1, 2}\nvar d any = 3\ne := [2]float64{1, 2}\nf := func() int { return 1 }\nx := tensor.Ones(2)\nsame := 7")
	p := s.Snapshot("a", "b", "c", "d", "e", "f", "x", "same", "nothing")
	run("a, b, c, d = 2, \"y\", append(c, 3), \"four\"\ne[1] = 7\nf = func() int { return 2 }\nx = x.Add(1)")
	if got := fmt.Sprint(p.Restore()); got != "[a b c d e f x]" {
		t.Errorf("changed: got %s", got)
	}
	if got := fmt.Sprint(p.Restore()); got != "[]" {
		t.Errorf("after that: got %s, want nothing", got)
	}
	if got := run("fmt.Sprintln(a, b, c, d, e, f(), x.Floats(), same)").Shown[0].Text(80); got != `"1 x [1 2] 3 [1 2] 1 [1 1] 7\n"` {
		t.Errorf("got %s", got)
	}
}

// TestEach calls something after each run, with its value, until that returns an error.
func TestEach(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), "n := 0\nf := func() int { n++; return n }"); r.Err != nil {
		t.Fatal(r.Err)
	}
	st, err := s.CompileEach("f() * 10")
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	enough := errors.New("enough")
	err = st.Within(t.Context(), func() error {
		return errors.Join(st.Each(2, func(v any) error { got = append(got, v); return nil }), st.Each(9, func(v any) error { got = append(got, v); return enough }), st.Each(0, nil))
	})
	if fmt.Sprint(got) != "[10 20 30]" || !errors.Is(err, enough) {
		t.Errorf("got %v, %v, want [10 20 30] and the error", got, err)
	}
	if v, err := st.Run(t.Context(), 2); err != nil || v != 50 {
		t.Errorf("Run: got %v, %v, want 50", v, err)
	}
}
