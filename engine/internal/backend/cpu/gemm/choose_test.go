package gemm

import (
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// TestTasksOfMachines says how many lines a task has on machines with other caches, and how many KiB eight
// threads copy.
func TestTasksOfMachines(t *testing.T) {
	const kb, mb = 1 << 10, 1 << 20
	for _, c := range []struct {
		name   string
		caches []machine.Cache
		want   int
		copied int
	}{
		{"unknown", nil, 256, 256},
		{"Haswell, two threads a core", []machine.Cache{{Size: 32 * kb, Sharing: 2}, {Size: 256 * kb, Sharing: 2}, {Size: 8 * mb, Sharing: 8}}, 64, 256},
		{"Zen 3", []machine.Cache{{Size: 32 * kb, Sharing: 1}, {Size: 512 * kb, Sharing: 1}, {Size: 32 * mb, Sharing: 8}}, 128, 1024},
		{"Cascade Lake", []machine.Cache{{Size: 32 * kb, Sharing: 1}, {Size: mb, Sharing: 1}, {Size: 36 * mb, Sharing: 2}}, 256, 4096},
		{"Zen 4, two threads a core", []machine.Cache{{Size: 32 * kb, Sharing: 2}, {Size: mb, Sharing: 2}, {Size: 32 * mb, Sharing: 16}}, 128, 1024},
		{"Sapphire Rapids", []machine.Cache{{Size: 48 * kb, Sharing: 1}, {Size: 2 * mb, Sharing: 1}, {Size: 105 * mb, Sharing: 2}}, 256, 4096},
		{"Apple M1", []machine.Cache{{Size: 128 * kb, Sharing: 1}, {Size: 12 * mb, Sharing: 4}}, 256, 768},
		{"Cortex-A72", []machine.Cache{{Size: 32 * kb, Sharing: 1}, {Size: mb, Sharing: 4}}, 64, 64},
	} {
		if got := linesFor(c.caches); got != c.want {
			t.Errorf("%s: got %d lines, want %d", c.name, got, c.want)
		}
		if got := copiesFor(c.caches, 8) * 4 / kb; got != c.copied {
			t.Errorf("%s: got copies of %d KiB, want %d", c.name, got, c.copied)
		}
	}
}

// TestTasksChangeNoResult: the same bits on machines with other caches.
func TestTasksChangeNoResult(t *testing.T) {
	defer func(old func() int) { maxTask = old }(maxTask)
	const k = 1200
	workers := pool.New(2)
	defer workers.Close()
	for _, size := range [][2]int{{150, 700}, {700, 150}, {600, 600}} {
		m, n := size[0], size[1]
		x, y := random(m*k), random(k*n)
		var want []float32
		for _, lines := range []int{64, 128, 256} {
			maxTask = func() int { return lines }
			p := New(m, n, 1, []Term{{K: k, A: Operand{Line: k, Step: 1}, B: Operand{Line: 1, Step: n}}}, 2)
			got := make([]float32, m*n)
			p.Run(workers, call(p, x, y, got))
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d×%d: tasks of %d lines change the result", m, n, lines)
			}
		}
	}
}
