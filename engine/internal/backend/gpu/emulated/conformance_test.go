package emulated

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

var (
	long = flag.Bool("long", false, "run the whole conformance suite on the emulated device, for minutes")
	mode = flag.String("mode", "plain", "what watches the kernels: plain, or the sanitizer address or undefined")
)

// TestConformance runs the suite of all backends on the GPU's backend, or a part of it without -long.
// Compiling is what takes long, so a child process finds out first which texts there will be.
func TestConformance(t *testing.T) {
	suite := backendtest.Few
	if *long {
		suite = backendtest.Run
	}
	if path := os.Getenv("MCS_TEST_EMULATED_TEXTS"); path != "" {
		c := &collector{texts: map[string]string{}}
		t.Cleanup(func() { c.write(t, path) })
		suite(t, func() (backend.Backend, error) { return c, nil })
		return
	}
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	start := time.Now()
	watch := slices.IndexFunc(check.Modes, func(m check.Mode) bool { return m.String() == *mode })
	if watch < 0 {
		t.Fatalf("got the mode %q, want one of %v", *mode, check.Modes)
	}
	d := &Driver{Tools: tools, Mode: check.Modes[watch], Prepared: texts(t)}
	b, err := gpu.Open(d, 0, "emulated")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d texts compiled in %v", len(d.Prepared), time.Since(start).Round(time.Second))
	suite(t, func() (backend.Backend, error) { return b, nil })
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// texts returns the texts that the suite needs, by their functions: those that a child saw, in which nothing
// is computed and so nearly everything fails.
func texts(t *testing.T) map[string]string {
	path := filepath.Join(t.TempDir(), "texts.json")
	child := exec.Command(os.Args[0], append([]string{"-test.short"}, os.Args[1:]...)...)
	child.Env = append(os.Environ(), "MCS_TEST_EMULATED_TEXTS="+path)
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
	mu    sync.Mutex
	texts map[string]string
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
func (c *collector) Info() backend.Info { return gpu.InfoOf("emulated", gpu.Info{}) }

func (c *collector) Compile(g *backend.Group) (backend.Kernel, error) {
	k, err := kernel.Render(g, kernel.Limits{Threads: 1024, SIMDWidth: 32})
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
