package llm

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// recurrentDecoders are models with layers that keep a state, one of each kind, without CI=1 four of them.
func recurrentDecoders() map[string]*Model {
	list := map[string]*Model{}
	for name, r := range map[string]Recurrent{
		"conv":         {Kind: "conv", Kernel: 4, Bias: true, ConvBias: true, OutBias: true},
		"delta":        {Kind: "delta", Kernel: 4, Keys: 2, Values: 4, KeyDim: 6, ValueDim: 8},
		"joined delta": {Kind: "delta", Kernel: 2, Keys: 3, Values: 3, KeyDim: 8, ValueDim: 4, Joined: true},
		"mamba":        {Kind: "mamba", Kernel: 4, Keys: 2, Values: 4, KeyDim: 6, ValueDim: 8, ConvBias: true, Limits: [2]float64{0.3, 0.9}},
		"mamba beside": {Kind: "mamba", Kernel: 3, Keys: 1, Values: 3, KeyDim: 8, ValueDim: 4, Beside: true, NormFirst: true, Factors: [5]float64{0.5, 2, 1, 0, 3}, In: 1.2, Scale: 0.7},
		"mamba alone":  {Kind: "mamba", Kernel: 2, Keys: 1, Values: 2, KeyDim: 5, ValueDim: 8, NoNorm: true},
	} {
		if !long.CI() && (name == "joined delta" || name == "mamba alone") {
			continue
		}
		c := tiny()
		c.Layers, c.Recurrent = 4, r
		switch name {
		case "mamba alone":
			c.Single = make([]bool, c.Layers)
		case "mamba beside":
			c.AttnIn, c.AttnScale, c.MLPScale, c.GateScale = 1.5, 0.8, 1.1, 0.9
		default:
			c.Recurrent.Layers = []bool{true, false, true, true}
		}
		m := New(c)
		rng := tensor.NewRNG(3) // so that no part of a layer is without effect
		for _, p := range nn.Params(m) {
			p.Value().Set(p.Value().Add(rng.Randn(p.Value().Shape()...).Mul(0.1)).Eval())
		}
		list[name] = m
	}
	return list
}

// The scores are those of transformers within 1e-5, and a batch of prompts becomes what each becomes alone.
func TestStatesOfFamilies(t *testing.T) {
	eachFamilyOf(t, oneOfEach(func(c Config) bool { return c.Recurrent.Kind != "" }), func(t *testing.T, _ string, m *Model, expected map[string]tensor.Tensor) {
		if d := relative(m.Logits(expected["ids"]), expected["logits"]); !(d <= 1e-5) {
			t.Errorf("logits differ by %.3g of the largest", d)
		}
		prompts, want := [][]int{{1, 2, 3}, integers(expected["ids"])[:5], {4}}, integers(expected["greedy"])
		got, err := m.GenerateBatchTokens(t.Context(), prompts, Sampling{Tokens: len(want)})
		if err != nil || !slices.Equal(got[1][5:], want) {
			t.Errorf("in a batch: got %v, want %v; %v", got[1], want, err)
		}
	})
}

// A text's scores through states and pages, in blocks and token by token, are those of all tokens at once.
func TestStatesAreLogits(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for name, m := range recurrentDecoders() {
		lengths := []int{1, 33, 300}
		if long.Tests() {
			lengths = []int{1, 2, 5, 33, 90, 300}
		}
		for _, n := range lengths {
			ids := randomTokens(rng, n+3)
			want := m.Logits(tensor.From(ids, 1, len(ids))).Eval()
			mem := m.memory(m.kept(Sampling{}), room{texts: 1})
			mem.allot(1, pageTokens) // which grows
			one := mem.text(ids[:n])
			if err := mem.read(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			for at := n; at <= len(ids); at++ {
				one.ids = ids[:at]
				got, err := mem.scores(t.Context(), []*text{one}, 1)
				if err != nil {
					t.Fatal(err)
				}
				if d := relative(tensor.From(got), want.Select(0, 0).Select(0, at-1)); !(d <= 1e-5) {
					t.Errorf("%s: the scores after %d of %d tokens differ by %g", name, at, n, d)
				}
			}
			mem.free()
		}
	}
}

// A batch of prompts gives what each gives alone, also where texts come for those that have ended.
func TestStatesOfABatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	var prompts [][]int
	for i, n := range []int{5, 1, 90, 33, 32, 2, 140, 64, 7} {
		if i < 5 || long.Tests() {
			prompts = append(prompts, randomTokens(rng, n))
		}
	}
	for name, m := range recurrentDecoders() {
		for _, o := range []Sampling{{Tokens: 20, Rows: 3}, {Tokens: 30, Temperature: 1.5, Seed: 3}} {
			if o.Rows == 0 && !long.CI() {
				continue
			}
			m.Stop = []int{4, 7, 11, 200, 201, 202}
			got, err := m.GenerateBatchTokens(t.Context(), prompts, o)
			if err != nil {
				t.Fatal(err)
			}
			for j, prompt := range prompts {
				own := o
				own.Seed += uint64(j)
				want, err := m.GenerateTokens(t.Context(), prompt, own)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got[j], want) {
					t.Errorf("%s, %d rows, prompt %d: got %v, want %v", name, o.Rows, j, got[j][len(prompt):], want[len(prompt):])
				}
			}
		}
	}
}

// A text that goes back is read again; one that goes on is not.
func TestStatesGoBack(t *testing.T) {
	for name, m := range recurrentDecoders() {
		mem := m.memory(m.kept(Sampling{}), room{texts: 1})
		text := mem.text([]int{1, 2, 3, 4, 5, 6})
		if err := mem.read(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if mem.goBack(text, 5); text.known != 5 {
			t.Errorf("%s: %d tokens are known, want 5", name, text.known)
		}
		if mem.goBack(text, 3); text.known != 0 || text.seat != 0 || len(mem.states.free) != mem.states.seats {
			t.Errorf("%s: %d tokens are known in seat %d, want none", name, text.known, text.seat)
		}
		mem.free()
	}
}

// More texts than were foreseen get places, and those that have one keep their states.
func TestStatesGrow(t *testing.T) {
	for name, m := range recurrentDecoders() {
		mem := m.memory(m.kept(Sampling{}), room{texts: 1})
		var texts []*text
		for i := range 5 {
			texts = append(texts, mem.text([]int{i, 9, 8, 7}))
			if err := mem.read(t.Context(), texts[i]); err != nil {
				t.Fatal(err)
			}
		}
		for i, text := range texts {
			got, err := mem.scores(t.Context(), texts[i:i+1], 1)
			if err != nil {
				t.Fatal(err)
			}
			want := m.Logits(tensor.From(text.ids, 1, 4)).Select(0, 0).Select(0, 3)
			if d := relative(tensor.From(got), want); !(d <= 1e-5) {
				t.Errorf("%s: the scores of text %d differ by %g", name, i, d)
			}
		}
		mem.free()
	}
}

// Documents in one row do not know each other.
func TestStatesOfPackedDocuments(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 4))
	for name, m := range recurrentDecoders() {
		a, b := randomTokens(rng, 10), randomTokens(rng, 91)
		starts := make([]int, 99)
		for i := 9; i < 99; i++ {
			starts[i] = 9
		}
		packed := m.PackedLoss(tensor.From(append(slices.Clone(a[:9]), b[:90]...), 1, 99), tensor.From(append(slices.Clone(a[1:]), b[1:]...), 1, 99),
			tensor.From(starts, 1, 99)).Item()
		want := 0.0
		for _, ids := range [][]int{a, b} {
			n := len(ids) - 1
			want += m.Loss(tensor.From(ids[:n], 1, n), tensor.From(ids[1:], 1, n)).Item() * float64(n) / 99
		}
		if math.Abs(packed-want) > 1e-5*want {
			t.Errorf("%s: the loss of packed documents is %v, want %v", name, packed, want)
		}
	}
}

// Gradients of all weights of recurrent layers are what finite differences say.
func TestStateGradients(t *testing.T) {
	for name, m := range recurrentDecoders() {
		ids := randomTokens(rand.New(rand.NewPCG(7, 4)), 80)
		loss := func() tensor.Tensor { return m.Loss(tensor.From(ids[:79], 1, 79), tensor.From(ids[1:], 1, 79)) }
		params := nn.Params(m)
		grads := tensor.Grad(loss(), nn.Values(params)...)
		tensor.Eval(grads...)
		checked := 0
		for i, p := range params {
			if !strings.Contains(p.Name, ".mixer.") && !strings.Contains(p.Name, ".mamba.") || !long.Tests() && !strings.Contains(p.Name, "layers.0.") {
				continue // the first layer has weights of all kinds, and the longest way to the loss
			}
			checked++
			norm := grads[i].Norm().Item()
			h := 4e-3 / math.Max(1, norm)
			if r := m.Config.Recurrent; r.Kind != "conv" && !r.NoNorm {
				h /= 4 // lengths of 1 bend the loss
			}
			at := func(by float64) float64 {
				old := p.Value().Snapshot()
				defer p.Value().Set(old)
				p.Value().Set(p.Value().Add(grads[i].Mul(by / norm)).Detach().Eval())
				return loss().Item()
			}
			if got := (8*(at(h)-at(-h)) - at(2*h) + at(-2*h)) / (12 * h); norm == 0 || math.Abs(got-norm) > 0.02*norm+5e-4 {
				t.Errorf("%s, %s: the gradient is %g long, the loss changes by %g along it", name, p.Name, norm, got)
			}
		}
		if checked < 3 || long.Tests() && checked < 9 {
			t.Errorf("%s: %d weights were checked, want those of one layer or, with -long, 3", name, checked)
		}
	}
}

// What cannot be taken back from a state is refused.
func TestStatesRefuse(t *testing.T) {
	m := loaded(t, filepath.Join(fixtures, "lfm2"))
	other := loaded(t, filepath.Join(fixtures, "llama-2"))
	errs := map[string]error{}
	_, errs["prefix for a model of lfm2"] = m.PrefixTokens(t.Context(), []int{1, 2}, Sampling{})
	_, errs["prefix for a model of lfm2, "] = m.LoadPrefix(t.Context(), "none")
	_, errs["draft beside a model of lfm2"] = m.GenerateTokens(t.Context(), []int{1}, Sampling{Draft: &Draft{Model: other}})
	_, errs["draft beside a model of lfm2, "] = other.GenerateTokens(t.Context(), []int{1}, Sampling{Draft: &Draft{Model: m}})
	for want, err := range errs {
		if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(want, ", ")) {
			t.Errorf("got %v, want that of a %s", err, want)
		}
	}
}
