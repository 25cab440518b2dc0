package plan

import (
	"slices"
	"testing"
)

// The rows of a linear layer with a cross entropy are computed in as few pieces as their memory allows, of
// whole tiles, because a library computes whole tiles anyway.
func TestBoundsOf(t *testing.T) {
	for _, c := range []struct {
		name       string
		rows, most int
		want       []int
	}{
		{"no rows", 0, 441, []int{0, 0}},
		{"all at once", 300, 300, []int{0, 300}},
		{"few rows are worth more than memory", 256, 55, []int{0, 256}},
		{"a large vocabulary on a processor", 1024, 55, []int{0, 256, 512, 768, 1024}},
		{"whole tiles", 4096, 441, []int{0, 384, 768, 1152, 1536, 1920, 2304, 2688, 3072, 3456, 3840, 4096}},
		{"pieces about as long as one another", 4096, 1938, []int{0, 1408, 2816, 4096}},
		{"the last one ends where the rows do", 1000, 512, []int{0, 512, 1000}},
		{"never more than there is room for", 1025, 512, []int{0, 384, 768, 1025}},
	} {
		got := boundsOf(c.rows, c.most)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %d rows, at most %d at once: got %v, want %v", c.name, c.rows, c.most, got, c.want)
		}
	}
}
