package lora_test

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// devices are those of this machine, without such as a test registers for itself.
var devices = device.List()

// What fusion promises holds on every device, at sizes of a real layer as at small ones: how many launches
// some work takes at most, and exactly how many with fusion off.
func TestLaunchesOnEveryDevice(t *testing.T) {
	randn := func(shape ...int) tensor.Tensor { return tensor.Randn(shape...).Eval() }
	adapted := func(rows, projections, width, rank int) func() []tensor.Tensor {
		return func() []tensor.Tensor {
			x := randn(rows, width)
			var out []tensor.Tensor
			for i := range projections {
				n := width / (1 + i%2) // k and v are narrower
				out = append(out, tensor.LoRALinear(x, randn(width, n), randn(width, rank), randn(rank, n), 2))
			}
			return out
		}
	}
	byHand := func(rows ...int) func() []tensor.Tensor {
		return func() []tensor.Tensor {
			x, w, a, b := randn(append(rows, 24)...), randn(24, 20), randn(24, 4), randn(4, 20)
			return []tensor.Tensor{x.MatMul(w).Add(x.MatMul(a).MatMul(b).Mul(2))}
		}
	}
	chain := func() []tensor.Tensor {
		x, y := randn(70, 30), randn(30)
		return []tensor.Tensor{x.Mul(2).Add(y).Exp().Sub(1).Tanh().Transpose().Silu()}
	}
	forward := func(f func(x, w, b tensor.Tensor) tensor.Tensor) func() []tensor.Tensor {
		return func() []tensor.Tensor { return []tensor.Tensor{f(randn(40, 30), randn(30), randn(30))} }
	}
	backward := func(f func(x, w, b tensor.Tensor) tensor.Tensor) func() []tensor.Tensor {
		return func() []tensor.Tensor {
			x := randn(40, 30).Param()
			y := f(x, randn(30).Param(), randn(30).Param()).Eval()
			return tensor.Grad(y.Mul(randn(40, 30)).Sum(), x)
		}
	}
	softmax := func(x, _, _ tensor.Tensor) tensor.Tensor { return x.Softmax(-1) }
	layerNorm := func(x, w, b tensor.Tensor) tensor.Tensor { return x.LayerNorm(w, b, 1e-5) }
	rmsNorm := func(x, w, _ tensor.Tensor) tensor.Tensor { return x.RMSNorm(w, 1e-5) }
	for _, c := range []struct {
		name    string
		work    func() []tensor.Tensor
		fused   int
		unfused int // 0: not promised
	}{
		{"elementwise chain", chain, 1, 6},
		{"adapted layer, 1 row", adapted(1, 1, 24, 4), 1, 5},
		{"adapted layer, 8 rows", adapted(8, 1, 24, 4), 1, 5},
		{"adapted layer, 9 rows", adapted(9, 1, 24, 4), 2, 5},
		{"adapted layer, 300 rows", adapted(300, 1, 24, 4), 2, 5},
		{"adapted layer of 256, 8 rows", adapted(8, 1, 256, 16), 1, 5},
		{"adapted layer of 256, 64 rows", adapted(64, 1, 256, 16), 2, 5},
		{"by hand, 1 row", byHand(1), 1, 5},
		{"by hand, 8 rows", byHand(8), 1, 5},
		{"by hand, 2 batches of 3 rows", byHand(2, 3), 1, 5},
		{"by hand, 100 rows", byHand(100), 2, 5},
		{"q, k and v, 8 rows", adapted(8, 3, 24, 4), 2, 15},
		{"q, k and v, 100 rows", adapted(100, 3, 24, 4), 2, 15},
		{"q, k and v of 256, 64 rows", adapted(64, 3, 256, 16), 2, 15},
		{"softmax", forward(softmax), 1, 1},
		{"softmax, backward", backward(softmax), 1, 0},
		{"layer norm", forward(layerNorm), 1, 1},
		{"layer norm, backward", backward(layerNorm), 1, 0},
		{"RMS norm", forward(rmsNorm), 1, 1},
		{"RMS norm, backward", backward(rmsNorm), 1, 0},
	} {
		for _, found := range devices {
			onDevice(t, found, func(dev device.Device) {
				if got := launched(c.work()); got > c.fused {
					t.Errorf("%s on %v: %d launches, want at most %d", c.name, dev, got, c.fused)
				}
				tensor.Within(tensor.WithFusion(t.Context(), false), func() {
					if got := launched(c.work()); c.unfused > 0 && got != c.unfused {
						t.Errorf("%s on %v without fusion: %d launches, want %d", c.name, dev, got, c.unfused)
					}
				})
			})
		}
	}
}

// All tensors of an adapter are stepped by one launch, and the second step of a training builds no plan.
func TestAdapterStepOnEveryDevice(t *testing.T) {
	for _, found := range devices {
		onDevice(t, found, func(dev device.Device) {
			m, ids := model(), tensor.From(ids.Ints(), 1, 5)
			ad := inject(t, m, lora.Config{Rank: 4})
			rule := optim.AdamW{}.New(ad.Params())
			step := func(i int) *profile.Recording {
				return profile.Record(t.Context(), func(context.Context) {
					loss := m.Loss(ids, ids)
					grads := tensor.Grad(loss, nn.Values(ad.Params())...)
					scale, norm := optim.ClipScale(grads, 1)
					update := rule.Update(grads, 1e-3/float64(i+1), scale)
					tensor.Eval(append(update.Tensors(), loss, norm)...)
					update.Commit()
				})
			}
			step(0)
			for i := 1; i < 4; i++ {
				r := step(i)
				if r.PlansBuilt != 0 {
					t.Errorf("on %v: step %d built %d plans", dev, i+1, r.PlansBuilt)
				}
				adamw := 0
				for _, k := range r.Kernels {
					if k.Name == "adamw" {
						adamw += k.Launches
					}
				}
				if adamw != 1 {
					t.Errorf("on %v: step %d launched adamw %d times, want once", dev, i+1, adamw)
				}
			}
		})
	}
}

func launched(ts []tensor.Tensor) int {
	return profile.Record(context.Background(), func(context.Context) { tensor.Eval(ts...) }).Launches
}

// onDevice runs f with the device that was found as the default one; without it if it is missing.
func onDevice(t *testing.T, found device.Found, f func(dev device.Device)) {
	t.Helper()
	if found.Missing != "" {
		return
	}
	before := device.Default().String()
	if err := device.Use(found.Name); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := device.Use(before); err != nil {
			t.Fatal(err)
		}
	}()
	f(device.Default())
}

// Several adapters that are on cost what one costs: their x·A are one launch, and one product sums up.
func TestLaunchesOfSeveralAdapters(t *testing.T) {
	for _, found := range devices {
		onDevice(t, found, func(dev device.Device) {
			layer, one, _, _, _, _ := pair(t, nn.NewLinear(24, 20))
			one.Enable()
			for rows, want := range map[int]int{1: 2, 9: 2, 300: 2} {
				x := tensor.Randn(rows, 24).Eval()
				if got := launched([]tensor.Tensor{layer.Forward(x)}); got > want {
					t.Errorf("%d rows on %v: %d launches, want at most %d", rows, dev, got, want)
				}
			}
		})
	}
}
