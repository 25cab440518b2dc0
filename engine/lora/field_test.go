package lora

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// fields has its layers in fields of their types, slotted in slots.
type fields struct {
	tokens *nn.Embedding
	q, out *nn.Linear
}

func (f *fields) Members() []nn.Member {
	return []nn.Member{{Name: "tokens", Part: f.tokens}, {Name: "q", Part: f.q}, {Name: "out", Part: f.out}}
}

func (f *fields) Forward(x tensor.Tensor) tensor.Tensor {
	y := f.tokens.Forward(x)
	return f.tokens.Scores(f.out.Forward(f.q.Forward(y).Silu()))
}

type slotted struct{ tokens, q, out nn.Layer }

func (s *slotted) Members() []nn.Member {
	return []nn.Member{{Name: "tokens", Slot: &s.tokens}, {Name: "q", Slot: &s.q}, {Name: "out", Slot: &s.out}}
}

func (s *slotted) Forward(x tensor.Tensor) tensor.Tensor {
	y := s.tokens.Forward(x)
	return s.tokens.(nn.Scorer).Scores(s.out.Forward(s.q.Forward(y).Silu()))
}

// Adapters of layers in fields are those of the same layers in slots, bit for bit: trained, in files, merged
// and removed.
func TestAdaptersInFields(t *testing.T) {
	configs := map[string]Config{
		"linear":     {Rank: 2, Targets: "q out"},
		"all":        {Rank: 2, Targets: "q out tokens"},
		"DoRA":       {Rank: 2, Targets: "all-linear tokens", DoRA: true},
		"PiSSA":      {Rank: 2, Init: PiSSA},
		"biases":     {Rank: 2, LoRABias: true, Bias: AllBiases},
		"tokens":     {Rank: 2, Tokens: []int{1, 3}, Train: "out", Targets: "q"},
		"only input": {Rank: 2, Targets: "tokens", OnlyInput: true},
	}
	x, y := tensor.From([]int{1, 2, 3, 4, 5, 0}, 2, 3), tensor.From([]int{2, 3, 4, 5, 0, 1}, 2, 3)
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			layers := func() (*nn.Embedding, *nn.Linear, *nn.Linear) {
				random := tensor.NewRNG(3)
				q, out := nn.NewLinearNormal(random, 8, 8, 0.3), nn.NewLinearNormal(random, 8, 8, 0.3)
				q.Bias, out.Bias = tensor.Zeros(8).Param(), tensor.Ones(8).Param()
				return nn.NewEmbedding(random, 6, 8, 1), q, out
			}
			f, s := &fields{}, &slotted{}
			f.tokens, f.q, f.out = layers()
			s.tokens, s.q, s.out = layers()
			start := nn.Hash(nn.Params(f))
			models, adapters := []nn.Layer{f, s}, make([]*Adapter, 2)
			same := func(what string) {
				t.Helper()
				if d := tensor.MaxAbsDiff(f.Forward(x), s.Forward(x)); d != 0 {
					t.Errorf("%s: the outputs differ by %g", what, d)
				}
				if a, b := nn.Hash(nn.Params(f)), nn.Hash(nn.Params(s)); a != b {
					t.Errorf("%s: weights %v, want %v", what, nn.Params(f), nn.Params(s))
				}
			}
			dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
			for i, m := range models {
				var err error
				if adapters[i], err = Inject(m, c); err != nil {
					t.Fatal(err)
				}
				opt := optim.AdamW{}.New(nn.Params(m))
				for range 3 {
					opt.Step(nn.CrossEntropyLoss(m.Forward(x), y), 0.05)
				}
				if err := adapters[i].Save(dirs[i]); err != nil {
					t.Fatal(err)
				}
			}
			same("trained")
			if a, b := contents(t, dirs[0]), contents(t, dirs[1]); a != b {
				t.Error("the files differ")
			}
			for _, a := range adapters {
				if _, err := a.Merge(); err != nil {
					t.Fatal(err)
				}
			}
			same("merged")
			for i, a := range adapters {
				a.Unmerge()
				if err := a.Remove(models[i]); err != nil {
					t.Fatal(err)
				}
			}
			same("removed")
			if nn.Hash(nn.Params(f)) != start {
				t.Error("the weights are not those of the beginning")
			}
			for i, m := range models {
				if _, err := Load(dirs[i], m); err != nil {
					t.Fatal(err)
				}
			}
			same("loaded")
		})
	}
}

// contents is the text of all files of a folder.
func contents(t *testing.T, dir string) (text string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text += f.Name() + string(b)
	}
	return text
}
