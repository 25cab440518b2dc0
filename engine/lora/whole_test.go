package lora_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// What is trained whole beside A and B. The model has biases of q, k and v, and an output matrix of its own.
func TestTrainedWhole(t *testing.T) {
	for _, c := range []struct {
		name   string
		config lora.Config
		want   []string // weights
		all    int      // that many weights are trained, with A and B
	}{
		{"nothing", lora.Config{Targets: "q_proj"}, nil, 4},
		{"a norm", lora.Config{Targets: "q_proj", Train: "norm"}, []string{"model.norm.weight"}, 5},
		{"norms", lora.Config{Targets: "q_proj", Train: "*norm*"}, []string{"model.norm.weight", "model.layers.1.input_layernorm.weight"}, 9},
		{"a part and all in it", lora.Config{Targets: "q_proj", Train: "layers.1.self_attn"}, []string{"model.layers.1.self_attn.q_proj.weight", "model.layers.1.self_attn.k_proj.bias"}, 9},
		{"embedding and output", lora.Config{Targets: "q_proj", Train: "embed_tokens lm_head"}, []string{"model.embed_tokens.weight", "lm_head.weight"}, 6},
		{"all biases", lora.Config{Targets: "q_proj", Bias: lora.AllBiases}, []string{"model.layers.0.self_attn.k_proj.bias"}, 10},
		{"biases of adapted layers", lora.Config{Targets: "q_proj", Bias: lora.AdaptedBiases}, []string{"model.layers.0.self_attn.q_proj.bias"}, 6},
		{"tokens", lora.Config{Targets: "q_proj", Tokens: []int{1, 2}}, []string{"model.embed_tokens.lora_tokens"}, 5},
		{"everything", lora.Config{Full: true}, []string{"model.embed_tokens.weight", "lm_head.weight"}, 27},
		{"a block", lora.Config{Full: true, LastBlocks: 1}, []string{"model.layers.1.mlp.up_proj.weight"}, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := base(t, "own")
			before, hash := m.Logits(ids.Fmod(40)).Eval(), nn.Hash(nn.Params(m))
			ad := inject(t, m, c.config)
			names := map[string]bool{}
			for _, p := range ad.Params() {
				names[p.Name] = true
			}
			for _, want := range c.want {
				if !names[want] {
					t.Errorf("%s is not trained", want)
				}
			}
			if got := len(nn.Trainable(m)); got != c.all || len(names) != c.all {
				t.Errorf("%d weights of the model are trained, and %d of the adapter, want %d", got, len(names), c.all)
			}
			if d := tensor.MaxAbsDiff(before, m.Logits(ids.Fmod(40))); d > 1e-6 {
				t.Errorf("at first the model differs by %g", d)
			}
			move(ad)
			trained := m.Logits(ids.Fmod(40)).Eval()
			ad.Disable()
			if d := tensor.MaxAbsDiff(before, m.Logits(ids.Fmod(40))); d > 1e-6 {
				t.Errorf("off it differs by %g", d)
			}
			ad.Enable()
			if d := tensor.MaxAbsDiff(trained, m.Logits(ids.Fmod(40))); d > 1e-6 {
				t.Errorf("on again it differs by %g", d)
			}
			if err := ad.Remove(m); err != nil {
				t.Fatal(err)
			}
			if nn.Hash(nn.Params(m)) != hash || len(nn.Trainable(m)) != 0 {
				t.Error("removed it leaves another model")
			}
		})
	}
}

