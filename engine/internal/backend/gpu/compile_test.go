package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// TestTranslated: what a CUDA device gets is complete, and clang makes PTX of it.
func TestTranslated(t *testing.T) {
	shape := []int{64, 96}
	in := func(buf int) backend.Input {
		return backend.Input{DType: dtype.BF16, Layout: ir.Contiguous(shape), Buf: buf}
	}
	product := []int{64, 64}
	for _, g := range []*backend.Group{
		{
			Name: "silu", Kind: backend.Map, Inputs: []backend.Input{in(0)}, Insts: []backend.Inst{{Op: ir.Silu, DType: dtype.F32, Shape: shape, Args: []backend.Ref{backend.In(0)}}},
			Outputs: []backend.Output{{Buf: 1, DType: dtype.F32, Shape: shape}},
		},
		{
			Name: "softmax", Kind: backend.Row, Inputs: []backend.Input{in(0)}, Insts: []backend.Inst{{Op: ir.Softmax, DType: dtype.BF16, Shape: shape, Args: []backend.Ref{backend.In(0)}}},
			Outputs: []backend.Output{{Buf: 1, DType: dtype.BF16, Shape: shape}},
		},
		{
			Name: "matmul", Kind: backend.MatMul,
			Inputs:  []backend.Input{in(0), {DType: dtype.BF16, Layout: ir.Contiguous(shape).Permute([]int{1, 0}), Buf: 1}},
			Insts:   []backend.Inst{{Op: ir.MatMul, DType: dtype.BF16, Shape: product, Args: []backend.Ref{backend.In(0), backend.In(1)}}},
			Outputs: []backend.Output{{Buf: 2, DType: dtype.BF16, Shape: product}},
		},
		paged(dtype.BF16, dtype.BF16),
		paged(dtype.F32, dtype.I8),
	} {
		k, err := kernel.Render(g, kernel.Limits{Threads: 1024, SIMDWidth: 32, Family: kernel.NVIDIA})
		if err != nil {
			t.Fatal(err)
		}
		text, err := Translate(k.Dispatches[0].Function, k.Dispatches[0].Text, CUDA)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "#include") || !strings.Contains(text, `extern "C"`) {
			t.Errorf("%s: got an include, or no kernel of that name", g.Name)
		}
		makePTX(t, g.Name, text, k.Dispatches[0].Function)
	}
}

// paged is a token's attention to a cache, through a window, with capped scores.
func paged(dt, kept dtype.Type) *backend.Group {
	q, slots, lists := []int{1, 4, 1, 64}, []int{2, 4096, 64}, []int{1, 64}
	types := []ir.Type{{DType: dt, Shape: q}, {DType: kept, Shape: slots}, {DType: kept, Shape: slots}, {DType: dtype.I64, Shape: lists}, {DType: dtype.I64, Shape: []int{1, 1}}}
	if kept == dtype.I8 {
		scales := ir.Type{DType: dtype.F32, Shape: []int{2, 4096, 1}}
		types = append(types, scales, scales)
	}
	g := &backend.Group{Name: "paged_attention_" + kept.String(), Kind: backend.Single, Outputs: []backend.Output{{Buf: len(types), DType: dt, Shape: q}}}
	inst := backend.Inst{Op: ir.PagedAttention, Attr: ir.Sight{Window: 700, Cap: 30}.Attr(0.125, 64), DType: dt, Shape: q}
	for i, t := range types {
		g.Inputs = append(g.Inputs, backend.Input{DType: t.DType, Layout: ir.Contiguous(t.Shape), Buf: i})
		inst.Args = append(inst.Args, backend.In(i))
	}
	g.Insts = append(g.Insts, inst)
	return g
}

// makePTX compiles a text without CUDA's headers, where there is a clang.
func makePTX(t *testing.T, name, text, function string) {
	clang, err := exec.LookPath("clang++-19")
	if err != nil {
		t.Skip("no clang++-19, which makes PTX without a toolkit")
	}
	dir := t.TempDir()
	source, ptx := filepath.Join(dir, name+".cu"), filepath.Join(dir, name+".ptx")
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90", "-nocudainc", "-nocudalib", "-O2", "-std=c++17",
		"-Xclang", "-target-feature", "-Xclang", "+ptx80", "-S", source, "-o", ptx).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	if got, err := os.ReadFile(ptx); err != nil || !strings.Contains(string(got), ".entry "+function) {
		t.Errorf("%s: the PTX has no entry %s: %v", name, function, err)
	}
}
