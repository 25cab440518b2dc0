package cpu

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A kernel tells which functions run: for a map, those of its tile program, in order.
func TestSource(t *testing.T) {
	shape := []int{64}
	of := func(i int) []backend.Ref { return []backend.Ref{{Index: i}} }
	g := &backend.Group{
		Name: "map_exp_neg", Kind: backend.Map,
		Inputs:  []backend.Input{{Buf: 0, DType: dtype.F32, Layout: ir.Contiguous(shape)}},
		Insts:   []backend.Inst{{Op: ir.Exp, DType: dtype.F32, Shape: shape, Args: []backend.Ref{backend.In(0)}}, {Op: ir.Neg, DType: dtype.F32, Shape: shape, Args: of(0)}},
		Outputs: []backend.Output{{Buf: 1, Value: backend.Ref{Index: 1}, DType: dtype.F32, Shape: shape}},
	}
	b := New(1)
	defer b.Close()
	k, err := b.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	source := k.(backend.SourceKernel).Source()
	for _, name := range []string{"exp", "neg"} {
		name += map[isa.Set]string{isa.AVX512: "AVX512", isa.AVX2: "AVX2", isa.NEON: "NEON"}[isa.Level()]
		if isa.Level() != isa.Portable && !strings.Contains(source, "\nTEXT ·"+name+"(SB)") {
			t.Errorf("got\n%s\nwithout the assembly of %s", source, name)
		}
	}
	rest := source
	for _, want := range []string{"map_exp_neg on cpu, " + isa.Level().String(), "over all elements, 256 elements at a time:", "vec.exp", "vec.neg", "input 0", "output 0"} {
		at := strings.Index(rest, want)
		if at < 0 {
			t.Fatalf("got\n%s\nwithout %s", source, want)
		}
		rest = rest[at:]
	}
}
