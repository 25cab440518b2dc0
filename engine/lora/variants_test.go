package lora_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// variants are the ways in which an adapter can be made; from is where it begins.
var variants = []struct {
	name   string
	config lora.Config
	same   bool // at first the model computes what it did
}{
	{"lora", lora.Config{}, true},
	{"gaussian", lora.Config{Init: lora.Gaussian}, true},
	{"random", lora.Config{Init: lora.Random}, false},
	{"orthogonal", lora.Config{Init: lora.Orthogonal}, true},
	{"pissa", lora.Config{Init: lora.PiSSA}, true},
	{"pissa by iteration", lora.Config{Init: "pissa_niter_4", RankStabilized: true}, true},
	{"olora", lora.Config{Init: lora.OLoRA}, true},
	{"dora", lora.Config{DoRA: true}, true},
	{"dora of pissa", lora.Config{DoRA: true, Init: lora.PiSSA}, true},
}

// move changes all that an adapter trains a little.
func move(ad *lora.Adapter) {
	rng := tensor.NewRNG(5)
	for _, p := range ad.Params() {
		v := p.Value()
		v.Set(v.Add(rng.Randn(v.Shape()...).Mul(0.05)).Detach().Eval())
	}
}

// Every variant begins with what the model computed, unless it says otherwise; merged it computes what it
// does beside the weight; unmerged and removed it leaves every bit as it was. So it is over weights in codes.
func TestVariants(t *testing.T) {
	for _, bits := range []int{32, 8, 4} {
		for _, v := range variants {
			t.Run(fmt.Sprintf("%s over %d bits", v.name, bits), func(t *testing.T) {
				m := llm.New(llm.Config{Vocab: 64, Layers: 1, Width: 32, Heads: 2, Hidden: 32, Seed: 1})
				if bits < 32 {
					if _, err := quant.Module(m, quant.Config{Bits: bits}); err != nil {
						t.Fatal(err)
					}
				}
				before, hash := m.Logits(ids).Eval(), nn.Hash(nn.Params(m))
				c := v.config
				c.Rank = 4
				ad := inject(t, m, c)
				scale := before.Abs().Max().Item()
				if d := tensor.MaxAbsDiff(before, m.Logits(ids)); (d < 1e-5*scale) != v.same {
					t.Errorf("at first the scores move by %g of %g", d, scale)
				}
				move(ad)
				want := m.Logits(ids).Eval()
				if d := tensor.MaxAbsDiff(before, want); d < 1e-3*scale {
					t.Errorf("a changed adapter moves the scores by %g of %g only", d, scale)
				}
				if r, err := ad.MergeDequantized(); err != nil || r.Merged() != len(ad.Layers()) {
					t.Fatal(r, err)
				}
				if d := tensor.MaxAbsDiff(want, m.Logits(ids)); d > 1e-5*scale {
					t.Errorf("merged it differs by %g of %g", d, scale)
				}
				ad.Disable()
				if d := tensor.MaxAbsDiff(before, m.Logits(ids)); d > 1e-6*scale {
					t.Errorf("merged and off it differs by %g of %g", d, scale)
				}
				ad.Enable()
				ad.Unmerge()
				if err := ad.Remove(m); err != nil {
					t.Error(err)
				}
				if nn.Hash(nn.Params(m)) != hash {
					t.Error("a bit of the model has changed")
				}
			})
		}
	}
}

