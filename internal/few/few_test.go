package few

import (
	"slices"
	"testing"
)

func TestClear(t *testing.T) {
	one := 1
	for _, n := range []int{0, 1, 3, 100} {
		list := slices.Repeat([]*int{&one}, n+1)
		if Clear(list[:n]); slices.ContainsFunc(list[:n], func(p *int) bool { return p != nil }) || list[n] == nil {
			t.Errorf("%d elements: got %v", n, list)
		}
	}
}
