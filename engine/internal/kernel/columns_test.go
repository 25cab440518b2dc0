package kernel

import (
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// normGradients are the gradients of both norms over so many rows.
func normGradients(dt dtype.Type, rows, n int) []trial {
	x, w, eps := typeOf(dt, rows, n), typeOf(dt, n), ir.Attr{Float: 1e-5}
	list := []trial{
		{name: "layer_norm_grad", group: oneOp(backend.Row, ir.LayerNormGrad, eps, []ir.Type{x, w, x}, x, w, w)},
		{name: "rms_norm_grad", group: oneOp(backend.Row, ir.RMSNormGrad, eps, []ir.Type{x, w, x}, x, w)},
	}
	for i := range list {
		list[i].name += fmt.Sprintf(" %v[%d %d]", dt, rows, n)
	}
	return list
}

// A norm's gradient reads its operands once: two launches, the second of which reads what the walkers of the
// first have left. Rows that are too long are read a second time.
func TestNormGradientReadsOnce(t *testing.T) {
	const processors = 132
	for _, c := range []struct {
		rows, n, dispatches, scratch int
		second                       string // what it reads
	}{
		{16384, 4096, 2, 2 * 4 * 2 * processors * 4096, "what 264 walkers left"},
		{4096, 896, 2, 2 * 4 * 2 * processors * 896, "what 264 walkers left"},
		{100, 896, 2, 2 * 4 * 25 * 896, "what 25 walkers left, of four rows each"},
		{100, 64, 2, 2 * 4 * 24 * 64, "what 24 walkers left, eight in each threadgroup"},
		{1 << 20, 64, 3, 2 * 4 * 4096 * 64, "what 4096 walkers left, of 256 rows each"},
		{16, 40000, 2, 2 * 4 * 16, "the operands, and the mean and scale of 16 rows"},
	} {
		g := normGradients(dtype.F32, c.rows, c.n)[0].group
		k, err := Render(g, Limits{Threads: 1024, SIMDWidth: 32, Processors: processors, Family: NVIDIA})
		if err != nil {
			t.Fatal(err)
		}
		if len(k.Dispatches) != c.dispatches || k.Scratch < c.scratch || k.Scratch > c.scratch+c.scratch/4 {
			t.Errorf("[%d %d]: got %d dispatches with a workspace of %d bytes, want %d with %d: the second reads %s",
				c.rows, c.n, len(k.Dispatches), k.Scratch, c.dispatches, c.scratch, c.second)
		}
	}
}
