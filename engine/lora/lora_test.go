package lora_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func model() *llm.Model {
	return llm.New(llm.Config{Vocab: 256, Layers: 2, Width: 32, Heads: 4, KVHeads: 2, Hidden: 48, Seed: 1})
}

func inject(t *testing.T, m nn.Module, c lora.Config) *lora.Adapter {
	t.Helper()
	ad, err := lora.Inject(m, c)
	if err != nil {
		t.Fatal(err)
	}
	return ad
}

// disturb gives B values, so that the adapter does something.
func disturb(ad *lora.Adapter) {
	rng := tensor.NewRNG(5)
	for _, p := range ad.Params() {
		if strings.HasSuffix(p.Name, "lora_B") {
			p.Value().Set(rng.Randn(p.Value().Shape()...).Mul(0.1))
		}
	}
}

var ids = tensor.From([][]int{{10, 20, 30, 40, 50}})

func TestInjectChangesNothingAtFirst(t *testing.T) {
	m := model()
	before := m.Logits(ids).Eval()
	ad := inject(t, m, lora.Config{Rank: 4})
	if d := tensor.MaxAbsDiff(before, m.Logits(ids)); d > 1e-6 {
		t.Errorf("logits moved by %g, want 0 because B is 0", d)
	}
	// q, o: 32→32; k, v: 32→16; gate, up: 32→48; down: 48→32, each rank·(in + out), in two layers.
	if want := 2 * 4 * (64 + 64 + 48 + 48 + 80 + 80 + 80); ad.Trained() != want {
		t.Errorf("got %d trained parameters, want %d", ad.Trained(), want)
	}
	if got := nn.Count(nn.Trainable(m)); got != ad.Trained() {
		t.Errorf("the model trains %d parameters, want the adapter's %d", got, ad.Trained())
	}
}

func TestTargets(t *testing.T) {
	tests := []struct {
		targets string
		want    int
		err     string
	}{
		{"", 14, ""},
		{lora.AllLinear, 14, ""},
		{"q_proj v_proj", 4, ""},
		{"q_proj,v_proj", 4, ""},
		{"model.layers.1.mlp.down_proj", 1, ""},
		{"model.layers.0.*", 7, ""},
		{"query", 0, `lora: target "query" chooses no linear layer of the model; there are embed_tokens, q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj`},
		{"[", 0, `lora: got target pattern "[": syntax error in pattern`},
	}
	for _, tt := range tests {
		t.Run(tt.targets, func(t *testing.T) {
			ad, err := lora.Inject(model(), lora.Config{Targets: tt.targets})
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || len(ad.Layers()) != tt.want {
				t.Errorf("got %d layers and error %v, want %d", len(ad.Layers()), err, tt.want)
			}
		})
	}
	m := model()
	inject(t, m, lora.Config{})
	if _, err := lora.Inject(m, lora.Config{}); err == nil || !strings.Contains(err.Error(), "has an adapter already") {
		t.Errorf("a second adapter: got %v", err)
	}
}

// Gradients reach A and B of every layer, and nothing else is asked for.
func TestGradients(t *testing.T) {
	m := model()
	ad := inject(t, m, lora.Config{Rank: 4})
	disturb(ad)
	targets := tensor.From([][]int{{20, 30, 40, 50, 60}})
	grads := tensor.Grad(m.Loss(ids, targets), nn.Values(ad.Params())...)
	tensor.Eval(grads...)
	for i, p := range ad.Params() {
		if grads[i].Norm().Item() == 0 {
			t.Errorf("the gradient of %s is 0", p.Name)
		}
	}
	p := ad.Params()[0].Value()
	at := func(delta float64) float64 {
		old := p.Snapshot()
		bump := tensor.Zeros(p.Shape()...).ScatterAdd(0, tensor.From([]int{3}), tensor.Ones(1, p.Len(1)).Mul(delta))
		p.Set(p.Add(bump).Detach())
		defer p.Set(old)
		return m.Loss(ids, targets).Item()
	}
	const h = 1e-2
	want := (at(h) - at(-h)) / (2 * h)
	if got := grads[0].At(3).Sum().Item(); got < want-2e-3 || got > want+2e-3 {
		t.Errorf("got gradient %g of %s, finite differences say %g", got, ad.Params()[0].Name, want)
	}
}

func TestMergeAndUnmerge(t *testing.T) {
	m := model()
	ad := inject(t, m, lora.Config{Rank: 4})
	disturb(ad)
	base, adapted := nn.Hash(frozen(m)), m.Logits(ids).Eval()
	ad.Merge()
	ad.Merge() // once is enough
	if d := tensor.MaxAbsDiff(adapted, m.Logits(ids)); d > 1e-4 {
		t.Errorf("merged logits differ by %g", d)
	}
	if nn.Hash(frozen(m)) == base {
		t.Error("merging did not change the weights")
	}
	ad.Unmerge()
	if nn.Hash(frozen(m)) != base {
		t.Error("unmerging did not restore every bit")
	}
	if err := ad.Remove(m); err != nil {
		t.Error(err)
	}
	if len(nn.Trainable(m)) != 0 {
		t.Error("an adapter is left in the model")
	}
}

