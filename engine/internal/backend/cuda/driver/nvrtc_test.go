package driver

import (
	"flag"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/gputest"
)

var (
	nvrtc = flag.String("nvrtc", "", "the path of libnvrtc, which compiles without a GPU: all texts of the suite go through it")
	every = flag.Int("every", 1, "with -nvrtc: only each n-th text")
)

// NVRTC takes the text of each kernel of the suite of all backends.
func TestCompiles(t *testing.T) {
	if *nvrtc == "" {
		t.Skip("with -nvrtc PATH, of a CUDA toolkit or of Python's nvidia-cuda-nvrtc")
	}
	texts := gputest.Texts(t, gpu.Info{Family: "sm_90", Limits: gpu.Limits{Threads: 1024, Simdgroup: 32}}, backendtest.Check)
	machine := New()
	machine.NVRTC = []string{*nvrtc}
	d := &device{driver: machine, api: &api{version: 99000}}
	d.info.Family = "sm_90"
	if err := d.nvrtc.open(d); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	functions := make(chan string)
	var workers sync.WaitGroup
	var failed, size atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for f := range functions {
				text, err := gpu.Translate(f, texts[f], gpu.CUDA)
				var cubin []byte
				if err == nil {
					s := gpu.Source{Name: f, Text: text}
					var c *compiled
					if c, err = machine.compilers.do(t.Context(), &job{Library: d.nvrtc.library, Name: f, Text: text, Options: d.options(s)}); err == nil {
						if cubin = c.Binary; c.Op != "" {
							err = d.uncompiled(s, c)
						}
					}
				}
				size.Add(int64(len(cubin)))
				if err != nil && failed.Add(1) <= 5 {
					t.Errorf("%v\n%s", err, texts[f])
				}
			}
		})
	}
	names := slices.Sorted(maps.Keys(texts))
	n := 0
	for i := 0; i < len(names); i += *every {
		functions <- names[i]
		n++
	}
	close(functions)
	workers.Wait()
	t.Logf("%d of %d texts compiled in %v to %d bytes, %d failed", n, len(texts), time.Since(start).Round(time.Millisecond), size.Load(), failed.Load())
}
