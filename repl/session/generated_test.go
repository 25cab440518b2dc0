package session

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

var (
	generated = flag.Int("generated", 100, "how many programs TestGenerated writes")
	seed      = flag.Uint64("seed", 1, "of the programs that TestGenerated writes")
)

// TestGenerated compares programs that a generator writes with what the go command makes of them. All are
// compiled into one binary. Of the hundred that are written without flags every fourth one runs.
func TestGenerated(t *testing.T) {
	files := map[string]string{"prelude.go": genPrelude}
	texts, calls := make([]string, *generated), ""
	for i := range texts {
		texts[i] = generate(*seed, i)
		files[fmt.Sprintf("program%d.go", i)] = texts[i]
		calls += fmt.Sprintf("program_%d()\nfmt.Print(%q)\n", i, generatedEnd)
	}
	files["main.go"] = "package main\nimport \"fmt\"\nfunc main() {\n" + calls + "}\n"
	name := ""
	if *generated == 100 && *seed == 1 {
		name = "generated"
	}
	want := strings.Split(printed(t, name, files), generatedEnd)
	for i, text := range texts {
		if i%4 > 0 && name != "" && !long.Tests() {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var got, messages bytes.Buffer
			files := []ProgramFile{{Name: "prelude.go", Source: genPrelude}, {Name: "program.go", Source: text}, {Name: "main.go", Source: fmt.Sprintf("package main\nfunc main() { program_%d() }", i)}}
			status, err := RunProgram(t.Context(), files, Options{Stdout: &got, Stderr: &messages})
			if err != nil {
				t.Fatal(err)
			}
			if status != 0 {
				t.Errorf("exit status %d, %s", status, &messages)
			}
			have, lines := strings.Split(got.String(), "\n"), strings.Split(want[i], "\n")
			for n := range max(len(have), len(lines)) {
				if n >= len(have) || n >= len(lines) || have[n] != lines[n] {
					t.Fatalf("line %d: got\n%s\nwant\n%s", n+1, strings.Join(have[min(n, len(have)):min(n+2, len(have))], "\n"), strings.Join(lines[min(n, len(lines)):min(n+2, len(lines))], "\n"))
				}
			}
		})
	}
}

// generatedEnd separates the outputs of programs.
const generatedEnd = "\n== end ==\n"

// printed is what a program prints under the go command. Of one that is the same in each run testdata/printed
// has it, in the file of that name, behind a hash of the program; with -write that is written, and with -long
// it is not believed. Others have no name.
func printed(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	h := sha256.New()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s\n%s\n", file, files[file])
	}
	of, path := fmt.Sprintf("%x\n", h.Sum(nil)), filepath.Join("testdata", "printed", name+".txt")
	if name != "" && !*write && !long.Tests() {
		text, err := os.ReadFile(path)
		out, ok := strings.CutPrefix(string(text), of)
		if !ok {
			t.Fatalf("%s is what another program printed (%v): go test -run '^%s$' -write", path, err, t.Name())
		}
		return out
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to compare with:", err)
	}
	dir := t.TempDir()
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module programs\ngo 1.26\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	runIdentity(t, dir, nil, "go", "build", "-gcflags=-e -N -l", "-o", "programs", ".")
	out := runIdentity(t, dir, nil, filepath.Join(dir, "programs"))
	if name != "" && *write {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(of+out), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
