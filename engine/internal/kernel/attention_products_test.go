package kernel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// TestAttentionByProducts: which attention of f32 becomes products of a library, and in which parts. A step
// is "rows×inner by inner×columns × batches" of a product, with a + where it is added to what is there, or
// the kind of a text.
func TestAttentionByProducts(t *testing.T) {
	training := attentionGroup{dtype: dtype.F32, batch: 2, heads: 8, keyHeads: 2, queries: 512, keys: 512, width: 64}
	with := func(a attentionGroup, change func(a *attentionGroup)) attentionGroup { change(&a); return a }
	gradient := func(a *attentionGroup) { a.gradient = true }
	causal := func(a *attentionGroup) {
		a.gradient, a.causal, a.queries, a.keys, a.width = true, true, 1024, 1024, 128
	}
	const room = 256 << 20
	for _, c := range []struct {
		name   string
		group  attentionGroup
		room   int
		change func(l *Limits)
		want   []string // nil if it stays with the texts
	}{
		{name: "forward", group: with(training, func(a *attentionGroup) { a.queries, a.keys = 1024, 1024 }), room: room, want: []string{
			"bring", "4096×64 by 64×1024 × 4", "softmax", "4096×1024 by 1024×64 × 4", "put"}},
		{name: "its gradient", group: with(training, gradient), room: room, want: []string{
			"bring", "2048×64 by 64×512 × 4", "2048×64 by 64×512 × 4", "weights",
			"512×2048 by 2048×64 × 4", "512×2048 by 2048×64 × 4", "2048×512 by 512×64 × 4", "put"}},
		{name: "heads in two parts", group: with(training, gradient), room: 24 << 20, want: slices.Repeat([]string{
			"bring", "2048×64 by 64×512 × 2", "2048×64 by 64×512 × 2", "weights",
			"512×2048 by 2048×64 × 2", "512×2048 by 2048×64 × 2", "2048×512 by 512×64 × 2", "put"}, 2)},
		{name: "causal: the last queries see all keys, the first ones half of them", group: with(training, func(a *attentionGroup) {
			causal(a)
			a.keyHeads = 8
		}), room: room, want: []string{
			"bring", "512×128 by 128×1024 × 16", "512×128 by 128×1024 × 16", "weights",
			"1024×512 by 512×128 × 16", "1024×512 by 512×128 × 16", "512×1024 by 1024×128 × 16", "put",
			"bring", "512×128 by 128×512 × 16", "512×128 by 128×512 × 16", "weights",
			"512×512 by 512×128 × 16 +", "512×512 by 512×128 × 16 +", "512×512 by 512×128 × 16", "put"}},
		{name: "causal in less memory: fewer queries, not fewer heads", group: with(training, func(a *attentionGroup) {
			causal(a)
			a.keys, a.keyHeads = 1100, 8
		}), room: 60 << 20, want: []string{
			"bring", "256×128 by 128×1100 × 16", "256×128 by 128×1100 × 16", "weights",
			"1100×256 by 256×128 × 16", "1100×256 by 256×128 × 16", "256×1100 by 1100×128 × 16", "put",
			"bring", "256×128 by 128×844 × 16", "256×128 by 128×844 × 16", "weights",
			"844×256 by 256×128 × 16 +", "844×256 by 256×128 × 16 +", "256×844 by 844×128 × 16", "put",
			"bring", "256×128 by 128×588 × 16", "256×128 by 128×588 × 16", "weights",
			"588×256 by 256×128 × 16 +", "588×256 by 256×128 × 16 +", "256×588 by 588×128 × 16", "put",
			"bring", "256×128 by 128×332 × 16", "256×128 by 128×332 × 16", "weights",
			"332×256 by 256×128 × 16 +", "332×256 by 256×128 × 16 +", "256×332 by 332×128 × 16", "put"}},
		{name: "heads of keys beside each other: copied for each part", group: with(training, func(a *attentionGroup) {
			a.gradient = true
			a.lay = func(operand int, l ir.Layout) ir.Layout {
				if operand != 1 {
					return l
				}
				s := l.Shape
				return ir.Contiguous([]int{s[0], s[2], s[1], s[3]}).Permute([]int{0, 2, 1, 3})
			}
		}), room: 24 << 20, want: slices.Repeat([]string{
			"bring", "bring", "2048×64 by 64×512 × 2", "2048×64 by 64×512 × 2", "weights",
			"512×2048 by 2048×64 × 2", "512×2048 by 2048×64 × 2", "2048×512 by 512×64 × 2", "put"}, 2)},
		{name: "gradients of keys and values beside each other: put where they belong", group: with(training, func(a *attentionGroup) {
			a.gradient = true
			a.lay = func(operand int, l ir.Layout) ir.Layout {
				if operand != AttentionDK && operand != AttentionDV {
					return l
				}
				s := l.Shape
				return ir.Contiguous([]int{s[0], s[2], s[1], s[3]}).Permute([]int{0, 2, 1, 3})
			}
		}), room: 24 << 20, want: slices.Repeat([]string{
			"bring", "2048×64 by 64×512 × 2", "2048×64 by 64×512 × 2", "weights",
			"512×2048 by 2048×64 × 2", "512×2048 by 2048×64 × 2", "2048×512 by 512×64 × 2", "put", "put", "put"}, 2)},
		{name: "a mask", group: with(training, func(a *attentionGroup) { a.gradient, a.masked = true, true }), room: room, want: []string{
			"bring", "2048×64 by 64×512 × 4", "2048×64 by 64×512 × 4", "weights",
			"512×2048 by 2048×64 × 4", "512×2048 by 2048×64 × 4", "2048×512 by 512×64 × 4", "put"}},

		{name: "capped scores", group: with(training, func(a *attentionGroup) { a.gradient, a.sight.Cap = true, 50 }), room: room, want: []string{
			"bring", "2048×64 by 64×512 × 4", "2048×64 by 64×512 × 4", "weights",
			"512×2048 by 2048×64 × 4", "512×2048 by 2048×64 × 4", "2048×512 by 512×64 × 4", "put"}},

		{name: "a window", group: with(training, func(a *attentionGroup) { a.gradient, a.sight.Window = true, 500 }), room: room},
		{name: "bf16", group: with(training, func(a *attentionGroup) { a.dtype = dtype.BF16 }), room: room},
		{name: "little", group: with(training, func(a *attentionGroup) { a.queries, a.keys = 128, 128 }), room: room},
		{name: "a step of decoding", group: with(training, func(a *attentionGroup) { a.batch, a.queries, a.keys = 64, 1, 1<<14 }), room: room},
		{name: "the first queries see no key", group: with(training, func(a *attentionGroup) { causal(a); a.keys = 512 }), room: room},
		{name: "no room", group: with(training, gradient), room: 0},
		{name: "room for less than a row", group: with(training, gradient), room: 1 << 10},
		{name: "one of Apple's GPUs", group: with(training, gradient), room: room, change: func(l *Limits) { l.Family = Apple }},
		{name: "a library without such products", group: with(training, gradient), room: room, change: func(l *Limits) {
			l.Library.Offer = func(w Work) (int, bool) { p, ok := w.(Product); return 0, ok && p.Batches == 1 }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits := Limits{Threads: 1024, SIMDWidth: 32, Processors: 132, Family: NVIDIA, Library: &Library{
				Offer: func(w Work) (int, bool) { _, ok := w.(Product); return 1000, ok }, Room: c.room,
			}}
			if c.change != nil {
				c.change(&limits)
			}
			k, err := Render(c.group.sketch(), limits)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			products := false
			for _, d := range k.Dispatches {
				kind, _, _ := strings.Cut(strings.TrimPrefix(d.Function, "attention_"), "_")
				if d.Library != nil {
					p := d.Library.Work.(Product)
					products = true
					if kind = fmt.Sprintf("%d×%d by %d×%d × %d", p.Rows, p.Inner, p.Inner, p.Columns, p.Batches); p.Added() {
						kind += " +"
					}
				}
				got = append(got, kind)
			}
			if c.want == nil && products || c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if extra := 1000 + 4*workspaceAlignment; products && k.Scratch > c.room+extra {
				t.Errorf("got %d bytes of workspace, want at most %d and a product's", k.Scratch, c.room)
			}
		})
	}
}

// TestAttentionByProductsPTX: the texts between the products are what Metal takes, and what a thread holds
// stays in registers.
func TestAttentionByProductsPTX(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	limits := Limits{Threads: 1024, SIMDWidth: 32, Family: NVIDIA, Library: &Library{
		Offer: func(Work) (int, bool) { return 0, true }, Room: 1 << 28, Always: true,
	}}
	texts := map[string]string{}
	for _, gradient := range []bool{false, true} {
		for _, masked := range []bool{false, true} {
			a := attentionGroup{dtype: dtype.F32, batch: 1, heads: 4, keyHeads: 2, queries: 64, keys: 70, width: 64, causal: true, gradient: gradient, masked: masked}
			k, err := Render(a.sketch(), limits)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range k.Dispatches {
				if d.Library == nil {
					texts[d.Function] = d.Text
				}
			}
		}
	}
	if len(texts) < 8 { // of both rows in and out, and weights with and without a mask
		t.Errorf("got %d texts, want 8", len(texts))
	}
	for _, s := range sourcesOf(t, texts) {
		ptx, err := tools.PTX(context.Background(), "sm_80", s)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(ptx), "__local_depot") {
			t.Error("got arrays in memory, want all in registers")
		}
	}
}
