package embed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
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
