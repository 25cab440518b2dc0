package llm

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Each model_type of transformers is read, or refused with what is near it or the part that is missing.
// testdata/model_types.txt was written by tests/peers/model_types.py.
func TestEachModelTypeIsReadOrExplained(t *testing.T) {
	text, err := os.ReadFile("testdata/model_types.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, n := map[string]bool{}, 0
	for line := range strings.Lines(string(text)) {
		name, inner, _ := strings.Cut(strings.TrimSpace(line), " ")
		known[name], known[inner] = true, true
		if _, ok := familyOf(name); ok || named(wrappers, name) {
			n++
			continue
		}
		said := unknown(name, inner)
		if !slices.ContainsFunc([]string{"which has ", "an encoder", "near it: ", "around a model of text"}, func(s string) bool { return strings.Contains(said, s) }) {
			t.Errorf("%s (%s): %s", name, inner, said)
		}
	}
	if n < 60 {
		t.Errorf("%d model_types are read, want at least 60", n)
	}
	said := fmt.Sprintf("all %d of transformers 5.24\nwhose models write texts, of which %d are read", strings.Count(string(text), "\n"), n)
	if docs, err := os.ReadFile("../../docs/models.md"); err == nil && !strings.Contains(string(docs), said) {
		t.Errorf("docs/models.md does not say %q", said)
	}
	for name, near := range kin {
		for family := range strings.SplitSeq(near, ", ") {
			if _, ok := familyOf(family); !ok || !known[name] {
				t.Errorf("%s: %s is no family, or transformers does not know the type", name, family)
			}
		}
	}
	explained := map[string]bool{}
	for _, l := range lacks {
		for name := range strings.FieldsSeq(l.types) {
			if _, ok := familyOf(name); ok || explained[name] || kin[name] != "" {
				t.Errorf("%s lacks %s, and is read or explained in another way: take it out of lacks in refuse.go", name, l.part)
			}
			explained[name] = true
		}
	}
}

// What is said of a model_type is true of it.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, inner, want string }{
		{"llama4", "llama4_text", "attention within chunks"},
		{"kimi_k25", "deepseek_v3", `a model of text of the type "deepseek_v3"`},
		{"deepseek_v32", "", "an index chooses"},
		{"axk1", "", "near it: deepseek_v3"},
		{"bloom", "", "positions without a rotation"},
		{"sarvam_moe", "", "in one matrix"},
		{"bert", "", "embed.Load reads"},
		{"electra", "", "an encoder that is not read"},
		{"gemma5", "", "near it: gemma, gemma2"},
		{"nothing", "", "docs/models.md lists the families"},
	} {
		if said := unknown(c.name, c.inner); !strings.Contains(said, c.want) {
			t.Errorf("%s: got %q, want %q in it", c.name, said, c.want)
		}
	}
}
