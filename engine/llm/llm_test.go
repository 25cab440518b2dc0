package llm

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func tiny() Config {
	return Config{Vocab: 256, Layers: 2, Width: 32, Heads: 4, KVHeads: 2, Hidden: 48, Seed: 3}
}

func TestConfig(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Config)
		want string
	}{
		{"no layers", func(c *Config) { c.Layers = 0 }, "llm.New: got vocab 256, layers 0, width 32, heads 4, want all positive"},
		{"odd heads", func(c *Config) { c.Width = 36; c.Heads = 12 }, "llm.New: got width 36 and 12 heads, want heads of an even width"},
		{"dtype", func(c *Config) { c.DType = dtype.I32 }, "llm.New: got dtype i32, want f32, bf16 or f16"},
		{"groups", func(c *Config) { c.KVHeads = 3 }, "llm.New: got 4 query heads and 3 key heads, want a multiple"},
		{"latent heads", func(c *Config) { c.Latent = Latent{KV: 8, Turning: 4, Value: 8} }, "llm.New: got Latent with 2 heads for keys of 4, JoinedQKV false, QKNorm false, want as many heads, and none of these"},
		{"latent turns", func(c *Config) { c.KVHeads, c.Latent = 4, Latent{KV: 8, Turning: 10, Value: 8} }, "llm.New: got 10 turning numbers of heads of 8, want 2 or more of them"},
		{"latent length", func(c *Config) { c.KVHeads, c.Latent = 4, Latent{Q: 8, Turning: 4, Value: 8} }, "llm.New: got short vectors of 8 and 0 and values of 8, want positive lengths"},
		{"limit", func(c *Config) { c.Mixture = Mixture{Experts: 2, TopK: 1, Hidden: 4, Limit: -1} }, "llm.New: got expert limit -1, want a finite number of at least 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := tiny()
			tt.edit(&c)
			if err := tensor.Try(func() { New(c) }); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestSameSeedSameModel(t *testing.T) {
	a, b := New(tiny()), New(tiny())
	c := tiny()
	c.Seed++
	if nn.Hash(nn.Params(a)) != nn.Hash(nn.Params(b)) || nn.Hash(nn.Params(a)) == nn.Hash(nn.Params(New(c))) {
		t.Error("the weights should follow from the seed")
	}
}

// A model with matrices in half precision is the one in f32 with rounded matrices; each product reads them as
// they are stored, in one launch.
func TestHalfPrecision(t *testing.T) {
	ids := tensor.From([][]int{{7, 8, 9, 10, 11}})
	for _, dt := range []dtype.Type{dtype.BF16, dtype.F16} {
		c := tiny()
		want := New(c)
		for _, p := range nn.Params(want) {
			if p.Value().Rank() == 2 {
				p.Value().Set(p.Value().Cast(dt).Cast(dtype.F32))
			}
		}
		c.DType = dt
		got := New(c)
		if d, scale := tensor.MaxAbsDiff(got.Logits(ids), want.Logits(ids)), want.Logits(ids).Abs().Max().Item(); d > 1e-5*scale {
			t.Errorf("%v: the logits differ by %g of %g", dt, d, scale)
		}
		r := profile.Record(t.Context(), func(context.Context) { got.Logits(ids).Eval() })
		for _, k := range r.Kernels {
			if k.Name == "cast" && k.Launches > 1 { // that of the tokens' vectors
				t.Errorf("%v: %d launches of %s, want the products to read the matrices", dt, k.Launches, k.Name)
			}
		}
	}
}

// A token's scores do not depend on what follows it.
func TestCausal(t *testing.T) {
	m := New(tiny())
	long := m.Logits(tensor.From([][]int{{7, 8, 9, 10, 11}})).Slice(1, 0, 3)
	short := m.Logits(tensor.From([][]int{{7, 8, 9}}))
	if d := tensor.MaxAbsDiff(long, short); d > 1e-6 {
		t.Errorf("later tokens move earlier scores by %g", d)
	}
}

// With checkpoints loss and gradients are the same bit for bit, and a step needs less memory.
func TestCheckpoint(t *testing.T) {
	var want []tensor.Tensor
	var plain int64
	for _, checkpoint := range []bool{false, true} {
		c := tiny()
		c.Layers, c.Checkpoint = 6, checkpoint
		m := New(c)
		ids := tensor.Range(2*64).Mul(7).Mod(256).Reshape(2, 64)
		loss := m.Loss(ids, ids.Add(1).Mod(256))
		got := append(tensor.Grad(loss, nn.Values(nn.Params(m))...), loss)
		device.Default().ResetPeak()
		tensor.Eval(got...)
		if took := device.Default().Memory().Plan; !checkpoint {
			want, plain = got, took
		} else if took > plain*7/10 {
			t.Errorf("a step takes %d bytes with checkpoints, %d without; want less than 70 %%", took, plain)
		}
		for i, g := range got {
			if !bytes.Equal(g.Bytes(), want[i].Bytes()) {
				t.Errorf("result %d differs by %g", i, tensor.MaxAbsDiff(g, want[i]))
			}
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	m := New(tiny())
	ctx, stop := context.WithCancel(context.Background())
	stop()
	text, err := m.Generate(ctx, "func", Sampling{Tokens: 5})
	if text != "func" || err != context.Canceled {
		t.Errorf("cancelled: got %q, %v, want the prompt and the cause", text, err)
	}
	if _, err := m.Generate(context.Background(), "", Sampling{}); err == nil {
		t.Error("an empty prompt was taken")
	}
	if _, err := m.GenerateTokens(context.Background(), []int{256}, Sampling{}); err == nil {
		t.Error("a token outside of the vocabulary was taken")
	}
}

// Every choice respects its limits, and frequencies follow the probabilities.
func TestChoose(t *testing.T) {
	scores := []float32{0, 2, 1, -1} // probabilities 0.087, 0.644, 0.237, 0.032
	tests := []struct {
		name string
		o    Sampling
		want []int
	}{
		{"greedy", Sampling{}, []int{1}},
		{"all", Sampling{Temperature: 1}, []int{0, 1, 2, 3}},
		{"two best", Sampling{Temperature: 1, TopK: 2}, []int{1, 2}},
		{"nucleus of 0.7", Sampling{Temperature: 1, TopP: 0.7}, []int{1, 2}},
		{"nucleus of 0.6", Sampling{Temperature: 1, TopP: 0.6}, []int{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			counts := make([]int, len(scores))
			for range 4000 {
				counts[tt.o.choose(scores, rng.Float64())]++
			}
			var seen []int
			for id, n := range counts {
				if n > 0 {
					seen = append(seen, id)
				}
			}
			if !slices.Equal(seen, tt.want) {
				t.Errorf("drew %v, want %v", seen, tt.want)
			}
			if tt.name == "all" && (counts[1] < 2450 || counts[1] > 2700) {
				t.Errorf("token 1 came %d times in 4000, want about 2576", counts[1])
			}
		})
	}
}

// A model that was saved comes back bit for bit. In the file its projections lie as other libraries have
// them.
func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	c := Config{Vocab: 256, Layers: 1, Width: 8, Heads: 2, KVHeads: 1, Hidden: 24, Seed: 1}
	m := New(c)
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	c.Seed = 2
	other := New(c)
	if err := other.Load(path); err != nil {
		t.Fatal(err)
	}
	if nn.Hash(nn.Params(other)) != nn.Hash(nn.Params(m)) {
		t.Error("the model that was loaded is not the one that was saved")
	}
	tensors, _, err := safetensors.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := tensors["model.layers.0.mlp.up_proj.weight"].Shape(); !slices.Equal(got, []int{24, 8}) {
		t.Errorf("up_proj: got %v in the file, want [24 8]", got)
	}
}

// Losses are those of each target, whose mean over the targets that count is Loss; other targets have 0.
// Tokens that are no batch are refused in words of tokens.
func TestTokensWithoutABatch(t *testing.T) {
	m, ids := New(Config{Vocab: 8, Layers: 1, Width: 4, Heads: 1}), tensor.From([]int{1, 3})
	for name, f := range map[string]func(){
		"Logits":     func() { m.Logits(ids) },
		"Loss":       func() { m.Loss(ids, ids) },
		"PackedLoss": func() { m.PackedLoss(ids, ids, ids) },
	} {
		if err := tensor.Try(f); err == nil || !strings.Contains(err.Error(), "got tokens i64[2], want [batch time]") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestLosses(t *testing.T) {
	m := New(Config{Vocab: 32, Layers: 1, Width: 16, Heads: 2, Seed: 1})
	inputs := tensor.From([]int{1, 2, 3, 4, 5, 6}, 2, 3)
	targets := tensor.From([]int{2, -100, 4, 5, 6, -100}, 2, 3)
	losses := m.Losses(inputs, targets)
	if got, want := losses.Sum().Item()/4, m.Loss(inputs, targets).Item(); math.Abs(got-want) > 1e-5 {
		t.Errorf("got %g, want %g", got, want)
	}
	if x := losses.Floats(); len(x) != 6 || x[1] != 0 || x[5] != 0 || !(x[0] > 0) {
		t.Errorf("got %v", losses)
	}
}
