package micro

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// runs are numbers of a few and of many values, the greatest and the least among them.
func runs(n int) [][]int32 {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	few, many := make([]int32, n), make([]int32, n)
	for i := range few {
		few[i] = []int32{math.MinInt32, -1, 0, 5, math.MaxInt32}[r.IntN(5)]
		many[i] = int32(r.Uint32())
	}
	return [][]int32{few, many}
}

// SortFew writes the numbers in order, as elements, and nothing else.
func TestSortFew(t *testing.T) {
	if !HasSort() {
		t.Skip("this processor has no kernels that sort")
	}
	for n := range Few() + 1 {
		for _, x := range runs(n) {
			got, want := make([]int32, n+5), make([]int32, n+5)
			for i, v := range slices.Sorted(slices.Values(x)) {
				v ^= 9
				want[i] = v ^ v>>31&3
			}
			SortFew(&got[0], &append(x, 7)[0], n, 3, 9)
			if !slices.Equal(got, want) {
				t.Errorf("%d of %v: got %v", n, x, got)
			}
		}
	}
}

// Divide brings the low numbers before the others, and writes nothing else.
func TestDivide(t *testing.T) {
	if !HasSort() {
		t.Skip("this processor has no kernels that sort")
	}
	for n := 16; n < 10_000; n += 1 + n/400*97 {
		for _, x := range runs(n) {
			for _, pivot := range []int32{math.MinInt32, -1, x[n/2], math.MaxInt32} {
				got := append(append(make([]int32, 8), x...), make([]int32, 8)...)
				low := Divide(got[8:8+n], make([]int32, DivideRoom), pivot)
				high := func(v int32) bool { return v > pivot }
				if slices.ContainsFunc(got[8:8+low], high) || slices.ContainsFunc(got[8+low:8+n], func(v int32) bool { return !high(v) }) {
					t.Errorf("%v, pivot %d: got %d low ones of %v", x, pivot, low, got)
				}
				want := append(make([]int32, 16), x...)
				slices.Sort(want)
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("%v, pivot %d: got other numbers %v", x, pivot, got)
				}
			}
		}
	}
}
