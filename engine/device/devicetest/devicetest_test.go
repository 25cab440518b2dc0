package devicetest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What stands in for a GPU is for tests: the command has none of it. (It has msl/check, which runs the
// kernels that people write where there is no GPU.)
func TestCommandHasNoTestDevices(t *testing.T) {
	const module = "github.com/mcs-notebook/mcs/"
	out, err := exec.Command("go", "list", "-deps", module+"repl/mcs").Output()
	if err != nil {
		t.Skip(err) // without the go command
	}
	list := strings.Fields(string(out))
	if !slices.Contains(list, module+"engine/tensor") {
		t.Fatalf("got %d packages without the engine", len(list))
	}
	for _, p := range []string{"engine/device/devicetest", "engine/internal/testing/emulated", "engine/internal/testing/late"} {
		if slices.Contains(list, module+p) {
			t.Errorf("the command has package %s, want it in tests alone", p)
		}
	}
}
