package optim

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Codes mean what they mean in bitsandbytes, and numbers get the same ones: testdata/eight.json was written
// by tests/peers/eight_bits.py.
func TestDynamicMapsAreThoseOfBitsandbytes(t *testing.T) {
	onEach(t, []string{"cpu", "ref", "emulated"}, dynamicMapsAgree)
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
	signed, unsigned := [2][]float64{want.Signed, want.Codes}, [2][]float64{want.Unsigned, want.Roots}
	numbers, codes := decoded(t)
	for i := range 256 {
		for kind, w := range map[string]float64{"signed": want.Signed[i], "unsigned": want.Unsigned[i]} {
			if got := numbers[kind][i]; math.Abs(got-w) > 1e-15+2e-6*math.Abs(w) {
				t.Errorf("%s: code %d is %g, want %g", kind, i, got, w)
			}
			if codes[kind][i] != float64(i) {
				t.Errorf("%s: number %d of the map gets the code %g", kind, i, codes[kind][i])
			}
		}
	}
	// Without memory of older steps the moments are the gradient and its size.
	x := tensor.From(want.X)
	_, m, r := tensor.AdamW8([]tensor.Tensor{tensor.ZerosLike(x)}, []tensor.Tensor{x}, zeroEight(x, 127), zeroEight(x, 0), tensor.AdamWStep{Step: 1})
	for kind, c := range map[string]struct {
		e    tensor.Eight
		want [2][]float64
	}{"signed": {m, signed}, "unsigned": {r, unsigned}} {
		scales := c.e.Scales[0].Float64s()
		for i, got := range c.e.Codes[0].Float64s() {
			if got == c.want[1][i] {
				continue
			}
			scaled := want.X[i] / want.Scales[i/256] // in the middle between two, or as near
			if kind == "unsigned" {
				scaled = math.Abs(scaled)
			}
			a, b := math.Abs(c.want[0][int(got)]-scaled), math.Abs(c.want[0][int(c.want[1][i])]-scaled)
			if a > b*(1+1e-4) {
				t.Errorf("%s: %g gets code %g, which is %g away, want %g, which is %g away", kind, scaled, got, a, c.want[1][i], b)
			}
		}
		for i, got := range scales {
			if math.Abs(got-want.Scales[i]) > 1e-6*want.Scales[i] {
				t.Errorf("%s: block %d: got the scale %g, want %g", kind, i, got, want.Scales[i])
			}
		}
	}
}

// zeroEight is zeros in 8 bits for one parameter, of which code is that of 0.
func zeroEight(x tensor.Tensor, code float64) (e tensor.Eight) {
	addZeros(&e, code, x)
	return e
}

