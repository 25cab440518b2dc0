package gpu_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// TestFaultRecords: a run that could fault copies its arguments to the device, and nothing back; a fault that
// a kernel reports in the host's memory is found all the same.
func TestFaultRecords(t *testing.T) {
	targets := ir.Type{DType: dtype.I64, Shape: []int{2}}
	logits, losses := ir.Type{DType: dtype.F32, Shape: []int{2, 8}}, ir.Type{DType: dtype.F32, Shape: []int{2}}
	g := &backend.Group{
		Name: "cross_entropy", Kind: backend.Row,
		Inputs:  []backend.Input{{DType: logits.DType, Layout: ir.Contiguous(logits.Shape), Buf: 0}, {DType: targets.DType, Layout: ir.Contiguous(targets.Shape), Buf: 1}},
		Insts:   []backend.Inst{{Op: ir.CrossEntropy, Attr: ir.Attr{Index: -100}, Outs: []ir.Type{losses, losses}, Args: []backend.Ref{backend.In(0), backend.In(1)}}},
		Outputs: []backend.Output{{Buf: 2, DType: losses.DType, Shape: losses.Shape}},
	}
	info := fake.Info()
	k := must(kernel.Render(g, kernel.Limits{Threads: info.Limits.Threads, SIMDWidth: info.Limits.Simdgroup, Processors: info.Limits.Processors}))(t)
	dispatch := k.Dispatches[0]
	place := func(kind kernel.FieldKind) int {
		for _, f := range dispatch.Args.Fields {
			if f.Kind == kind {
				return f.Offset
			}
		}
		t.Fatalf("the kernel has no field of kind %v", kind)
		return 0
	}
	bad := false
	d := &fake.Driver{Infos: []gpu.Info{info}}
	d.Kernels = map[string]fake.Kernel{dispatch.Function: func(run *gpu.Dispatch) {
		args := run.Args[0].Buffer.Host()[run.Args[0].Offset:]
		record := binary.LittleEndian.Uint64(args[place(kernel.Report):])
		for _, b := range run.Uses {
			if at := record - b.Address(); bad && record >= b.Address() && at < uint64(b.Len()) {
				binary.LittleEndian.PutUint32(b.Host()[at:], 1) // the row
			}
		}
	}}
	b := must(gpu.Open(d, 0, "fake"))(t)
	p := &backend.Program{Bufs: 3, Commit: 1, Launches: []backend.Launch{{Kernel: must(b.Compile(g))(t), Bufs: []backend.Place{{Index: 0}, {Index: 1}, {Index: 2}}}}}
	bufs := []ir.Buffer{must(b.Alloc(64))(t), must(b.Alloc(16))(t), must(b.Alloc(8))(t)}
	for _, bad = range []bool{false, true} {
		loaded, table := must(b.Load(p))(t), &backend.Table{Bufs: bufs}
		d.Log()
		if err := b.Run(context.Background(), loaded, table, nil); err != nil {
			t.Fatal(err)
		}
		if err := b.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(strings.Join(d.Log(), "\n"), "copy"); n != 1 {
			t.Errorf("a run made %d copies, want that of its arguments", n)
		}
		err := table.Outcome().Err()
		if want := "the target of row 1 is out of range for 8 classes"; bad != (err != nil && strings.Contains(err.Error(), want)) {
			t.Errorf("with a bad target %v: got %v", bad, err)
		}
	}
}
