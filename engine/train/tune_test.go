package train

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
)

// TestLoRA: one call puts an adapter into a model and trains it, and nothing else. It is what one would have
// written with Inject and Run.
func TestLoRA(t *testing.T) {
	m := newModel()
	base := nn.Hash(nn.Params(m))
	tuned, err := LoRA(t.Context(), m, windows(), Options{Seed: 1, LoRA: lora.Config{Rank: 2}, Eval: windows()})
	if err != nil {
		t.Fatal(err)
	}
	h := tuned.History
	if want := 3 * data.Epoch(windows()); h.Steps() != want || h.Last() >= h.First() || len(h.Eval) < 10 {
		t.Errorf("%d steps with losses from %.3f to %.3f and %d evaluations, want %d steps, less loss, at least 10", h.Steps(), h.First(), h.Last(), len(h.Eval), want)
	}
	text := tuned.Text(80)
	for _, part := range []string{"LoRA rank 2, scale 2, 7 layers · 464 of ", " parameters (", "steps · loss 5."} {
		if !strings.Contains(text, part) {
			t.Errorf("got %q, want it to say %q", text, part)
		}
	}
	file := filepath.Join(t.TempDir(), "adapter")
	if err := tuned.Adapter.Save(file); err != nil {
		t.Fatal(err)
	}

	same := newModel()
	adapter, err := lora.Inject(same, lora.Config{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Seed: 1, Eval: windows()}.Tuning(windows(), true)
	o.Params = adapter.Params()
	if byHand := mustRun(t, same, windows(), o); !slices.Equal(byHand.Loss, h.Loss) || nn.Hash(nn.Params(same)) != nn.Hash(nn.Params(m)) {
		t.Error("the run differs from one that was written by hand")
	}
	if err := lora.Remove(m); err != nil {
		t.Fatal(err)
	}
	if nn.Hash(nn.Params(m)) != base {
		t.Error("the base's weights changed")
	}
}

// TestLoRAGoesOn: a call that was interrupted goes on when it is made again, with the same adapter.
func TestLoRAGoesOn(t *testing.T) {
	o := Options{Steps: 9, Seed: 1, LoRA: lora.Config{Rank: 2}}
	straight := newModel()
	want, err := LoRA(t.Context(), straight, windows(), o)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel()
	first, err := LoRA(cancelAfter(4), m, windows(), o)
	var stopped *Interrupted
	if !errors.As(err, &stopped) || first.Adapter == nil || first.History.Steps() == 9 {
		t.Fatalf("got %v, %v, want an interruption", first, err)
	}
	again, err := LoRA(t.Context(), m, windows(), o)
	if err != nil {
		t.Fatal(err)
	}
	if again.Adapter != first.Adapter || !slices.Equal(again.History.Loss, want.History.Loss) || nn.Hash(nn.Params(m)) != nn.Hash(nn.Params(straight)) {
		t.Errorf("got losses %v, want %v", again.History.Loss, want.History.Loss)
	}
	further, err := LoRA(t.Context(), m, windows(), o) // is over: the next call trains the adapter further
	if err != nil || further.Adapter != first.Adapter || further.History.First() >= want.History.First() {
		t.Errorf("further: %v, %v", further, err)
	}
}

// TestLoRAPlus: B learns faster, as with the rule of the adapter.
func TestLoRAPlus(t *testing.T) {
	m, same := newModel(), newModel()
	o := Options{Steps: 5, LR: optim.Constant(1e-3), LoRA: lora.Config{Rank: 2}, LoRAPlus: 16}
	tuned, err := LoRA(t.Context(), m, windows(), o)
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := lora.Inject(same, o.LoRA)
	if err != nil {
		t.Fatal(err)
	}
	h := mustRun(t, same, windows(), Options{Steps: 5, LR: o.LR, Clip: 1, Params: adapter.Params(), Optimizer: adapter.Plus(nil, 16)})
	if !slices.Equal(h.Loss, tuned.History.Loss) || nn.Hash(nn.Params(same)) != nn.Hash(nn.Params(m)) {
		t.Errorf("got losses %v, want %v", tuned.History.Loss, h.Loss)
	}
}

// TestFull: the same call without an adapter.
func TestFull(t *testing.T) {
	m := newModel()
	tuned, err := Full(t.Context(), m, windows(), Options{Steps: 5, LR: optim.Constant(1e-2)})
	if err != nil || tuned.Adapter != nil || tuned.History.Last() >= tuned.History.First() {
		t.Fatalf("got %v, %v", tuned, err)
	}
	if text := tuned.Text(80); !strings.HasPrefix(text, "all weights · ") || !strings.Contains(text, "(100 %)\n5 steps · loss ") {
		t.Errorf("got %q", text)
	}
}

// TestTuningThatCannotBe: an error leaves the model as it was.
func TestTuningThatCannotBe(t *testing.T) {
	type call func(m Model, o Options) error
	byLoRA := func(m Model, o Options) error { _, err := LoRA(t.Context(), m, windows(), o); return err }
	byFull := func(m Model, o Options) error { _, err := Full(t.Context(), m, windows(), o); return err }
	byRun := func(m Model, o Options) error { _, err := Run(t.Context(), m, windows(), o); return err }
	adapted := func(m Model) { _, _ = lora.Inject(m, lora.Config{Rank: 3}) }
	for _, c := range []struct {
		name   string
		do     call
		before func(m Model)
		o      Options
		want   string
	}{
		{"no such layer", byLoRA, nil, Options{LoRA: lora.Config{Targets: "q_prjo"}}, "q_prjo"},
		{"negative clipping", byLoRA, nil, Options{Clip: -1}, "got a Clip of -1"},
		{"a rate for B", byLoRA, nil, Options{LoRAPlus: -1}, "got LoRAPlus -1"},
		{"negative epochs", byLoRA, nil, Options{Epochs: -1}, "got -1 epochs"},
		{"parameters", byLoRA, nil, Options{Params: nn.Params(newModel())}, "got Params"},
		{"another adapter", byLoRA, adapted, Options{LoRA: lora.Config{Rank: 2}}, "has an adapter already"},
		{"all weights beside an adapter", byFull, adapted, Options{}, "the model has the adapter LoRA rank 3"},
		{"all weights and an adapter", byFull, nil, Options{LoRA: lora.Config{Rank: 2}}, "got Options.LoRA or LoRAPlus"},
		{"an adapter for Run", byRun, nil, Options{Steps: 1, LR: optim.Constant(1), LoRA: lora.Config{Rank: 2}}, "got Options.LoRA or LoRAPlus"},
		{"epochs of unknown length", byRun, nil, Options{Epochs: 1, LR: optim.Constant(1)}, ""},
	} {
		m := newModel()
		if c.before != nil {
			c.before(m)
		}
		adapters, hash := len(lora.Of(m)), nn.Hash(nn.Params(m))
		err := c.do(m, c.o)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to say %q", c.name, err, c.want)
		}
		if len(lora.Of(m)) != adapters || nn.Hash(nn.Params(m)) != hash {
			t.Errorf("%s: the model is another one", c.name)
		}
	}
	if _, err := Run(t.Context(), newModel(), &fixed{}, Options{Epochs: 2, LR: optim.Constant(1)}); err == nil || !strings.Contains(err.Error(), "does not say how long an epoch is") {
		t.Errorf("epochs of unknown length: got %v", err)
	}
}