// decoded returns the numbers of all codes, and their new codes, as steps with a gradient of 0 show them:
// those halve both memories, and p′ = −2·m′/(2·r′/√3 + ε).
func decoded(t *testing.T) (numbers, codes map[string][]float64) {
	list := func(code tensor.Tensor) tensor.Eight {
		return tensor.Eight{Codes: []tensor.Tensor{code.Cast(dtype.U8).Reshape(1, 256)}, Scales: []tensor.Tensor{tensor.Ones(1, 1)}}
	}
	zero := []tensor.Tensor{tensor.Zeros(256)}
	all, ones := list(tensor.Range(256)), list(tensor.Full(255, 256))
	o := tensor.AdamWStep{LR: 1, Beta1: 0.5, Beta2: 0.25, Eps: 1, Step: 1}
	p, m, _ := tensor.AdamW8(zero, zero, all, zeroEight(zero[0], 0), o)
	o.Eps = 1e-12
	q, _, r := tensor.AdamW8(zero, zero, ones, all, o)
	for _, e := range []tensor.Eight{m, r} {
		if got := e.Scales[0].Item(); got != 0.5 {
			t.Errorf("half of a block whose largest number is 1 gets the scale %g", got)
		}
	}
	numbers = map[string][]float64{"signed": p[0].Neg().Float64s(), "unsigned": q[0].Float64s()}
	for i, x := range numbers["unsigned"] {
		numbers["unsigned"][i] = (-1/x - o.Eps) * math.Sqrt(0.75) / 0.5
	}
	return numbers, map[string][]float64{"signed": m.Codes[0].Float64s(), "unsigned": r.Codes[0].Float64s()}
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

// A step is one launch for all parameters, whatever their number, and one more for those that are too small.
func TestAdamWIn8BitsIsOneLaunch(t *testing.T) {
	onEach(t, []string{"cpu", "emulated"}, func(t *testing.T) {
		for _, c := range []struct {
			sizes []int
			want  string
		}{
			{[]int{5000, 4096, 9000}, "adamw8 1"},
			{[]int{5000, 10, 4096, 20}, "adamw8 1 adamw 1"},
		} {
			values, params, grads := make([]tensor.Tensor, len(c.sizes)), []nn.Param(nil), []tensor.Tensor(nil)
			for i, n := range c.sizes {
				values[i] = tensor.Randn(n).Param()
				params, grads = append(params, nn.NewParam(fmt.Sprint(i), &values[i])), append(grads, tensor.Randn(n).Eval())
			}
			tensor.Eval(values...)
			o := AdamW{Bits: 8}.New(params)
			r := profile.Record(tensor.Context(), func(context.Context) { o.Update(grads, 0.1, tensor.Tensor{}).Commit() })
			var got []string
			for _, k := range r.Kernels {
				got = append(got, fmt.Sprint(k.Name, " ", k.Launches))
			}
			slices.Sort(got)
			slices.Reverse(got)
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("parameters of %d numbers are stepped by %q, want %q", c.sizes, text, c.want)
			}
		}
	})
}

// A step changes parameters and moments where they lie, unless somebody still sees them.
func TestAdamWIn8BitsInPlace(t *testing.T) {
	w := tensor.Randn(1 << 20).Param()
	grad := tensor.Randn(1 << 20).Eval()
	o := AdamW{Bits: 8}.New([]nn.Param{nn.NewParam("w", &w)})
	w.Eval()
	if c := o.Update([]tensor.Tensor{grad}, 0.1, tensor.Tensor{}).Cost(tensor.Scalar(0)); c.Memory > 1024 || c.Replaced < 6<<20 {
		t.Errorf("a step takes %d bytes and replaces %d, want to replace all", c.Memory, c.Replaced)
	}
	held := o.State()
	before := held.Tensors["m8.w"].Float64s()
	o.Update([]tensor.Tensor{grad}, 0.1, tensor.Tensor{}).Commit()
	if after := held.Tensors["m8.w"].Float64s(); !slices.Equal(before, after) {
		t.Error("a state that somebody holds was changed")
	}
	if got := o.State().Tensors["m8.w"].Float64s(); slices.Equal(before, got) {
		t.Error("nothing was learnt")
	}
}

// BenchmarkAdamW steps five parameters of 2²⁰ numbers, of f32, and of bf16 with masters and without.
func BenchmarkAdamW(b *testing.B) {
	for _, c := range []struct {
		name string
		dt   dtype.Type
		rule AdamW
	}{
		{"f32", dtype.F32, AdamW{}}, {"f32 8 bits", dtype.F32, AdamW{Bits: 8}},
		{"bf16 masters", dtype.BF16, AdamW{}}, {"bf16 masters 8 bits", dtype.BF16, AdamW{Bits: 8}},
		{"bf16", dtype.BF16, AdamW{NoMasters: true}}, {"bf16 8 bits", dtype.BF16, AdamW{Bits: 8, NoMasters: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			values, params, grads := make([]tensor.Tensor, 5), make([]nn.Param, 5), make([]tensor.Tensor, 5)
			for i := range values {
				values[i], grads[i] = tensor.Randn(1024, 1024).Cast(c.dt).Param(), tensor.Randn(1024, 1024).Cast(c.dt).Eval()
				params[i] = nn.NewParam(fmt.Sprint(i), &values[i])
			}
			tensor.Eval(values...)
			o := c.rule.New(params)
			o.Update(grads, 1e-3, tensor.Tensor{}).Commit()
			for b.Loop() {
				o.Update(grads, 1e-3, tensor.Tensor{}).Commit()
			}
		})
	}
}