func frozen(m nn.Module) []nn.Param {
	var list []nn.Param
	for _, p := range nn.Params(m) {
		if !p.Trainable() {
			list = append(list, p)
		}
	}
	return list
}

func TestSaveAndLoad(t *testing.T) {
	for _, name := range []string{"adapter.safetensors", "folder"} {
		t.Run(name, func(t *testing.T) {
			m := model()
			ad := inject(t, m, lora.Config{Rank: 4, Alpha: 6, Targets: "q_proj v_proj"})
			disturb(ad)
			want := m.Logits(ids).Eval()
			path := filepath.Join(t.TempDir(), name)
			if err := ad.Save(path); err != nil {
				t.Fatal(err)
			}
			fresh := model()
			got, err := lora.Load(path, fresh)
			if err != nil {
				t.Fatal(err)
			}
			if d := tensor.MaxAbsDiff(want, fresh.Logits(ids)); d != 0 {
				t.Errorf("logits differ by %g after loading", d)
			}
			if got.Config.Scale() != 1.5 || len(got.Layers()) != 4 {
				t.Errorf("got scale %g and %d layers, want 1.5 and 4", got.Config.Scale(), len(got.Layers()))
			}
		})
	}
}

// A file that does not fit is refused, and the model stays as it was.
func TestLoadRefuses(t *testing.T) {
	m := model()
	ad := inject(t, m, lora.Config{Rank: 4, Targets: "q_proj"})
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := ad.Save(path); err != nil {
		t.Fatal(err)
	}
	tensors, metadata, err := safetensors.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	const first = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
	tests := []struct {
		name   string
		damage func(t map[string]tensor.Tensor, md map[string]string)
		want   string
	}{
		{"half a pair", func(t map[string]tensor.Tensor, _ map[string]string) { delete(t, first) }, "has only one of lora_A and lora_B"},
		{"shape", func(t map[string]tensor.Tensor, _ map[string]string) { t[first] = tensor.Zeros(4, 31) }, "has lora_A [4 31] and lora_B [32 4], want [4 32] and [32 4]"},
		{"stranger", func(t map[string]tensor.Tensor, _ map[string]string) { t["other.weight"] = tensor.Zeros(1) }, `tensor "other.weight" belongs to no layer`},
		{"no configuration", func(_ map[string]tensor.Tensor, md map[string]string) { delete(md, "adapter_config") }, "no configuration in its metadata"},
		{"other method", func(_ map[string]tensor.Tensor, md map[string]string) {
			md["adapter_config"] = `{"peft_type":"IA3"}`
		}, `got peft_type "IA3"`},
		{"other method with keys of its own", func(_ map[string]tensor.Tensor, md map[string]string) {
			md["adapter_config"] = `{"peft_type":"VERA","r":256,"d_initial":0.1,"projection_prng_key":0}`
		}, `got peft_type "VERA", want "LORA"`},
		{"rank", func(_ map[string]tensor.Tensor, md map[string]string) {
			md["adapter_config"] = `{"peft_type":"LORA","r":0,"lora_alpha":1}`
		}, "got r 0"},
		{"pattern", func(_ map[string]tensor.Tensor, md map[string]string) {
			md["adapter_config"] = `{"peft_type":"LORA","r":4,"lora_alpha":8,"rank_pattern":{"q_proj":2}}`
		}, "has lora_A [4 32] and lora_B [32 4], want [2 32] and [32 2]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ts, md := map[string]tensor.Tensor{}, map[string]string{}
			for k, v := range tensors {
				ts[k] = v
			}
			for k, v := range metadata {
				md[k] = v
			}
			tt.damage(ts, md)
			file := filepath.Join(t.TempDir(), "b.safetensors")
			if err := safetensors.Save(file, ts, md); err != nil {
				t.Fatal(err)
			}
			fresh := model()
			if _, err := lora.Load(file, fresh); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			if got := nn.Count(nn.Trainable(fresh)); got != nn.Count(nn.Params(fresh)) {
				t.Errorf("a refused adapter left %d trainable parameters of %d", got, nn.Count(nn.Params(fresh)))
			}
		})
	}
	if _, err := lora.Load(filepath.Join(t.TempDir(), "none"), model()); !os.IsNotExist(unwrap(err)) {
		t.Errorf("missing file: got %v", err)
	}
}

func unwrap(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		if os.IsNotExist(err) {
			return err
		}
		err = u.Unwrap()
	}
}

// Generation with a cache gives what running the whole text each time gives.
func TestGenerateAgreesWithLogits(t *testing.T) {
	m := model()
	disturb(inject(t, m, lora.Config{Rank: 4}))
	got, err := m.GenerateTokens(context.Background(), []int{1, 2, 3}, llm.Sampling{Tokens: 6})
	if err != nil {
		t.Fatal(err)
	}
	want := []int{1, 2, 3}
	for range 6 {
		scores := m.Logits(tensor.From([][]int{want}))
		want = append(want, scores.At(0, -1).ArgMax(0).Ints()[0])
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
