package generic

import (
	"testing"

	oursync "github.com/mcs-notebook/mcs/repl/session/internal/generic/sync"
)

func TestOnce(t *testing.T) {
	calls := 0
	f := oursync.OnceValue(func() int { calls++; return calls })
	g := oursync.OnceValues(func() (int, string) { calls++; return calls, "s" })
	f()
	g()
	n, s := g()
	if f() != 1 || n != 2 || s != "s" || calls != 2 {
		t.Errorf("got %d, %d, %q after %d calls", f(), n, s, calls)
	}
}
