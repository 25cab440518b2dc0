package main

import (
	"strings"
	"testing"
)

// What is wrong with the text of a kernel has the place in the program's file, or in that of a package.
func TestKernelPlaces(t *testing.T) {
	t.Parallel()
	const engine = `import "github.com/mcs-notebook/mcs/engine/kernel"` + "\n\n"
	dir := writeFiles(t, map[string]string{
		"prog.go":    "package main\n\n" + engine + "func main() {\n\t_, err := kernel.New(\"f\", `\nkernel void f(device const float* x, device float* y) {\n  double s = 1;\n}`, kernel.Options{})\n\tprintln(err.Error())\n}\n",
		"quoted.mcs": "_, err := kernel.New(\"f\", \"kernel void f(device const float* x, device float* y) { double s = 1; }\", kernel.Options{})\nfmt.Println(err)\n",
		"cell.mcs":   "x := 1\n// %%\nx++\n_, err := kernel.New(\"f\", `kernel void f(device const float* x, device float* y) { double s = 1; }`, kernel.Options{})\nfmt.Println(err)\n",
	})
	for file, want := range map[string]string{
		"prog.go":    "kernel: f: prog.go:8:3: got double: Metal has no double: write float\n",
		"quoted.mcs": "kernel: f: f:1:57: got double: Metal has no double: write float\n",
		"cell.mcs":   "kernel: f: In[2]:2:84: got double: Metal has no double: write float\n",
	} {
		stdout, stderr, code := mcs(t, dir, "", "run", file)
		if code != 0 || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: got %d, %s%s, want %s", file, code, stdout, stderr, want)
		}
	}
}
