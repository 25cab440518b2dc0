package lora

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// chain is two layers by name.
type chain struct{ one, two nn.Layer }

func (c *chain) Members() []nn.Member {
	return []nn.Member{{Name: "one", Slot: &c.one}, {Name: "two", Slot: &c.two}}
}

// combined is what PEFT combined, as tests/peers/lora_combine.py wrote it.
type combined struct {
	tensors map[string]tensor.Tensor
	cases   map[string]struct {
		Of      string
		Weights []float64
		Method  string
		Rank    int
		Density float64
		Count   bool
	}
}

func readCombined(t *testing.T) combined {
	t.Helper()
	tensors, metadata, err := safetensors.Load("testdata/combine.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	c := combined{tensors: tensors}
	if err := json.Unmarshal([]byte(metadata["cases"]), &c.cases); err != nil {
		t.Fatal(err)
	}
	return c
}

// model has the three adapters.
func (c combined) model(t *testing.T) (m *chain, adapters map[string]*Adapter) {
	t.Helper()
	m = &chain{nn.NewLinear(12, 10), nn.NewLinear(10, 8)}
	adapters = map[string]*Adapter{}
	for _, config := range []Config{{Name: "a", Rank: 4, Alpha: 6}, {Name: "b", Rank: 4, Alpha: 2}, {Name: "c", Rank: 2, Alpha: 3, Targets: "one"}} {
		ad, err := Inject(m, config)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range ad.parts {
			p.A.Set(c.tensors[config.Name+"."+ad.names[i]+".A"])
			p.B.Set(c.tensors[config.Name+"."+ad.names[i]+".B"])
		}
		adapters[config.Name] = ad
	}
	return m, adapters
}

// Combined adapters are PEFT's: number by number where A and B are combined, and as products where singular
// values are, whose vectors may have either sign. DARE is given what PEFT's random numbers kept.
func TestCombineIsPEFTs(t *testing.T) {
	c := readCombined(t)
	for name, want := range c.cases {
		m, adapters := c.model(t)
		comb := Combination{Name: "new", Method: want.Method, Weights: want.Weights, Rank: want.Rank, Density: want.Density, ByCount: want.Count}
		for _, of := range want.Of {
			comb.Adapters = append(comb.Adapters, adapters[string(of)])
		}
		got, err := Combine(m, comb)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, p := range got.parts {
			at := name + "." + got.names[i]
			a, b := p.A, p.B
			if strings.Contains(want.Method, DARE[:4]) {
				var list []term
				for j, ad := range comb.Adapters {
					if i < len(ad.parts) {
						q := ad.parts[i]
						list = append(list, term{q.A, q.B, q.Scale, want.Weights[j]})
					}
				}
				asked := 0
				a, b = comb.combine(list, p.Rank, func(n int) []bool {
					mask := c.tensors[fmt.Sprintf("%s.mask.%d", at, asked)].Ints()
					asked++
					keep := make([]bool, n)
					for k := range keep {
						keep[k] = mask[k] != 0
					}
					return keep
				})
			}
			wantA, wantB := c.tensors[at+".A"], c.tensors[at+".B"]
			if p.Scale != 1 || got.Config.Rank != wantA.Len(1) {
				t.Errorf("%s: got scale %g and rank %d, want 1 and %d", at, p.Scale, got.Config.Rank, wantA.Len(1))
			}
			if product := a.MatMul(b); !tensor.AllClose(product.Cast(dtype.F32), wantA.MatMul(wantB), 1e-5, 1e-5) {
				t.Errorf("%s: products differ by %g", at, tensor.MaxAbsDiff(product, wantA.MatMul(wantB)))
			}
			if !strings.HasSuffix(want.Method, "svd") && (tensor.MaxAbsDiff(a, wantA) > 1e-6 || tensor.MaxAbsDiff(b, wantB) > 1e-6) {
				t.Errorf("%s: A differs by %g, B by %g", at, tensor.MaxAbsDiff(a, wantA), tensor.MaxAbsDiff(b, wantB))
			}
		}
	}
}

// Combining exactly is what having several adapters on is.
func TestCombinedIsTheSum(t *testing.T) {
	c := readCombined(t)
	for _, comb := range []Combination{{Method: Concatenate}, {Rank: 8}} { // the ranks are 4 and 4, and the layers no wider
		m, adapters := c.model(t)
		x := tensor.NewRNG(1).Randn(3, 12)
		run := func() tensor.Tensor { return m.two.Forward(m.one.Forward(x)).Eval() }
		if err := Use(m, "a", "b"); err != nil {
			t.Fatal(err)
		}
		adapters["a"].Weigh(0.5)
		want := run()
		comb.Adapters = []*Adapter{adapters["a"], adapters["b"]}
		got, err := Combine(m, comb)
		if err != nil {
			t.Fatal(err)
		}
		if !tensor.AllClose(run(), want, 1e-4, 1e-4) {
			t.Errorf("%q: differs by %g", comb.Method, tensor.MaxAbsDiff(run(), want))
		}
		if got.Name() != "a+b" || !got.On() || adapters["a"].On() || len(Of(m)) != 4 {
			t.Errorf("got %v beside %v", got, adapters["a"])
		}
	}
}

// Layers whose ranks are other ones than their adapter's, and an adapter that waits on another device, are
// combined, too.
func TestCombineOfPatterns(t *testing.T) {
	m := &chain{nn.NewLinear(12, 10), nn.NewLinear(10, 8)}
	var list []*Adapter
	for i, c := range []Config{{Name: "a", Rank: 4, Patterns: []Pattern{{Layers: "two", Rank: 2}}}, {Name: "b", Rank: 4}} {
		ad, err := Inject(m, c)
		if err != nil {
			t.Fatal(err)
		}
		random := tensor.NewRNG(uint64(i))
		for _, p := range ad.Params() {
			p.Value().Set(random.Randn(p.Value().Shape()...))
		}
		list = append(list, ad)
	}
	other, err := device.Lookup("ref")
	if err != nil {
		t.Fatal(err)
	}
	list[1].To(other)
	for _, c := range []Combination{{Method: Average}, {Method: TIES, Density: 1}, {Method: TIES + ByProduct, Density: 1}, {Rank: 8}, {Method: Concatenate}} {
		c.Name, c.Adapters = "of-"+c.Method, list
		got, err := Combine(m, c)
		if err != nil {
			t.Errorf("%q: %v", c.Method, err)
			continue
		}
		for i, p := range got.parts {
			product := p.A.MatMul(p.B)
			want := tensor.ZerosLike(product)
			for _, ad := range list {
				q := ad.parts[i]
				want = want.Add(q.A.MatMul(q.B).Mul(q.Scale).To(product.Device()))
			}
			exact := c.Method == Concatenate || c.Rank == 8
			if d, size := tensor.MaxAbsDiff(product, want), product.Norm().Item(); exact && d > 1e-4 || !(size > 0) {
				t.Errorf("%q, %s: differs by %g from the sum, with a norm of %g", c.Method, got.names[i], d, size)
			}
		}
	}
}

// DARE keeps about the share that it is told to, and the mean.
func TestDAREKeepsTheMean(t *testing.T) {
	const n, density = 20000, 0.3
	c := Combination{Density: density, Seed: 3}
	values := make([]float64, n)
	for i := range values {
		values[i] = 1
	}
	keepSome(values, density, c.keep())
	kept, sum := 0.0, 0.0
	for _, v := range values {
		if v != 0 {
			kept++
		}
		sum += v
	}
	deviation := math.Sqrt(density * (1 - density) / n)
	if share := kept / n; math.Abs(share-density) > 5*deviation || math.Abs(sum/n-1) > 5*deviation/density {
		t.Errorf("kept %g with a mean of %g, want about %g and 1", share, sum/n, density)
	}
}

func TestCombineRefuses(t *testing.T) {
	c := readCombined(t)
	m, ad := c.model(t)
	other, _ := c.model(t)
	stranger := Of(other)[0]
	dora, err := Inject(m, Config{Name: "d", DoRA: true})
	if err != nil {
		t.Fatal(err)
	}
	ab := []*Adapter{ad["a"], ad["b"]}
	for _, tt := range []struct {
		c    Combination
		want string
	}{
		{Combination{}, "got no adapters"},
		{Combination{Adapters: ab, Weights: []float64{1}}, "got 1 weights for 2 adapters"},
		{Combination{Adapters: ab, Weights: []float64{1, math.NaN()}}, "got weight NaN"},
		{Combination{Adapters: ab, Method: "tie"}, `got method "tie", want "svd"`},
		{Combination{Adapters: ab, Method: "cat_svd"}, `got method "cat_svd"`},
		{Combination{Adapters: ab, Method: TIES}, `got density 0 for "ties"`},
		{Combination{Adapters: ab, Method: DARE, Density: 1.5}, "got density 1.5"},
		{Combination{Adapters: []*Adapter{ad["a"], nil}}, "got adapter 1 that is not in the model"},
		{Combination{Adapters: []*Adapter{stranger}}, "got adapter 0 that is not in the model"},
		{Combination{Adapters: []*Adapter{ad["a"], ad["a"]}}, `got adapter "a" twice`},
		{Combination{Adapters: []*Adapter{ad["a"], dora}}, `one: adapter "d" has DoRA`},
		{Combination{Adapters: []*Adapter{ad["a"], ad["c"]}, Method: Average}, `got ranks [4 2] for "linear"`},
		{Combination{Adapters: ab, Method: Average, Rank: 3}, `got rank 3 for "linear"`},
		{Combination{Adapters: ab, Rank: -1}, `got rank -1 for "svd"`},
		{Combination{Adapters: ab, Name: "c"}, `has an adapter already that is named "c"`},
	} {
		if _, err := Combine(m, tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.c, err, tt.want)
		}
	}
	if len(Of(m)) != 4 {
		t.Errorf("got %d adapters, want those that were there", len(Of(m)))
	}
}
