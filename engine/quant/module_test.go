package quant_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func decoder() *llm.Model {
	return llm.New(llm.Config{Vocab: 96, Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 96, Seed: 3})
}

var tokens = tensor.From([][]int{{7, 8, 9, 10, 11, 90}})

func TestModule(t *testing.T) {
	for _, tt := range []struct {
		name    string
		targets []string
		layers  int
		want    string
	}{
		{"all linear layers", nil, 14, "int4, groups of 64, symmetric, scales f32: 14 layers · 240.0 KiB → 36.0 KiB"},
		{"two of each layer", []string{"q_proj", "v_proj"}, 4, "int4, groups of 64, symmetric, scales f32: 4 layers · 48.0 KiB → 6.8 KiB"},
		{"and the embedding", []string{quant.AllLinear, "embed_tokens"}, 15, "int4, groups of 64, symmetric, scales f32: 15 layers · 264.0 KiB → 39.4 KiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := decoder()
			before := m.Logits(tokens).Eval()
			r, err := quant.Module(m, quant.Config{Bits: 4}, tt.targets...)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Layers) != tt.layers || r.String() != tt.want {
				t.Errorf("got %d layers, %v\nwant %d layers, %s", len(r.Layers), r, tt.layers, tt.want)
			}
			if d, scale := tensor.MaxAbsDiff(m.Logits(tokens), before), before.Abs().Max().Item(); d == 0 || d > 0.5*scale {
				t.Errorf("the logits moved by %g of %g, want some but less than half", d, scale)
			}
			if parameters, _ := nn.Size(m); parameters != nn.Count(nn.Params(decoder())) {
				t.Errorf("got %d parameters, want as many as before", parameters)
			}
		})
	}
}