// What is trained whole is trained after a save and a load, too, also while it has the values of the base: so
// are the files that PEFT writes of an adapter that it has just made.
func TestUntrainedWholesStayTrained(t *testing.T) {
	for _, c := range []lora.Config{
		{Targets: "q_proj", Train: "lm_head"},
		{Targets: "q_proj", Train: "norm embed_tokens"},
		{Targets: "q_proj", Train: "layers.1.self_attn"},
		{Targets: "q_proj", Bias: lora.AllBiases},
		{Targets: "q_proj", Bias: lora.AdaptedBiases},
		{Targets: "q_proj embed_tokens"}, // PEFT writes embeddings that it adapts, too
	} {
		m := base(t, "own")
		made := inject(t, m, c)
		want := made.Params()
		dir := filepath.Join(t.TempDir(), "a")
		if err := made.Save(dir); err != nil {
			t.Fatal(err)
		}
		ad, err := lora.Load(dir, base(t, "own"))
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		if got := ad.Params(); len(got) != len(want) {
			t.Errorf("%v: %d weights are trained after a load, want %d", c, len(got), len(want))
		}
	}
}

// A merged adapter leaves what it trained whole in the model, as it leaves the merged weights.
func TestMergedWholesStay(t *testing.T) {
	m := base(t, "own")
	ad := inject(t, m, lora.Config{Targets: "q_proj", Train: "norm"})
	move(ad)
	want := m.Logits(ids.Fmod(40)).Eval()
	ad.Merge()
	if err := ad.Remove(m); err != nil {
		t.Fatal(err)
	}
	wantClose(t, "the model", m.Logits(ids.Fmod(40)), want, 1e-5)
	if len(nn.Trainable(m)) != 0 {
		t.Error("weights are trained still")
	}
}

// Of two adapters that train the same weight only one can be on, and a context cannot choose between them.
func TestWholesOfTwo(t *testing.T) {
	m := base(t, "own")
	x := ids.Fmod(40)
	plain := m.Logits(x).Eval()
	one := inject(t, m, lora.Config{Name: "one", Targets: "q_proj", Train: "norm"})
	move(one)
	first := m.Logits(x).Eval()
	two := inject(t, m, lora.Config{Name: "two", Targets: "v_proj", Train: "norm"})
	if one.On() || !two.On() {
		t.Error("the second one does not take the first one's turn")
	}
	wantClose(t, "the second one", m.Logits(x), plain, 1e-6)
	if err := lora.Use(m, "one", "two"); err == nil || !strings.Contains(err.Error(), `"one" and "two" both train model.norm.weight whole`) {
		t.Errorf("both: got %v", err)
	}
	if err := tensor.Try(one.Enable); err == nil || !strings.Contains(err.Error(), `model.norm.weight is trained whole by "two"`) {
		t.Errorf("enable: got %v", err)
	}
	if err := lora.Use(m, "one"); err != nil {
		t.Fatal(err)
	}
	wantClose(t, "the first one", m.Logits(x), first, 1e-6)
	err := tensor.Try(func() {
		tensor.Within(lora.With(context.Background()), func() { m.Logits(x).Eval() })
	})
	if err == nil || !strings.Contains(err.Error(), "no context can choose") {
		t.Errorf("a context: got %v", err)
	}
	path := filepath.Join(t.TempDir(), "one")
	if err := lora.Use(m, "two"); err != nil {
		t.Fatal(err)
	}
	if err := one.Save(path); err != nil { // it is off
		t.Fatal(err)
	}
	fresh := base(t, "own")
	if _, err := lora.Load(path, fresh); err != nil {
		t.Fatal(err)
	}
	wantClose(t, "what was saved while it was off", fresh.Logits(x), first, 1e-6)
	if err := lora.Remove(m); err != nil {
		t.Fatal(err)
	}
	wantClose(t, "the model without them", m.Logits(x), plain, 1e-6)
}

func TestTrainIsChecked(t *testing.T) {
	for _, c := range []struct {
		config lora.Config
		want   string
	}{
		{lora.Config{Train: "lm_haed"}, `train "lm_haed" chooses no module of the model; did you mean "lm_head"?`},
		{lora.Config{Train: lora.AllLinear}, "want names of modules; Full trains all"},
		{lora.Config{Bias: "some"}, `got Bias "some", want "none", "all" or "lora_only"`},
		{lora.Config{Tokens: []int{1, 1}}, "got token 1, want each once and from 0 to 39"},
		{lora.Config{Tokens: []int{40}}, "got token 40"},
		{lora.Config{Targets: "q_proj", Train: "q_proj"}, "choose no linear layer of the model that the rest"},
	} {
		m := base(t, "own")
		before := nn.Hash(nn.Params(m))
		if _, err := lora.Inject(m, c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.config, err, c.want)
		}
		if nn.Hash(nn.Params(m)) != before || len(lora.Of(m)) != 0 {
			t.Errorf("%+v: the model is another", c.config)
		}
	}
}

