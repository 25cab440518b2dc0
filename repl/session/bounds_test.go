package session

import (
	"strings"
	"testing"
)

// An index out of range says how long the slice is, where that is known.
func TestIndexPanicsSayTheLength(t *testing.T) {
	for _, c := range []struct{ cell, want string }{
		{"xs[10]", "index out of range; xs has length 3"},
		{"i := 7\nxs[i] = 1", "index out of range; xs has length 3"},
		{"for i := 0; i <= len(xs); i++ {\n\tfmt.Print(xs[i])\n}", "index out of range; xs has length 3"},
		{"n := 5; xs[1:n]", "slice bounds out of range; xs has length 3"},
		{"n := 5; text[n]", "index out of range; text has 2 bytes"},
		{"n := 5; xs[n] + ys[n]", "index out of range"},                                             // which of them?
		{"func() { xs := []int{}; i := 1; xs[i] = 2 }()", "index out of range"},                     // another xs
		{"get := func(list []int, i int) int { return list[i] }\nget(xs, 5)", "index out of range"}, // list is not the session's
	} {
		s, _ := newSession(t, Options{})
		run(t, s, "xs := []int{1, 2, 3}; ys := []int{1}; text := \"ab\"")
		r := s.Run(t.Context(), c.cell)
		if r.Err == nil {
			t.Errorf("%s: no error", c.cell)
			continue
		}
		if line, _, _ := strings.Cut(r.Err.Error(), "\n"); !strings.HasSuffix(line, c.want) {
			t.Errorf("%s: got %s, want %s", c.cell, line, c.want)
		}
	}
}
