package train

import (
	"runtime"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A watched source notes how much memory is held when a batch is asked for.
type watched struct {
	data.Source
	device, heap []int64
}

func (w *watched) Batch(n int) (data.Batch, error) {
	m := device.Default().Memory()
	w.device = append(w.device, m.InUse+m.Kept)
	if len(w.device)%8 == 0 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		w.heap = append(w.heap, int64(s.HeapAlloc))
	}
	return w.Source.Batch(n)
}

// A run holds as much memory in its last quarter as in its second: on the device, and of Go's objects.
func TestMemoryIsFlat(t *testing.T) {
	c, steps, batch := llm.Config{Vocab: 256, Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Seed: 1}, 64, data.Windows(text, 32, 4)
	if long.Tests() {
		c, steps, batch = llm.Config{Vocab: 8192, Layers: 4, Width: 512, Heads: 8, KVHeads: 2, Hidden: 1408, Seed: 1}, 500, data.Windows(text, 64, 2)
	}
	m := llm.New(c)
	adapter, err := lora.Inject(m, lora.Config{Rank: 4})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{Source: batch}
	mustRun(t, m, w, Options{Steps: steps, LR: optim.Constant(1e-3), Clip: 1, Params: adapter.Params()})
	for _, held := range []struct {
		name string
		list []int64
	}{{"device", w.device}, {"Go heap", w.heap}} {
		n := len(held.list)
		early, late := most(held.list[n/4:n/2]), most(held.list[3*n/4:])
		t.Logf("%s: %d bytes at first, %d at the end", held.name, early, late)
		if late > early+early/10+1<<20 {
			t.Errorf("%s: %d bytes are held in the last quarter, %d in the second", held.name, late, early)
		}
	}
}

func most(list []int64) (m int64) {
	for _, n := range list {
		m = max(m, n)
	}
	return m
}
