package gguf

import (
	"encoding/json"
	"os"
	"testing"
)

// TestNames: the tensors of models of transformers have the names in files that the package gguf of Python
// gives them, and the metadata the fields that transformers gives them.
func TestNames(t *testing.T) {
	b, err := os.ReadFile("testdata/names.json")
	if err != nil {
		t.Fatal(err)
	}
	var names struct {
		Tensors [][3]string
		Config  [][2]string
	}
	if err := json.Unmarshal(b, &names); err != nil {
		t.Fatal(err)
	}
	if len(names.Tensors) < 150 || len(names.Config) < 50 {
		t.Fatalf("got %d tensors and %d fields", len(names.Tensors), len(names.Config))
	}
	for _, n := range names.Tensors {
		architecture, hub, file := n[0], n[1], n[2]
		if got, ok := FileName(architecture, hub); !ok || got != file {
			t.Errorf("%s: FileName(%q): got %q, %v, want %q", architecture, hub, got, ok, file)
		}
		if got, ok := HubName(architecture, file); !ok || got != hub {
			t.Errorf("%s: HubName(%q): got %q, %v, want %q", architecture, file, got, ok, hub)
		}
	}
	for _, n := range names.Config {
		if got, ok := ConfigField(n[0]); !ok || got != n[1] {
			t.Errorf("ConfigField(%q): got %q, %v, want %q", n[0], got, ok, n[1])
		}
	}
}

func TestNamesThatHaveNoOther(t *testing.T) {
	for _, n := range [][2]string{
		{"llama", "rope_freqs.weight"}, {"llama", "blk.x.attn_q.weight"}, {"llama", "blk..attn_q.weight"}, {"llama", "blk.0.token_embd.weight"},
		{"llama", "attn_q.weight"}, {"llama", "blk.0.post_ffw_norm.weight"}, {"llama", "output"}, {"llama", ""}, {"mamba", "output.weight"},
	} {
		if got, ok := HubName(n[0], n[1]); ok {
			t.Errorf("HubName(%q, %q): got %q, want none", n[0], n[1], got)
		}
	}
	if got, ok := ConfigField("tokenizer.ggml.tokens"); ok {
		t.Errorf("got %q for the tokens, want none", got)
	}
}
