package data

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// own is a source of somebody's own.
type own struct{ Source }

func (own) Epoch() int { return 12 }

func TestEpoch(t *testing.T) {
	windows := Windows(strings.Repeat("a", 101), 10, 4) // 9 windows
	pairs := Pairs(tensor.Zeros(10, 2), tensor.Zeros(10), 5)
	for _, c := range []struct {
		name string
		s    Source
		want int
	}{
		{"windows", windows, 3},
		{"pairs", pairs, 2},
		{"changed", Map(pairs, func(b Batch, _ int) Batch { return b }), 2},
		{"ahead", Ahead(windows, 2), 3},
		{"of one's own", own{}, 12},
		{"that does not say", struct{ Source }{pairs}, 0},
		{"without data", Windows("", 10, 4), 0},
	} {
		if got := Epoch(c.s); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
