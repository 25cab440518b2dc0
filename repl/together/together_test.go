package together

import (
	"slices"
	"testing"
)

// What another rank has put out is told where it differs by more than what was measured, or drawn, or by the
// order of lines.
func TestDiffering(t *testing.T) {
	for _, c := range []struct {
		own, other string
		want       []string
	}{
		{"a\nb\n", "a\nb\n", nil},
		{"a\nb\n", "b\na\n", nil},
		{"a\n", "a\na\n", []string{"a"}},
		{"a\nb\n", "a\n", nil},
		{"rank 0\n", "rank 1\n\n", []string{"rank 1"}},
		{"20 steps · loss 5.5 → 1.8 · 10,691 tokens/s · 479 ms\n", "20 steps · loss 5.5 → 1.8 · 9,007 tokens/s · 1.2 s\n", nil},
		{"loss 5.5 → 1.8 · 10 tokens/s\n", "loss 5.5 → 1.9 · 10 tokens/s\n", []string{"loss 5.5 → 1.9 · 10 tokens/s"}},
		{"│ ╭─╯\n", "│ ╰─╮\n", nil},
		{"loss 1.25\n", "loss 1.26\n", []string{"loss 1.26"}},
		{"12 ms, 3 MiB/s\n", "13 ms, a fault\n", []string{"13 ms, a fault"}},
	} {
		if got := differing(c.own, c.other); !slices.Equal(got, c.want) {
			t.Errorf("%q beside %q: got %q, want %q", c.other, c.own, got, c.want)
		}
	}
}