// Gradients of each variant are what finite differences say, where the lengths of DoRA's columns stand still:
// the magnitude's gradient has no such reservation.
func TestVariantGradients(t *testing.T) {
	for _, v := range variants {
		for _, bits := range []int{32, 8, 4} {
			t.Run(fmt.Sprintf("%s over %d bits", v.name, bits), func(t *testing.T) {
				m := llm.New(llm.Config{Vocab: 64, Layers: 1, Width: 32, Heads: 2, Hidden: 32, Seed: 1})
				if bits < 32 {
					if _, err := quant.Module(m, quant.Config{Bits: bits}); err != nil {
						t.Fatal(err)
					}
				}
				c := v.config
				c.Rank, c.Targets = 4, "v_proj down_proj"
				ad := inject(t, m, c)
				move(ad)
				inputs, targets := tensor.From([][]int{{1, 20, 30, 40, 50}}), tensor.From([][]int{{20, 30, 40, 50, 60}})
				grads := tensor.Grad(m.Loss(inputs, targets), nn.Values(ad.Params())...)
				tensor.Eval(grads...)
				for i, p := range ad.Params() {
					if c.DoRA && !strings.Contains(p.Name, "magnitude") {
						continue
					}
					checkGradient(t, p, grads[i], func() float64 { return m.Loss(inputs, targets).Item() })
				}
			})
		}
	}
}

// checkGradient compares a gradient with the change of a loss along it.
func checkGradient(t *testing.T, p nn.Param, grad tensor.Tensor, loss func() float64) {
	t.Helper()
	norm := grad.Norm().Item()
	if norm == 0 {
		t.Errorf("the gradient of %s is 0", p.Name)
		return
	}
	const h = 0.02
	at := func(delta float64) float64 {
		old := p.Value().Snapshot()
		p.Value().Set(p.Value().Add(grad.Mul(delta / norm)).Detach().Eval())
		defer p.Value().Set(old)
		return loss()
	}
	if got := (at(h) - at(-h)) / (2 * h); math.Abs(got-norm) > 0.03*norm+1e-4 {
		t.Errorf("%s: the gradient is %g long, the loss changes by %g along it", p.Name, norm, got)
	}
}

func TestInitIsChecked(t *testing.T) {
	for _, c := range []struct {
		config lora.Config
		want   string
	}{
		{lora.Config{Init: "eva"}, `got Init "eva", want "gaussian", "random", "orthogonal", "pissa", "pissa_niter_16" or "olora"`},
		{lora.Config{Init: "pissa_niter_x"}, `got Init "pissa_niter_x"`},
		{lora.Config{Init: lora.Orthogonal, Rank: 3}, "got rank 3, want an even one"},
	} {
		if _, err := lora.Inject(model(), c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.config, err, c.want)
		}
	}
}

// Adapters of all kinds stand in one model, each for a row of a batch, also those of embeddings that are the
// output matrix: every row is what it is alone.
func TestVariantsByRow(t *testing.T) {
	m := llm.New(llm.Config{Vocab: 64, Layers: 1, Width: 32, Heads: 2, Hidden: 32, Seed: 1})
	x := tensor.From([][]int{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 5, 9}, {2, 2, 2}})
	var list []*lora.Adapter
	for i, c := range []lora.Config{
		{Targets: "all-linear embed_tokens", DoRA: true},
		{Targets: "embed_tokens q_proj", Init: lora.PiSSA},
		{Targets: "v_proj", Tokens: []int{7, 9}},
		{Targets: "embed_tokens up_proj", OnlyInput: true, DoRA: true, Init: lora.OLoRA},
	} {
		c.Rank, c.Name = 3+i, string(rune('a'+i))
		ad := inject(t, m, c)
		move(ad)
		list = append(list, ad)
	}
	var got tensor.Tensor
	tensor.Within(lora.Rows(t.Context(), append(list, nil)...), func() { got = m.Logits(x).Eval() })
	for i := range x.Len(0) {
		ctx := lora.With(t.Context())
		if i < len(list) {
			ctx = lora.With(t.Context(), list[i])
		}
		tensor.Within(ctx, func() {
			wantClose(t, fmt.Sprintf("row %d", i), got.At(i), m.Logits(x.Slice(0, i, i+1)).At(0), 1e-5)
		})
	}
}

