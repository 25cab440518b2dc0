package session

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"
)

// What would use up the machine ends the cell, not the session. The limit is lowered so that the test may
// reach it.
func TestExhaustion(t *testing.T) {
	defer func(f func() uint64) { memoryLimit = f; debug.SetMemoryLimit(math.MaxInt64) }(memoryLimit)
	debug.SetMemoryLimit(math.MaxInt64)
	memoryLimit = func() uint64 { return 512 << 20 }
	const limit, huge = "memory limit reached", "more than cells may take"
	for _, c := range []struct{ cell, want string }{
		{"make([]int, 1<<40)", "make: 1099511627776 elements of 8 bytes are " + huge},
		{"make(map[int]int, 1<<40)", huge},
		{"n := 1 << 40; make(chan [1024]int, n)", huge},
		{`strings.Repeat("x", 1<<40)`, huge},
		{`bytes.Repeat([]byte("x"), 1<<40)`, huge},
		{"var b strings.Builder; b.Grow(1 << 40)", huge},
		{"b := new(bytes.Buffer); b.Grow(1 << 40)", huge},
		{"slices.Grow([]int{}, 1<<40)", huge},
		{"new(big.Int).Lsh(big.NewInt(1), 1<<40)", huge},
		{"var a [1 << 34]int", "an array of type [17179869184]int is larger than 1 GiB, which cells cannot have"},
		{"tensor.Zeros(1<<20, 1<<20).Eval()", "out of memory"},
		{"var xs [][]byte; for { xs = append(xs, make([]byte, 16<<20)) }", limit},
		{`s := "x"; for { s += s }`, limit},
		{"m := map[int][1024]int{}; for i := 0; ; i++ { m[i] = [1024]int{} }", limit},
		{"type N struct { next *N; pad [1000]int }; var n *N; for { n = &N{next: n} }", limit},
		{"var f func(int) int; f = func(n int) int { return f(n+1) + 1 }; f(0)", "limit reached"},
	} {
		t.Run(c.cell, func(t *testing.T) {
			s, _ := newSession(t, Options{})
			run(t, s, "kept := 41")
			r := s.Run(t.Context(), c.cell)
			if r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
				t.Errorf("got %v, want %s", r.Err, c.want)
			}
			if got := run(t, s, "kept + 1"); got != "42" {
				t.Errorf("afterwards kept + 1 is %s", got)
			}
		})
	}
}