// TestTuningDefaults: what is not said, and what is.
func TestTuningDefaults(t *testing.T) {
	epoch := data.Epoch(windows())
	for _, c := range []struct {
		name    string
		source  data.Source
		o       Options
		adapter bool
		want    Options
	}{
		{"nothing", windows(), Options{}, true, Options{Epochs: 3, Steps: 3 * epoch, LR: optim.Cosine(2e-4, 3*epoch/20, 3*epoch), Clip: 1}},
		{"in parts", windows(), Options{Accumulate: 4}, true, Options{Epochs: 3, Steps: (3*epoch + 3) / 4, LR: optim.Cosine(2e-4, 1, (3*epoch+3)/4), Clip: 1, Accumulate: 4}},
		{"all weights", windows(), Options{Steps: 4000}, false, Options{Steps: 4000, LR: optim.Cosine(2e-5, 100, 4000), Clip: 1}},
		{"an unknown length", &fixed{}, Options{}, true, Options{Steps: 300, LR: optim.Cosine(2e-4, 15, 300), Clip: 1}},
		{"what is said stays", &fixed{}, Options{Steps: 7, LR: optim.Constant(1), Clip: 2}, true, Options{Steps: 7, LR: optim.Constant(1), Clip: 2}},
	} {
		got := c.o.Tuning(c.source, c.adapter)
		if got.Steps != c.want.Steps || got.Epochs != c.want.Epochs || got.LR != c.want.LR || got.Clip != c.want.Clip || got.Accumulate != c.want.Accumulate {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}
