package llm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Folders of the hub have keys and values of layers that look at those of others. They are left; what no
// layer has is refused.
func TestKeysOfLayersWithoutKeys(t *testing.T) {
	for name, ok := range map[string]bool{"model.layers.2.self_attn.k_proj.weight": true, "model.layers.3.self_attn.v_norm.weight": true,
		"model.layers.1.self_attn.v_norm.weight": false, "model.layers.2.self_attn.sinks": false} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixtures, "gemma4"))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, weightsFile)
		all, _, err := safetensors.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = tensor.Ones(16)
		if err := safetensors.Save(path, all, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), dir); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Gradients are the same where blocks are computed again, though later ones look at their keys.
func TestLentKeysWithCheckpoints(t *testing.T) {
	m := loaded(t, filepath.Join(fixtures, "gemma4-lent"))
	ids := tensor.From([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 2, 5)
	gradients := func(checkpoint bool) []tensor.Tensor {
		m.Config.Checkpoint = checkpoint
		var list []tensor.Tensor
		for _, p := range nn.Params(m) {
			if p.Trainable() {
				list = append(list, p.Value())
			}
		}
		grads := tensor.Grad(m.Loss(ids, ids.Add(1)), list...)
		tensor.Eval(grads...)
		return grads
	}
	again := gradients(true)
	for i, want := range gradients(false) {
		if d := tensor.MaxAbsDiff(again[i], want); !(d <= 1e-5*want.Abs().Max().Item()) {
			t.Errorf("gradient %d differs by %g", i, d)
		}
	}
}
