// Package torchrun finds the torchrun of the Python that tests may use.
package torchrun

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
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
	if err := imports(); err != nil {
		t.Skip(err)
	}
	return []string{python, "-m", "torch.distributed.run", "--no-python"}
}

// imports is asked once for all tests, as it takes seconds.
var imports = sync.OnceValue(func() error {
	python := os.Getenv("PYTHON")
	if out, err := exec.Command(python, "-c", "import torch.distributed.run").CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not import torch.distributed.run: %w: %s", python, err, out)
	}
	return nil
})
