package generic

import (
	"testing"
	"unique"

	ourunique "github.com/mcs-notebook/mcs/repl/session/internal/generic/unique"
)

// Handles are equal when the standard library's are.
func TestHandle(t *testing.T) {
	values := []string{"", "a", "b", string([]byte{'a'})}
	for _, x := range values {
		for _, y := range values {
			if got, want := ourunique.Make(x) == ourunique.Make(y), unique.Make(x) == unique.Make(y); got != want {
				t.Errorf("Make(%q) == ourunique.Make(%q) is %v, want %v", x, y, got, want)
			}
		}
		if got := ourunique.Make(x).Value(); got != x {
			t.Errorf("Make(%q).Value() = %q", x, got)
		}
	}
}
