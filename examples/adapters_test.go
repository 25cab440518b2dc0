package examples

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// TestAdaptersOnEmulatedGPU computes with several adapters on a GPU that the processor plays, a token and a
// prompt of each row: all of them on, and one for each row. The scores are those of the processor, and the
// launches those of one adapter.
func TestAdaptersOnEmulatedGPU(t *testing.T) {
	devicetest.Emulated(t)
	prompts := [][][]int{{{1}, {6}, {7}}, {{1, 2, 3, 4}, {6, 7, 8, 9}, {1, 1, 1, 1}}}
	run := func(name string, check func(at int, got tensor.Tensor, several, one *profile.Recording)) {
		dev, err := device.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		on := device.On(t.Context(), dev)
		m := llm.New(llm.Config{Vocab: 64, Layers: 1, Width: 32, Heads: 4, KVHeads: 2, Hidden: 48, Seed: 1})
		var ad []*lora.Adapter
		for i, c := range []lora.Config{{Name: "a", Rank: 4}, {Name: "b", Rank: 2, Targets: "q_proj up_proj"}} {
			a, err := lora.Inject(m, c)
			if err != nil {
				t.Fatal(err)
			}
			random := tensor.NewRNG(uint64(i))
			for _, p := range a.Params() {
				p.Value().Set(random.Randn(p.Value().Shape()...).Mul(0.2))
			}
			ad = append(ad, a)
		}
		m.To(dev)
		for i, prompt := range prompts {
			for j, choice := range []context.Context{lora.Rows(on, ad[0], ad[1], nil), lora.With(on, ad...)} {
				scores := func(ctx context.Context) (y tensor.Tensor, r *profile.Recording) {
					tensor.Within(ctx, func() {
						r = profile.Record(ctx, func(context.Context) { y = m.Logits(tensor.From(prompt)).Eval() })
					})
					return y, r
				}
				scores(choice) // the first time the adapters are put side by side
				_, one := scores(lora.With(on, ad[0]))
				y, several := scores(choice)
				check(2*i+j, y, several, one)
			}
		}
	}
	want := make([]tensor.Tensor, 4)
	run("cpu", func(at int, got tensor.Tensor, _, _ *profile.Recording) { want[at] = got })
	run("rehearsal", func(int, tensor.Tensor, *profile.Recording, *profile.Recording) {})
	run("emulated", func(at int, got tensor.Tensor, several, one *profile.Recording) {
		if d := tensor.MaxAbsDiff(got.To(want[at].Device()), want[at]); !(d < 1e-4) {
			t.Errorf("%d: the scores differ by %g", at, d)
		}
		if several.Launches == 0 || several.Launches > one.Launches {
			t.Errorf("%d: %d launches for several adapters, %d for one\n%v\n%v", at, several.Launches, one.Launches, several, one)
		}
	})
}
