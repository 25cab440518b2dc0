package llm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A GPU that the processor plays, and the reference, generate what the processor does: with each type of
// cache, in batches, and from a prefix; with DeepSeek's latents, too.
func TestGenerationOnEmulatedGPU(t *testing.T) {
	devicetest.Emulated(t)
	sameGeneration(t, Config{Vocab: 32, Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 16, Window: 3, Seed: 2})
	c := Config{Vocab: 32, Layers: 1, Width: 16, Heads: 2, KVHeads: 2, HeadDim: 16, Latent: Latent{KV: 12, Turning: 4, Value: 8}, Hidden: 16, Seed: 2}
	if long.Tests() {
		c.HeadDim, c.Latent = 192, Latent{KV: 512, Turning: 64, Value: 128} // as the models have them
	}
	sameGeneration(t, c)
}

func sameGeneration(t *testing.T, c Config) {
	t.Helper()
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
				t.Errorf("%s, latents of %d, text %d: got %v, want %v", name, c.Latent.KV, i, got, want[i])
			}
		}
	}
}

// Scores of models with states, of several parts of a scan, are those of the processor, and gradients, too.
func TestStatesOnEmulatedGPU(t *testing.T) {
	long.InCI(t, "compiles some hundred kernels")
	devicetest.Emulated(t)
	d, err := device.Lookup("emulated")
	if err != nil {
		t.Fatal(err)
	}
	ids := randomTokens(rand.New(rand.NewPCG(8, 4)), 71)
	for name, m := range recurrentDecoders() {
		if name != "mamba beside" && !long.Tests() {
			continue
		}
		run := func(d device.Device) (list []tensor.Tensor) {
			m.To(d)
			tensor.Within(device.On(t.Context(), d), func() {
				loss := m.Loss(tensor.From(ids[:70], 1, 70), tensor.From(ids[1:], 1, 70))
				list = append(tensor.Grad(loss, nn.Values(nn.Params(m))...), loss)
				for i := range list {
					list[i] = list[i].To(device.CPU(0))
				}
				tensor.Eval(list...)
			})
			return list
		}
		want, got := run(device.CPU(0)), run(d)
		for i, w := range want {
			if diff := tensor.MaxAbsDiff(got[i], w); !(diff <= 1e-4*(1+w.Abs().Max().Item())) {
				t.Errorf("%s: result %d differs by %g", name, i, diff)
			}
		}
	}
}
