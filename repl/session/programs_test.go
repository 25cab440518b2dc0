package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPrograms runs programs as people write them, over much of the standard library, and compares their
// output and exit status with those of the compiled programs. With -write it runs the go command again.
func TestPrograms(t *testing.T) {
	paths, err := filepath.Glob("testdata/programs/*/main.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			input, err := os.ReadFile(filepath.Join(dir, "stdin"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if *write {
				if err := os.WriteFile(filepath.Join(dir, "stdout"), compiled(t, path, input), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(filepath.Join(dir, "stdout"))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if input == nil {
				interpret(t, path, &out)
			} else { // it asks the process for its input
				execute(t, &out, input, os.Args[0], beProgram+"="+path)
			}
			if out.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", &out, want)
			}
		})
	}
}

// compiled returns a program's output and its exit status when the go command has compiled it.
func compiled(t *testing.T, path string, input []byte) []byte {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", binary, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	execute(t, &out, input, binary)
	return out.Bytes()
}

// interpret runs a program in this process, which is much cheaper.
func interpret(t *testing.T, path string, out *bytes.Buffer) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	status, err := RunProgram(t.Context(), []ProgramFile{{Name: path, Source: string(text)}}, Options{Stdout: out, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "exit status %d\n", status)
}

// execute runs a command and records its output and its exit status.
func execute(t *testing.T, out *bytes.Buffer, input []byte, name string, env ...string) {
	t.Helper()
	cmd := exec.Command(name)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(input), out
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "exit status %d\n", cmd.ProcessState.ExitCode())
}
