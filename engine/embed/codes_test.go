package embed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A decoder in codes stays codes, and gives the vectors of the numbers that they stand for.
func TestLoadCodes(t *testing.T) {
	const from = "testdata/qwen3"
	body, err := llm.LoadBody(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "codes")
	if err := llm.SaveCodes(t.Context(), dir, body, llm.Codes{Format: "mlx", Bits: 8, Group: 32}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{modulesFile, tokenizerFile, "1_Pooling/config.json"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Load(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	ids := tensor.From([][]int{{3, 4, 5, 6, 7, 8}})
	got := m.Forward(ids).Eval()
	if n, err := quant.Expand(m, dtype.F32); err != nil || n != 2 { // the others have rows that are no whole groups
		t.Fatalf("got %d layers in codes, %v", n, err)
	}
	if d := tensor.MaxAbsDiff(got, m.Forward(ids)); !(d <= 1e-5) {
		t.Errorf("vectors differ by %g from those of the numbers", d)
	}
	if d := tensor.MaxAbsDiff(got, plain.Forward(ids)); !(d > 0 && d < 0.05) {
		t.Errorf("vectors differ by %g from those of the model before", d)
	}
}

// A GGUF file gives the vectors of the folder that it was made of: as it is, and in codes those of the
// numbers.
func TestLoadGGUF(t *testing.T) {
	const from = "testdata/qwen3"
	bare := t.TempDir() // without words: those of the folder are WordPiece, which no such file has
	for _, name := range []string{configFile, "model.safetensors"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(bare, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	body, err := llm.LoadBody(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Load(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	ids := tensor.From([][]int{{3, 4, 5, 6, 7, 8}})
	for _, test := range []struct {
		typ     string
		pooling uint32
		most    float64
	}{{"f32", 3, 1e-5}, {"q8_0", 3, 0.02}, {"f32", 0, 0}} {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := llm.SaveGGUF(path, body, llm.GGUF{Type: test.typ}); err != nil {
			t.Fatal(err)
		}
		pools(t, path, test.pooling)
		m, err := Load(t.Context(), path)
		if test.pooling == 0 {
			if err == nil || !strings.Contains(err.Error(), "qwen3.pooling_type: got 0, want 1 (mean)") {
				t.Errorf("got %v, want an error that names the key", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got := m.Forward(ids).Eval()
		if d := tensor.MaxAbsDiff(got, plain.Forward(ids)); !(d <= test.most) {
			t.Errorf("%s: vectors differ by %g", test.typ, d)
		}
		n, err := quant.Expand(m, dtype.F32)
		if err != nil || (n > 0) != (test.typ == "q8_0") {
			t.Errorf("%s: got %d layers in codes, %v", test.typ, n, err)
		}
		if d := tensor.MaxAbsDiff(got, m.Forward(ids)); !(d <= 1e-5) {
			t.Errorf("%s: vectors differ by %g from those of the numbers", test.typ, d)
		}
	}
}

// pools writes into a GGUF file how it pools.
func pools(t *testing.T, path string, pooling uint32) {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	said, err := f.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	said["qwen3.pooling_type"] = pooling
	var entries []gguf.Entry
	for _, info := range f.Tensors() {
		e := gguf.Entry{Name: info.Name, Type: info.Type}
		if gguf.HasCodes(info.Type) {
			e.Codes, err = f.Codes(info.Name, nil)
		} else {
			e.Tensor, err = f.Tensor(info.Name)
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	if err := gguf.WriteFile(path, said, entries); err != nil {
		t.Fatal(err)
	}
}