// An adapter that trains weights whole and adapts no layer is one of the model's as others are: it is listed,
// used and taken out by name, refused a second time, and no context can leave it out.
func TestAdaptersWithoutLayersAreListed(t *testing.T) {
	m := base(t, "own")
	x := ids.Fmod(40)
	plain, hash := m.Logits(x).Eval(), nn.Hash(nn.Params(m))
	var logits []tensor.Tensor
	for _, c := range []lora.Config{{Full: true, Name: "one"}, {Full: true, LastBlocks: 1, Name: "two"}, {Targets: "q_proj", Name: "three"}} {
		move(inject(t, m, c))
		logits = append(logits, m.Logits(x).Eval())
	}
	list := lora.Of(m)
	if len(list) != 3 || len(nn.Params(m)) != 27+4 {
		t.Fatalf("got %v", list)
	}
	for _, want := range []string{"three       8      2       2         512", "one         –      –       0       5,264", "off"} {
		if !strings.Contains(list.String(), want) {
			t.Errorf("got\n%v\nwant %q", list, want)
		}
	}
	one, err := list.Named("one")
	if err != nil || one.On() || one.Device() != nn.Device(m) {
		t.Errorf("one is on beside two, which trains the same weights: %v", err)
	}
	for _, c := range []lora.Config{{Full: true, Name: "one"}, {Full: true, Name: "three"}, {Targets: "v_proj", Name: "two"}} {
		if _, err := lora.Inject(m, c); err == nil || !strings.Contains(err.Error(), "the model has an adapter already that is named") {
			t.Errorf("%+v: got %v", c, err)
		}
	}
	if err := lora.Use(m, "one", "two"); err == nil || !strings.Contains(err.Error(), "train model.layers.1.") {
		t.Errorf("both: got %v", err)
	}
	for names, want := range map[string]tensor.Tensor{"": plain, "one": logits[0], "two": logits[1], "two three": logits[2]} {
		if err := lora.Use(m, strings.Fields(names)...); err != nil {
			t.Fatal(err)
		}
		wantClose(t, "with "+names, m.Logits(x), want, 1e-6)
	}
	if err := lora.Use(m, "one"); err != nil {
		t.Fatal(err)
	}
	err = tensor.Try(func() { tensor.Within(lora.With(t.Context()), func() { m.Logits(x).Eval() }) })
	if err == nil || !strings.Contains(err.Error(), `adapter "one" trains model.`) {
		t.Errorf("a context: got %v", err)
	}
	dir := t.TempDir()
	if err := llm.Save(dir, m); err == nil || !strings.Contains(err.Error(), "lora") {
		t.Errorf("saved with an adapter that is not merged: %v", err)
	}
	if err := one.Remove(m); err != nil || len(lora.Of(m)) != 2 {
		t.Fatal(err, lora.Of(m))
	}
	if err := lora.Remove(m); err != nil || len(lora.Of(m)) != 0 || nn.Hash(nn.Params(m)) != hash {
		t.Errorf("removed they leave another model: %v", err)
	}
	if err := lora.Remove(m); err == nil {
		t.Error("nothing was removed")
	}
	move(inject(t, m, lora.Config{Full: true}))
	want := m.Logits(x).Eval()
	if err := llm.Save(dir, m); err != nil {
		t.Fatal(err)
	}
	saved, err := llm.Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	wantClose(t, "what was saved", saved.Logits(x), want, 1e-6)
}
