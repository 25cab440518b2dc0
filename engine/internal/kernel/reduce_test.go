package kernel

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Few large outputs are folded in parts: of rows about twice as many as a large device folds at once, of
// columns as many. Of less there is a part for each processor, if parts are not too small for that. Many
// outputs keep it busy without.
func TestReductionParts(t *testing.T) {
	const processors = 132
	limits := Limits{Threads: 1024, SIMDWidth: simdWidth, Processors: processors, Family: NVIDIA}
	for _, c := range []struct {
		name              string
		m, n              int
		axes              []int
		groups, atOnce    int // threadgroups, and those that the device has room for
		launches, scratch int
	}{
		{"all of a large matrix", 16384, 4096, []int{0, 1}, 2048, 8 * processors, 2, 2048 * 8},
		{"all of a smaller one", 4096, 1024, []int{0, 1}, 256, 8 * processors, 2, 256 * 8},
		{"its columns", 16384, 4096, []int{0}, 128 * 8, 8 * processors, 2, 4096 * 8 * 8},
		{"its rows", 16384, 4096, []int{1}, 16384, 8 * processors, 1, 0},
		{"few long rows", 16, 1 << 22, []int{1}, 16 * 132, 8 * processors, 2, 16 * 132 * 8},
		{"the logits of a token", 1, 151936, []int{1}, 74, 8 * processors, 2, 74 * 8},
		{"those of eight", 8, 151936, []int{1}, 8 * 16, 8 * processors, 2, 8 * 16 * 8},
	} {
		out := []int{c.m, c.n}
		for _, axis := range c.axes {
			out[axis] = 1
		}
		g := oneOp(backend.Reduce, ir.Sum, ir.Attr{Axes: c.axes}, []ir.Type{typeOf(dtype.F32, c.m, c.n)}, typeOf(dtype.F32, out...))
		k, err := Render(g, limits)
		if err != nil {
			t.Fatal(err)
		}
		d := k.Dispatches[0]
		groups, room := d.Groups[0]*d.Groups[1]*d.Groups[2], processors*fullProcessor/(d.Threads[0]*d.Threads[1])
		if groups != c.groups || room != c.atOnce || len(k.Dispatches) != c.launches || k.Scratch != c.scratch {
			t.Errorf("%s: got %d threadgroups, %d at once, in %d launches with %d bytes between them, want %d, %d, %d, %d",
				c.name, groups, room, len(k.Dispatches), k.Scratch, c.groups, c.atOnce, c.launches, c.scratch)
		}
	}
}
