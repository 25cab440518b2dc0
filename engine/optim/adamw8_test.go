package optim

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Codes mean what they mean in bitsandbytes, and numbers get the same ones: testdata/eight.json was written
// by tests/peers/eight_bits.py.
func TestDynamicMapsAreThoseOfBitsandbytes(t *testing.T) {
	devicetest.Register("emulated")
	for _, name := range []string{"cpu", "ref", "emulated"} {
		t.Run(name, func(t *testing.T) {
			tensor.Within(device.WithChoice(t.Context(), &device.Choice{}), func() {
				if err := device.Use(name); err != nil {
					t.Skip(err) // emulated needs clang
				}
				dynamicMapsAgree(t)
			})
		})
	}
}

func dynamicMapsAgree(t *testing.T) {
	text, err := os.ReadFile("testdata/eight.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Signed, Unsigned, X, Scales, Codes, Roots []float64 }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	all := tensor.Range(256).Cast(dtype.U8)
	x := tensor.From(want.X)
	for _, test := range []struct {
		m      dynamicMap
		values []float64
		x      tensor.Tensor
		codes  []float64
	}{{signed, want.Signed, x, want.Codes}, {unsigned, want.Unsigned, x.Abs(), want.Roots}} {
		for i, got := range test.m.decode(all).Float64s() {
			if math.Abs(got-test.values[i]) > 2e-6*math.Abs(test.values[i]) {
				t.Errorf("signed %v: code %d is %g, want %g", test.m.signed, i, got, test.values[i])
			}
		}
		if d := tensor.MaxAbsDiff(test.m.encode(test.m.decode(all)), all); d != 0 {
			t.Errorf("signed %v: a number of the map gets another code, %g away", test.m.signed, d)
		}
		e := packed(test.m, blocked(test.x))
		for i, got := range e.codes.Float64s() {
			if got == test.codes[i] {
				continue
			}
			scaled := test.x.Float64s()[i] / want.Scales[i/256] // in the middle between two, or as near
			a, b := math.Abs(test.values[int(got)]-scaled), math.Abs(test.values[int(test.codes[i])]-scaled)
			if a > b*(1+1e-4) {
				t.Errorf("signed %v: %g gets code %g, which is %g away, want %g, which is %g away", test.m.signed, scaled, got, a, test.codes[i], b)
			}
		}
		for i, got := range e.scales.Float64s() {
			if math.Abs(got-want.Scales[i]) > 1e-6*want.Scales[i] {
				t.Errorf("block %d: got the scale %g, want %g", i, got, want.Scales[i])
			}
		}
	}
}

// eightBits are the parameters of a net, of which two are large enough for 8 bits, and its loss.
func eightBits() (params []nn.Param, loss func() tensor.Tensor) {
	random := tensor.NewRNG(7)
	x, y := random.Randn(64, 48).Eval(), random.Randn(64, 10).Eval()
	a, b := nn.NewLinearNormal(random, 48, 100, 0.1), nn.NewLinearNormal(random, 100, 50, 0.1) // 4800 and 5000: no multiples of 256
	c := nn.NewLinearNormal(random, 50, 10, 0.1)
	for name, l := range map[string]*nn.Linear{"a": a, "b": b, "c": c} {
		l.Weight.Named(name)
	}
	params = []nn.Param{nn.NewParam("a", &a.Weight), nn.NewParam("c", &c.Weight), nn.NewParam("b", &b.Weight)}
	return params, func() tensor.Tensor {
		return tensor.MeanSquares(c.Forward(b.Forward(a.Forward(x).Relu()).Relu()), y)
	}
}

// Over 50 steps the losses are near to those of moments in f32, which take four times as much memory; the
// state goes on exactly where it was; steps that mean nothing are not made.
func TestAdamWIn8Bits(t *testing.T) {
	curve := func(o Optimizer, params []nn.Param, loss func() tensor.Tensor, n int) (list []float64) {
		for range n {
			l := loss()
			u := o.Update(tensor.Grad(l, nn.Values(params)...), 3e-3, tensor.Tensor{})
			if !u.CommitIf(l) {
				t.Fatal("a step was refused")
			}
			list = append(list, l.Item())
		}
		return list
	}
	rule := AdamW{WeightDecay: 0.01}
	params, loss := eightBits()
	want := curve(rule.New(params), params, loss, 50)
	rule.Bits = 8
	params, loss = eightBits()
	o := rule.New(params)
	got := curve(o, params, loss, 25)
	state, kept := o.State(), map[string]tensor.Tensor{}
	for _, p := range params {
		kept[p.Name] = p.Value().Snapshot()
	}
	got = append(got, curve(o, params, loss, 25)...)
	for i := range got {
		if math.Abs(got[i]-want[i]) > 0.03*want[i] {
			t.Errorf("step %d: the loss is %g, in f32 %g", i+1, got[i], want[i])
		}
	}
	if got[49] > got[0]/2 {
		t.Errorf("the loss is %g, at first %g", got[49], got[0])
	}

	bytes, numbers := 0, 0
	for name, s := range o.State().Tensors {
		if name[0] == 'm' && len(name) < 4 || name[0] == 'v' {
			continue // of the small parameter
		}
		bytes += s.Size() * s.DType().Size()
	}
	for _, p := range params {
		if n := p.Value().Size(); n >= smallest {
			numbers += n
		}
	}
	if limit := 8 * numbers * 27 / 100; bytes > limit || bytes < 2*numbers {
		t.Errorf("moments of %d parameters take %d bytes, want a quarter of %d", numbers, bytes, 8*numbers)
	}

	params, loss = eightBits() // another process
	again := rule.New(params)
	for _, p := range params {
		p.Value().Set(kept[p.Name])
	}
	if err := again.SetState(state); err != nil {
		t.Fatal(err)
	}
	for i, l := range curve(again, params, loss, 25) {
		if l != got[25+i] {
			t.Fatalf("step %d after loading: the loss is %g, want %g", i+1, l, got[25+i])
		}
	}
	if err := (AdamW{}).New(params).SetState(state); err == nil {
		t.Error("a state in 8 bits was taken for one in 32")
	}

	before := nn.Hash(params)
	l := loss()
	if u := again.Update(tensor.Grad(l, nn.Values(params)...), 3e-3, tensor.Tensor{}); u.CommitIf(tensor.Scalar(math.NaN())) || nn.Hash(params) != before {
		t.Error("a step with a guard of NaN was made")
	}
	if len(again.State().Tensors) != len(state.Tensors) {
		t.Error("the state has another number of tensors")
	}
}

// Parameters of 0 and gradients of 0 stay 0, in bf16 too.
func TestAdamWIn8BitsOfNothing(t *testing.T) {
	w := tensor.Zeros(5000).Cast(dtype.BF16).Param()
	params := []nn.Param{nn.NewParam("w", &w)}
	o := AdamW{Bits: 8}.New(params)
	for range 3 {
		o.Update([]tensor.Tensor{tensor.Zeros(5000)}, 0.1, tensor.Tensor{}).Commit()
	}
	if w.Abs().Max().Item() != 0 || w.DType() != dtype.BF16 {
		t.Errorf("got %v", w)
	}
	if err := tensor.Try(func() { AdamW{Bits: 4}.New(params) }); err == nil {
		t.Error("4 bits are no error")
	}
}
