package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Where the system has no more memory to give, a tensor is refused, and the process goes on.
func TestTensorsWithoutMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere tensors are in Go's heap")
	}
	t.Parallel()
	const cell = "kept := 41\n// %%\n" +
		"func fill() (r any) { defer func() { r = recover() }(); xs := []tensor.Tensor{}; for { xs = append(xs, tensor.Ones(16<<20).Eval()) } }\n" +
		"fmt.Println(fill())\n// %%\nkept + 1"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -v 2200000 && exec "$MCS" -e "$CELL"`)
	cmd.Env = append(os.Environ(), beCommand+"=1", "MCS="+os.Args[0], "CELL="+cell)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "cpu: out of memory: wanted 67108864 bytes") || !strings.Contains(string(out), "42") {
		t.Errorf("%v, %s", err, out)
	}
}
