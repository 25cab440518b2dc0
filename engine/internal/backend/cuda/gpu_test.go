package cuda

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu/gputest"
)

var number = flag.Int("gpu", 0, "which NVIDIA GPU the tests use")

// TestConformanceOnGPU runs the suite of all backends.
func TestConformanceOnGPU(t *testing.T) {
	if err := machine.Present(); err != nil {
		t.Skip(err)
	}
	infos, err := machine.Devices()
	if err != nil {
		t.Skip(err)
	}
	if share := os.Getenv(share); share != "" {
		compile(t, share)
		return
	}
	compileAll(t, gputest.Texts(t, infos[*number], backendtest.Check))
	backendtest.Run(t, func() (backend.Backend, error) { return open(machine, *number) })
}

// share names a file with texts. A child process compiles them.
const share = "MCS_TEST_COMPILE"

// compileAll fills the cache of compiled kernels. NVRTC compiles one text at a time, so there is a child process for
// each processor.
func compileAll(t *testing.T, texts map[string]string) {
	start := time.Now()
	functions := slices.Sorted(maps.Keys(texts))
	var children sync.WaitGroup
	for part := range slices.Chunk(functions, 1+len(functions)/runtime.NumCPU()) {
		mine := map[string]string{}
		for _, f := range part {
			mine[f] = texts[f]
		}
		data, err := json.Marshal(mine)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "texts.json")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		children.Go(func() {
			child := exec.Command(os.Args[0], "-test.run=^TestConformanceOnGPU$", fmt.Sprintf("-gpu=%d", *number))
			child.Env = append(os.Environ(), share+"="+path)
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	children.Wait()
	t.Logf("%d texts compiled in %v", len(texts), time.Since(start).Round(time.Second))
}

// compile compiles the texts of a file.
func compile(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	device, err := machine.Open(*number)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for f := range texts {
		text, err := gpu.Translate(f, texts[f], gpu.CUDA)
		if err == nil {
			var l gpu.Library
			if l, err = device.Compile(context.Background(), gpu.Source{Name: f, Text: text, Cache: filepath.Join(cache, "mcs", "kernels")}); err == nil {
				l.Close()
			}
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, texts[f])
		}
	}
}
