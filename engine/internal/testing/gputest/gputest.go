// Package gputest finds out which texts a test of a GPU's backend needs, before it needs them. Compilers take
// many texts together, or side by side, in a tenth of the time that they take one by one.
package gputest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// variable has the name of the test that runs in the child process, and the file into which it writes.
const variable = "MCS_TEST_TEXTS"

// A Suite is a test of a backend.
type Suite func(t *testing.T, open func() (backend.Backend, error))

// Texts returns the texts that a suite needs on a device, by their functions. A child process runs the
// calling test up to here, and then the suite on a Rehearsal. Each text stands after shaders.Blocks.
func Texts(t *testing.T, device gpu.Info, suite Suite) map[string]string {
	t.Helper()
	return TextsOf(t, NewRehearsal(device), suite)
}

// TextsOf is Texts of a Rehearsal.
func TextsOf(t *testing.T, r *Rehearsal, suite Suite) map[string]string {
	t.Helper()
	if name, path, child := strings.Cut(os.Getenv(variable), "="); child {
		if name != t.Name() {
			t.SkipNow()
		}
		t.Cleanup(func() { write(t, path, r.Texts()) })
		suite(t, func() (backend.Backend, error) { return r, nil })
		t.SkipNow()
	}
	path := filepath.Join(t.TempDir(), "texts.json")
	child := exec.Command(os.Args[0], append([]string{"-test.short"}, os.Args[1:]...)...)
	child.Env = append(os.Environ(), variable+"="+t.Name()+"="+path)
	out, _ := child.CombinedOutput()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list := map[string]string{}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func write(t *testing.T, path string, texts map[string]string) {
	data, err := json.Marshal(texts)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Error(err)
	}
}
