package tensor

import (
	"math"
	"testing"
)

// A mask broadcasts along each of its axes.
func TestAttentionMaskBroadcasts(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := NewRNG(5)
		q, k, v := rng.Randn(2, 4, 3, 8), rng.Randn(2, 2, 5, 8), rng.Randn(2, 2, 5, 6)
		for _, shape := range [][]int{{}, {5}, {1}, {3, 1}, {1, 5}, {4, 1, 5}, {1, 3, 1}, {2, 1, 1, 5}, {2, 4, 3, 1}, {2, 4, 3, 5}} {
			bias := rng.Randn(shape...)
			for _, mask := range []Tensor{bias, bias.Gt(-1)} {
				got := Attention(q, k, v, AttentionOptions{Mask: mask})
				want := Attention(q, k, v, AttentionOptions{Mask: mask.Expand(2, 4, 3, 5).Add(0).Cast(mask.DType())})
				if d := MaxAbsDiff(got, want); !(d <= 1e-6) {
					t.Errorf("mask %v: differs by %v from the mask that is repeated beforehand", mask.Brief(), d)
				}
			}
		}
		blind := Attention(q, k, v, AttentionOptions{Mask: Full(math.Inf(-1), 1, 5)})
		if got := blind.Abs().Max().Item(); got != 0 {
			t.Errorf("a query that sees no key: got %v, want 0", got)
		}
		for _, shape := range [][]int{{4}, {2, 5}, {3, 3, 5}, {1, 1, 1, 3, 5}} {
			if err := Try(func() { Attention(q, k, v, AttentionOptions{Mask: Zeros(shape...)}) }); err == nil {
				t.Errorf("mask of shape %v: got no error", shape)
			}
		}
	})
}