// Numbers of an adapter that are not finite make its own rows of a batch so, and change no other row.
func TestRowsOfABrokenAdapter(t *testing.T) {
	x := tensor.From([][]int{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})
	for _, c := range []struct {
		name     string
		config   lora.Config
		training bool
	}{
		{"LoRA", lora.Config{Rank: 4}, false},
		{"LoRA in training", lora.Config{Rank: 4, Dropout: 0.1}, true},
		{"DoRA", lora.Config{Rank: 4, DoRA: true}, false},
		{"embeddings", lora.Config{Rank: 2, Targets: "embed_tokens"}, false},
		{"embeddings of DoRA", lora.Config{Rank: 2, Targets: "embed_tokens", DoRA: true}, false},
	} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			m := llm.New(llm.Config{Vocab: 64, Layers: 2, Width: 32, Heads: 2, Hidden: 32, Seed: 1})
			c.config.Name = "whole"
			whole := inject(t, m, c.config)
			c.config.Name = "broken"
			broken := inject(t, m, c.config)
			move(whole)
			move(broken)
			batch := func() (y tensor.Tensor) {
				if c.training {
					nn.SetTraining(m, true)
					defer nn.SetTraining(m, false)
				}
				ctx := tensor.WithRNG(lora.Rows(t.Context(), whole, broken, nil), tensor.NewRNG(5))
				tensor.Within(ctx, func() { y = m.Logits(x).Eval() })
				return y
			}
			want := batch()
			for _, p := range broken.Params() {
				was := p.Value().Snapshot()
				values := was.Flatten().Floats()
				values[len(values)/2] = float32(bad)
				p.Value().Set(tensor.From(values, was.Shape()...))
				got := batch()
				if d := tensor.MaxAbsDiff(got.At(0), want.At(0)) + tensor.MaxAbsDiff(got.At(2), want.At(2)); d != 0 {
					t.Errorf("%s: %g in %s changes other rows by %g", c.name, bad, p.Name, d)
				}
				if c.config.Targets == "" && got.At(1).IsFinite().All().Item() != 0 {
					t.Errorf("%s: %g in %s is hidden from the adapter's own row", c.name, bad, p.Name)
				}
				p.Value().Set(was)
			}
		}
	}
}

// DoRA beside another adapter adds what it adds alone, by whatever factor, and merged or not.
func TestDoRABesideOthers(t *testing.T) {
	base := nn.NewLinear(24, 20)
	w := base.Weight.Detach().Eval()
	parts := &onlyLayer{base}
	one := inject(t, parts, lora.Config{Name: "one", Rank: 4, DoRA: true, Init: lora.PiSSA})
	move(one)
	x := tensor.NewRNG(1).Randn(7, 24)
	d1 := parts.Layer.Forward(x).Sub(x.MatMul(w)).Eval()
	two := inject(t, parts, lora.Config{Name: "two", Rank: 3})
	move(two)
	d2 := parts.Layer.Forward(x).Sub(x.MatMul(w)).Eval()
	merge := func(a *lora.Adapter) func() {
		return func() {
			if _, err := a.Merge(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		what   string
		do     func()
		f1, f2 float64
	}{
		{"both", one.Enable, 1, 1},
		{"the second merged", merge(two), 1, 1},
		{"and the first weighed", func() { one.Weigh(-0.5) }, -0.5, 1},
		{"both merged", merge(one), -0.5, 1},
		{"both merged, the second off", two.Disable, -0.5, 0},
		{"the second unmerged", func() { two.Unmerge(); two.Enable() }, -0.5, 1},
		{"the first unmerged", func() { one.Unmerge(); one.Weigh(1) }, 1, 1},
	} {
		c.do()
		want := x.MatMul(w).Add(d1.Mul(c.f1)).Add(d2.Mul(c.f2))
		wantClose(t, c.what, parts.Layer.Forward(x), want, 1e-5)
	}
	if tensor.MaxAbsDiff(base.Weight, w) != 0 {
		t.Error("the weight is another one")
	}
}

// onlyLayer is a model of one layer.
type onlyLayer struct{ Layer nn.Layer }

func (l *onlyLayer) Members() []nn.Member { return []nn.Member{{Name: "layer", Slot: &l.Layer}} }
