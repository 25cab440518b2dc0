package lora_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
)

// pair is a layer [24 20] with two adapters, of ranks 4 and 2, whose numbers are random. It returns the
// weight, and what each adapter adds to it.
func pair(t *testing.T, base nn.Layer) (layer *lora.Linear, one, two *lora.Adapter, w, d1, d2 tensor.Tensor) {
	t.Helper()
	switch b := base.(type) {
	case *nn.Linear:
		w = b.Weight.Snapshot()
	case *quant.Linear:
		w = b.Weight.Dequantized()
	}
	m := nn.Sequential{base}
	one = inject(t, m, lora.Config{Name: "one", Rank: 4})
	two = inject(t, m, lora.Config{Name: "two", Rank: 2, Alpha: 6})
	var deltas []tensor.Tensor
	for i, ad := range []*lora.Adapter{one, two} {
		ps, r := ad.Params(), tensor.NewRNG(uint64(9+i))
		for _, p := range ps {
			p.Value().Set(r.Randn(p.Value().Shape()...))
		}
		deltas = append(deltas, ps[0].Value().MatMul(ps[1].Value()).Mul(ad.Config.Scale()).Eval())
	}
	return m[0].(*lora.Linear), one, two, w, deltas[0], deltas[1]
}

// What a layer computes is x·W and what those adapters add that are on, each by its factor; whether they are
// merged or not changes nothing.
func TestSeveralAdapters(t *testing.T) {
	quantised, err := quant.NewLinear(nn.NewLinear(24, 20), quant.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, base := range map[string]nn.Layer{"plain": nn.NewLinear(24, 20), "biased": nn.NewLinearBias(24, 20), "quantised": quantised} {
		layer, one, two, w, d1, d2 := pair(t, base)
		x := tensor.NewRNG(1).Randn(7, 24)
		for _, c := range []struct {
			what   string
			do     func()
			f1, f2 float64 // by which the adapters count
		}{
			{"the second takes the turn of the first", func() {}, 0, 1},
			{"both", one.Enable, 1, 1},
			{"the first alone", two.Disable, 1, 0},
			{"none", one.Disable, 0, 0},
			{"both with factors", func() { one.Enable(); two.Enable(); one.Weigh(0.5); two.Weigh(-2) }, 0.5, -2},
			{"the first merged, the second apart", func() { one.MergeDequantized() }, 0.5, -2},
			{"the first merged and off", one.Disable, 0, -2},
			{"the first merged with another factor", func() { one.Enable(); one.Weigh(3) }, 3, -2},
			{"both merged", func() { one.MergeDequantized(); two.MergeDequantized() }, 3, -2},
			{"both merged, the second off", two.Disable, 3, 0},
			{"the first unmerged", func() { two.Enable(); one.Unmerge() }, 3, -2},
			{"nothing merged", two.Unmerge, 3, -2},
		} {
			c.do()
			want := x.MatMul(w.Add(d1.Mul(c.f1)).Add(d2.Mul(c.f2)))
			wantClose(t, name+", "+c.what, layer.Forward(x), want, 1e-5)
		}
		if layer.Merged() {
			t.Errorf("%s: it is merged", name)
		}
		if b, ok := layer.Base.(*nn.Linear); ok && tensor.MaxAbsDiff(b.Weight, w) != 0 {
			t.Errorf("%s: the weight is another one after merging and unmerging", name)
		}
	}
}

// Merged adapters leave the weight as it was, bit for bit, in whatever order they go.
func TestUnmergeOfSeveral(t *testing.T) {
	base := nn.NewLinear(24, 20)
	base.Weight = base.Weight.Detach().Cast(dtype.BF16).Eval()
	layer, one, two, w, d1, d2 := pair(t, base)
	one.Enable()
	layer.Merge()
	if d := tensor.MaxAbsDiff(base.Weight, w.Add(d1).Add(d2).Cast(dtype.BF16)); d != 0 {
		t.Errorf("merging both: differs by %g from the rounded sum", d)
	}
	one.Unmerge()
	if d := tensor.MaxAbsDiff(base.Weight, w.Add(d2).Cast(dtype.BF16)); d != 0 {
		t.Errorf("the second alone: differs by %g from what its own merge gives", d)
	}
	two.Unmerge()
	if d := tensor.MaxAbsDiff(base.Weight, w); d != 0 {
		t.Errorf("neither: differs by %g from the weight", d)
	}
}

// An adapter that is merged and taken out stays in the weight; the others stay what they are.
func TestRemoveOfMerged(t *testing.T) {
	base := nn.NewLinear(24, 20)
	m := nn.Sequential{base}
	layer, one, two, w, d1, d2 := pair(t, base)
	m[0] = layer
	x := tensor.NewRNG(1).Randn(7, 24)
	one.Enable()
	layer.Merge()
	if err := one.Remove(m); err != nil {
		t.Fatal(err)
	}
	wantClose(t, "the first in the weight", layer.Forward(x), x.MatMul(w.Add(d1).Add(d2)), 1e-5)
	two.Unmerge()
	wantClose(t, "the second apart", base.Forward(x), x.MatMul(w.Add(d1)), 1e-5)
	wantClose(t, "the second beside it", layer.Forward(x), x.MatMul(w.Add(d1).Add(d2)), 1e-5)
	if err := two.Remove(m); err != nil || m[0] != nn.Layer(base) {
		t.Errorf("got %v and %T, want the base", err, m[0])
	}
}

func TestUse(t *testing.T) {
	m := model()
	for _, name := range []string{"go", "french"} {
		disturb(inject(t, m, lora.Config{Name: name, Rank: 2}))
	}
	for _, tt := range []struct {
		names []string
		on    string // of the adapters in their order
		err   string
	}{
		{[]string{"go"}, "+-", ""},
		{[]string{"go", "french"}, "++", ""},
		{[]string{"french", "dutch"}, "++", `lora: got adapter "dutch", want one of "go", "french"`},
		{nil, "--", ""},
		{[]string{"french"}, "-+", ""},
	} {
		err := lora.Use(m, tt.names...)
		if got := errorText(err); got != tt.err {
			t.Errorf("Use %q: got error %q, want %q", tt.names, got, tt.err)
		}
		on := ""
		for _, a := range lora.Of(m) {
			on += map[bool]string{true: "+", false: "-"}[a.On()]
		}
		if on != tt.on {
			t.Errorf("Use %q: got %s, want %s", tt.names, on, tt.on)
		}
	}
	if err := lora.Use(model(), "go"); errorText(err) != `lora: got adapter "go", but the model has none` {
		t.Errorf("without adapters: %v", err)
	}
	if _, err := lora.Inject(m, lora.Config{Name: "go"}); err == nil || !strings.Contains(err.Error(), `has an adapter already that is named "go"`) {
		t.Errorf("the name again: %v", err)
	}
	if _, err := lora.Inject(m, lora.Config{Name: "a.b"}); err == nil || !strings.Contains(err.Error(), `got name "a.b"`) {
		t.Errorf("a dot: %v", err)
	}
	if got, want := lora.Of(m)[0].String(), `LoRA "go" rank 2, scale 2, off, 14 layers`; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// One adapter is trained while the other stands: the names in the model tell them apart, the files do not
// have them.
func TestNamedFiles(t *testing.T) {
	m := model()
	first := inject(t, m, lora.Config{Rank: 4})
	disturb(first)
	second := inject(t, m, lora.Config{Name: "second", Rank: 2, Targets: "q_proj"})
	var names []string
	for _, p := range nn.Trainable(m) {
		names = append(names, p.Name)
	}
	if got := strings.Join(names[:2], " "); got != "model.layers.0.self_attn.q_proj.lora_A.second model.layers.0.self_attn.q_proj.lora_B.second" {
		t.Errorf("trains %s", got)
	}
	for _, p := range second.Params() {
		p.Value().Set(tensor.NewRNG(4).Randn(p.Value().Shape()...))
	}
	want := m.Logits(ids).Eval()
	path := filepath.Join(t.TempDir(), "second")
	if err := second.Save(path); err != nil {
		t.Fatal(err)
	}
	fresh := model()
	again, err := lora.LoadAs("other", path, fresh)
	if err != nil {
		t.Fatal(err)
	}
	if d := tensor.MaxAbsDiff(fresh.Logits(ids), want); d != 0 || again.Name() != "other" {
		t.Errorf("%q loaded: logits differ by %g", again.Name(), d)
	}
}

// One adapter learns while others stand: beside a frozen one that is on it learns what it learns over a base
// that has it merged, and a step changes nothing else.
func TestTrainBesideOthers(t *testing.T) {
	learn := func(merge bool) ([]float64, tensor.Tensor) {
		m := model()
		first := inject(t, m, lora.Config{Name: "first", Rank: 4})
		for _, p := range first.Params() {
			p.Value().Set(tensor.NewRNG(3).Randn(p.Value().Shape()...).Mul(0.1))
		}
		second := inject(t, m, lora.Config{Name: "second", Rank: 2, Seed: 7})
		first.Enable()
		if merge {
			first.Merge()
		}
		before := nn.Hash(frozen(m))
		h, err := train.Run(t.Context(), m, data.Windows(strings.Repeat("one beside others, ", 20), 8, 2),
			train.Options{Steps: 12, LR: optim.Constant(1e-2), Params: second.Params(), Compile: true})
		if err != nil {
			t.Fatal(err)
		}
		if nn.Hash(frozen(m)) != before {
			t.Error("training changed what is frozen")
		}
		return h.Loss, m.Logits(ids).Eval()
	}
	losses, logits := learn(false)
	want, merged := learn(true)
	for i, l := range losses {
		if d := l - want[i]; d > 1e-4*want[i] || d < -1e-4*want[i] {
			t.Errorf("step %d: got a loss of %g, want %g", i+1, l, want[i])
		}
	}
	wantClose(t, "logits", logits, merged, 1e-3)
	if last := len(losses) - 1; losses[last] > 0.98*losses[0] {
		t.Errorf("the loss went from %g to %g, want it to fall", losses[0], losses[last])
	}
}

// TestAdaptersOfLatents: beside what makes keys and values of latents, which a cache holds, adapters say in a
// batch, each for its row, what they say where a text is read as a whole.
func TestAdaptersOfLatents(t *testing.T) {
	m := llm.New(llm.Config{Vocab: 64, Layers: 2, Width: 32, Heads: 4, KVHeads: 4, HeadDim: 12, Latent: llm.Latent{KV: 10, Turning: 4, Value: 6}, Hidden: 32, Seed: 3})
	rows, names := []*lora.Adapter{nil}, []string{""}
	for i, name := range []string{"one", "two"} {
		a := inject(t, m, lora.Config{Name: name, Rank: 2 + i, Targets: "kv_b_proj"})
		for k, p := range a.Params() {
			p.Value().Set(tensor.NewRNG(uint64(9 + 8*i + k)).Randn(p.Value().Shape()...))
		}
		rows, names = append(rows, a), append(names, name)
	}
	prompts := [][]int{{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}}
	got, err := m.GenerateBatchTokens(lora.Rows(t.Context(), rows...), prompts, llm.Sampling{Tokens: 9})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if err := lora.Use(m, strings.Fields(name)...); err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(prompts[i])
		for range 9 {
			best := m.Logits(tensor.From(want, 1, len(want))).ArgMax(-1).Float64s()
			want = append(want, int(best[len(best)-1]))
		}
		alone, err := m.GenerateTokens(t.Context(), prompts[i], llm.Sampling{Tokens: 9})
		if err != nil || !slices.Equal(got[i], want) || !slices.Equal(alone, want) {
			t.Errorf("adapter %q: got %v in a batch and %v alone, %v, want %v", name, got[i], alone, err, want)
		}
		if i > 0 && slices.Equal(got[i], got[0]) {
			t.Errorf("adapter %q changes nothing", name)
		}
	}
}
