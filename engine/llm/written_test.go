package llm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm/internal/coded"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/python"
)

// peersCodes is what tests/peers/decoder_codes.py wrote: a matrix, and its codes by mlx and by AutoAWQ.
func peersCodes(t *testing.T) map[string]tensor.Tensor {
	t.Helper()
	all, _, err := safetensors.Load("testdata/written.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Codes, scales, minimums and zero points have the bytes that mlx and AutoAWQ write. Where mlx rounds scales
// after it has chosen codes, these may be one off.
func TestWrittenCodes(t *testing.T) {
	all, found := peersCodes(t), 0
	types := map[string]dtype.Type{"float32": dtype.F32, "bfloat16": dtype.BF16, "float16": dtype.F16}
	for name := range all {
		path, ok := strings.CutSuffix(name, ".scales")
		if !ok {
			continue
		}
		found++
		var format, typ string
		var bits, group int
		fmt.Sscanf(strings.ReplaceAll(path, ".", " "), "%s %d %d %s", &format, &bits, &group, &typ)
		w, err := coded.NewWriter(format, bits, group)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.Tensors(all["w"].Cast(types[typ]))
		if err != nil {
			t.Fatal(err)
		}
		for end, part := range got {
			want := all[path+end]
			if part.DType() != want.DType() || fmt.Sprint(part.Shape()) != fmt.Sprint(want.Shape()) {
				t.Errorf("%s%s: got %v%v, want %v%v", path, end, part.DType(), part.Shape(), want.DType(), want.Shape())
				continue
			}
			a, b := part.Bytes(), want.Bytes()
			if end != ".weight" || typ == "float32" {
				if !bytes.Equal(a, b) {
					t.Errorf("%s%s: got %v, want %v", path, end, part, want)
				}
				continue
			}
			code := func(b []byte, i int) int { return int(b[i*bits/8]) >> (i * bits % 8) & (1<<bits - 1) }
			for i := range len(a) * 8 / bits {
				if d := code(a, i) - code(b, i); d < -1 || d > 1 {
					t.Errorf("%s%s: code %d is %d, want %d", path, end, i, code(a, i), code(b, i))
					break
				}
			}
		}
	}
	if found != 6 {
		t.Errorf("got %d kinds of codes, want 6", found)
	}
}

// The scales are those that AutoAWQ's search finds, and what the layers give stays.
func TestBalance(t *testing.T) {
	all := peersCodes(t)
	norm, layer := nn.NewRMSNorm(128, 1e-6), &nn.Linear{Weight: all["w"].Transpose().Eval().Param()}
	j := junction{[]*nn.Linear{layer}, dividedNorm(norm)}
	x := tensor.NewRNG(1).Randn(3, 128)
	before := layer.Forward(norm.Forward(x)).Eval()
	j.scale(all["inputs"], 32)
	if d := relative(norm.Weight, tensor.Ones(128).Div(all["balanced"])); !(d <= 1e-5) {
		t.Errorf("the scales differ by %g of the largest", d)
	}
	if d := relative(layer.Forward(norm.Forward(x)), before); !(d <= 1e-5) {
		t.Errorf("what the layer gives differs by %g of the largest", d)
	}
}

// Ranges of groups are those that AutoAWQ's search finds.
func TestClip(t *testing.T) {
	all := peersCodes(t)
	w := all["w"].Transpose()
	if d := relative(clipped(w, clip(all["inputs"], w, 32)).Transpose(), all["clipped"]); !(d <= 1e-5) {
		t.Errorf("the clipped weight differs by %g of the largest", d)
	}
	if d := tensor.MaxAbsDiff(all["clipped"], all["w"]); d == 0 {
		t.Error("nothing is clipped")
	}
}

// loud makes some channels of the inputs of layers large, as those of models that were trained are, without
// changing what a model computes.
func loud(m *Model) {
	random := tensor.NewRNG(7)
	for _, b := range m.Blocks {
		for _, j := range b.junctions() {
			by := random.Randn(j.layers[0].In()).Mul(1.5).Exp().Eval()
			for _, l := range j.layers {
				set(l.Weight, l.Weight.Detach().Mul(by.Unsqueeze(1)))
			}
			j.before(by)
		}
	}
}

// What is written is read as codes, computes almost the same, and with awq nearer to it than without its
// scales. mlx-lm, where it is installed, and the formulas of AutoAWQ compute with it what mcs does.
func TestSaveCodes(t *testing.T) {
	tokens := make([]int, 300)
	for i := range tokens {
		tokens[i] = (i*7 + i*i) % 251
	}
	ids := tensor.From([]int64{1, 2, 3, 4, 5, 6, 7, 8}, 1, 8)
	joined := Config{Vocab: 256, Width: 128, Layers: 2, Heads: 4, Hidden: 256, Context: 64, Seed: 3, Untied: true}
	separate := joined
	joined.Family, joined.JoinedQKV, joined.JoinedMLP = "phi3", true, true
	parallel := joined
	parallel.Family, parallel.JoinedQKV, parallel.JoinedMLP, parallel.Untied = "cohere", false, false, false
	parallel.Parallel, parallel.LayerNorm, parallel.HeadScale, parallel.Rope = true, true, 0.5, nn.Rope{Interleaved: true}
	experts := separate
	experts.Family, experts.QKNorm, experts.Mixture = "qwen3_moe", true, Mixture{Experts: 3, TopK: 2, Hidden: 128, Normalise: true}
	differs := map[string]float64{}
	folders := []string{"../../tests/peers/decoder_codes.py", "check"}
	for _, test := range []struct {
		name  string
		model Config
		codes Codes
		query string // its codes
		head  string
		most  float64 // difference of logits
		loud  bool
	}{
		{"mlx 4", separate, Codes{Format: "mlx", Group: 32}, "int4, groups of 32, minimum, scales f32", "*quant.Linear", 0.3, false},
		{"loud", separate, Codes{Format: "mlx", Group: 32}, "int4, groups of 32, minimum, scales f32", "*quant.Linear", 1, true},
		{"mlx 8", separate, Codes{Format: "mlx", Bits: 8}, "int8, groups of 64, minimum, scales f32", "*quant.Linear", 0.02, false},
		{"awq", separate, Codes{Format: "awq", Group: 32, Tokens: tokens}, "int4, groups of 32, affine, scales f32", "*nn.Linear", 0.3, true},
		{"awq, joined", joined, Codes{Format: "awq", Tokens: tokens}, "", "*nn.Linear", 0.3, true},
		{"mlx, experts", experts, Codes{Format: "mlx", Group: 32}, "int4, groups of 32, minimum, scales f32", "*quant.Linear", 0.5, false},
		{"awq, experts", experts, Codes{Format: "awq", Group: 32, Tokens: tokens}, "int4, groups of 32, affine, scales f32", "*nn.Linear", 0.5, false},
		{"awq, parallel", parallel, Codes{Format: "awq", Tokens: tokens}, "int4, groups of 128, affine, scales f32", "<nil>", 0.3, true},
	} {
		if slices.Contains([]string{"mlx 8", "awq, joined", "awq, experts", "awq, parallel"}, test.name) && !long.CI() {
			continue
		}
		m := New(test.model)
		if test.loud {
			loud(m)
		}
		want := m.Logits(ids).Eval()
		dir := filepath.Join(t.TempDir(), "coded")
		if err := SaveCodes(t.Context(), dir, m, test.codes); err != nil {
			t.Fatal(test.name, err)
		}
		if d := relative(m.Logits(ids), want); !(d <= 1e-5) {
			t.Errorf("%s: the model's logits changed by %g of the largest", test.name, d)
		}
		got := loaded(t, dir)
		folders = append(folders, dir)
		expected := map[string]tensor.Tensor{"ids": ids, "logits": got.Logits(ids)}
		if err := safetensors.Save(filepath.Join(dir, "expected.safetensors"), expected, nil); err != nil {
			t.Fatal(err)
		}
		if q, ok := got.Blocks[1].Attn.Q.(*quant.Linear); test.query != "" && (!ok || q.Weight.Config.String() != test.query) {
			t.Errorf("%s: q_proj is %v, want %s", test.name, got.Blocks[1].Attn.Q, test.query)
		}
		if x := got.Blocks[1].Mixture; x != nil {
			for _, e := range []*nn.Grouped{x.Experts.GateUp, x.Experts.Down} {
				if g, ok := e.Instead().(*quant.Grouped); !ok || g.Weight.Config.String() != test.query {
					t.Errorf("%s: experts are %v, want %s", test.name, e, test.query)
				}
			}
		}
		if head := fmt.Sprintf("%T", got.Head); head != test.head {
			t.Errorf("%s: lm_head is %s, want %s", test.name, head, test.head)
		}
		if differs[test.name] = relative(got.Logits(ids), want); !(differs[test.name] <= test.most) {
			t.Errorf("%s: logits differ by %g of the largest, want at most %g", test.name, differs[test.name], test.most)
		}
	}
	if !(differs["awq"] < 0.5*differs["loud"]) {
		t.Errorf("with awq logits differ by %g of the largest, without its scales by %g", differs["awq"], differs["loud"])
	}
	python := python.With(t, "mlx_lm", "transformers")
	if out, err := exec.Command(python, folders...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSaveCodesRefuses(t *testing.T) {
	coded := loaded(t, "testdata/codes/mlx4")
	plain := New(Config{Vocab: 256, Width: 64, Layers: 1, Heads: 2})
	bad := New(Config{Vocab: 256, Width: 64, Layers: 1, Heads: 2})
	bad.Blocks[0].MLP.Up.(*nn.Linear).Weight.Set(tensor.Full(1, 64, bad.Config.withDefaults().Hidden).Div(0))
	for _, test := range []struct {
		m     *Model
		codes Codes
		want  string
	}{
		{plain, Codes{Format: "gptq"}, `llm: got format "gptq" of codes, want one of awq, mlx`},
		{plain, Codes{Format: "mlx", Bits: 3}, `llm: got 3 bits in groups of 64 for mlx, want one of [4 8], in groups of one of [32 64 128]`},
		{plain, Codes{Format: "awq", Bits: 8}, `llm: got 8 bits in groups of 128 for awq, want one of [4]`},
		{plain, Codes{Format: "awq", Group: 32, Tokens: []int{1}}, "llm: got 1 tokens of a text, want at least 32"},
		{coded, Codes{Format: "mlx"}, "is in codes, which such a folder does not hold"},
		{bad, Codes{Format: "mlx"}, "llm: model.layers.0.mlp.up_proj.weight: element [0 0] is +Inf, want a finite number"},
	} {
		dir := filepath.Join(t.TempDir(), "x")
		if err := SaveCodes(t.Context(), dir, test.m, test.codes); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want %s", test.codes, err, test.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("a refused write left a folder")
		}
	}
}
