//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSpecialFiles: where a file is wanted, a pipe without a writer and a device without end are refused at
// once, whichever part of mcs opens them.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"model.mcs": "m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 24})\n"})
	for _, name := range []string{"adapter", "package"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe.mcs", "pipe.go", "pipe", "package/pipe.go", "adapter/adapter_model.safetensors"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skip("no named pipes here:", err)
		}
	}
	for _, name := range []string{"zero.mcs", "zero.go", "zero"} {
		if err := os.Symlink("/dev/zero", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const pipe, device = "is a named pipe, want a regular file", "is a device, want a regular file"
	for _, tt := range []struct{ args, cell, want string }{
		{"run pipe.mcs", "", pipe},
		{"test pipe.mcs", "", pipe},
		{"test -u pipe.mcs", "", pipe},
		{"run pipe.go", "", pipe},
		{"run zero.mcs", "", device},
		{"run zero.go", "", device},
		{"run .", "", "want a .mcs, .ipynb or .go file"},
		{"run -", "%load pipe.mcs", pipe},
		{"run -", "%run zero.mcs", device},
		{"run -", "%save -f pipe.mcs", pipe},
		{"run -", `t, meta := safetensors.Load("pipe")`, pipe},
		{"run -", `t, meta := safetensors.Load("zero")`, device},
		{"run -", `t, meta := safetensors.Load(".")`, "is a folder, want a regular file"},
		{"run -", `safetensors.Save("pipe", nil, nil)`, pipe},
		{"run -", "%run model.mcs\nquant.Load(`zero`, m)", device},
		{"run -", "%run model.mcs\nquant.Save(`zero`, m)", device},
		{"run -", "%run model.mcs\nad := lora.Load(`adapter`, m)", pipe},
		{"run -", `text := data.ReadText("pipe")`, "pipe: no text file"},
		{"run -", `text := data.ReadText("zero")`, "zero: no text file"},
		{"run -", `import "./package"`, pipe},
	} {
		stdout, stderr, code := mcs(t, dir, "x := 1\n// %%\n"+tt.cell+"\n", strings.Fields(tt.args)...)
		if code == 0 || !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("mcs %s, %s: code %d: %s%s, want %q", tt.args, tt.cell, code, stdout, stderr, tt.want)
		}
	}
}

// TestEndlessInput: standard input has no end either.
func TestEndlessInput(t *testing.T) {
	t.Parallel()
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Skip(err)
	}
	defer zero.Close()
	cmd, out, begun := startWith(t, t.TempDir(), zero, "run", "-")
	if code := finish(cmd, begun); code == 0 || !strings.Contains(out.String(), "standard input is too large: it has more than 64 MiB") {
		t.Errorf("code %d: %s", code, out)
	}
}
