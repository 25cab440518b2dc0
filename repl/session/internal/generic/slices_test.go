package generic

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	ourslices "github.com/mcs-notebook/mcs/repl/session/internal/generic/slices"
)

// Each function does what the standard library's does, on random slices of few different elements.
func TestSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	even := func(x int) bool { return x%2 == 0 }
	down := func(a, b int) int { return cmp.Compare(b, a) }
	near := func(a, b int) bool { return a/2 == b/2 }
	for range 500 {
		s := make([]int, r.IntN(12))
		for i := range s {
			s[i] = r.IntN(6)
		}
		u := make([]int, r.IntN(12))
		for i := range u {
			u[i] = r.IntN(6)
		}
		i := r.IntN(len(s) + 1)
		j := i + r.IntN(len(s)-i+1)
		x := r.IntN(6)
		c := func() []int { return slices.Clone(s) }
		sorted := c()
		slices.Sort(sorted)
		for _, p := range []struct {
			name      string
			got, want any
		}{
			{"Equal", ourslices.Equal(s, u), slices.Equal(s, u)},
			{"Compare", ourslices.Compare(s, u), slices.Compare(s, u)},
			{"CompareFunc", ourslices.CompareFunc(s, u, down), slices.CompareFunc(s, u, down)},
			{"Index", ourslices.Index(s, x), slices.Index(s, x)},
			{"IndexFunc", ourslices.IndexFunc(s, even), slices.IndexFunc(s, even)},
			{"Contains", ourslices.Contains(s, x), slices.Contains(s, x)},
			{"Insert", ourslices.Insert(c(), i, u...), slices.Insert(c(), i, u...)},
			{"Delete", ourslices.Delete(c(), i, j), slices.Delete(c(), i, j)},
			{"DeleteFunc", ourslices.DeleteFunc(c(), even), slices.DeleteFunc(c(), even)},
			{"Replace", ourslices.Replace(c(), i, j, u...), slices.Replace(c(), i, j, u...)},
			{"Compact", ourslices.Compact(c()), slices.Compact(c())},
			{"CompactFunc", ourslices.CompactFunc(c(), near), slices.CompactFunc(c(), near)},
			{"Concat", ourslices.Concat(s, u, s), slices.Concat(s, u, s)},
			{"Repeat", ourslices.Repeat(s, 3), slices.Repeat(s, 3)},
			{"IsSorted", ourslices.IsSorted(s), slices.IsSorted(s)},
			{"IsSortedFunc", ourslices.IsSortedFunc(s, down), slices.IsSortedFunc(s, down)},
			{"Sorted", ourslices.Sorted(ourslices.Values(s)), slices.Sorted(slices.Values(s))},
			{"SortedFunc", ourslices.SortedFunc(ourslices.Values(s), down), slices.SortedFunc(slices.Values(s), down)},
			{"Backward", pairs(ourslices.Backward(s)), pairs(slices.Backward(s))},
			{"All", pairs(ourslices.All(s)), pairs(slices.All(s))},
			{"Chunk", ourslices.Collect(ourslices.Chunk(s, 3)), slices.Collect(slices.Chunk(s, 3))},
			{"Clip", cap(ourslices.Clip(s[:i])), i},
		} {
			if fmt.Sprint(p.got) != fmt.Sprint(p.want) {
				t.Errorf("%s of %v, %v, [%d:%d], %d: got %v, want %v", p.name, s, u, i, j, x, p.got, p.want)
			}
		}
		gi, gok := ourslices.BinarySearch(sorted, x)
		if wi, wok := slices.BinarySearch(sorted, x); gi != wi || gok != wok {
			t.Errorf("BinarySearch(%v, %d): got %d, %v; want %d, %v", sorted, x, gi, gok, wi, wok)
		}
		if len(s) > 0 && (ourslices.Min(s) != slices.Min(s) || ourslices.Max(s) != slices.Max(s) || ourslices.MinFunc(s, down) != slices.MinFunc(s, down)) {
			t.Errorf("Min, Max of %v: got %d, %d", s, ourslices.Min(s), ourslices.Max(s))
		}
		reversed, want := c(), c()
		ourslices.Reverse(reversed)
		slices.Reverse(want)
		if !slices.Equal(reversed, want) {
			t.Errorf("Reverse(%v): got %v", s, reversed)
		}
	}
	if !math.IsNaN(ourslices.Max([]float64{1, math.NaN(), 2})) {
		t.Error("a NaN does not win in Max")
	}
	if ourslices.Clone([]int(nil)) != nil {
		t.Error("a clone of nil is not nil")
	}
}

func pairs(seq func(func(int, int) bool)) (list []int) {
	for i, v := range seq {
		list = append(list, i, v)
	}
	return list
}

// A sort that is stable keeps equal elements in their order.
func TestSortStableFunc(t *testing.T) {
	s := []string{"b1", "a1", "b2", "a2", "b3"}
	ourslices.SortStableFunc(s, func(a, b string) int { return cmp.Compare(a[0], b[0]) })
	if fmt.Sprint(s) != "[a1 a2 b1 b2 b3]" {
		t.Errorf("got %v", s)
	}
}
