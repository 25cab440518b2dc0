package cuda

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cuda/driver"
)

// A list of devices is made of what the kernel module shows.
func TestProbe(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) string {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sign := write("version", "NVRM version")
	write("gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 1\n")
	write("gpus/0000:02:00.0/information", "Model: \t\t NVIDIA L4\n")
	for _, c := range []struct {
		name   string
		driver *driver.Driver
		want   []backend.Found
	}{
		{"two GPUs", &driver.Driver{Signs: []string{sign}, Listing: filepath.Join(dir, "gpus")},
			[]backend.Found{{Name: "cuda:0", Detail: "NVIDIA H200"}, {Name: "cuda:1", Detail: "NVIDIA L4"}}},
		{"a module that lists none", &driver.Driver{Signs: []string{sign}, Listing: filepath.Join(dir, "none")},
			[]backend.Found{{Name: "cuda:0", Detail: "NVIDIA GPU"}}},
		{"no module", &driver.Driver{Signs: []string{filepath.Join(dir, "none")}},
			[]backend.Found{{Name: "cuda", Missing: "no NVIDIA driver is loaded: looked for " + filepath.Join(dir, "none")}}},
	} {
		if got := probe(c.driver); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	if _, err := open(&driver.Driver{Libraries: []string{"libnone.so"}}, 0); err == nil || !strings.Contains(err.Error(), "libnone.so") {
		t.Errorf("got %v, want an error that names the library", err)
	}
}
