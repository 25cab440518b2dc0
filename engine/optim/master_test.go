package optim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// devices are those that an optimizer has kernels for.
var devices = []string{"cpu", "ref", "emulated", "cuda"}

// onEach runs a test on devices. Those that not every machine has, because "emulated" needs clang and "cuda"
// a GPU, are skipped where they are missing.
func onEach(t *testing.T, names []string, f func(t *testing.T)) {
	devicetest.Register("emulated")
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			tensor.Within(device.WithChoice(t.Context(), &device.Choice{}), func() {
				switch err := device.Use(name); {
				case err != nil && (name == "emulated" || name == "cuda"):
					t.Skip(err)
				case err != nil:
					t.Fatal(err)
				}
				f(t)
			})
		})
	}
}

// stepped makes a step by gradients.
func stepped(o Optimizer, rate float64, grads ...tensor.Tensor) {
	o.Update(grads, rate, tensor.Tensor{}).Commit()
}

// narrow is a parameter of a narrower type.
func narrow(name string, t tensor.Tensor, dt dtype.Type) nn.Param {
	t = t.Cast(dt).To(tensor.Zeros().Device()).Param()
	return nn.NewParam(name, &t)
}

// Masters are those of PyTorch's optimizers over copies in f32, and a parameter is its master, rounded.
// tests/peers/masters.py wrote the file.
func TestMastersAreTorchs(t *testing.T) {
	all, _, err := safetensors.Load("testdata/masters.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, devices, func(t *testing.T) {
		for _, dt := range []dtype.Type{dtype.BF16, dtype.F16} {
			for name, rule := range map[string]Rule{
				"adamw": AdamW{WeightDecay: 0.1}, "sgd": SGD{WeightDecay: 0.1}, "momentum": SGD{Momentum: 0.9},
				"nesterov": SGD{Momentum: 0.9, Nesterov: true, WeightDecay: 0.01},
			} {
				of := func(part string) tensor.Tensor { return all[dt.String()+"/"+part] }
				p := narrow("w", of("start"), dt)
				o := rule.New([]nn.Param{p})
				for i := range of("grads").Len(0) {
					stepped(o, 1e-3, of("grads").At(i).To(p.Value().Device()))
				}
				master := o.State().Tensors["master.w"].To(device.Default())
				if d := tensor.MaxAbsDiff(master.To(of(name).Device()), of(name+"/f32")); d > 2e-6 {
					t.Errorf("%v, %s: the master differs by %g from PyTorch's", dt, name, d)
				}
				if d := tensor.MaxAbsDiff(p.Value(), master.Cast(dt)); d != 0 || p.Value().DType() != dt {
					t.Errorf("%v, %s: the parameter differs by %g from its master", dt, name, d)
				}
				if d := tensor.MaxAbsDiff(p.Value().To(of(name).Device()), of(name)); d > 0.01 {
					t.Errorf("%v, %s: the parameter differs by %g from PyTorch's", dt, name, d)
				}
			}
		}
	})
}

// The losses of a layer in bf16 that has a master are PyTorch's, and near to those of f32; without one
// nothing is learnt at a rate of 1e-4.
func TestLossesWithMastersFollowF32(t *testing.T) {
	all, _, err := safetensors.Load("testdata/masters.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		dt   dtype.Type
		rule AdamW
		off  float64 // relative
	}{
		{"f32", dtype.F32, AdamW{}, 1e-4},
		{"master", dtype.BF16, AdamW{}, 0.01},
		{"plain", dtype.BF16, AdamW{NoMasters: true}, 0.01},
	} {
		p := narrow("w", all["w"], c.dt)
		o := c.rule.New([]nn.Param{p})
		for i, want := range all["loss."+c.name].Float64s() {
			loss := tensor.MeanSquares(all["x"].MatMul(p.Value().Cast(dtype.F32)), all["y"])
			stepped(o, 1e-4, tensor.Grad(loss, p.Value())...)
			got, f32 := loss.Item(), all["loss.f32"].At(i).Item()
			if math.Abs(got-want) > c.off*want {
				t.Fatalf("%s, step %d: the loss is %g, PyTorch's %g", c.name, i+1, got, want)
			}
			if near := math.Abs(got-f32) < 0.05*f32; near == (c.name == "plain") && i > 250 {
				t.Fatalf("%s, step %d: the loss is %g, in f32 %g", c.name, i+1, got, f32)
			}
		}
	}
}

