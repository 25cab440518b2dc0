package session

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// Values that hold themselves, and values that are nested deep, are shown as far as a person can see, and
// kept or not like all others.
func TestCyclicAndDeepValues(t *testing.T) {
	for i, c := range []struct{ cell, want string }{
		{"s := make([]any, 1); s[0] = s\ns", "[]any"},
		{`m := map[string]any{}; m["self"] = m` + "\nm", "self"},
		{"type N struct{ next *N; v any }; n := &N{}; n.next, n.v = n, n\nn", "N"},
		{"a := [2]any{}; p := &a; a[0], a[1] = p, p\na", "any"},
		{"var deep any; for range 3_000_000 { deep = []any{deep} }\ndeep", "…"},
		{"type L struct{ next *L }; var l *L; for range 1_000_000 { l = &L{l} }\nl", "…"},
		{"e := errors.New(`x`); for range 100_000 { e = fmt.Errorf(`%w`, e) }\n[]error{e}", "x"},
	} {
		if i > 4 && !long.CI() {
			continue // others are as deep
		}
		s, out := newSession(t, Options{})
		if got := transcript(s, out, c.cell); !strings.Contains(got, c.want) || len(got) > 10_000 {
			t.Errorf("%s: got %d bytes, %.300s", c.cell, len(got), got)
		}
		run(t, s, "1") // lets go of the result before
		s.Vars()
		name, _, _ := strings.Cut(c.cell[strings.LastIndexByte(c.cell, '\n')+1:], "[")
		if name != "" {
			v, err := s.Whole(name)
			if err != nil {
				t.Fatal(err)
			}
			v.Text(80)
		}
	}
}
