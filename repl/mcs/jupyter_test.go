package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// Clients in Python: all of jupyter_kernel_test, and what it does not ask.
func TestJupyterClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: clients ask the kernel for half a minute")
	}
	if out, err := exec.Command("python3", "-c", "import jupyter_kernel_test, nbclient, nbconvert").CombinedOutput(); err != nil {
		t.Skipf("python3 with jupyter_kernel_test, nbclient and nbconvert of PyPI is not there to ask the kernel: %v %s", err, out)
	}
	examples := "tensors.mcs"
	if long.Tests() {
		examples = "all"
	}
	cmd := exec.CommandContext(t.Context(), "python3", "../../tests/peers/jupyter_kernel.py", os.Args[0], examples)
	cmd.Env = append(os.Environ(), beCommand+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestJupyterInstall(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("JUPYTER_DATA_DIR", filepath.Join(dir, "user"))
	t.Setenv("JUPYTER_PATH", filepath.Join(dir, "p", "share", "jupyter"))
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("CONDA_PREFIX", "")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"install", 0, "installed " + filepath.Join(dir, "user", "kernels", "mcs")},
		{"install --prefix p --name other", 0, filepath.Join(dir, "p", "share", "jupyter", "kernels", "other")},
		{"install --list", 0, "other"},
		{"install --sys-prefix", 2, "--prefix FOLDER names one"},
		{"install --name a/b", 2, "want letters"},
		{"install --prefix p --user", 2, "none of the others can be"},
		{"install --remove", 0, "removed"},
		{"install --remove", 2, "there is no kernel"},
		{"run nothing.json", 2, "nothing.json"},
	} {
		stdout, stderr, code := mcs(t, dir, "", append([]string{"jupyter"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: got %d %s%s, want %d and %s", c.args, code, stdout, stderr, c.code, c.want)
		}
	}
}
