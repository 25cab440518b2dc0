package embed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A folder that Save writes gives the same vectors, with the prompts that the model has by then.
func TestSave(t *testing.T) {
	list := texts(t, filepath.Join(fixtures, "texts.json"))
	eachModel(t, func(t *testing.T, m *Model, expected map[string]tensor.Tensor) {
		m.Prompts = map[string]string{"answer": "the house "}
		want, err := m.EncodeAs(ctx, "answer", list...)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "m")
		err = Save(to, m)
		if _, table := m.Body.(*Table); table && m.files[configFile] != nil {
			if err == nil {
				t.Error("a table of model2vec was written")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(ctx, to)
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.EncodeAs(ctx, "answer", list...)
		if err != nil {
			t.Fatal(err)
		}
		if d := tensor.MaxAbsDiff(got, want); d != 0 {
			t.Errorf("vectors differ by %g", d)
		}
		if a, b := nn.Hash(nn.Params(m)), nn.Hash(nn.Params(again)); a != b {
			t.Error("weights are others")
		}
	})
}

// A tuned model is a folder again once its adapter is merged and taken out; in bf16 config.json says so.
func TestSaveOfTuned(t *testing.T) {
	m, _ := load(t, filepath.Join(fixtures, "bert-both"))
	a, err := lora.Inject(m, lora.Config{Rank: 2, Targets: "query value"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Params() {
		p.Value().Set(tensor.NewRNG(1).Randn(p.Value().Shape()...))
	}
	to := filepath.Join(t.TempDir(), "tuned")
	if err := Save(to, m); err == nil || !strings.Contains(err.Error(), "lora_A") {
		t.Errorf("got %v, want the adapter's weight", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a folder was written all the same")
	}
	a.Merge()
	if err := a.Remove(m); err != nil {
		t.Fatal(err)
	}
	nn.Convert(m, dtype.BF16)
	if err := Save(to, m); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(to, configFile))
	if err != nil || !strings.Contains(string(text), `"dtype": "bfloat16"`) {
		t.Errorf("got %s, %v", text, err)
	}
	again, err := Load(ctx, to)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := m.Encode(ctx, "the cat")
	y, _ := again.Encode(ctx, "the cat")
	if d := tensor.MaxAbsDiff(x, y); d > 1e-5 { // rows lie in memory in another way
		t.Errorf("got %v, want %v", y, x)
	}
	if err := Save(to, New(Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2})); err == nil || !strings.Contains(err.Error(), "did not come from a folder") {
		t.Errorf("got %v", err)
	}
}
