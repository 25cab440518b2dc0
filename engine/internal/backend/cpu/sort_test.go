package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// orders are rows as programs have them, and those that lead pivots astray.
var orders = map[string]func(i, n int) int32{
	"random": func(int, int) int32 { return int32(rand.Uint32()) },
	"rising": func(i, _ int) int32 { return int32(i) },
	"falls":  func(i, n int) int32 { return int32(n - i) },
	"peak":   func(i, n int) int32 { return int32(min(i, n-i)) },
	"few":    func(int, int) int32 { return rand.Int32N(5) },
	"least":  func(int, int) int32 { return math.MinInt32 },
	"most":   func(i, _ int) int32 { return math.MaxInt32 - int32(i&1) },
}

// Quicksort sorts whatever the pivots are, without any division left, too.
func TestQuicksort(t *testing.T) {
	if !micro.HasSort() {
		t.Skip("this processor has no kernels that sort")
	}
	l := &New(1).launch
	for name, order := range orders {
		for _, n := range []int{0, 1, 64, 65, 256, 257, 511, 1000, 70_000} {
			for _, depth := range []int{0, 3, 40} {
				numbers := make([]int32, n)
				for i := range numbers {
					numbers[i] = order(i, n)
				}
				want := slices.Sorted(slices.Values(numbers))
				part{numbers, new(keying)}.sort(l, make([]int32, micro.DivideRoom), depth)
				if !slices.Equal(numbers, want) {
					t.Errorf("%s, %d numbers, depth %d: they are not in order", name, n, depth)
				}
			}
		}
	}
}

// The network sorts rows of every length, rising and falling, and leaves NaN and −0 to others.
func TestSortAbreast(t *testing.T) {
	if !micro.HasTranspose() {
		t.Skip("this processor has no kernel for the network")
	}
	for _, n := range []int{8, 64, 72, 120} {
		for _, falling := range []bool{false, true} {
			x, got := make([]float32, rowsAbreast*n), make([]float32, rowsAbreast*n)
			for i := range x {
				x[i] = float32(rand.NormFloat64())
			}
			sorts := func() bool {
				return sortAbreast(make([]byte, 4*len(x)), unsafe.Pointer(&got[0]), unsafe.Pointer(&x[0]), n, falling)
			}
			name := fmt.Sprint(n, " falling ", falling)
			if !sorts() {
				t.Fatal(name, "got nothing sorted")
			}
			for row := range rowsAbreast {
				want := slices.Sorted(slices.Values(x[row*n:][:n]))
				if falling {
					slices.Reverse(want)
				}
				if !slices.Equal(got[row*n:][:n], want) {
					t.Errorf("%s: row %d is not in order", name, row)
				}
			}
			if x[3] = float32(math.NaN()); sorts() {
				t.Error(name, "got a NaN sorted")
			}
		}
	}
}
