package generic

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	ouriter "github.com/mcs-notebook/mcs/repl/session/internal/generic/iter"
)

// drive asks a pulled sequence for more values than it has, or stops it before the call with that number.
func drive(next func() (string, bool), stop func(), stopAt int) (calls []string) {
	for i := range 5 {
		if i == stopAt {
			stop()
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					calls = append(calls, fmt.Sprint("panic ", p))
				}
			}()
			v, ok := next()
			calls = append(calls, fmt.Sprint(v, ok))
		}()
	}
	stop()
	return calls
}

func TestPull(t *testing.T) {
	for name, seq := range map[string]iter.Seq[string]{
		"empty": slices.Values([]string{}),
		"three": slices.Values([]string{"a", "b", "c"}),
		"panic": func(yield func(string) bool) { yield("a"); panic("broken") },
		"deaf":  func(yield func(string) bool) { yield("a") },
	} {
		for stopAt := range 6 {
			if name == "panic" && stopAt == 1 {
				continue // stop itself panics, as it does in the standard library
			}
			wantNext, wantStop := iter.Pull(seq)
			gotNext, gotStop := ouriter.Pull(seq)
			want, got := drive(wantNext, wantStop, stopAt), drive(gotNext, gotStop, stopAt)
			if !slices.Equal(got, want) {
				t.Errorf("%s, stopped at %d: got %q, want %q", name, stopAt, got, want)
			}
		}
	}
}
