package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// command runs mcs in a folder with one file, and gives what it prints. Times differ from run to run: they
// are cut off.
func command(file, text, stdin string, args ...string) string {
	dir, err := os.MkdirTemp("", "mcs")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
		return err.Error()
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(os.Environ(), beCommand+"=1"), strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	shown, _, _ := strings.Cut(string(out), " cells, ")
	if err != nil {
		shown += err.Error()
	}
	return shown
}

// mcs run runs the cells of a file; -p gives a parameter another value.
func Example_run() {
	const file = "// %%\nsteps := 3\nsum := 0\n// %%\nfor i := range steps {\n\tsum += i\n}\nsum\n"
	fmt.Print(command("sum.mcs", file, "", "run", "sum.mcs"))
	fmt.Print(command("sum.mcs", file, "", "run", "sum.mcs", "-p", "steps=5"))
	// Output:
	// 3
	// 10
}

// mcs test compares what the cells put out with what the file expects.
func Example_test() {
	fmt.Println(command("ok.mcs", "1 + 1\n// > 2\n// %%\ntensor.Ones(2).Sum().Item()\n// > 2 float64\n", "", "test", "ok.mcs"))
	// Output: ok    ok.mcs  2
}

// Standard input that is not a terminal is a script.
func Example_stdin() {
	fmt.Print(command("none", "", `strings.ToUpper("from a pipe")`))
	// Output: "FROM A PIPE"
}

// mcs run also runs Go programs, with their arguments.
func Example_program() {
	const file = "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() { fmt.Println(\"hello,\", os.Args[1]) }\n"
	fmt.Print(command("hello.go", file, "", "run", "hello.go", "Gopher"))
	// Output: hello, Gopher
}