func TestModuleRefuses(t *testing.T) {
	m := decoder()
	before := nn.Hash(nn.Params(m))
	m.Blocks[1].MLP.Down.(*nn.Linear).Weight.Set(tensor.Full(math.Inf(1), 96, 64).Named("down"))
	for _, tt := range []struct {
		c       quant.Config
		targets string
		want    string
	}{
		{quant.Config{Bits: 3}, "all-linear", "quant: got 3 bits, want 4 or 8"},
		{quant.Config{}, "nothing", `quant: targets ["nothing"] choose no layer of the model that can be quantised`},
		{quant.Config{}, "[", `quant: got target pattern "[": syntax error in pattern`},
		{quant.Config{}, "all-linear", "quant: model.layers.1.mlp.down_proj.weight: element [0 0] is +Inf, want a finite number"},
	} {
		if _, err := quant.Module(m, tt.c, tt.targets); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	m.Blocks[1].MLP.Down.(*nn.Linear).Weight.Set(decoder().Blocks[1].MLP.Down.(*nn.Linear).Weight)
	if nn.Hash(nn.Params(m)) != before {
		t.Error("what was refused changed the model")
	}
}

// A model comes back from a file bit for bit, into one that was quantised in another way or not at all.
func TestSaveLoad(t *testing.T) {
	for _, c := range []quant.Config{{}, {Bits: 4, Scheme: quant.Affine, Group: 32}, {Scheme: quant.Minimum}, {Bits: 4, Scheme: quant.Table, Table: "nf4"}} {
		m := decoder()
		if _, err := quant.Module(m, c, "all-linear", "embed_tokens"); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model.safetensors")
		if err := quant.Save(path, m); err != nil {
			t.Fatal(err)
		}
		quantised := decoder()
		if _, err := quant.Module(quantised, quant.Config{Bits: 8, Group: 128}, "down_proj"); err != nil {
			t.Fatal(err)
		}
		for _, other := range []*llm.Model{decoder(), quantised} {
			for _, p := range nn.Params(other) {
				if p.Value().DType().Float() {
					p.Value().Set(tensor.ZerosLike(p.Value()))
				}
			}
			if err := quant.Load(path, other); err != nil {
				t.Fatal(err)
			}
			if nn.Hash(nn.Params(other)) != nn.Hash(nn.Params(m)) {
				t.Errorf("%v: the weights are not those that were saved", c)
			}
			if d := tensor.MaxAbsDiff(other.Logits(tokens), m.Logits(tokens)); d != 0 {
				t.Errorf("%v: the logits differ by %g", c, d)
			}
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	m := decoder()
	if _, err := quant.Module(m, quant.Config{Bits: 4}, "q_proj"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := quant.Save(path, m); err != nil {
		t.Fatal(err)
	}
	tensors, metadata, err := safetensors.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	const q = "model.layers.0.self_attn.q_proj"
	for _, tt := range []struct {
		name string
		edit func(tensors map[string]tensor.Tensor, metadata map[string]string)
		want string
	}{
		{"no metadata", func(_ map[string]tensor.Tensor, meta map[string]string) { delete(meta, "quantization") }, `no "quantization" in its metadata`},
		{"no JSON", func(_ map[string]tensor.Tensor, meta map[string]string) { meta["quantization"] = "[" }, "quantization: unexpected end of JSON input"},
		{"bits", func(_ map[string]tensor.Tensor, meta map[string]string) {
			meta["quantization"] = strings.Replace(meta["quantization"], `"bits":4`, `"bits":2`, 1)
		}, `layer "` + q + `": quant: got 2 bits, want 4 or 8`},
		{"bits of 0", func(_ map[string]tensor.Tensor, meta map[string]string) {
			meta["quantization"] = strings.Replace(meta["quantization"], `"bits":4`, `"bits":0`, 1)
		}, `layer "` + q + `": quant: got 0 bits, want 4 or 8`},
		{"no bits", func(_ map[string]tensor.Tensor, meta map[string]string) {
			meta["quantization"] = strings.Replace(meta["quantization"], `"bits":4,`, ``, 1)
		}, `layer "` + q + `": quant: got 0 bits, want 4 or 8`},
		{"no group", func(_ map[string]tensor.Tensor, meta map[string]string) {
			meta["quantization"] = strings.Replace(meta["quantization"], `"group":64,`, ``, 1)
		}, `layer "` + q + `": quant: got groups of 0, want 16, 32, 64 or 128`},
		{"size", func(_ map[string]tensor.Tensor, meta map[string]string) {
			meta["quantization"] = strings.Replace(meta["quantization"], `"in":64`, `"in":63`, 1)
		}, `layer "` + q + `" is [63 64], want [64 64]`},
		{"codes", func(ts map[string]tensor.Tensor, _ map[string]string) { delete(ts, q+".weight_codes") }, `no tensor "` + q + `.weight_codes"`},
		{"scales", func(ts map[string]tensor.Tensor, _ map[string]string) { ts[q+".weight_scales"] = tensor.Zeros(3) }, `tensor "` + q + `.weight_scales" is f32[3], want f32[4 1 16]`},
		{"another", func(ts map[string]tensor.Tensor, _ map[string]string) { ts["more"] = tensor.Zeros(3) }, `tensor "more" belongs to no weight of the model`},
		{"missing", func(ts map[string]tensor.Tensor, _ map[string]string) { delete(ts, "model.norm.weight") }, `no tensor "model.norm.weight"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ts, meta := map[string]tensor.Tensor{}, map[string]string{}
			for k, v := range tensors {
				ts[k] = v
			}
			for k, v := range metadata {
				meta[k] = v
			}
			tt.edit(ts, meta)
			broken := filepath.Join(t.TempDir(), "broken.safetensors")
			if err := safetensors.Save(broken, ts, meta); err != nil {
				t.Fatal(err)
			}
			other := decoder()
			before := nn.Hash(nn.Params(other))
			if err := quant.Load(broken, other); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if nn.Hash(nn.Params(other)) != before {
				t.Error("what was refused changed the model")
			}
		})
	}
}

// QLoRA: the adapter of a model in 4 bits learns, the codes stay, and the gradients are those of the same
// weights in f32.
func TestQLoRA(t *testing.T) {
	m := decoder()
	if _, err := quant.Module(m, quant.Config{Bits: 4, Group: 32, Scheme: quant.Affine}); err != nil {
		t.Fatal(err)
	}
	plain := decoder()
	for i, b := range plain.Blocks {
		for j, member := range b.Attn.Members() {
			(*member.Slot).(*nn.Linear).Weight.Set((*m.Blocks[i].Attn.Members()[j].Slot).(*quant.Linear).Weight.Dequantized())
		}
		for j, member := range b.MLP.Members() {
			(*member.Slot).(*nn.Linear).Weight.Set((*m.Blocks[i].MLP.Members()[j].Slot).(*quant.Linear).Weight.Dequantized())
		}
	}
	ad, err := lora.Inject(m, lora.Config{Rank: 4})
	if err != nil {
		t.Fatal(err)
	}
	other, err := lora.Inject(plain, lora.Config{Rank: 4})
	if err != nil {
		t.Fatal(err)
	}
	targets := tensor.From([][]int{{8, 9, 10, 11, 90, 7}})
	loss := func(m *llm.Model) tensor.Tensor { return m.Loss(tokens, targets) }
	codes := m.Blocks[0].Attn.Q.(*lora.Linear).Base.(*quant.Linear).Weight.Codes
	before, first := nn.Hash([]nn.Param{nn.NewParam("codes", &codes)}), loss(m).Item()
	got, want := tensor.Grad(loss(m), nn.Values(ad.Params())...), tensor.Grad(loss(plain), nn.Values(other.Params())...)
	for i := range got {
		if d, scale := tensor.MaxAbsDiff(got[i], want[i]), want[i].Abs().Max().Item(); d > 1e-4*scale+1e-9 {
			t.Errorf("gradient of %s differs by %g of %g", ad.Params()[i].Name, d, scale)
		}
	}
	optimizer := optim.AdamW{}.New(ad.Params())
	for range 30 {
		update := optimizer.Update(tensor.Grad(loss(m), nn.Values(ad.Params())...), 1e-2, tensor.Scalar(1))
		tensor.Eval(update.Tensors()...)
		update.Commit()
	}
	if last := loss(m).Item(); last > 0.8*first {
		t.Errorf("the loss went from %g to %g, want a fifth less", first, last)
	}
	if nn.Hash([]nn.Param{nn.NewParam("codes", &codes)}) != before {
		t.Error("training changed the codes")
	}
	adapted := m.Logits(tokens).Eval()
	if r, err := ad.MergeDequantized(); err != nil || r.Merged() != len(ad.Layers()) {
		t.Fatal(r, err)
	}
	if d, scale := tensor.MaxAbsDiff(m.Logits(tokens), adapted), adapted.Abs().Max().Item(); d > 1e-4*scale {
		t.Errorf("merging moved the logits by %g of %g", d, scale)
	}
	ad.Unmerge()
	if d := tensor.MaxAbsDiff(m.Logits(tokens), adapted); d != 0 {
		t.Errorf("merging and unmerging moved the logits by %g", d)
	}
	if got := m.Blocks[0].Attn.Q.(*lora.Linear).String(); got != "in 64, out 64, rank 4, scale 2 · 512 trainable of 4608 (11 %)" {
		t.Errorf("got %q", got)
	}
}

// The router of experts keeps its numbers, whatever targets say.
func TestModuleLeavesRouters(t *testing.T) {
	m := llm.New(llm.Config{Vocab: 32, Layers: 1, Width: 64, Heads: 2, Hidden: 64, Seed: 1, Mixture: llm.Mixture{Experts: 4, TopK: 2, Hidden: 32}})
	if _, err := quant.Module(m, quant.Config{Bits: 4}, quant.AllLinear, "gate"); err != nil {
		t.Fatal(err)
	}
	b := m.Blocks[0]
	if _, plain := b.Mixture.Router.Logits.(*nn.Linear); !plain {
		t.Errorf("the router is %v", b.Mixture.Router.Logits)
	}
	if _, coded := b.Attn.Q.(*quant.Linear); !coded {
		t.Errorf("q_proj is %v", b.Attn.Q)
	}
}

// Generation with and without codes in the caches' prompt agrees with the logits.
func TestGenerate(t *testing.T) {
	m := decoder()
	if _, err := quant.Module(m, quant.Config{}, quant.AllLinear, "embed_tokens"); err != nil {
		t.Fatal(err)
	}
	ids, err := m.GenerateTokens(context.Background(), []int{1, 2, 3}, llm.Sampling{Tokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	for n := 3; n < len(ids); n++ {
		if best := m.Logits(tensor.From([][]int{ids[:n]})).Slice(1, -1, n).ArgMax(-1).Flatten().Ints()[0]; best != ids[n] {
			t.Errorf("token %d is %d, but the logits say %d", n, ids[n], best)
		}
	}
}

// A quantised layer with an adapter costs as many launches as a plain one.
func TestLaunches(t *testing.T) {
	layer, err := quant.NewLinear(nn.NewLinear(128, 96), quant.Config{Bits: 4})
	if err != nil {
		t.Fatal(err)
	}
	adapted := lora.Wrap(layer, lora.Config{Rank: 4})
	for _, tt := range []struct {
		name  string
		layer nn.Layer
		rows  int
		want  string
	}{
		{"alone, 1 row", layer, 1, "matmul_int4"},
		{"alone, 300 rows", layer, 300, "matmul_int4"},
		{"adapted, 1 row", adapted, 1, "lora_linear_rows_int4"},
		{"adapted, 8 rows", adapted, 8, "lora_linear_rows_int4"},
		{"adapted, 300 rows", adapted, 300, "lora_down lora_linear_int4"},
	} {
		x := tensor.Randn(tt.rows, 128).Eval()
		r := profile.Record(t.Context(), func(context.Context) { tt.layer.Forward(x).Eval() })
		var names []string
		for _, k := range r.Kernels {
			names = append(names, k.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s on %v: launched %s, want %s", tt.name, device.Default(), got, tt.want)
		}
	}
}
