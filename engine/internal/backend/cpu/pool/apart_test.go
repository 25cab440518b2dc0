package pool

import (
	"slices"
	"testing"
)

// TestApart: each number comes once, and a panic goes on in the caller when all are done.
func TestApart(t *testing.T) {
	for _, n := range []int{0, 1, 5} {
		got := make([]int, n)
		Apart(n, func(i int) { got[i]++ })
		if slices.ContainsFunc(got, func(k int) bool { return k != 1 }) {
			t.Errorf("%d: got %v, want each once", n, got)
		}
	}
	for at := range 3 {
		func() {
			defer func() {
				if f, ok := recover().(*Fault); !ok || f.Value != at || f.Stack == "" {
					t.Errorf("got %v, want the fault of %d", f, at)
				}
			}()
			Apart(3, func(i int) {
				if i == at {
					panic(at)
				}
			})
		}()
	}
}
