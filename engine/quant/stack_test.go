package quant_test

import (
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A stack has the numbers of its matrices, in each order in which outputs are joined, where they are whole
// blocks and where they are not.
func TestJoin(t *testing.T) {
	rng := tensor.NewRNG(5)
	for _, out := range []int{16, 32, 12, 19} {
		for _, c := range []quant.Config{{Bits: 4, Group: 16}, {Bits: 8, Group: 32, Scheme: quant.Affine}, {Bits: 4, Group: 16, Scheme: quant.Minimum, Scale: dtype.BF16}, {Bits: 4, Group: 32, Scheme: quant.Table, Table: "e2m1"}} {
			for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {1, 2, 0}} {
				var list []*quant.Weight
				var numbers []tensor.Tensor
				for range 2 { // of three matrices each
					w, err := quant.Quantize(rng.Randn(40, 3*out), c)
					if err != nil {
						t.Fatal(err)
					}
					list, numbers = append(list, w), append(numbers, w.Dequantized().Transpose().Eval())
				}
				dims := []int{2, 3, out}
				want := tensor.Concat(numbers, 0).Reshape(2, 3, out, 40).Permute(order[0], order[1], order[2], 3)
				want = want.Reshape(dims[order[0]], -1, 40).Transpose().Eval()
				w, err := quant.Join(list, dims, order)
				if err != nil {
					t.Fatal(err)
				}
				if d := tensor.MaxAbsDiff(w.Dequantized(), want); d != 0 {
					t.Errorf("%v of %d outputs in the order %v: off by %g", c, out, order, d)
				}
			}
		}
	}
	a, _ := quant.Quantize(rng.Randn(32, 16), quant.Config{Bits: 4})
	b, _ := quant.Quantize(rng.Randn(32, 16), quant.Config{Bits: 8})
	if _, err := quant.Join([]*quant.Weight{a, b}, []int{2, 16}, []int{0, 1}); err == nil {
		t.Error("codes of two kinds are joined")
	}
}

// Experts become codes, are saved and read bit for bit, and an adapter is merged into them as into numbers.
func TestExperts(t *testing.T) {
	c := llm.Config{Vocab: 96, Layers: 1, Width: 64, Heads: 4, KVHeads: 2, Seed: 3, Mixture: llm.Mixture{Experts: 4, TopK: 2, Hidden: 24}}
	coded := func() *llm.Model {
		m := llm.New(c)
		if _, err := quant.Module(m, quant.Config{Bits: 8, Group: 16}, "gate_up_proj", "down_proj"); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, before := coded(), llm.New(c).Logits(tokens).Eval()
	experts := m.Blocks[0].Mixture.Experts
	if _, ok := experts.Down.Instead().(*quant.Grouped); !ok || !experts.Down.Weight.IsNone() {
		t.Fatalf("experts are %v", experts.Down)
	}
	got := m.Logits(tokens).Eval()
	if d, most := tensor.MaxAbsDiff(got, before), before.Abs().Max().Item(); !(d > 0 && d < 0.02*most) {
		t.Errorf("logits moved by %g of %g", d, most)
	}
	if a, b := nn.Count(nn.Params(llm.New(c))), parameters(m); a != b {
		t.Errorf("got %d parameters, want %d", b, a)
	}
	path := filepath.Join(t.TempDir(), "codes.safetensors")
	if err := quant.Save(path, m); err != nil {
		t.Fatal(err)
	}
	c.Seed = 4
	other := llm.New(c)
	if err := quant.Load(path, other); err != nil {
		t.Fatal(err)
	}
	if d := tensor.MaxAbsDiff(other.Logits(tokens), got); d != 0 {
		t.Errorf("logits of what was read differ by %g", d)
	}
	a, err := lora.Inject(m, lora.Config{Rank: 2, Seed: 1, Init: lora.Random, Targets: "down_proj"})
	if err != nil {
		t.Fatal(err)
	}
	adapted := m.Logits(tokens).Eval()
	for _, wide := range []bool{true, false} {
		merge, most := a.Merge, 0.02*adapted.Abs().Max().Item()
		if wide {
			merge, most = a.MergeDequantized, 1e-5
		}
		if _, err := merge(); err != nil {
			t.Fatal(err)
		}
		if d := tensor.MaxAbsDiff(m.Logits(tokens), adapted); !(d <= most) {
			t.Errorf("merged, wide %v: logits differ by %g", wide, d)
		}
		a.Unmerge()
		if d := tensor.MaxAbsDiff(m.Logits(tokens), adapted); d != 0 {
			t.Errorf("unmerged: logits differ by %g", d)
		}
	}
}

func parameters(m nn.Module) int {
	n, _ := nn.Size(m)
	return n
}
