package llm

import (
	"context"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A repository of a hub becomes a folder that Load reads. Package hub tests the protocol.
func TestDownload(t *testing.T) {
	plain := t.TempDir()
	if err := os.WriteFile(filepath.Join(plain, "pytorch_model.bin"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		folder string // of the files that the repository has
		files  []string
		want   string // in an error
	}{
		"safetensors":       {folder: filepath.Join(fixtures, "qwen2")},
		"one GGUF file":     {folder: ggufs, files: []string{"q8_0.gguf"}},
		"several of them":   {folder: ggufs, want: "GGUF files: choose one in Files, among apertus.gguf, arcee.gguf, bamba.gguf"},
		"nothing to read":   {folder: plain, want: "there is no model.safetensors and no GGUF file, but pytorch_model.bin"},
		"a pattern of none": {folder: plain, files: []string{"*.onnx"}, want: "no file is one of *.onnx"},
	} {
		server := httptest.NewServer(repository(t, test.folder))
		t.Setenv("HF_ENDPOINT", server.URL)
		t.Setenv("MCS_HUB", t.TempDir())
		dir, err := Download(context.Background(), "org/name", Hub{Files: test.files})
		server.Close()
		switch {
		case test.want != "":
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want %q", name, err, test.want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if _, err := Load(context.Background(), dir); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "expected.safetensors")); err == nil {
				t.Errorf("%s: a file was fetched that Load does not read", name)
			}
		}
	}
}

// repository serves the files of a folder as a hub does.
func repository(t *testing.T, folder string) http.Handler {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	siblings := []map[string]any{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			continue // a folder
		}
		sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
		siblings = append(siblings, map[string]any{"rfilename": e.Name(), "size": len(b), "blobId": fmt.Sprintf("%x", sum)})
	}
	m := http.NewServeMux()
	m.HandleFunc("/api/models/org/name/revision/main", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"sha": strings.Repeat("a", 40), "siblings": siblings})
	})
	m.Handle("/org/name/resolve/", http.StripPrefix("/org/name/resolve/"+strings.Repeat("a", 40), http.FileServer(http.Dir(folder))))
	return m
}
