package kernel

import (
	"errors"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// TestThreads: no threadgroup has more threads than the device allows.
func TestThreads(t *testing.T) {
	for _, most := range []int{32, 64, 96, 256, 1024} {
		for _, tr := range trials() {
			k, err := Render(tr.group, Limits{Threads: most, SIMDWidth: 32})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range k.Dispatches {
				if n := d.Threads[0] * d.Threads[1] * d.Threads[2]; n > most {
					if tr.group.Kind == backend.MatMul {
						continue // a tile has its own size
					}
					t.Errorf("%s: %s: got %d threads, want at most %d", tr.name, d.Function, n, most)
				}
			}
		}
	}
}

// TestSimdgroups: texts are written for simdgroups of 32 threads, and nothing else is tried.
func TestSimdgroups(t *testing.T) {
	for _, l := range []Limits{{Threads: 1024, SIMDWidth: 64}, {Threads: 1024}, {Threads: 16, SIMDWidth: 32}} {
		var refused *Unsupported
		if _, err := Render(trials()[0].group, l); !errors.As(err, &refused) {
			t.Errorf("%+v: got %v, want an *Unsupported", l, err)
		}
	}
}
