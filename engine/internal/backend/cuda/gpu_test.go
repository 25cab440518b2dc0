package cuda

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/gputest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
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
	compile(t, gputest.Texts(t, infos[*number], backendtest.Check))
	backendtest.Run(t, func() (backend.Backend, error) { return open(machine, *number) })
}

// compile fills the cache of compiled kernels, all processors at once.
func compile(t *testing.T, texts map[string]string) {
	start := time.Now()
	device, err := machine.Open(*number)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	functions := make(chan string)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for f := range functions {
				text, err := gpu.Translate(f, texts[f], gpu.CUDA)
				if err == nil {
					var l gpu.Library
					if l, err = device.Compile(t.Context(), gpu.Source{Name: f, Text: text, Cache: filepath.Join(cache, "mcs", "kernels")}); err == nil {
						l.Close()
					}
				}
				if err != nil {
					t.Errorf("%v\n%s", err, texts[f])
				}
			}
		})
	}
	for f := range texts {
		functions <- f
	}
	close(functions)
	workers.Wait()
	t.Logf("%d texts compiled in %v", len(texts), time.Since(start).Round(time.Second))
}

// runs is how often a benchmark hands a command over at once.
const runs = 10

// fastest is the shortest time that one of these commands takes by the device's clock.
func fastest(b *testing.B, on backend.Backend, cmds []submit.Cmd) time.Duration {
	times := make([]time.Duration, len(cmds))
	best := time.Hour
	for b.Loop() {
		if err := submit.Run(b.Context(), on, cmds, times); err != nil {
			b.Fatal(err)
		}
		best = min(best, slices.Min(times))
	}
	return best
}
