package session

import (
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A cell that is over leaves next to nothing: neither its code nor the tensors that no variable holds any
// more.
func TestCellsLeaveNothing(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(cells int) (heap int64) {
		for range cells {
			r := s.Run(t.Context(), "x := tensor.Full(1, 512, 512).Eval(); n := x.Rank() + 1\nfunc add(a int) int { return a + n }; add(2)")
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		for range 2 {
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, cells := run(200), 300 // now the tensors' memory goes round
	if long.CI() {
		cells = 600
	}
	if grown := run(cells) - before; grown > int64(cells)*8<<10 {
		t.Errorf("%d cells left %d bytes each, want less than 8 KiB", cells, grown/int64(cells))
	}
}

// A session that has ended is garbage, whatever it declared: reflection keeps the types of cells for ever,
// and their methods do not keep the session.
func TestEndedSessionsAreCollected(t *testing.T) {
	for _, cells := range [][]string{
		{"1 + 1"},
		{"type T struct{ n int }", "func (t T) String() string { return fmt.Sprint(t.n) }", "fmt.Sprint(T{1}, []T{{2}})"},
		{"x := tensor.Ones(2, 2)", "x.MatMul(x)", "%time x.Sum()", "%kernels x.Exp()"},
		{"c := make(chan int)", "go func() { c <- 1 }()", "<-c", "!echo 1"},
		{"import \"sync\"\nvar p = sync.Pool{New: func() any { return new(int) }}", "p.Put(p.Get())"},
		{"f := func(x float64) float64 { return x * x }", "s := []int{2, 1}", "sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })", "f(2)"},
		{"panic(1)"},
	} {
		collected := make(chan bool)
		func() {
			s, err := New(Options{Stdout: io.Discard, Stderr: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cells {
				_ = s.Run(t.Context(), c) // the last one panics
			}
			runtime.AddCleanup(s, func(int) { close(collected) }, 0)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		ended := false
		for start := time.Now(); !ended && time.Since(start) < 10*time.Second; {
			runtime.GC()
			select {
			case <-collected:
				ended = true
			case <-time.After(10 * time.Millisecond):
			}
		}
		if !ended {
			t.Errorf("%q: the session is kept", cells)
		}
	}
}
