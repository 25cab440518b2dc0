package kernel

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// TestRoutines: each routine is a call of the library and the text that looks at what it says, which clang
// takes for NVIDIA's GPUs; what nobody reads lies in the workspace.
func TestRoutines(t *testing.T) {
	f32 := func(shape ...int) ir.Type { return typeOf(dtype.F32, shape...) }
	texts := map[string]string{}
	for _, c := range []struct {
		routine    ir.Routine
		in, out    []ir.Type
		dispatches int
		fault      bool
	}{
		{ir.Routine{Name: ir.CholeskyRoutine, Rows: 3, Columns: 3}, []ir.Type{f32(2, 3, 3)}, []ir.Type{f32(2, 3, 3)}, 3, true},
		{ir.Routine{Name: ir.LURoutine, Rows: 4, Columns: 3}, []ir.Type{f32(2, 3, 4)}, []ir.Type{f32(2, 3, 4), typeOf(dtype.I64, 2, 4), f32(2, 1, 1)}, 2, false},
		{ir.Routine{Name: ir.LURoutine, Rows: 3, Columns: 3}, []ir.Type{f32(2, 3, 3)}, []ir.Type{f32(2, 3, 3), typeOf(dtype.I64, 2, 3), f32(2, 1, 1)}, 3, false},
		{ir.Routine{Name: ir.SolveRoutine, Rows: 3, Columns: 3, Right: 2}, []ir.Type{f32(2, 3, 3), f32(2, 3, 2)}, []ir.Type{f32(2, 3, 2)}, 4, true},
		{ir.Routine{Name: ir.SolveRoutine, Rows: 3, Columns: 3, Right: 2, Unit: true}, []ir.Type{f32(2, 3, 3), f32(2, 3, 2)}, []ir.Type{f32(2, 3, 2)}, 3, false},
		{ir.Routine{Name: ir.QRRoutine, Rows: 4, Columns: 3, Right: 3}, []ir.Type{f32(2, 3, 4)}, []ir.Type{f32(2, 3, 4), f32(2, 3, 4)}, 1, false},
		{ir.Routine{Name: ir.EighRoutine, Rows: 3, Columns: 3}, []ir.Type{f32(2, 3, 3)}, []ir.Type{f32(2, 3), f32(2, 3, 3)}, 2, true},
		{ir.Routine{Name: ir.SVDRoutine, Rows: 4, Columns: 3}, []ir.Type{f32(2, 3, 4)}, []ir.Type{f32(2, 3), f32(2, 3, 4), f32(2, 3, 3)}, 2, true},
		{ir.Routine{Name: ir.FFTRoutine, Rows: 3, Columns: 4}, []ir.Type{f32(2, 3, 4, 2)}, []ir.Type{f32(2, 3, 4, 2)}, 1, false},
		{ir.Routine{Name: ir.IRFFTRoutine, Rows: 1, Columns: 4}, []ir.Type{f32(2, 3, 2)}, []ir.Type{f32(2, 4)}, 1, false},
	} {
		r := c.routine
		r.Batches = 2
		refused := errors.New("no")
		own := &ir.Kernel{Name: "routine", Routine: &r, Outs: c.out, Fail: func(i, code int) error {
			if i != 1 || code != 2 {
				t.Errorf("%v: got code %d of matrix %d, want 2 of 1", &r, code, i)
			}
			return refused
		}}
		for _, read := range []int{len(c.out), 1} {
			g := oneOp(backend.Single, ir.UserKernel, ir.Attr{Kernel: own}, c.in, c.out...)
			g.Outputs = g.Outputs[:read]
			k, err := Render(g, Limits{Threads: 256, SIMDWidth: 32, Library: &Library{Offer: func(Work) (int, bool) { return 512, true }}})
			if err != nil {
				t.Fatal(err)
			}
			if len(k.Dispatches) != c.dispatches || (k.Fault != nil) != c.fault || k.Scratch < 512 {
				t.Errorf("%v: got %d dispatches, a fault %v and %d bytes, want %d, %v and 512", &r, len(k.Dispatches), k.Fault != nil, k.Scratch, c.dispatches, c.fault)
			}
			call := slices.IndexFunc(k.Dispatches, func(d Dispatch) bool { return d.Library != nil })
			if call != len(r.Addressed()) {
				t.Errorf("%v: the library is called by dispatch %d, want it behind %d tables", &r, call, len(r.Addressed()))
			}
			if vectors := k.Dispatches[call].Library.Work.(ir.Routine).Vectors; vectors != (read > 1 && (r.Name == ir.EighRoutine || r.Name == ir.SVDRoutine)) {
				t.Errorf("%v with %d results read: vectors are %v", &r, read, vectors)
			}
			if k.Fault != nil && k.Fault(uint32(max(r.Rows, r.Columns)+3+2), 0, true) != refused {
				t.Errorf("%v: got another error", &r)
			}
			for i, d := range k.Dispatches {
				if i != call {
					texts[d.Function] = d.Text
				}
			}
		}
	}
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	for _, s := range sourcesOf(t, texts) {
		if _, err := tools.PTX(context.Background(), "sm_80", s); err != nil {
			t.Error(err)
		}
	}
}
