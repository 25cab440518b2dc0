package llm

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// transformers reads the folders of models that New made, of each family with states, experts, places,
// matrices or norms of its own, and computes the same. PYTHON is the path of a Python that has it.
func TestTransformersReadsWhatNewMade(t *testing.T) {
	python := os.Getenv("PYTHON")
	if python == "" {
		t.Skip("PYTHON names no Python with transformers")
	}
	const check = `import os, sys, torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
bad = False
for name in sorted(n for n in os.listdir(sys.argv[1]) if not n.endswith(".safetensors")):
    folder = os.path.join(sys.argv[1], name)
    expected = load_file(folder + ".safetensors")
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", experts_implementation="eager", pad_token_id=None).eval()
    with torch.no_grad():
        got = model(expected["ids"], use_cache=False).logits
    difference = ((got - expected["logits"]).abs().max() / got.abs().max()).item()
    if not difference < 1e-5:
        print(f"{name}: differs by {difference:.2g}")
        bad = True
sys.exit(bad)`
	dir := t.TempDir()
	wanted := func(c Config) bool {
		return c.Recurrent.Kind == "mamba" || c.Mixture.Experts > 0 || c.Latent.KV > 0 || c.HeadQKNorm || c.VNorm || c.Learned || c.GroupedQKV
	}
	eachFamilyOf(t, wanted, func(t *testing.T, folder string, m *Model, expected map[string]tensor.Tensor) {
		m = New(m.Config)
		rng := tensor.NewRNG(3) // so that no weight is without effect
		for _, p := range nn.Params(m) {
			p.Value().Set(p.Value().Add(rng.Randn(p.Value().Shape()...).Mul(0.1)).Eval())
		}
		path := filepath.Join(dir, filepath.Base(folder))
		if err := Save(path, m); err != nil {
			t.Fatal(err)
		}
		content := map[string]tensor.Tensor{"ids": expected["ids"], "logits": m.Logits(expected["ids"])}
		if err := safetensors.Save(path+".safetensors", content, nil); err != nil {
			t.Fatal(err)
		}
	})
	if out, err := exec.Command(python, "-c", check, dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
