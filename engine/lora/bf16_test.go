package lora_test

import (
	"context"
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// computing is a decoder with frozen weights in bf16 and an adapter in f32 that computes in a type, and a
// step of its training with two texts.
func computing(t *testing.T, compute dtype.Type, tokens int) (step func() *profile.Recording) {
	m := llm.New(llm.Config{Vocab: 96, Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 96, QKVBias: true, DType: dtype.BF16, Compute: compute})
	ad := inject(t, m, lora.Config{Rank: 4})
	rule := optim.AdamW{}.New(ad.Params())
	random := tensor.NewRNG(1)
	ids, targets := random.RandInt(0, 96, 2, tokens).Eval(), random.RandInt(0, 96, 2, tokens).Eval()
	return func() *profile.Recording {
		return profile.Record(t.Context(), func(context.Context) {
			loss := m.Loss(ids, targets)
			grads := tensor.Grad(loss, nn.Values(ad.Params())...)
			for _, g := range grads {
				if g.DType() != dtype.F32 {
					t.Errorf("gradient %v of an adapter in f32", g.DType())
				}
			}
			scale, norm := optim.ClipScale(grads, 1)
			update := rule.Update(grads, 1e-3, scale)
			tensor.Eval(append(update.Tensors(), loss, norm)...)
			update.Commit()
		})
	}
}

// Computing in bf16 casts nothing in launches of its own: what is trained is read in f32 by the kernels that
// multiply and normalise. (A weight in bf16 is not cast in f32 either.)
func TestBF16LaunchesOnEveryDevice(t *testing.T) {
	for _, found := range devices {
		onDevice(t, found, func(dev device.Device) {
			wide, narrow := computing(t, dtype.F32, 48)(), computing(t, dtype.BF16, 48)()
			if narrow.Launches > wide.Launches {
				t.Errorf("on %v: a step in bf16 makes %d launches, want at most the %d of f32\nbf16:\n%v\nf32:\n%v", dev, narrow.Launches, wide.Launches, narrow, wide)
			}
		})
	}
}

// 200 steps in bf16 have the losses of PyTorch's autocast on the same data, as far as its rounding allows:
// they are about as far from those as the ones of f32 are, and those of PyTorch with one tensor rounded once
// more. testdata/bf16 was written by tests/peers/decoder_bf16.py.
func TestBF16TrainsLikeAutocast(t *testing.T) {
	long.InCI(t, "trains for 400 steps")
	want, _, err := safetensors.Load("testdata/bf16/expected.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	train := func(compute dtype.Type) []float64 {
		m := peftBase(t)
		nn.Convert(m, dtype.BF16)
		m.Config.Compute = compute
		ad, err := lora.Load(peft, m)
		if err != nil {
			t.Fatal(err)
		}
		params := ad.Params()
		rule := optim.AdamW{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1}.New(params)
		var losses []float64
		for step := range want["autocast"].Len(0) {
			loss := m.Loss(want["ids"].At(step%4), want["targets"].At(step%4))
			grads := tensor.Grad(loss, nn.Values(params)...)
			scale, _ := optim.ClipScale(grads, 1)
			update := rule.Update(grads, 0.003, scale)
			tensor.Eval(append(update.Tensors(), loss)...)
			update.Commit()
			losses = append(losses, loss.Item())
		}
		return losses
	}
	losses := func(name string) (list []float64) {
		for _, x := range want[name].Floats() {
			list = append(list, float64(x))
		}
		return list
	}
	autocast, wide, disturbed := losses("autocast"), losses("f32"), losses("disturbed")
	ours, ours32 := train(dtype.BF16), train(dtype.F32)
	if math.Abs(ours[0]-wide[0]) < 1e-6*wide[0] {
		t.Errorf("the first loss is %v, as in f32", ours[0])
	}
	for from := 0; from < len(ours); from += 50 { // roundings add up over the steps
		to := from + 50
		off, own := distance(ours[from:to], autocast[from:to]), distance(ours[from:to], wide[from:to])
		allowed := max(distance(autocast[from:to], wide[from:to]), distance(disturbed[from:to], wide[from:to]))
		t.Logf("steps %d to %d: autocast is off f32 by %.2g of the loss, mcs by %.2g; mcs is off autocast by %.2g", from, to-1, allowed, own, off)
		if own > 1.5*allowed || off > 1.5*math.Sqrt2*allowed { // two roundings, independent of each other
			t.Errorf("steps %d to %d: losses are off autocast's by %.3g of them and off f32's by %.3g, want about what autocast is off f32, %.3g", from, to-1, off, own, allowed)
		}
		d := distance(ours32[from:to], wide[from:to])
		t.Logf("in f32 mcs is off PyTorch by %.2g", d)
		if d > allowed/10 { // an order of sums that is another grows, too
			t.Errorf("steps %d to %d in f32: losses are off PyTorch's by %.3g of them, want less than a tenth of %.3g", from, to-1, d, allowed)
		}
	}
}

// distance is how far losses are from others, in parts of those: the root of the mean square.
func distance(losses, others []float64) float64 {
	var sum float64
	for i, x := range losses {
		d := x/others[i] - 1
		sum += d * d
	}
	return math.Sqrt(sum / float64(len(losses)))
}

// What a step keeps between its launches takes half the memory in bf16.
func TestBF16HalvesActivations(t *testing.T) {
	memory := func(compute dtype.Type) int64 {
		step := computing(t, compute, 256)
		step()
		device.Default().ResetPeak()
		step()
		return device.Default().Memory().Plan
	}
	wide, narrow := memory(dtype.F32), memory(dtype.BF16)
	t.Logf("%d bytes in f32, %d in bf16", wide, narrow)
	if float64(narrow) > 0.55*float64(wide) {
		t.Errorf("a step takes %d bytes in bf16, want about half of the %d of f32", narrow, wide)
	}
}
