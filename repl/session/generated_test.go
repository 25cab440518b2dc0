package session

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	generated = flag.Int("generated", 100, "how many programs TestGenerated writes")
	seed      = flag.Uint64("seed", 1, "of the programs that TestGenerated writes")
)

// TestGenerated compares programs that a generator writes with what the go command makes of them. All are
// compiled into one binary.
func TestGenerated(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	texts, calls := make([]string, *generated), ""
	for i := range texts {
		texts[i] = generate(*seed, i)
		write(fmt.Sprintf("program%d.go", i), texts[i])
		calls += fmt.Sprintf("program_%d()\nfmt.Print(%q)\n", i, generatedEnd)
	}
	write("go.mod", "module programs\ngo 1.26\n")
	write("prelude.go", genPrelude)
	write("main.go", "package main\nimport \"fmt\"\nfunc main() {\n"+calls+"}\n")
	build := exec.Command("go", "build", "-gcflags=-e -N -l", "-o", "programs", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "programs")).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(out), generatedEnd)
	for i, text := range texts {
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
