package lora_test

import (
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// testdata/several was written by tests/peers/lora_several.py with transformers and PEFT: three of its
// folders in one model, switched, added up, weighed, left out, and named by the rows of a batch.
func TestSeveralAdaptersArePEFTs(t *testing.T) {
	const dir = "testdata/several"
	want, _, err := safetensors.Load(filepath.Join(dir, "expected.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	m := peftBase(t)
	ad := map[string]*lora.Adapter{}
	for _, name := range []string{"a", "b", "c"} {
		if ad[name], err = lora.LoadAs(name, filepath.Join(dir, name), m); err != nil {
			t.Fatal(err)
		}
	}
	logits := func() tensor.Tensor { return m.Logits(want["ids"]).Eval() }
	for _, names := range []string{"a", "b", "c", "ab", "abc"} {
		var list []string
		for _, name := range names {
			list = append(list, string(name))
		}
		if err := lora.Use(m, list...); err != nil {
			t.Fatal(err)
		}
		wantClose(t, names, logits(), want[names], 1e-5)
		for _, a := range lora.Of(m) {
			if a.On() {
				a.Merge()
			}
		}
		wantClose(t, names+" merged", logits(), want[names], 1e-5)
	}
	for _, a := range lora.Of(m) {
		a.Unmerge()
	}
	if err := lora.Use(m, "a", "b"); err != nil {
		t.Fatal(err)
	}
	ad["a"].Weigh(0.5)
	ad["b"].Weigh(-2)
	wantClose(t, "weighed", logits(), want["a half, b minus twice"], 1e-5)
	ad["a"].Weigh(1)
	ad["b"].Weigh(1)
	wantClose(t, "none", within(lora.With(t.Context()), m, want["ids"]), want["none"], 1e-5)
	rows := lora.Rows(t.Context(), ad["b"], nil, ad["a"], ad["c"], ad["b"])
	wantClose(t, "rows", within(rows, m, want["ids"]), want["rows"], 1e-5)
}
