package llm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// What Expand makes of experts in codes of MXFP4 is the numbers in bf16 that transformers makes of them. The
// folder that Save writes of them has those.
func TestMXFP4(t *testing.T) {
	const dir = "testdata/mxfp4" // tests/peers/decoder_mxfp4.py wrote it
	expected, _, err := safetensors.Load(filepath.Join(dir, "expected.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	m := loaded(t, dir)
	to := filepath.Join(t.TempDir(), "plain")
	if _, err := quant.Expand(m, dtype.BF16); err != nil {
		t.Fatal(err)
	}
	if err := Save(to, m); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Model{m, loaded(t, to)} {
		nn.Convert(m, dtype.F32)
		if d := relative(m.Logits(expected["ids"]), expected["logits"]); !(d <= 1e-5) {
			t.Errorf("logits differ by %.3g of the largest", d)
		}
	}
}

// Codes that do not fit each other are errors that name a tensor.
func TestMXFP4Damaged(t *testing.T) {
	for _, test := range []struct {
		part string
		make func(old tensor.Tensor) tensor.Tensor // nil: the part is not there
		want string
	}{
		{"_scales", nil, `no tensor "model.layers.0.mlp.experts.down_proj_scales"`},
		{"_scales", func(old tensor.Tensor) tensor.Tensor { return old.Slice(1, 0, 8) }, `down_proj_scales": got shape [3 8 1], want [3 64 1]`},
		{"_scales", func(old tensor.Tensor) tensor.Tensor { return tensor.Full(255, 3, 64, 1).Cast(dtype.U8) }, `down_proj_scales": got the scale NaN at 0`},
		{"_blocks", func(old tensor.Tensor) tensor.Tensor { return old.Slice(3, 0, 8) }, `down_proj_blocks": got shape [3 64 1 8], want [3 64 1 16]`},
		{"_blocks", func(old tensor.Tensor) tensor.Tensor { return old.Cast(dtype.F32) }, `want 4 dimensions of U8`},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/mxfp4")); err != nil {
			t.Fatal(err)
		}
		tensors, meta, err := safetensors.Load(filepath.Join(dir, weightsFile))
		if err != nil {
			t.Fatal(err)
		}
		name := "model.layers.0.mlp.experts.down_proj" + test.part
		if old := tensors[name]; test.make == nil {
			delete(tensors, name)
		} else {
			tensors[name] = test.make(old).Eval()
		}
		if err := safetensors.Save(filepath.Join(dir, weightsFile), tensors, meta); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.part, err, test.want)
		}
	}
}
