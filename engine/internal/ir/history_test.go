package ir

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// TestLongLoops: what a loop of evaluations has forgotten stays short where its values are gone, and tells of
// each that a handle holds where they are not.
func TestLongLoops(t *testing.T) {
	const steps = 5 * maxAge / 2
	for _, kept := range []bool{false, true} {
		first := leaf(dtype.F32, 1)
		first.Retain()
		x, states := first, []*Node{first}
		for range steps {
			y := mul(x, x)
			y.Retain()
			y.SetValue(&Data{Buf: noBuffer{}, Layout: new(Contiguous([]int{1}))})
			if kept {
				states = append(states, y)
			} else if x != first {
				x.Release()
			}
			x = y
		}
		held := 0
		for r := x.lost; r != nil; r = r.from[0] {
			held += len(r.held)
			if len(r.from) == 0 {
				break
			}
		}
		if most := maxAge + len(states); x.lost.age >= maxAge || held > most {
			t.Errorf("kept %v: %d nodes are noted and %d records follow each other, want at most %d and %d", kept, held, x.lost.age, most, maxAge)
		}
		for i, s := range states {
			if s != x && !Depends(x, s) {
				t.Fatalf("kept %v: the value of step %d is forgotten", kept, i)
			}
		}
	}
}
