package lora_test

import (
	"context"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// On a device whose weights have room for adapters a step fills it first, computes what the reference does,
// with B as it is in that step, and leaves the weights as they were. B has numbers of bf16, which the
// reference does not round.
func TestRooms(t *testing.T) {
	devicetest.Register("late")
	for _, c := range []struct {
		name  string
		ranks []int // of each adapter
		model func(c *llm.Config)
	}{
		{"one adapter", []int{8}, func(*llm.Config) {}},
		{"two, and blocks computed twice", []int{8, 16}, func(c *llm.Config) { c.Checkpoint = true }},
		{"more than there is room for", []int{40}, func(*llm.Config) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			type outcome struct {
				values  [][]float32
				kernels []string
			}
			on := map[string]outcome{}
			for _, name := range []string{"ref", "late"} {
				dev, err := device.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				tensor.Within(tensor.WithRNG(device.On(t.Context(), dev), tensor.NewRNG(1)), func() {
					values, kernels := roomedSteps(t, c.ranks, c.model)
					on[name] = outcome{values, kernels}
				})
			}
			rooms := func(list []string) int {
				return len(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s != "rooms" }))
			}
			if got, want := []int{rooms(on["ref"].kernels), rooms(on["late"].kernels)}, []int{0, 2}; !slices.Equal(got, want) {
				t.Errorf("got %d launches that fill rooms, want %d", got, want)
			}
			for i, want := range on["ref"].values {
				if !slices.Equal(on["late"].values[i], want) {
					t.Errorf("value %d differs from what ref computes", i)
				}
			}
		})
	}
}

// roomedSteps returns loss and gradients of two steps with different adapters, and the launches.
func roomedSteps(t *testing.T, ranks []int, change func(*llm.Config)) (values [][]float32, kernels []string) {
	config := llm.Config{Vocab: 64, Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 96, DType: dtype.BF16, Compute: dtype.BF16}
	change(&config)
	m := llm.New(config)
	nn.Freeze(m)
	var params []tensor.Tensor
	var names []string
	for i, rank := range ranks {
		names = append(names, string(rune('a'+i)))
		a, err := lora.Inject(m, lora.Config{Rank: rank, Name: names[i]})
		if err != nil {
			t.Fatal(err)
		}
		params = append(params, nn.Values(a.Params())...)
	}
	if err := lora.Use(m, names...); err != nil {
		t.Fatal(err)
	}
	frozen := slices.DeleteFunc(nn.Params(m), func(p nn.Param) bool { return p.Value().DType() != dtype.BF16 })
	var before [][]float32
	for _, p := range frozen {
		before = append(before, p.Value().Floats())
	}
	ids := tensor.RandInt(0, 64, 2, 64).Eval()
	for step := range 2 {
		for _, p := range params {
			p.Set(tensor.Randn(p.Shape()...).Mul(0.3 * float64(1+step)).Cast(dtype.BF16).Cast(dtype.F32))
			p.Param()
		}
		r := profile.Record(tensor.Context(), func(context.Context) {
			loss := m.Loss(ids, ids)
			list := append(tensor.Grad(loss, params...), loss)
			tensor.Eval(list...)
			for _, x := range list {
				values = append(values, x.Floats())
			}
		})
		for _, k := range r.Kernels {
			kernels = append(kernels, k.Name)
		}
	}
	for i, p := range frozen {
		if !slices.Equal(p.Value().Floats(), before[i]) {
			t.Errorf("%s changed", p.Name)
		}
	}
	return values, kernels
}
