package session

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
)

const limit = "memory limit reached"

// A cell that would exhaust the machine ends, and the session does not. The limit is low so that the test
// can reach it.
func TestExhaustion(t *testing.T) {
	limits := supervise.Limits{Memory: 384 << 20, Whole: 672 << 20}
	const huge = "more than cells may take"
	limited := 0 // cells that reach the limit: three without -long, and one without CI=1
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
		{`s, t := "x", "y"; for { s, t = t, s + t }`, limit},
		{`var b bytes.Buffer; b.WriteString("x"); for { b.Write(b.Bytes()) }`, limit},
		{"xs := [][]byte{}; slices.SortFunc(make([]int, 1<<20), func(a, b int) int { xs = append(xs, make([]byte, 1<<20)); return 0 })", limit},
		{"var xs [][]byte; for { xs = append(xs, make([]byte, 16<<20)) }", limit},
		{`s := "x"; for { s += s }`, limit},
		{`s := "x"; g := func(s string) string { return s + s }; for { s = g(s) }`, limit},
		{`var f func(string) string; f = func(s string) string { return f(s + s) }; f("x")`, limit},
		{`s := "x"; for { s = strings.Join([]string{s, s}, "") }`, limit},
		{"xs := []int{1}; for { xs = append(xs, xs...) }", limit},
		{"xs := []int{1}; for { xs = slices.Concat(xs, xs) }", limit},
		{`var b strings.Builder; b.WriteString("x"); for { b.WriteString(b.String()) }`, limit},
		{"m := map[int][1024]int{}; for i := 0; ; i++ { m[i] = [1024]int{} }", limit},
		{"type N struct { next *N; pad [1000]int }; var n *N; for { n = &N{next: n} }", limit},
		{"ch := make(chan []byte, 1<<20); for { ch <- make([]byte, 1<<20) }", limit},
		{"xs := []tensor.Tensor{}; for { xs = append(xs, tensor.Ones(4<<20).Eval()) }", limit},
		{"xs := []any{}; for { xs = append(xs, tensor.Ones(1<<20).Eval(), make([]byte, 2<<20)) }", limit},
		{"ended := make(chan int); go func() { xs := [][]byte{}; for { xs = append(xs, make([]byte, 1<<20)) } }(); <-ended", limit},
		{"hold := make([]byte, 360<<20); hold[0] = 1\nvar f func(int) int; f = func(n int) int { return f(n+1) + 1 }; f(0)", "limit reached"},
		{"var f func(int) int; f = func(n int) int { return f(n+1) + 1 }; f(0)", "limit reached"},
		{"type J struct{}; func (j J) MarshalJSON() ([]byte, error) { return json.Marshal(j) }; json.Marshal(J{})", "stack limit reached"},
		{"type S struct{}; func (s S) String() string { return fmt.Sprint(s) }; fmt.Sprint(S{})", "stack limit reached"},
		{"var f func(int, any) int; f = func(n int, a any) int { defer func() { panic(recover()) }(); return f(n+1, a) }; f(0, 1)", "stack limit reached"},
	} {
		if strings.HasSuffix(c.want, "limit reached") { // of the stack, with CI=1
			if limited++; limited > 1 && !long.CI() || limited > 3 && c.want == limit && !long.Tests() {
				continue
			}
		}
		t.Run(c.cell, func(t *testing.T) {
			s, _ := newSession(t, Options{limits: limits})
			run(t, s, "kept := 41")
			peak := peakMemory(t)
			r := s.Run(t.Context(), c.cell)
			if most := uint64(4) * limits.Memory; peak() > most {
				t.Errorf("the process has grown by %d bytes, want at most %d", peak(), most)
			}
			if r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
				t.Errorf("got %v, want %s", r.Err, c.want)
			}
			if got := run(t, s, "kept + 1"); got != "42" {
				t.Errorf("afterwards kept + 1 is %s", got)
			}
		})
	}
}

// peakMemory begins to measure by how much the process grows; 0 where the system does not tell.
func peakMemory(t *testing.T) (peak func() uint64) {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	highest := func() (kib uint64) {
		text, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				fmt.Sscan(rest, &kib)
			}
		}
		return kib << 10
	}
	before := highest()
	return func() uint64 { return max(highest(), before) - before } // the system counts roughly
}

// Goroutines that earlier cells have left are guarded at the prompt, too, and the others go on.
func TestGoroutinesAreGuarded(t *testing.T) {
	for _, c := range []struct{ cell, want string }{
		{"go func() { var f func(int) int; f = func(n int) int { return f(n+1) + 1 }; f(0) }()", "stack limit reached"},
		{"go func() { xs := [][]byte{}; for { xs = append(xs, make([]byte, 1<<20)) } }()", "memory limit reached"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if c.want == limit {
				long.InCI(t, "fills memory")
			}
			told := make(chan string, 100)
			s, err := New(Options{Stderr: writerFunc(func(b []byte) { told <- string(b) }), limits: supervise.Limits{Memory: 512 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			run(t, s, "n := 0; go func() { for { n++; time.Sleep(time.Millisecond) } }()")
			run(t, s, c.cell)
			if got := <-told; !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := run(t, s, "before := n; time.Sleep(300 * time.Millisecond); n > before"); got != "true" {
				t.Error("a goroutine that has done nothing was stopped")
			}
		})
	}
}

type writerFunc func(b []byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }
