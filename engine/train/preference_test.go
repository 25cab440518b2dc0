package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// scores is a model that says the same whatever it is asked, and of half of the inputs that half.
type scores struct {
	at     *tensor.Tensor
	inputs tensor.Tensor
}

func (s scores) Losses(inputs, targets tensor.Tensor) tensor.Tensor {
	at := *s.at
	if n := inputs.Len(0); n < at.Len(0) {
		from := 0
		if !slices.Equal(inputs.Ints(), s.inputs.Slice(0, 0, n).Ints()) {
			from = n
		}
		at = at.Slice(0, from, from+n)
	}
	return tensor.CrossEntropy(at, targets, tensor.CrossEntropyOptions{PerRow: true})
}

func (s scores) Logits(tensor.Tensor) tensor.Tensor { return *s.at }

func (s scores) Members() []nn.Member { return []nn.Member{{Name: "scores", Weight: s.at}} }

// Losses and gradients are trl's: testdata/preferences.json was written by tests/peers/preferences.py.
func TestPreferencesAgreeWithTRL(t *testing.T) {
	text, err := os.ReadFile("testdata/preferences.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vocab int
		Cases []struct {
			Inputs, Targets   [][]int
			Scores, Reference []float64
			Losses            []struct {
				Name     string
				Loss     float64
				Gradient []float64
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, c := range file.Cases {
		inputs, targets := tensor.From(c.Inputs), tensor.From(c.Targets)
		shape := append(inputs.Shape(), file.Vocab)
		at, before := tensor.From(c.Scores, shape...).Param(), tensor.From(c.Reference, shape...)
		m, reference := scores{&at, inputs}, scores{&before, inputs}
		models := map[string]Model{
			"sigmoid":           DPO{Model: m, Reference: reference},
			"sigmoid 0.5":       DPO{Model: m, Reference: reference, Beta: 0.5, Kind: "sigmoid"},
			"smoothed":          DPO{Model: m, Reference: reference, Beta: 0.3, Smoothing: 0.2},
			"robust":            DPO{Model: m, Reference: reference, Beta: 0.3, Smoothing: 0.2, Kind: "robust"},
			"hinge":             DPO{Model: m, Reference: reference, Beta: 0.2, Kind: "hinge"},
			"ipo":               DPO{Model: m, Reference: reference, Beta: 0.4, Kind: "ipo"},
			"kto":               KTO{Model: m, Reference: reference},
			"kto weighted":      KTO{Model: m, Reference: reference, Beta: 0.3, Desirable: 1.5, Undesirable: 0.75},
			"orpo":              ORPO{Model: m},
			"orpo with prompts": ORPO{Model: m, Beta: 0.5, Prompts: true},
			"forward":           Distill{Model: m, Teacher: reference},
			"reverse":           Distill{Model: m, Teacher: reference, Beta: 1, Temperature: 2.5},
			"between":           Distill{Model: m, Teacher: reference, Beta: 0.3, Temperature: 0.7},
			"half hard":         Distill{Model: m, Teacher: reference, Beta: 0.5, Hard: 0.5},
		}
		for _, want := range c.Losses {
			compared++
			said := targets
			if strings.HasPrefix(want.Name, "kto") { // every other answer of the first half is not wanted
				said = tensor.From(unwanted(c.Targets))
			}
			loss := models[want.Name].Loss(inputs, said)
			if got := loss.Item(); !(math.Abs(got-want.Loss) <= 1e-5*max(1, math.Abs(want.Loss))) {
				t.Errorf("case %d, %s: got %g, want %g", i, want.Name, got, want.Loss)
			}
			gradient := tensor.From(want.Gradient, shape...)
			if d := tensor.MaxAbsDiff(tensor.Grad(loss, at)[0], gradient); !(d <= 1e-5*max(1, gradient.Abs().Max().Item())) {
				t.Errorf("case %d, %s: gradients differ by %g", i, want.Name, d)
			}
		}
	}
	if compared < 42 {
		t.Errorf("%d losses were compared", compared)
	}
}

// unwanted marks every other row of the first half as not wanted.
func unwanted(targets [][]int) [][]int {
	all := slices.Clone(targets)
	for i := 1; i < len(all)/2; i += 2 {
		all[i] = slices.Clone(all[i])
		for t, id := range all[i] {
			if id != data.Ignored {
				all[i][t] = id + data.Unwanted
			}
		}
	}
	return all
}

// preferences are pairs whose chosen answer goes on with the letter before, and whose rejected one with z.
type preferences struct{ pairs int }

func (p preferences) Batch(n int) (data.Batch, error) {
	inputs, targets := make([][]int, 2*p.pairs), make([][]int, 2*p.pairs)
	for i := range inputs {
		a := 'a' + (n*p.pairs+i%p.pairs)%8
		b := a
		if i >= p.pairs {
			b = 'z'
		}
		inputs[i], targets[i] = []int{' ', a, b}, []int{data.Ignored, b, b}
	}
	return data.Batch{Inputs: tensor.From(inputs), Targets: tensor.From(targets)}, nil
}

func (p preferences) Fingerprint() string { return "pairs" }

// An adapter learns what is preferred, the weights below it stay, and the model without it is the reference:
// the loss begins at ln 2. Several batches of a step count by their pairs.
func TestDPOOfAdapters(t *testing.T) {
	m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 48, Seed: 1})
	frozen := nn.Hash(nn.Params(m))
	b, _ := preferences{8}.Batch(0)
	base := m.Logits(b.Inputs).Eval()
	a, err := lora.Inject(m, lora.Config{Rank: 4, Dropout: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	d := DPO{Model: m, Beta: 5}
	if loss := d.Loss(b.Inputs, b.Targets).Item(); math.Abs(loss-math.Ln2) > 1e-6 {
		t.Errorf("at first the loss is %g, want ln 2", loss)
	}
	h, err := Run(context.Background(), d, preferences{4}, Options{Steps: 60, LR: optim.Constant(2e-2), Accumulate: 2, Params: a.Params()})
	if err != nil {
		t.Fatal(err)
	}
	if last := h.Loss[len(h.Loss)-1]; !(last < 0.1) {
		t.Errorf("after %d steps the loss is %g", h.Steps(), last)
	}
	chosen, rejected := d.Rewards(b.Inputs, b.Targets)
	if margin := chosen.Sub(rejected).Min().Item(); !(margin > 1) {
		t.Errorf("the smallest margin is %g", margin)
	}
	if loss, err := Evaluate(context.Background(), d, preferences{8}, 2); err != nil || !(loss < 0.1) {
		t.Errorf("evaluation: got %g, %v", loss, err)
	}
	if err := a.Remove(m); err != nil {
		t.Fatal(err)
	}
	if nn.Hash(nn.Params(m)) != frozen || tensor.MaxAbsDiff(m.Logits(b.Inputs), base) != 0 {
		t.Error("the weights below the adapter changed")
	}
}

// ORPO needs no reference, and trains all weights.
func TestORPOOfAllWeights(t *testing.T) {
	m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 48, Seed: 1})
	b, _ := preferences{8}.Batch(0)
	if _, err := Run(context.Background(), ORPO{Model: m}, preferences{8}, Options{Steps: 40, LR: optim.Constant(1e-2), Compile: true}); err != nil {
		t.Fatal(err)
	}
	of := overTokens(m.Losses(b.Inputs, b.Targets), b.Targets, true)
	if chosen, rejected := halves(of); !(chosen.Min().Item() > rejected.Max().Item()+1) {
		t.Errorf("got likelihoods %v and %v", chosen, rejected)
	}
}

// Answers that are sure, or as good as impossible, have finite odds and gradients.
func TestORPOOfSureAnswers(t *testing.T) {
	for _, x := range []float64{-100, -1e-4, -math.Ln2} {
		p := tensor.From([]float64{x}).Param()
		y := ln1mexp(p)
		want, slope := math.Log(-math.Expm1(x)), -math.Exp(x)/-math.Expm1(x)
		if got, g := y.Item(), tensor.Grad(y.Sum(), p)[0].Item(); math.Abs(got-want) > 1e-5*max(1e-30, math.Abs(want)) || math.Abs(g-slope) > 1e-3*math.Abs(slope)+1e-30 {
			t.Errorf("ln(1 − exp(%g)): got %g with slope %g, want %g with %g", x, got, g, want, slope)
		}
	}
}

func TestPreferencesRefuse(t *testing.T) {
	m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, Seed: 1})
	full := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, Seed: 1})
	if _, err := lora.Inject(full, lora.Config{Full: true, Name: "whole"}); err != nil {
		t.Fatal(err)
	}
	b, _ := preferences{2}.Batch(0)
	odd := b.Inputs.Slice(0, 0, 3)
	for want, f := range map[string]func(){
		"no adapter":               func() { DPO{Model: m}.Loss(b.Inputs, b.Targets) },
		`"whole" trains weights`:   func() { DPO{Model: full}.Loss(b.Inputs, b.Targets) },
		`kind "kto"`:               func() { DPO{Model: m, Reference: m, Kind: "kto"}.Loss(b.Inputs, b.Targets) },
		"beta -1":                  func() { DPO{Model: m, Reference: m, Beta: -1}.Loss(b.Inputs, b.Targets) },
		"smoothing of 0.5":         func() { DPO{Model: m, Reference: m, Smoothing: 0.5}.Loss(b.Inputs, b.Targets) },
		"smoothing of 0.1 for ip":  func() { DPO{Model: m, Reference: m, Smoothing: 0.1, Kind: "ipo"}.Loss(b.Inputs, b.Targets) },
		"train.KTO: got beta -1":   func() { KTO{Model: m, Reference: m, Beta: -1}.Loss(b.Inputs, b.Targets) },
		"undesirable weight NaN":   func() { KTO{Model: m, Reference: m, Undesirable: math.NaN()}.Loss(b.Inputs, b.Targets) },
		"train.KTO: the model has": func() { KTO{Model: m}.Loss(b.Inputs, b.Targets) },
		"train.ORPO: got beta -1":  func() { ORPO{Model: m, Beta: -1}.Loss(b.Inputs, b.Targets) },
		"inputs [3 3]":             func() { ORPO{Model: m}.Loss(odd, odd) },
	} {
		if err := tensor.Try(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Records of answers that are wanted or not become batches that an adapter learns from: those that are not
// adaptedTo returns a small model with an adapter, and the sequences of lines of records.
func adaptedTo(t *testing.T, lines string) (*llm.Model, *lora.Adapter, *data.Sequences) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	records, err := data.ReadRecords(path)
	if err != nil {
		t.Fatal(err)
	}
	sequences, err := data.Tokens{}.Of(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 48, Seed: 1})
	a, err := lora.Inject(m, lora.Config{Rank: 4})
	if err != nil {
		t.Fatal(err)
	}
	return m, a, sequences
}

// become less likely, by the data's own order the same in any process.
func TestKTOOfRecords(t *testing.T) {
	var lines strings.Builder
	for i, answer := range []string{" yes", " no, never", " yes", " no", " yes, yes"} {
		fmt.Fprintf(&lines, `{"prompt": "say %d:", "completion": %q, "label": %v}`+"\n", i, answer, strings.Contains(answer, "yes"))
	}
	m, a, sequences := adaptedTo(t, lines.String())
	h, err := Run(t.Context(), KTO{Model: m, Beta: 1}, sequences.Padded(2), Options{Steps: 60, LR: optim.Constant(1e-2), Params: a.Params()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sequences.Padded(5).Batch(0)
	if err != nil {
		t.Fatal(err)
	}
	marked := b.Targets.Ge(data.Unwanted)
	each := gains(m, nil, b.Inputs, tensor.Where(marked, b.Targets.Sub(data.Unwanted), b.Targets), true).Slice(0, 0, 5)
	not := marked.Cast(dtype.F32).Max(1).Slice(0, 0, 5)
	worst, best := tensor.Where(not.Eq(0), each, 99).Min().Item(), tensor.Where(not.Eq(1), each, -99).Max().Item()
	if h.Loss[0] != 0.5 || not.Sum().Item() != 2 || !(worst > best+0.5) {
		t.Errorf("the loss begins at %g, and a token of a wanted answer has gained %g nats, of others %g", h.Loss[0], worst, best)
	}
}

// Records of preferences become batches that a model learns from as they are.
func TestDPOOfRecords(t *testing.T) {
	lines := `{"prompt": "is it?", "chosen": " yes", "rejected": " no, never"}` + "\n" + `{"prompt": "say", "chosen": " yes, yes", "rejected": " no"}` + "\n"
	m, a, sequences := adaptedTo(t, lines)
	d := DPO{Model: m, Beta: 1}
	h, err := Run(t.Context(), d, sequences.Padded(2), Options{Steps: 40, LR: optim.Constant(1e-2), Params: a.Params()})
	if err != nil {
		t.Fatal(err)
	}
	if h.Loss[0] < 0.69 || h.Loss[0] > 0.70 || h.Loss[39] > 0.2 {
		t.Errorf("the loss goes from %g to %g, want from ln 2 to less than 0.2", h.Loss[0], h.Loss[39])
	}
}
