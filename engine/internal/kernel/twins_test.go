package kernel

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// sharing is a group of y = scale·x·b and z = h·x for each shape [m n r s] of x, b and h, as the gradients of
// adapters are: b is F32, and so is what z becomes.
func sharing(dt dtype.Type, shapes ...[4]int) *backend.Group {
	g := &backend.Group{Name: "sharing", Kind: backend.MatMul}
	for i, s := range shapes {
		m, n, r, s := s[0], s[1], s[2], s[3]
		g.Inputs = append(g.Inputs, tensorInput(3*i, dt, m, n), withLayout(tensorInput(3*i+1, dtype.F32, n, r), lies(n, r, i%2 == 0)),
			withLayout(tensorInput(3*i+2, dt, s, m), lies(s, m, true)))
		g.Insts = append(g.Insts, inst(ir.MatMul, dt, []int{m, r}, backend.In(3*i), backend.In(3*i+1)), inst(ir.MatMul, dt, []int{s, n}, backend.In(3*i+2), backend.In(3*i)))
	}
	g.Inputs = append(g.Inputs, scalarInput(dt, 0))
	for i, s := range shapes {
		g.Insts = append(g.Insts, inst(ir.Mul, dt, []int{s[0], s[2]}, ref(2*i), backend.In(3*len(shapes))), inst(ir.Cast, dtype.F32, []int{s[3], s[1]}, ref(2*i+1)))
		g.Insts[len(g.Insts)-1].Attr.DType = dtype.F32
		for j, dt := range []dtype.Type{dt, dtype.F32} {
			v := len(g.Insts) - 2 + j
			g.Outputs = append(g.Outputs, backend.Output{Value: ref(v), Buf: 3*len(shapes) + 2*i + j, DType: dt, Shape: g.Insts[v].Shape})
		}
	}
	return g
}

// Thin products that read one matrix are one dispatch that reads it once, and one that adds parts up; no sum
// lies in memory.
func TestTwins(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	limits := Limits{Threads: 1024, SIMDWidth: simdWidth, Family: NVIDIA, Warpgroups: true}
	var list []trial
	for _, c := range []struct {
		dt         dtype.Type
		processors int
		twins      bool
		shapes     [][4]int
	}{
		{dtype.BF16, 1, true, [][4]int{{300, 1160, 16, 16}}},
		{dtype.F16, 1, true, [][4]int{{1160, 136, 8, 8}}},
		{dtype.BF16, 1, true, [][4]int{{520, 328, 32, 32}}},
		{dtype.BF16, 8, true, [][4]int{{520, 264, 16, 24}, {520, 136, 8, 16}}},
		{dtype.BF16, 1, false, [][4]int{{300, 1164, 16, 16}}},
		{dtype.BF16, 1, false, [][4]int{{300, 264, 16, 16}}},
		{dtype.BF16, 1, false, [][4]int{{300, 520, 16, 40}}},
		{dtype.F32, 1, false, [][4]int{{300, 520, 16, 16}}},
	} {
		limits.Processors = c.processors
		tr := trial{name: fmt.Sprintf("%v %v, %d processors", c.dt, c.shapes, c.processors), group: sharing(c.dt, c.shapes...), limits: limits}
		list = append(list, tr)
		k, err := Render(tr.group, limits)
		if err != nil {
			t.Fatal(err)
		}
		first := k.Dispatches[0]
		if got := strings.Contains(first.Text, "multiply_narrow"); got != c.twins || got && len(k.Dispatches) != 2 {
			t.Errorf("%s: twins: %v, in %d dispatches", tr.name, got, len(k.Dispatches))
		}
		if !c.twins {
			continue
		}
		ptx, err := tools.PTX(context.Background(), "sm_90a", sourcesOf(t, map[string]string{first.Function: first.Text})[0])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(ptx), ".local") || !strings.Contains(string(ptx), "mma.sync.aligned.m16n8k16.row.col.f32") {
			t.Errorf("%s: got PTX with local memory, or without matrix units", tr.name)
		}
	}
	checkInModes(t, tools, list)
}
