package magics

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/session"
)

// The floor of a statement has its calls of the session's functions, which do nothing.
func TestFloor(t *testing.T) {
	s, err := session.New(session.Options{Commands: Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), "x := tensor.Ones(2)\nn := 0\nfunc f(a int, rest ...string) (int, error) { n++; return a, nil }\nfunc g(t tensor.Tensor) tensor.Tensor { n++; return t }\nfunc h() { n++ }"); r.Err != nil {
		t.Fatal(r.Err)
	}
	c := &call{s: s, magic: Lookup("timeit")}
	for _, tt := range []struct{ text, want string }{
		{"h()", "func() { }()"},
		{"g(g(x))", "func(t tensor.Tensor) (_ tensor.Tensor) { return }(func(t tensor.Tensor) (_ tensor.Tensor) { return }(x))"},
		{"a, err := f(1, \"b\"); _, _ = a, err", "a, err := func(a int, rest ...string) (_ int, _ error) { return }(1, \"b\"); _, _ = a, err"},
		{"for range 3 { h() }", "for range 3 { func() { }() }"},
		{"1 + n", "0"},
		{"x.Add(1)", "0"},
		{"g(x.Add(1))", "0"},
		{"strconv.Itoa(n)", "0"},
		{"n = 3", "0"},
		{"not Go", "0"},
	} {
		got := c.floor(parsed(tt.text))
		if flat := strings.Join(strings.Fields(got), " "); flat != tt.want {
			t.Errorf("%s: got %q, want %q", tt.text, flat, tt.want)
		}
		st, err := s.Compile(got)
		if err == nil {
			_, err = st.Run(t.Context(), 3)
		}
		if err != nil {
			t.Errorf("%s: the floor %q: %v", tt.text, got, err)
		}
	}
	if r := s.Run(t.Context(), "n"); r.Shown[0].Text(80) != "0" {
		t.Errorf("the floors have called functions: n is %s", r.Shown[0].Text(80))
	}
}

// Where functions that do nothing would make a statement fail, wait for ever or go another way, its floor is
// the cheapest statement.
func TestFloorGoesTheSameWay(t *testing.T) {
	t.Parallel()
	s, err := session.New(session.Options{Commands: Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), `type node struct { n int }
var at *node
ch := make(chan int, 1)
k := 0
func get() *node { return &node{1} }
func set() { at = get() }
func count() int { return 3 }
func each() func(func(int) bool) { return func(yield func(int) bool) { yield(1) } }
func send() { ch <- 1 }
func up() { k++ }`); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, statement := range []string{
		"get().n", "v := get(); v.n", "v := get(); u := v; u.n", "10 / count()", "for i := range each() { _ = i }",
		"for i := 0; i < 10; i += count() { }", "for count() != 3 { }", "for k < 3 { up() }", "for { if count() == 3 { break } }",
		"send(); <-ch", "send(); select { case <-ch: }", "set(); at.n", "if count() == 3 { up() }",
	} {
		c := &call{s: s, magic: Lookup("timeit")}
		w, err := c.compile(parsed(statement))
		if err != nil {
			t.Fatal(err)
		}
		empty, err := c.emptied(t.Context(), w)
		if err != nil {
			t.Errorf("%s: %v", statement, err)
			continue
		}
		if err := empty.loop.Within(t.Context(), func() error { return empty.run(3) }); err != nil {
			t.Errorf("%s: its floor: %v", statement, err)
		}
	}
	for _, cell := range []string{"%timeit -t 20ms get().n", "%timeit -t 20ms for k < 3 { up() }", "%bench -t 20ms a := 10 / count() ; b := count()"} {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Errorf("%s: %v", cell, r.Err)
		}
	}
}
