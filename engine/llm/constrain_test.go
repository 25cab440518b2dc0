package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/grammar"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Texts of a grammar are JSON of its schema, alone or side by side, by bytes or by a tokenizer.
func TestGrammar(t *testing.T) {
	g, err := grammar.Compile([]byte(`{"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}, "b": {"type": "array", "items": {"type": "integer"}, "maxItems": 3}}, "required": ["a", "b"]}`))
	if err != nil {
		t.Fatal(err)
	}
	random := New(tiny())
	random.Stop = []int{'"', '9'} // of which grammars have no need
	for name, m := range map[string]*Model{"bytes": New(tiny()), "tokenizer": loaded(t, "testdata/chat")} {
		prompts := []string{"one", "two three", "x"}
		for _, o := range []Sampling{{Tokens: 120}, {Tokens: 120, Temperature: 2, Seed: 4, Repetition: 1.3, TopK: 20}} {
			o.Grammar = g
			all, err := m.GenerateBatch(t.Context(), prompts, o)
			if err != nil {
				t.Fatal(err)
			}
			for i, prompt := range prompts {
				var v struct {
					A string
					B []int
				}
				own := o
				own.Seed += uint64(i)
				alone, err := m.Generate(t.Context(), prompt, own)
				if err != nil || alone != all[i] {
					t.Errorf("%s, %q: alone %q, %v, want %q", name, prompt, alone, err, all[i])
				}
				text := strings.TrimPrefix(alone, prompt)
				if err := json.Unmarshal([]byte(text), &v); err != nil || len([]rune(v.A)) > 5 || len(v.B) > 3 {
					t.Errorf("%s: got %q, %v", name, text, err)
				}
			}
		}
	}
	if _, err := random.Generate(t.Context(), "a", Sampling{Grammar: g}); err == nil || !strings.Contains(err.Error(), "a token for each byte") {
		t.Errorf("no quotes: got %v", err)
	}
	if _, err := random.Generate(t.Context(), "a", Sampling{Grammar: g, Draft: &Draft{Model: random}}); err == nil || !strings.Contains(err.Error(), "a grammar and a draft") {
		t.Errorf("a draft: got %v", err)
	}
	defer func() {
		if e, ok := recover().(*tensor.Error); !ok || !strings.Contains(e.Msg, "a grammar") {
			t.Errorf("draw: got %v", e)
		}
	}()
	Sampling{Grammar: g}.Draw(tensor.Zeros(1, 4))
}
