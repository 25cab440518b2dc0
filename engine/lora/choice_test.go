package lora_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// three is a model with three adapters of unlike ranks, of which the last one is at fewer layers.
func three(t *testing.T) (*llm.Model, []*lora.Adapter) {
	t.Helper()
	m := model()
	var list []*lora.Adapter
	for i, c := range []lora.Config{{Name: "a", Rank: 4}, {Name: "b", Rank: 2, Alpha: 6}, {Name: "c", Rank: 8, Targets: "q_proj up_proj"}} {
		ad, r := inject(t, m, c), tensor.NewRNG(uint64(20+i))
		for _, p := range ad.Params() {
			p.Value().Set(r.Randn(p.Value().Shape()...).Mul(0.2))
		}
		list = append(list, ad)
	}
	return m, list
}

// within is the model's logits within a context.
func within(ctx context.Context, m *llm.Model, ids tensor.Tensor) (y tensor.Tensor) {
	tensor.Within(ctx, func() { y = m.Logits(ids).Eval() })
	return y
}

// A context chooses adapters whatever is on, also where they are merged, and nothing of the model changes.
func TestWith(t *testing.T) {
	m, ad := three(t)
	alone := func(names ...string) tensor.Tensor {
		if err := lora.Use(m, names...); err != nil {
			t.Fatal(err)
		}
		return m.Logits(ids).Eval()
	}
	base, a, b, ab := alone(), alone("a"), alone("b"), alone("a", "b")
	for _, state := range []struct {
		what string
		do   func()
	}{
		{"a on", func() { alone("a") }},
		{"none on", func() { alone() }},
		{"a merged", func() { alone("a"); ad[0].Merge() }},
		{"a and b merged", func() { ad[1].Enable(); ad[1].Merge() }},
	} {
		state.do()
		now := m.Logits(ids).Eval()
		wantClose(t, state.what+": the base", within(lora.With(t.Context()), m, ids), base, 1e-5)
		wantClose(t, state.what+": a", within(lora.With(t.Context(), ad[0]), m, ids), a, 1e-5)
		wantClose(t, state.what+": b", within(lora.With(t.Context(), ad[1]), m, ids), b, 1e-5)
		wantClose(t, state.what+": both", within(lora.With(t.Context(), ad[0], ad[1]), m, ids), ab, 1e-5)
		if d := tensor.MaxAbsDiff(m.Logits(ids), now); d != 0 {
			t.Errorf("%s: the model says something else afterwards, by %g", state.what, d)
		}
	}
	text, err := m.GenerateTokens(lora.With(t.Context(), ad[1]), []int{1, 2, 3}, llm.Sampling{Tokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	alone("b")
	ad[0].Unmerge()
	ad[1].Unmerge()
	if want, _ := m.GenerateTokens(t.Context(), []int{1, 2, 3}, llm.Sampling{Tokens: 5}); !slices.Equal(text, want) {
		t.Errorf("generation within a context: got %v, want %v", text, want)
	}
}

// Each row of a batch says what it says with its own adapter alone.
func TestRows(t *testing.T) {
	for _, dt := range []dtype.Type{dtype.F32, dtype.BF16} {
		m, ad := three(t)
		nn.Convert(m, dt)
		near := 1e-5
		if dt == dtype.BF16 {
			ad[0].Merge() // a batch of several does not use the merged weight, which is rounded
			near = 0.05
		}
		batch := tensor.From([][]int{{10, 20, 30, 40, 50}, {1, 2, 3, 4, 5}, {10, 20, 30, 40, 50}, {7, 7, 7, 7, 7}, {9, 8, 7, 6, 5}})
		for _, rows := range [][]*lora.Adapter{
			{ad[0], nil, ad[1], ad[2], ad[0]},
			{nil, nil, nil, nil, nil},
			{ad[1], ad[1], ad[1], ad[1], ad[1]},
			{nil, nil, nil, nil, ad[2]},
		} {
			got := within(lora.Rows(t.Context(), rows...), m, batch)
			for i, a := range rows {
				var own []*lora.Adapter
				if a != nil {
					own = append(own, a)
				}
				wantClose(t, dt.String(), got.Slice(0, i, i+1), within(lora.With(t.Context(), own...), m, batch.Slice(0, i, i+1)), near)
			}
		}
		err := tensor.Try(func() { within(lora.Rows(t.Context(), ad[0], nil), m, batch) })
		if want := "lora.Rows: got f32[5 5 32] for the adapters of 2 rows, want as many rows"; errorText(err) != want {
			t.Errorf("got error %q, want %q", errorText(err), want)
		}
	}
}

// A batch of several adapters costs the launches of a batch of one, also over quantised weights, and another
// assignment of the rows builds no plan.
func TestLaunchesOfRows(t *testing.T) {
	for _, found := range devices {
		onDevice(t, found, func(dev device.Device) {
			m, ad := three(t)
			record := func(ids tensor.Tensor, rows ...*lora.Adapter) *profile.Recording {
				return profile.Record(t.Context(), func(ctx context.Context) { within(lora.Rows(ctx, rows...), m, ids) })
			}
			alone := func(ids tensor.Tensor) *profile.Recording {
				return profile.Record(t.Context(), func(ctx context.Context) { within(lora.With(ctx, ad[0]), m, ids) })
			}
			for _, ids := range []tensor.Tensor{
				tensor.From([][]int{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {1, 1, 1, 1, 1}}),
				tensor.From([][]int{{1}, {6}, {7}}),
			} {
				record(ids, ad[0], ad[1], nil) // the first time they are put side by side
				one := alone(ids)
				several := record(ids, ad[0], ad[1], nil)
				again := record(ids, nil, ad[0], ad[1])
				if several.Launches > one.Launches {
					t.Errorf("on %v: %d launches for several adapters, %d for one\n%v\n%v", dev, several.Launches, one.Launches, several, one)
				}
				if again.PlansBuilt != 0 || again.Launches != several.Launches {
					t.Errorf("on %v: %d plans and %d launches for the same adapters at other rows, want 0 and %d", dev, again.PlansBuilt, again.Launches, several.Launches)
				}
			}
		})
	}
}

// In a batch of several adapters each learns from its own rows.
func TestGradientsOfRows(t *testing.T) {
	m, ad := three(t)
	for _, a := range ad {
		a.Unfreeze()
	}
	batch := tensor.From([][]int{{10, 20, 30}, {1, 2, 3}, {4, 5, 6}, {7, 9, 2}})
	params := append(ad[0].Params(), ad[1].Params()...)
	grads := func(ctx context.Context, batch tensor.Tensor, params []nn.Param) (list []tensor.Tensor) {
		tensor.Within(ctx, func() {
			list = tensor.Grad(m.Logits(batch).LogSoftmax(-1).Sum(), nn.Values(params)...)
			tensor.Eval(list...)
		})
		return list
	}
	got := grads(lora.Rows(t.Context(), ad[0], ad[0], nil, ad[1]), batch, params)
	want := append(grads(lora.With(t.Context(), ad[0]), batch.Slice(0, 0, 2), ad[0].Params()),
		grads(lora.With(t.Context(), ad[1]), batch.Slice(0, 3, 4), ad[1].Params())...)
	for i, p := range params {
		wantClose(t, p.Name, got[i], want[i], 1e-4)
	}
}

// Each prompt of a batch is answered with its own adapter, also when rows end at different times and others
// take their places.
func TestRowsOfGeneration(t *testing.T) {
	m, ad := three(t)
	prompts := [][]int{{1, 2, 3}, {4}, {5, 6, 7, 8, 9}, {10, 20}, {1, 2, 3}, {9, 9, 3, 4}}
	own := []*lora.Adapter{ad[0], nil, ad[1], ad[2], ad[1], nil}
	o := llm.Sampling{Tokens: 12, Rows: 3}
	for range 2 { // the second time some end early
		got, err := m.GenerateBatchTokens(lora.Rows(t.Context(), own...), prompts, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, prompt := range prompts {
			ctx := lora.With(t.Context())
			if own[i] != nil {
				ctx = lora.With(t.Context(), own[i])
			}
			want, err := m.GenerateTokens(ctx, prompt, o)
			if err != nil || !slices.Equal(got[i], want) {
				t.Errorf("prompt %d: got %v, want %v, %v", i, got[i], want, err)
			}
		}
		if m.Stop == nil {
			for i, prompt := range prompts[:3] {
				m.Stop = append(m.Stop, got[i][len(prompt)+2+i])
			}
		}
	}
	_, err := m.GenerateBatchTokens(lora.Rows(t.Context(), ad[0], nil), prompts, o)
	if want := "lora.Rows: got text 2 of a batch, counted from 0, for the adapters of 2 rows"; errorText(err) != want {
		t.Errorf("got error %q, want %q", errorText(err), want)
	}
}

// Goroutines that share a model may choose different adapters at the same time.
func TestContextsSideBySide(t *testing.T) {
	m, ad := three(t)
	prompts := [][]int{{1, 2, 3}, {4, 5}}
	o := llm.Sampling{Tokens: 24}
	choices := []context.Context{lora.With(t.Context(), ad[0]), lora.With(t.Context()), lora.With(t.Context(), ad[0], ad[1]),
		lora.Rows(t.Context(), ad[1], nil), lora.Rows(t.Context(), ad[2], ad[0])}
	generate := func(ctx context.Context) [][]int {
		list, err := m.GenerateBatchTokens(ctx, prompts, o)
		if err != nil {
			t.Error(err)
		}
		return list
	}
	var alone, together [][][]int
	for _, ctx := range choices {
		alone = append(alone, generate(ctx))
		together = append(together, nil)
	}
	var wait sync.WaitGroup
	for i, ctx := range choices {
		wait.Go(func() { together[i] = generate(ctx) })
	}
	wait.Wait()
	if !reflect.DeepEqual(together, alone) {
		t.Errorf("got %v at the same time, %v one after the other", together, alone)
	}
}

// A compiled function keeps the choice that it was traced with, and sees new numbers of its adapters.
func TestRowsOfCompiledFunction(t *testing.T) {
	m, ad := three(t)
	batch := tensor.From([][]int{{10, 20, 30}, {1, 2, 3}, {4, 5, 6}})
	rows := lora.Rows(t.Context(), ad[0], nil, ad[1])
	tensor.Within(rows, func() {
		f := tensor.Compile(func(x ...tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{m.Logits(x[0])} })
		for i := range 6 {
			got := f(batch)[0]
			wantClose(t, fmt.Sprint("call ", i), got, m.Logits(batch), 1e-5)
			p := ad[1].Params()[1].Value()
			p.Set(p.Mul(0.5).Detach())
		}
	})
}
