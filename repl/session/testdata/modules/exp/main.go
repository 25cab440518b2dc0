package main

import (
	"cmp"
	"fmt"
	"golang.org/x/exp/constraints"
	"golang.org/x/exp/maps"
	"golang.org/x/exp/slices"
)

func largest[T constraints.Ordered](list ...T) T {
	m := list[0]
	for _, x := range list {
		if x > m {
			m = x
		}
	}
	return m
}

func main() {

	keys := maps.Keys(map[string]int{"a": 1, "b": 2})
	slices.Sort(keys)
	fmt.Println(keys, largest(1, 5, 3), largest("x", "y"), cmp.Compare(1, 2))
	s := []int{3, 1, 2}
	slices.SortFunc(s, func(a, b int) int { return b - a })
	fmt.Println(s, slices.Index(s, 1), slices.Contains(s, 9))
}
