package embed

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/python"
)

// A GGUF file gives the vectors of the folder that it was made of: as it is, and in codes those of the
// numbers.
func TestLoadGGUF(t *testing.T) {
	for _, test := range []struct {
		from, typ string
		most      float64
	}{{"qwen3", "f32", 1e-5}, {"qwen3", "q8_0", 0.02}, {"eurobert", "f32", 1e-5}, {"eurobert-groups", "f32", 1e-5}, {"gemma3", "f32", 1e-5}} {
		plain := wordless(t, test.from)
		ids := tensor.From([][]int{{3, 4, 5, 6, 7, 8}})
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := SaveGGUF(path, plain, llm.GGUF{Type: test.typ}); err != nil {
			t.Fatal(err)
		}
		m, err := Load(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		got := m.Forward(ids).Eval()
		if d := tensor.MaxAbsDiff(got, plain.Forward(ids)); !(d <= test.most) {
			t.Errorf("%s in %s: vectors differ by %g", test.from, test.typ, d)
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

// What files cannot say is refused, and a file that does not say how it pools.
func TestGGUFRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	for from, want := range map[string]string{"bert": "want a decoder", "eurobert-biases": "want a decoder", "gemma3-wide": "Scale 0.0625 would be read as 0.25"} {
		if err := SaveGGUF(path, wordless(t, from), llm.GGUF{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", from, err, want)
		}
	}
	if err := llm.SaveGGUF(path, wordless(t, "qwen3").Body.(*Decoder).Model, llm.GGUF{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), path); err == nil || !strings.Contains(err.Error(), "qwen3.pooling_type: got <nil>, want 1 (mean)") {
		t.Errorf("got %v, want an error that names the key", err)
	}
}

// A file of llama.cpp's converter gives the vectors of its folder, and SaveGGUF writes the same tensors and
// metadata.
func TestGGUFOfConverter(t *testing.T) {
	for _, name := range []string{"eurobert", "gemma3"} {
		file := filepath.Join(fixtures, name+".gguf") // by tests/peers/decoder_gguf.py
		m, err := Load(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		plain, path := wordless(t, name), filepath.Join(t.TempDir(), "model.gguf")
		ids := tensor.From([][]int{{3, 4, 5, 6, 7, 8}})
		if d := tensor.MaxAbsDiff(m.Forward(ids), plain.Forward(ids)); !(d <= 1e-6) {
			t.Errorf("%s: vectors differ by %g", name, d)
		}
		if err := SaveGGUF(path, plain, llm.GGUF{}); err != nil {
			t.Fatal(err)
		}
		var files [2]*gguf.File
		for i, path := range []string{file, path} {
			if files[i], err = gguf.Open(path); err != nil {
				t.Fatal(err)
			}
			defer files[i].Close()
		}
		for _, info := range files[0].Tensors() {
			want, err := files[0].Bytes(info.Name)
			got, err2 := files[1].Bytes(info.Name)
			if err != nil || err2 != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: tensor %s differs, %v, %v", name, info.Name, err, err2)
			}
		}
		for _, key := range files[0].Keys() {
			if strings.HasPrefix(key, "general.") && key != "general.architecture" || strings.HasPrefix(key, "tokenizer.") || strings.HasSuffix(key, ".classifier.pooling_type") {
				continue
			}
			want, err := files[0].Value(key)
			got, err2 := files[1].Value(key)
			if err != nil || err2 != nil || got != want {
				t.Errorf("%s: got %v, want %v, %v, %v", key, got, want, err, err2)
			}
		}
	}
}

// TestLlamaCppReads lets llama.cpp, where its Python package is installed, make vectors with files that
// SaveGGUF wrote.
func TestLlamaCppReads(t *testing.T) {
	python := python.With(t, "llama_cpp", "safetensors", "torch")
	args, ids := []string{"../../tests/peers/decoder_gguf.py", "check"}, tensor.From([][]int{{3, 4, 5, 6, 7, 8}, {9, 3, 3, 1, 7, 0}})
	for _, name := range []string{"eurobert", "qwen3-wide", "gemma3"} {
		m, path := wordless(t, name), filepath.Join(t.TempDir(), name)
		m.Dense = nil // those of gemma3 end at another width, which llama.cpp does not take
		if err := SaveGGUF(path+".gguf", m, llm.GGUF{}); err != nil {
			t.Fatal(err)
		}
		if err := safetensors.Save(path+".safetensors", map[string]tensor.Tensor{"ids": ids, "vectors": m.Forward(ids)}, nil); err != nil {
			t.Fatal(err)
		}
		args = append(args, path+".gguf")
	}
	out, err := exec.Command(python, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// wordless is a model without its words: those of these folders are WordPiece, which no GGUF file has.
func wordless(t *testing.T, name string) *Model {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixtures, name))); err != nil {
		t.Fatal(err)
	}
	m, err := Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := m.Body.(*Decoder); ok {
		os.Remove(filepath.Join(dir, tokenizerFile))
		if d.Model, err = llm.LoadBody(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	return m
}
