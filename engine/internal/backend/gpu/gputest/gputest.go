// Package gputest finds out which texts a test of a GPU's backend needs, before it needs them. Compilers take
// many texts together, or side by side, in a tenth of the time that they take one by one.
package gputest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// variable names the file into which the child process writes.
const variable = "MCS_TEST_TEXTS"

// A Suite is a test of a backend.
type Suite func(t *testing.T, open func() (backend.Backend, error))

// Texts returns the texts that a suite needs on a device, by their functions. A child process runs the calling
// test up to here, and then the suite on a backend that computes nothing: nearly everything fails there, but
// what is asked for is seen. Each text stands after shaders.Blocks.
func Texts(t *testing.T, device gpu.Info, suite Suite) map[string]string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		c := &collector{device: device, texts: map[string]string{}}
		t.Cleanup(func() { c.write(t, path) })
		suite(t, func() (backend.Backend, error) { return c, nil })
		t.SkipNow()
	}
	path := filepath.Join(t.TempDir(), "texts.json")
	child := exec.Command(os.Args[0], append([]string{"-test.short"}, os.Args[1:]...)...)
	child.Env = append(os.Environ(), variable+"="+path)
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

// A collector is a backend that renders groups, keeps the texts and computes nothing.
type collector struct {
	ref.Backend
	device gpu.Info
	mu     sync.Mutex
	texts  map[string]string
}

func (c *collector) write(t *testing.T, path string) {
	data, err := json.Marshal(c.texts)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Error(err)
	}
}

// Info is that of the GPU's backend.
func (c *collector) Info() backend.Info { return gpu.InfoOf("collector", c.device) }

func (c *collector) Compile(g *backend.Group) (backend.Kernel, error) {
	k, err := kernel.Render(g, gpu.LimitsOf(c.device))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range k.Dispatches {
		c.texts[d.Function] = d.Text
	}
	return c.Backend.Compile(g)
}

func (c *collector) Run(context.Context, backend.Loaded, *backend.Table, []time.Duration) error {
	return nil
}
