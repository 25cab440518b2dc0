package lora_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu/emulated"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// How many launches a layer adds to a training step on a GPU, without libraries: a step of two layers of the
// 0.5 B shape, less one of a single layer. They are counted where kernels are written, and computed on the
// processor, for 64 tokens: on a device of one processor, as others would cut so small products into parts.
func TestLaunchesALayerOnGPUs(t *testing.T) {
	emulated.Register()
	found := device.Found{Name: "rehearsal:1"}
	launches := func(layers int, compute dtype.Type) map[string]int {
		count := map[string]int{}
		onDevice(t, found, func(device.Device) {
			m := llm.New(llm.Config{Vocab: 512, Layers: layers, Width: 896, Heads: 14, KVHeads: 2, Hidden: 4864, DType: compute, Compute: compute})
			ad := inject(t, m, lora.Config{Rank: 16})
			ids := tensor.NewRNG(1).RandInt(0, 512, 1, 64).Eval()
			rule := optim.AdamW{}.New(ad.Params())
			r := profile.Record(t.Context(), func(context.Context) {
				loss := m.Loss(ids, ids)
				grads := tensor.Grad(loss, nn.Values(ad.Params())...)
				scale, norm := optim.ClipScale(grads, 1)
				update := rule.Update(grads, 1e-3, scale)
				tensor.Eval(append(update.Tensors(), loss, norm)...)
				update.Commit()
			})
			for _, k := range r.Kernels {
				count[k.Name] += k.Launches
			}
		})
		return count
	}
	for _, c := range []struct {
		compute dtype.Type
		most    int
	}{{dtype.F32, 34}, {dtype.BF16, 34}} {
		one, two := launches(1, c.compute), launches(2, c.compute)
		total := 0
		var names []string
		for name := range two {
			total += two[name] - one[name]
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(two[b]-one[b], two[a]-one[a]), strings.Compare(a, b)) })
		var list []string
		for _, name := range names {
			if n := two[name] - one[name]; n != 0 {
				list = append(list, fmt.Sprintf("%s %d", name, n))
			}
		}
		t.Logf("%v: %d launches a layer: %s", c.compute, total, strings.Join(list, ", "))
		if total > c.most {
			t.Errorf("%v: %d launches a layer, want at most %d", c.compute, total, c.most)
		}
	}
}
