package magics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/session"
)

// A declaration that ran again word for word changes nothing: its times are those of the first cell's lines.
func TestListing(t *testing.T) {
	s, err := session.New(session.Options{Commands: Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const f, m = "func f() int {\n\treturn 1\n}", "type T[E any] struct{}\n\nfunc (t *T[E]) M(){}"
	for _, text := range []string{f, m, "x := 1\n" + f, "func g() {}\nx = 1 / (x - x)", "func g() {\n}; type t int", "f()"} {
		s.Run(t.Context(), text)
	}
	for _, tt := range []struct{ name, want string }{
		{"f", "In[1]:1-3 func f() int {"},
		{"T.M", "In[2]:3-3 func (t *T[E]) M(){}"},
		{"g", "In[5]:1-2 func g() {"},
		{"t", ""}, {"x", ""}, {"T", ""}, {"strings.Cut", ""}, {"f(", ""},
	} {
		got := ""
		if l, ok := (&call{s: s}).listing(tt.name); ok {
			got = fmt.Sprintf("In[%d]:%d-%d %s", l.cell, l.first, l.last, strings.TrimSpace(l.lines[l.first-1]))
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
