package pretrained

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ path, want string }{
		{".", ""},
		{"Qwen/Qwen2.5-0.5B", `open Qwen/Qwen2.5-0.5B: file does not exist; llm.Download(ctx, "Qwen/Qwen2.5-0.5B", llm.Hub{}) fetches a repository of that name`},
		{"./Qwen/Qwen2.5-0.5B", "open ./Qwen/Qwen2.5-0.5B: file does not exist"},
		{"models/llama/8b", "open models/llama/8b: file does not exist"},
		{"models/a.gguf", "open models/a.gguf: file does not exist"},
	} {
		err := Missing(c.path)
		if got := errorText(err); got != c.want || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %q, want %q", c.path, got, c.want)
		}
	}
}

// A folder whose weights are a pickle is told from one without weights.
func TestPickled(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"", "no such file"},
		{"pytorch_model.bin", "got no model.safetensors, and pytorch_model.bin, a Python pickle"},
		{"pytorch_model.bin.index.json", "and pytorch_model.bin.index.json, a Python pickle"},
		{WeightsFile, WeightsFile},
	} {
		dir := t.TempDir()
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(dir, c.file), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, err := OpenWeights(t.Context(), dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "pickle") != strings.Contains(c.want, "pickle") {
			t.Errorf("%s: got %v, want %s", c.file, err, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
