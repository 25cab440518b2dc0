// Package python finds a Python whose packages tests are held against.
package python

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// With returns a Python that has packages: the one that the variable PYTHON names, or python3. It skips the
// test where that does not import them.
func With(t testing.TB, packages ...string) string {
	t.Helper()
	name, list := cmp.Or(os.Getenv("PYTHON"), "python3"), strings.Join(packages, ", ")
	if err := exec.Command(name, "-c", "import "+list).Run(); err != nil {
		t.Skipf("%s does not import %s: %v; the variable PYTHON names another Python", name, list, err)
	}
	return name
}
