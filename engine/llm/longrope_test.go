package llm

import (
	"context"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// longRope is a small model whose rates are others in texts of more than 12 tokens.
func longRope() *Model {
	c := tiny()
	pairs := c.Width / c.Heads / 2
	c.Rope = nn.Rope{Base: 1e4, Scaling: nn.RopeScaling{Kind: "longrope", Context: 96, Original: 12,
		Short: slices.Repeat([]float64{1}, pairs), Long: slices.Repeat([]float64{4}, pairs)}}
	c.Context = 96
	m := New(c)
	for _, b := range m.Blocks { // so that places matter
		for _, p := range nn.Params(b.Attn) {
			p.Value().Set(p.Value().Mul(20))
		}
	}
	return m
}

// bestWithout are the n best tokens after a text, one after the other, without a cache.
func bestWithout(m *Model, ids []int, n int) []int {
	ids = slices.Clone(ids)
	for range n {
		last := m.Logits(tensor.From(ids, 1, len(ids))).Slice(1, len(ids)-1, len(ids)).Flatten().Floats()
		ids = append(ids, slices.Index(last, slices.Max(last)))
	}
	return ids
}

// Texts that outgrow the first rates of longrope go on as they do without a cache, alone, in a batch and
// after a prefix; so does a text that goes back below their limit.
func TestLongRopeAcrossItsLimit(t *testing.T) {
	ctx, m := context.Background(), longRope()
	prompts := [][]int{{1, 2, 3}, {7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}}
	for _, o := range []Sampling{{Tokens: 15}, {Tokens: 15, TopK: 1, Temperature: 1}} {
		var want [][]int
		for _, prompt := range prompts {
			want = append(want, bestWithout(m, prompt, o.Tokens))
			got, err := m.GenerateTokens(ctx, prompt, o)
			if err != nil || !slices.Equal(got, want[len(want)-1]) {
				t.Errorf("%d tokens: got %v, %v, want %v", len(prompt), got, err, want[len(want)-1])
			}
			for _, n := range []int{2, len(prompt)} {
				p, err := m.PrefixTokens(ctx, prompt[:n], Sampling{})
				if err != nil {
					t.Fatal(err)
				}
				with := o
				with.Prefix = p
				got, err := m.GenerateTokens(ctx, prompt, with)
				if err != nil || !slices.Equal(got, want[len(want)-1]) {
					t.Errorf("%d tokens after a prefix of %d: got %v, %v, want %v", len(prompt), n, got, err, want[len(want)-1])
				}
			}
		}
		got, err := m.GenerateBatchTokens(ctx, prompts, o)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("a batch: got %v, %v, want %v", got, err, want)
		}
	}
	mem := m.memory(m.kept(Sampling{}), room{texts: 1})
	it := mem.text(prompts[2])
	for _, ids := range [][]int{prompts[2], prompts[2][:8], prompts[2]} {
		it.ids, it.known = ids, min(it.known, len(ids)-1)
		if err := mem.read(ctx, it); err != nil {
			t.Fatal(err)
		}
		got, err := mem.scores(ctx, []*text{it}, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := m.Logits(tensor.From(ids, 1, len(ids))).Slice(1, len(ids)-1, len(ids)).Flatten().Eval()
		if d := relative(tensor.From(got), want); d > 1e-5 {
			t.Errorf("a text of %d tokens in the same memory: scores differ by %g", len(ids), d)
		}
	}
}
