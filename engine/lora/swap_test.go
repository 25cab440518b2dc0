package lora_test

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A step sees all of a change that another goroutine makes meanwhile, or nothing of it; the next step sees
// all.
func TestSwapDuringStep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new.safetensors")
	other := inject(t, model(), lora.Config{Rank: 4})
	disturb(other)
	if err := other.Save(file); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		do   func(m *llm.Model, ad []*lora.Adapter) error
	}{
		{"use", func(m *llm.Model, _ []*lora.Adapter) error { return lora.Use(m, "b") }},
		{"enable", func(_ *llm.Model, ad []*lora.Adapter) error { ad[1].Enable(); return nil }},
		{"disable", func(_ *llm.Model, ad []*lora.Adapter) error { ad[0].Disable(); return nil }},
		{"weigh", func(_ *llm.Model, ad []*lora.Adapter) error { ad[0].Weigh(2); return nil }},
		{"load", func(m *llm.Model, _ []*lora.Adapter) error { _, err := lora.LoadAs("new", file, m); return err }},
		{"inject", func(m *llm.Model, _ []*lora.Adapter) error { _, err := lora.Inject(m, lora.Config{}); return err }},
		{"remove", func(m *llm.Model, ad []*lora.Adapter) error { return ad[0].Remove(m) }},
		{"remove all", func(m *llm.Model, _ []*lora.Adapter) error { return lora.Remove(m) }},
		{"merge", func(_ *llm.Model, ad []*lora.Adapter) error { ad[0].Merge(); ad[0].Disable(); return nil }},
	} {
		start := func() (*llm.Model, []*lora.Adapter) {
			m, ad := three(t)
			if err := lora.Use(m, "a"); err != nil {
				t.Fatal(err)
			}
			return m, ad
		}
		m, ad := start()
		before := m.Logits(ids).Eval()
		if err := c.do(m, ad); err != nil {
			t.Fatal(err)
		}
		after := m.Logits(ids).Eval()

		m, ad = start()
		done := make(chan error, 1)
		m.Blocks[0].MLP.Act = nn.Func{Name: "silu", Apply: func(x tensor.Tensor) tensor.Tensor {
			if len(done) == 0 { // in the middle of the first step
				finished := make(chan bool)
				go func() { done <- c.do(m, ad); close(finished) }()
				select {
				case <-finished:
				case <-time.After(20 * time.Millisecond):
				}
			}
			return x.Silu()
		}}
		during := m.Logits(ids).Eval()
		m.Blocks[0].MLP.Act = nil
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if d := tensor.MaxAbsDiff(during, before); d != 0 {
			t.Errorf("%s: differs by %g from the step without it", c.what, d)
		}
		if d := tensor.MaxAbsDiff(m.Logits(ids), after); d != 0 {
			t.Errorf("%s: the step after it differs by %g", c.what, d)
		}
	}
}

// While a text is generated adapters may change between two tokens: what follows is the other adapter's, over
// the caches of the first, and is computed by the plans that there are.
func TestSwapDuringGeneration(t *testing.T) {
	m := model()
	for i, name := range []string{"a", "b"} {
		ad, r := inject(t, m, lora.Config{Name: name, Rank: 4}), tensor.NewRNG(uint64(30+i))
		for _, p := range ad.Params() {
			p.Value().Set(r.Randn(p.Value().Shape()...).Mul(0.3))
		}
	}
	generate := func(first, then string) (tokens []int, plans int) {
		if err := lora.Use(m, first); err != nil {
			t.Fatal(err)
		}
		plans = profile.Record(t.Context(), func(ctx context.Context) {
			for id, err := range m.StreamTokens(ctx, []int{1, 2, 3}, llm.Sampling{Tokens: 16}) {
				if err != nil {
					t.Fatal(err)
				}
				tokens = append(tokens, id)
				if len(tokens) == 4 {
					changed := make(chan error)
					go func() { changed <- lora.Use(m, then) }()
					if err := <-changed; err != nil {
						t.Fatal(err)
					}
				}
			}
		}).PlansBuilt
		return tokens, plans
	}
	a, _ := generate("a", "a")
	both, plans := generate("a", "b")
	if !slices.Equal(both[:4], a[:4]) || slices.Equal(both, a) {
		t.Errorf("got %v with a change after four tokens, %v without", both, a)
	}
	if plans != 0 {
		t.Errorf("the change built %d plans, want 0", plans)
	}
}

// An adapter that was taken out holds no memory of the model, and a model none of the adapter.
func TestRemovedAdaptersHoldNothing(t *testing.T) {
	released := func(what string, gone <-chan bool) {
		t.Helper()
		for range 100 {
			runtime.GC()
			select {
			case <-gone:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		t.Errorf("%s is still held", what)
	}
	watch := func() (chan bool, func(bool)) {
		gone := make(chan bool, 1)
		return gone, func(bool) { gone <- true }
	}
	m := model()
	ad, other := inject(t, m, lora.Config{Name: "a", Rank: 4}), inject(t, m, lora.Config{Name: "b", Rank: 4})
	part := m.Blocks[0].Attn.Q.(*lora.Linear).Parts[0]
	gone, now := watch()
	runtime.AddCleanup(part, now, true)
	part = nil
	if err := ad.Remove(m); err != nil {
		t.Fatal(err)
	}
	ad = nil
	released("the adapter, by the model,", gone)
	gone, now = watch()
	runtime.AddCleanup(m, now, true)
	if err := other.Remove(m); err != nil {
		t.Fatal(err)
	}
	m = nil
	released("the model, by the adapter,", gone)
	if other.Trained() == 0 {
		t.Error("the adapter is gone, too")
	}
}