// slow are rules whose steps by gradients of 1 are as large as the rate.
var slow = []Rule{AdamW{}, AdamW{Bits: 8}, SGD{}, Grouped{Groups: []Group{{Params: "b"}}}}

// Steps that rounding would lose add up, in large parameters and in small ones, beside such of f32, and on
// all devices. A parameter that somebody has set goes on from there.
func TestSmallStepsAddUp(t *testing.T) {
	const large, small = 5000, 3
	onEach(t, devices, func(t *testing.T) {
		for _, rule := range slow {
			ps := []nn.Param{narrow("a", tensor.Ones(large), dtype.BF16), narrow("b", tensor.Ones(small), dtype.F16),
				narrow("c", tensor.Ones(small), dtype.F32), narrow("d", tensor.Ones(large), dtype.F32)}
			o := rule.New(ps)
			var grads []tensor.Tensor
			for _, p := range ps {
				grads = append(grads, tensor.OnesLike(p.Value()).Eval())
			}
			descends := func(what string, n int, want ...float64) {
				for range n {
					stepped(o, 1e-3, grads...)
				}
				for i, p := range ps {
					least, most := p.Value().Min().Item(), p.Value().Max().Item()
					ulp := math.Abs(want[i]) / map[int]float64{2: 256, 4: 1e5}[p.Value().DType().Size()]
					if least != most || math.Abs(least-want[i]) > ulp {
						t.Errorf("%v, %s: %s is from %g to %g, want %g", rule, what, p, least, most, want[i])
					}
				}
			}
			descends("10 steps", 10, 0.99, 0.99, 0.99, 0.99)
			ps[0].Value().Set(tensor.Full(3, large).Cast(dtype.BF16))
			ps[1].Value().Set(tensor.Full(-2, small).Cast(dtype.F16))
			ps[3].Value().Set(tensor.Full(0.5, large))
			descends("set", 1, 3, -2, 0.989, 0.499)
			descends("10 more", 10, 2.99, -2.01, 0.979, 0.489)
		}
	})
}

