// Package torchrun finds the torchrun of the Python that tests may use.
package torchrun

import (
	"os"
	"os/exec"
	"testing"
)

// Command is the beginning of a command line of torchrun, up to --no-python. The test is skipped where the
// variable PYTHON names no Python with torch.
func Command(t *testing.T) []string {
	t.Helper()
	python := os.Getenv("PYTHON")
	if python == "" {
		t.Skip("the variable PYTHON is not set; it may name a Python with torch")
	}
	if out, err := exec.Command(python, "-c", "import torch.distributed.run").CombinedOutput(); err != nil {
		t.Skipf("%s does not import torch.distributed.run: %v: %s", python, err, out)
	}
	return []string{python, "-m", "torch.distributed.run", "--no-python"}
}
