package train

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A training run gives the same weights, bit by bit, with any number of threads, and while other sessions
// compute on the same device.
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
	counts := []int{3, 0}
	if long.Tests() {
		counts = []int{2, 3, 4, 7, 0}
	}
	for _, threads := range counts {
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

// BenchmarkTwoThreads runs works on one thread and on two in turns, and reports the times of the best runs
// and their ratio.
func BenchmarkTwoThreads(b *testing.B) {
	before := device.Default()
	defer device.Use(before.String())
	normal := func(shape ...int) tensor.Tensor { return tensor.Randn(shape...).Eval() }
	for _, w := range []struct {
		name string
		make func() func() []tensor.Tensor
	}{
		{"matmul 1024", func() func() []tensor.Tensor {
			x, y := normal(1024, 1024), normal(1024, 1024)
			return func() []tensor.Tensor { return []tensor.Tensor{x.MatMul(y)} }
		}},
		{"matmul 256", func() func() []tensor.Tensor {
			x, y := normal(256, 256), normal(256, 256)
			return func() []tensor.Tensor { return []tensor.Tensor{x.MatMul(y)} }
		}},
		{"lora 1024, 128 rows", func() func() []tensor.Tensor {
			x, w, down, up := normal(128, 1024), normal(1024, 1024), normal(1024, 8), normal(8, 1024)
			return func() []tensor.Tensor { return []tensor.Tensor{tensor.LoRALinear(x, w, down, up, 2)} }
		}},
		{"lora 1024, 1 row", func() func() []tensor.Tensor {
			x, w, down, up := normal(1, 1024), normal(1024, 1024), normal(1024, 8), normal(8, 1024)
			return func() []tensor.Tensor { return []tensor.Tensor{tensor.LoRALinear(x, w, down, up, 2)} }
		}},
		{"layer norm 64x1024", func() func() []tensor.Tensor {
			x, w, bias := normal(64, 1024), normal(1024), normal(1024)
			return func() []tensor.Tensor { return []tensor.Tensor{x.LayerNorm(w, bias, 1e-5)} }
		}},
		{"softmax 1024x1024", func() func() []tensor.Tensor {
			x := normal(1024, 1024)
			return func() []tensor.Tensor { return []tensor.Tensor{x.Softmax(-1)} }
		}},
		{"chain 1024x1024", func() func() []tensor.Tensor {
			x, y := normal(1024, 1024), normal(1024, 1024)
			return func() []tensor.Tensor {
				return []tensor.Tensor{x.Mul(y).Add(0.5).Tanh().Mul(x.Sigmoid()).Sub(y)}
			}
		}},
		{"attention 512", func() func() []tensor.Tensor {
			q, k, v := normal(1, 14, 512, 64), normal(1, 2, 512, 64), normal(1, 2, 512, 64)
			return func() []tensor.Tensor {
				return []tensor.Tensor{tensor.Attention(q, k, v, tensor.AttentionOptions{Causal: true})}
			}
		}},
		{"training step 4x128", trainingStep},
	} {
		b.Run(w.name, func(b *testing.B) {
			var runs [2]func() []tensor.Tensor
			best := [2]time.Duration{time.Hour, time.Hour}
			use := func(side int) { device.Use(device.CPU(side + 1).String()) }
			for side := range runs {
				use(side)
				runs[side] = w.make()
			}
			for b.Loop() {
				for side, run := range runs {
					use(side)
					for range 5 { // the first one meets caches that the other side has filled
						start := time.Now()
						results := run()
						tensor.Eval(results...)
						best[side] = min(best[side], time.Since(start))
						tensor.Free(results...)
					}
				}
			}
			b.ReportMetric(float64(best[0].Nanoseconds())/1e3, "one-µs")
			b.ReportMetric(float64(best[1].Nanoseconds())/1e3, "two-µs")
			b.ReportMetric(float64(best[0])/float64(best[1]), "×")
		})
	}
}

// trainingStep is the step of a small decoder's adapters.
func trainingStep() func() []tensor.Tensor {
	m := llm.New(llm.Config{Vocab: 2048, Layers: 2, Width: 256, Heads: 4, KVHeads: 2, Hidden: 704, Seed: 1})
	ad, err := lora.Inject(m, lora.Config{Rank: 16, Targets: lora.AllLinear})
	if err != nil {
		panic(err)
	}
	params, optimizer := nn.Values(ad.Params()), optim.AdamW{}.New(ad.Params())
	words := make([]int64, 4*128)
	for i := range words {
		words[i] = int64(i * 37 % 2048)
	}
	ids, targets := tensor.From(words, 4, 128).Eval(), tensor.From(words, 4, 128).Eval()
	return func() []tensor.Tensor {
		loss := m.Loss(ids, targets)
		grads := tensor.Grad(loss, params...)
		scale, norm := optim.ClipScale(grads, 1)
		optimizer.Update(grads, 1e-3, scale).CommitIf(loss.Add(norm), loss, norm)
		return []tensor.Tensor{loss, norm}
	}
}