// A state goes on with the same bits in another process, whatever kinds of parameters there are. Steps that
// are refused or taken back change neither parameters nor masters.
func TestMastersGoOn(t *testing.T) {
	made := func() []nn.Param {
		random := tensor.NewRNG(3)
		return []nn.Param{narrow("a", random.Randn(70, 70), dtype.BF16), narrow("b", random.Randn(9), dtype.F16), narrow("c", random.Randn(5000), dtype.F32)}
	}
	for _, rule := range []Rule{AdamW{WeightDecay: 0.1}, AdamW{Bits: 8}, AdamW{NoMasters: true}, SGD{}, SGD{Momentum: 0.9}, Grouped{Groups: []Group{{Params: "a", Rate: 2}}}} {
		run := func(ps []nn.Param, o Optimizer, from, to int) {
			for i := from; i < to; i++ {
				random, grads := tensor.NewRNG(uint64(i)), []tensor.Tensor(nil)
				for _, p := range ps {
					grads = append(grads, random.Randn(p.Value().Shape()...).Cast(p.Value().DType()))
				}
				stepped(o, 1e-4, grads...)
			}
		}
		ps := made()
		o := rule.New(ps)
		run(ps, o, 0, 5)
		state, kept := o.State(), map[string]tensor.Tensor{}
		for _, p := range ps {
			kept[p.Name] = p.Value().Snapshot()
		}
		_, has := state.Tensors["master.a"]
		if want := rule != (AdamW{NoMasters: true}); has != want || state.Tensors["master.c"] != (tensor.Tensor{}) {
			t.Errorf("%v: the state has %d tensors, a master of a: %v, want %v", rule, len(state.Tensors), has, want)
		}
		grads := []tensor.Tensor{tensor.Ones(70, 70).Cast(dtype.BF16), tensor.Ones(9).Cast(dtype.F16), tensor.Ones(5000)}
		before := nn.Hash(ps)
		if o.Update(grads, 0.1, tensor.Tensor{}).CommitIf(tensor.Scalar(math.NaN())) || nn.Hash(ps) != before {
			t.Errorf("%v: a step with a guard of NaN was made", rule)
		}
		o.Update(grads, 0.1, tensor.Tensor{}).CommitLater(tensor.Scalar(math.NaN())).Undo() // it was refused: see Pending
		run(ps, o, 5, 10)

		again := made()
		next := rule.New(again)
		for _, p := range again {
			p.Value().Set(kept[p.Name])
		}
		if err := next.SetState(state); err != nil {
			t.Fatalf("%v: %v", rule, err)
		}
		run(again, next, 5, 10)
		if nn.Hash(again) != nn.Hash(ps) {
			t.Errorf("%v: the parameters have other bits after the state was put back", rule)
		}
		for name, want := range o.State().Tensors {
			if got := next.State().Tensors[name]; !slices.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%v: %s has other bits after the state was put back", rule, name)
			}
		}
		if err := (AdamW{NoMasters: true}).New(made()).SetState(AdamW{}.New(made()).State()); err == nil {
			t.Error("a state with masters was taken by an optimizer without them")
		}
	}
}

// Parameters with masters take one launch, and change where they lie unless somebody holds them.
func TestMastersAreOneLaunchInPlace(t *testing.T) {
	for _, c := range []struct {
		rule AdamW
		of   []dtype.Type
		want string
	}{
		{AdamW{}, []dtype.Type{dtype.BF16, dtype.BF16}, "adamw 1"},
		{AdamW{Bits: 8}, []dtype.Type{dtype.BF16, dtype.BF16}, "adamw8 1"},
		{AdamW{}, []dtype.Type{dtype.F32, dtype.BF16, dtype.F16}, "adamw 2"},
	} {
		const n = 1 << 19
		var ps []nn.Param
		var grads []tensor.Tensor
		for i, dt := range c.of {
			ps = append(ps, narrow(fmt.Sprint(i), tensor.Randn(n), dt))
			grads = append(grads, tensor.Randn(n).Cast(dt).Eval())
			ps[i].Value().Eval()
		}
		o := c.rule.New(ps)
		var got []string
		r := profile.Record(tensor.Context(), func(context.Context) { stepped(o, 0.1, grads...) })
		for _, k := range r.Kernels {
			got = append(got, fmt.Sprint(k.Name, " ", k.Launches))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%v of %v is %q, want %q", c.rule, c.of, text, c.want)
		}
		if cost := o.Update(grads, 0.1, tensor.Tensor{}).Cost(tensor.Scalar(0)); cost.Memory > 1024 {
			t.Errorf("%v of %v: a step takes %d bytes beside what it replaces", c.rule, c.of, cost.Memory)
		}
		last := fmt.Sprint("master.", len(ps)-1)
		held := o.State().Tensors[last]
		before := held.Float64s()
		stepped(o, 0.1, grads...)
		if !slices.Equal(held.Float64s(), before) {
			t.Errorf("%v of %v: a master that somebody holds was changed", c.rule, c.of)
		}
		if slices.Equal(o.State().Tensors[last].Float64s(), before) {
			t.Errorf("%v of %v: nothing was learnt", c.rule, c.of)
		}
	}
}
