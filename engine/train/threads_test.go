package train

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A training run gives the same weights, bit by bit, with any number of threads, and while other sessions compute on the
// same device.
func TestThreadsChangeNoWeight(t *testing.T) {
	before := device.Default()
	defer device.Use(before.String())
	type outcome struct {
		weights       string
		losses, norms []float64
	}
	run := func(d device.Device) outcome {
		if err := device.Use(d.String()); err != nil {
			t.Fatal(err)
		}
		m := llm.New(llm.Config{Vocab: 256, Layers: 2, Width: 96, Heads: 6, KVHeads: 2, Hidden: 200, Seed: 1})
		all := mustRun(t, m, data.Windows(text, 48, 4), options(3))
		ad, err := lora.Inject(m, lora.Config{Rank: 4, Targets: lora.AllLinear})
		if err != nil {
			t.Fatal(err)
		}
		o := options(3)
		o.Params = ad.Params()
		adapter := mustRun(t, m, data.Windows(text, 48, 4), o)
		return outcome{nn.Hash(nn.Params(m)), append(all.Loss, adapter.Loss...), append(all.GradNorm, adapter.GradNorm...)}
	}
	want := run(device.CPU(1))
	for _, threads := range []int{2, 3, 4, 7, 0} {
		var done atomic.Bool
		var others sync.WaitGroup
		d := device.CPU(threads)
		for range 2 {
			others.Go(func() {
				x := tensor.From(make([]float32, 1<<16)).To(d).Reshape(256, 256)
				for !done.Load() {
					x.MatMul(x).Softmax(-1).Eval()
				}
			})
		}
		got := run(d)
		done.Store(true)
		others.Wait()
		if got.weights != want.weights || !slices.Equal(got.losses, want.losses) || !slices.Equal(got.norms, want.norms) {
			t.Errorf("%v: got %+v, want as on cpu:1 %+v", d, got, want)
		}
	}
}
