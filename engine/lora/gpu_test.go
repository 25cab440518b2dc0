package lora_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/emulated"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// How many launches a layer adds to a training step on a GPU, without libraries: a step of two layers of the
// 0.5 B shape, less one of a single layer. They are counted where kernels are written, and computed on the
// processor, for 64 tokens: on a device of one processor, as others would cut so small products into parts.
func TestLaunchesALayerOnGPUs(t *testing.T) {
	emulated.Register()
	for _, c := range []struct {
		compute dtype.Type
		most    int
	}{{dtype.BF16, 31}, {dtype.F32, 31}} {
		if c.compute == dtype.F32 && !long.Tests() {
			continue // computing in bf16 needs launches that could come on top of these
		}
		total, list := launchesALayer(t, "rehearsal:1", c.compute, 1, 64)
		t.Logf("%v: %d launches a layer: %s", c.compute, total, list)
		if total > c.most {
			t.Errorf("%v: %d launches a layer, want at most %d", c.compute, total, c.most)
		}
	}
}

// With libraries that have all products and attention they are more, at the lengths of real training: a
// library's product cannot share a launch. Here nothing is computed.
func TestLaunchesALayerWithLibraries(t *testing.T) {
	info := gpu.Info{Family: "sm_90", Memory: 140 << 30, Limits: gpu.Limits{Threads: 1024, ThreadgroupMemory: 227 << 10, Simdgroup: 32, Processors: 132}}
	b := &unrun{Backend: cpu.New(0), info: info, limits: gpu.LimitsOf(info)}
	b.limits.Library = &kernel.Library{
		Offer: func(kernel.Work) (int, bool) { return 0, true }, Room: gpu.RoomOf(info),
	}
	backend.Register(backend.Driver{
		Name: "unrun", Open: func(int) (backend.Backend, error) { return b, nil },
		Probe: func() []backend.Found { return []backend.Found{{Name: "unrun"}} },
	})
	total, list := launchesALayer(t, "unrun", dtype.BF16, 4, 1024)
	t.Logf("%d launches a layer: %s", total, list)
	if total > 43 {
		t.Errorf("got %d launches a layer, want at most 43", total)
	}
}

// launchesALayer is how many launches of each kind a layer adds to a step, in all and as a list: of three
// layers as against one, because gradients of two layers may share a launch.
func launchesALayer(t *testing.T, name string, compute dtype.Type, texts, tokens int) (int, string) {
	launches := func(layers int) map[string]int {
		count := map[string]int{}
		onDevice(t, device.Found{Name: name}, func(device.Device) {
			m := llm.New(llm.Config{Vocab: 512, Layers: layers, Width: 896, Heads: 14, KVHeads: 2, Hidden: 4864, DType: compute, Compute: compute})
			ad := inject(t, m, lora.Config{Rank: 16})
			ids := tensor.NewRNG(1).RandInt(0, 512, texts, tokens).Eval()
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
	one, three := launches(1), launches(3)
	total := 0
	var names []string
	for name := range three {
		total += three[name] - one[name]
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(three[b]-one[b], three[a]-one[a]), strings.Compare(a, b))
	})
	var list []string
	for _, name := range names {
		if n := three[name] - one[name]; n != 0 {
			list = append(list, fmt.Sprintf("%s %.1f", name, float64(n)/2))
		}
	}
	return (total + 1) / 2, strings.Join(list, ", ")
}

// An unrun backend writes kernels down for a GPU with libraries, and computes nothing.
type unrun struct {
	backend.Backend // memory
	info            gpu.Info
	limits          kernel.Limits
}

type unrunKernel struct {
	name     string
	launches int
}

func (k unrunKernel) Name() string  { return k.name }
func (k unrunKernel) Launches() int { return k.launches }
func (k unrunKernel) Scratch() int  { return 0 }
func (k unrunKernel) Close()        {}

func (b *unrun) Info() backend.Info { return gpu.InfoOf("unrun", b.info) }

func (b *unrun) Compile(g *backend.Group) (backend.Kernel, error) {
	k, err := kernel.Render(g, b.limits)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, d := range k.Dispatches {
		n++
		if d.Library == nil {
			continue
		}
		if a, ok := d.Library.Work.(kernel.Attention); ok { // as cuDNN
			n++
			if a.Gradient {
				n += 4
			}
		}
	}
	return unrunKernel{g.Name, n}, nil
}

func (b *unrun) Load(*backend.Program) (backend.Loaded, error) { return unrunLoaded{}, nil }

type unrunLoaded struct{}

func (unrunLoaded) Close() {}

func (b *unrun) Run(context.Context, backend.Loaded, *backend.Table, []time.Duration) error {
	return nil
}
