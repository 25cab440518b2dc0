package session

import (
	"runtime"
	"testing"
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
	before := run(300) // now the tensors' memory goes round
	const cells = 600
	if grown := run(cells) - before; grown > cells*8<<10 {
		t.Errorf("%d cells left %d bytes each, want less than 8 KiB", cells, grown/cells)
	}
}
