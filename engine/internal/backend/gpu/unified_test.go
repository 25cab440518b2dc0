package gpu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

func newUnified(t *testing.T) *bench {
	info := fake.Info()
	info.Unified = true
	return newBenchOn(t, info)
}

// TestUnifiedCopiesNothing: the host reads and writes unified memory, and the arguments of a program, itself.
func TestUnifiedCopiesNothing(t *testing.T) {
	m := newUnified(t)
	list := m.buffers(t)
	for range 3 {
		if err := m.run(list); err != nil {
			t.Fatal(err)
		}
		m.right(t, list)
	}
	for _, line := range m.d.Log() {
		if strings.HasPrefix(line, "copy") {
			t.Errorf("got %q, want no copies", line)
		}
	}
	m.loaded.Close()
	if err := m.b.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnifiedOrder: an upload into memory that a run under way reads waits for nothing, and comes after it.
func TestUnifiedOrder(t *testing.T) {
	m := newUnified(t)
	list, other := m.buffers(t), m.buffers(t)
	m.d.Hold()
	run := func(z int) {
		t.Helper()
		table := &backend.Table{Bufs: slices.Clone(list)}
		table.Bufs[2] = other[z]
		if err := m.b.Run(t.Context(), m.loaded, table, nil); err != nil {
			t.Fatal(err)
		}
	}
	run(1)
	if err := m.b.Upload(list[0], 0, floats(5, 5, 5, 5)); err != nil {
		t.Fatal(err)
	}
	if x := list[0].(gpu.Buffer).Host(); !slices.Equal(x, floats(1, 2, 3, 4)) {
		t.Errorf("got %v in memory that a run reads, want what was there", x)
	}
	run(2)
	m.d.Release()
	for z, want := range map[int][]byte{1: floats(4, 8, 12, 16), 2: floats(20, 20, 20, 20)} {
		got := make([]byte, 16)
		if err := m.b.Download(t.Context(), got, other[z], 0); err != nil || !slices.Equal(got, want) {
			t.Errorf("run %d: got %v, %v, want %v", z, got, err, want)
		}
	}
}
