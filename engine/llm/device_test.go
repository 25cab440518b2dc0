package llm

import (
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A GPU that the processor plays, and the reference, generate what the processor does: with each type of
// cache, in batches, and from a prefix.
func TestGenerationOnEmulatedGPU(t *testing.T) {
	devicetest.Emulated(t)
	c := Config{Vocab: 32, Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 16, Window: 3, Seed: 2}
	prompts := [][]int{{1, 2, 3, 4, 5}, {6}}
	generate := func(name string) (all [][]int) {
		m := New(c)
		d, err := device.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		m.To(d)
		for _, kept := range []dtype.Type{dtype.F32, dtype.BF16, dtype.F16, dtype.I8} {
			o := Sampling{Tokens: 3, Cache: kept}
			ids, err := m.GenerateTokens(t.Context(), prompts[0], o)
			if err != nil {
				t.Fatal(name, kept, err)
			}
			all = append(all, ids)
		}
		o := Sampling{Tokens: 3}
		if o.Prefix, err = m.PrefixTokens(t.Context(), prompts[0][:3], o); err != nil {
			t.Fatal(name, err)
		}
		ids, err := m.GenerateTokens(t.Context(), prompts[0], o)
		if err != nil {
			t.Fatal(name, err)
		}
		o.Prefix = nil
		batch, err := m.GenerateBatchTokens(t.Context(), prompts, o)
		if err != nil {
			t.Fatal(name, err)
		}
		return append(append(all, ids), batch...)
	}
	want := generate("cpu")
	generate("rehearsal")
	for _, name := range []string{"ref", "emulated"} {
		for i, got := range generate(name) {
			if !slices.Equal(got, want[i]) {
				t.Errorf("%s, text %d: got %v, want %v", name, i, got, want[i])
			}
		}
	}
}
