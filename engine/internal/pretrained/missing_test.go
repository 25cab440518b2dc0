package pretrained

import (
	"errors"
	"io/fs"
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

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
