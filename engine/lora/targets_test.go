package lora_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// The model has two blocks of seven layers each.
func TestChosenLayers(t *testing.T) {
	for _, c := range []struct {
		name   string
		config lora.Config
		want   string // how many layers, or the error
	}{
		{"an end", lora.Config{Targets: "self_attn.q_proj"}, "2"},
		{"an expression", lora.Config{Targets: `/.*\.(q|v)_proj/`}, "4"},
		{"of one block", lora.Config{Blocks: []int{1}}, "7"},
		{"the last block", lora.Config{LastBlocks: 1}, "7"},
		{"all blocks", lora.Config{LastBlocks: 2}, "14"},
		{"of one block of a list", lora.Config{Blocks: []int{1}, BlockList: "layers", Targets: "q_proj"}, "1"},
		{"without some", lora.Config{Exclude: "mlp.down_proj q_proj"}, "10"},
		{"no such list", lora.Config{Blocks: []int{1}, BlockList: "h"}, "got block 1, want one of the model's"},
		{"no such block", lora.Config{Blocks: []int{2}}, "got block 2, want one of the model's, 0 to 1"},
		{"too many blocks", lora.Config{LastBlocks: 3}, "got the last 3 blocks, want at most the model's 2"},
		{"all excluded", lora.Config{Targets: "q_proj", Exclude: "q_proj"}, `targets "q_proj" choose no linear layer of the model that the rest`},
		{"misspelt", lora.Config{Targets: "q_proj vproj"}, `target "vproj" chooses no linear layer of the model; did you mean "v_proj"?`},
		{"misspelt end", lora.Config{Targets: "self_atn.q_proj"}, `did you mean "self_attn.q_proj"?`},
		{"misspelt exception", lora.Config{Exclude: "downproj"}, `exclude "downproj" chooses no linear layer of the model; did you mean "down_proj"?`},
		{"misspelt pattern", lora.Config{Patterns: []lora.Pattern{{Layers: "up_prj", Rank: 2}}}, `pattern "up_prj" chooses no linear layer of the model; did you mean "up_proj"?`},
		{"of another family", lora.Config{Targets: "c_attn"}, "; there are embed_tokens, q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj"},
		{"a norm", lora.Config{Targets: "norm"}, `target "norm" chooses no linear layer of the model: model.norm is a *nn.RMSNorm`},
		{"a rank below 1", lora.Config{Patterns: []lora.Pattern{{Layers: "q_proj", Rank: -1}}}, "layers.0.self_attn.q_proj: got rank -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := model()
			ad, err := lora.Inject(m, c.config)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || len(lora.Of(m)) != 0 {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			if got := fmt.Sprint(len(ad.Layers())); got != c.want {
				t.Errorf("got %v layers, want %s", got, c.want)
			}
		})
	}
}

// The first pattern that has a rank counts for the rank, the first that has an alpha for alpha.
func TestPatterns(t *testing.T) {
	m := model()
	inject(t, m, lora.Config{Rank: 4, Alpha: 8, Targets: "q_proj k_proj v_proj", Patterns: []lora.Pattern{
		{Layers: "layers.0.self_attn.q_proj", Rank: 2},
		{Layers: `/.*\.q_proj/`, Rank: 16, Alpha: 4},
		{Layers: "v_proj", Alpha: 2},
	}})
	for i, want := range []struct {
		q, k, v                int
		scaleQ, scaleK, scaleV float64
	}{{2, 4, 4, 2, 2, 0.5}, {16, 4, 4, 0.25, 2, 0.5}} {
		attention := m.Blocks[i].Attn
		q, k, v := attention.Q.(*lora.Linear).Parts[0], attention.K.(*lora.Linear).Parts[0], attention.V.(*lora.Linear).Parts[0]
		if q.Rank != want.q || k.Rank != want.k || v.Rank != want.v || q.A.Len(1) != want.q || q.B.Len(0) != want.q {
			t.Errorf("block %d: got ranks %d, %d, %d, want %+v", i, q.Rank, k.Rank, v.Rank, want)
		}
		if q.Scale != want.scaleQ || k.Scale != want.scaleK || v.Scale != want.scaleV {
			t.Errorf("block %d: got scales %g, %g, %g, want %+v", i, q.Scale, k.Scale, v.Scale, want)
		}
	}
}

// AllLinear leaves out what PEFT refuses of a family, other targets do not; mlx-lm computes Falcon-H1 with
// other weights.
func TestUnadapted(t *testing.T) {
	for variant, want := range map[string]struct {
		chosen bool
		mlx    string
	}{"mamba2": {}, "falcon_h1": {mlx: "falcon_h1"}, "granitemoehybrid": {chosen: true, mlx: "experts are adapted"}, "lfm2": {chosen: true}} {
		adapts := func(ad *lora.Adapter) bool {
			return slices.ContainsFunc(ad.Params(), func(p nn.Param) bool { return strings.Contains(p.Name, "out_proj") })
		}
		ad := inject(t, base(t, variant), lora.Config{Rank: 2})
		if got := adapts(ad); got != want.chosen {
			t.Errorf("%s: out_proj has an adapter: %v, want %v", variant, got, want.chosen)
		}
		if err := ad.SaveMLX(t.TempDir()); (err != nil) != (want.mlx != "") || err != nil && !strings.Contains(err.Error(), want.mlx) {
			t.Errorf("%s: got %v, want an error with %q", variant, err, want.mlx)
		}
		if !adapts(inject(t, base(t, variant), lora.Config{Targets: "out_proj"})) {
			t.Errorf("%s: out_proj has no adapter", variant)
		}
	}
}
