package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// independent is a group of products that do not need one another.
func independent(dt dtype.Type, shapes ...[3]int) *backend.Group {
	g := &backend.Group{Name: "independent", Kind: backend.MatMul}
	for i, s := range shapes {
		g.Inputs = append(g.Inputs, tensorInput(2*i, dt, s[0], s[1]), tensorInput(2*i+1, dt, s[1], s[2]))
		g.Insts = append(g.Insts, backend.Inst{Op: ir.MatMul, DType: dt, Shape: []int{s[0], s[2]}, Args: []backend.Ref{backend.In(2 * i), backend.In(2*i + 1)}})
		g.Outputs = append(g.Outputs, backend.Output{Value: ref(i), Buf: 2*len(shapes) + i, DType: dt, Shape: []int{s[0], s[2]}})
	}
	return g
}

// Independent products are one dispatch; those in parts have another one that adds the parts up. What has
// the same text stands in it once.
func TestSideBySide(t *testing.T) {
	var list []trial
	for _, c := range []struct {
		name       string
		shapes     [][3]int
		processors int
		dispatches int
		texts      int // products within the first dispatch's text
	}{
		{"one", [][3]int{{40, 32, 16}}, 1, 1, 0},
		{"three of one text", [][3]int{{40, 32, 16}, {72, 64, 16}, {40, 32, 16}}, 1, 1, 1},
		{"few rows", [][3]int{{8, 900, 33}, {3, 900, 20}}, 1, 1, 2},
		{"few rows of long lines", [][3]int{{8, 900, 36}, {8, 40, 20}, {8, 300, 20}}, 1, 1, 2},
		{"gradients in parts", [][3]int{{40, 800, 16}, {72, 1600, 16}}, 132, 2, 1},
	} {
		limits := Limits{Threads: 1024, SIMDWidth: simdWidth, Processors: c.processors}
		g := independent(dtype.F32, c.shapes...)
		k, err := Render(g, limits)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(k.Dispatches); got != c.dispatches {
			t.Errorf("%s: %d dispatches, want %d", c.name, got, c.dispatches)
		}
		if got := strings.Count(k.Dispatches[0].Text, "struct product"); got != c.texts {
			t.Errorf("%s: %d texts in the first dispatch, want %d", c.name, got, c.texts)
		}
		for _, family := range []Family{Apple, NVIDIA} {
			limits.Family = family
			list = append(list, trial{name: fmt.Sprintf("%s, family %d", c.name, family), group: g, below: 5, limits: limits})
		}
	}
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	checkTrials(t, tools, check.Plain, list)
}

// Thin products of one left operand read it once, in parts.
func TestSharedLeft(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	var list []trial
	for _, c := range []struct {
		dt      dtype.Type
		right   dtype.Type
		m, k, n int
		turned  bool
		rights  int
		beside  int // right operands that are read beside the first
	}{
		{dtype.BF16, dtype.F32, 200, 700, 16, false, 3, 2},
		{dtype.BF16, dtype.F32, 2100, 520, 12, false, 2, 1},
		{dtype.F16, dtype.F16, 104, 900, 16, true, 3, 2},
		{dtype.BF16, dtype.BF16, 72, 600, 24, true, 3, 1},
		{dtype.BF16, dtype.F32, 200, 200, 16, false, 3, 0},
		{dtype.BF16, dtype.F32, 200, 700, 10, false, 2, 0},
	} {
		g := &backend.Group{Name: "shared", Kind: backend.MatMul, Inputs: []backend.Input{withLayout(tensorInput(0, c.dt, c.m, c.k), lies(c.m, c.k, c.turned))}}
		for i := range c.rights {
			g.Inputs = append(g.Inputs, tensorInput(1+i, c.right, c.k, c.n))
			g.Insts = append(g.Insts, inst(ir.MatMul, c.dt, []int{c.m, c.n}, backend.In(0), backend.In(1+i)))
			g.Outputs = append(g.Outputs, backend.Output{Value: ref(i), Buf: 1 + c.rights + i, DType: c.dt, Shape: []int{c.m, c.n}})
		}
		limits := Limits{Threads: 1024, SIMDWidth: simdWidth, Processors: 132, Family: NVIDIA, Warpgroups: true, Memory: 227 << 10}
		tr := trial{name: fmt.Sprintf("%v %d×%d×%d, %d of %v", c.dt, c.m, c.k, c.n, c.rights, c.right), group: g, limits: limits}
		list = append(list, tr)
		k, err := Render(g, limits)
		if err != nil {
			t.Fatal(err)
		}
		if text := k.Dispatches[0].Text; c.beside > 0 && !strings.Contains(text, fmt.Sprintf("* b%d;", c.beside)) || strings.Contains(text, fmt.Sprintf("* b%d;", c.beside+1)) {
			t.Errorf("%s: not %d right operands beside the first", tr.name, c.beside)
		}
	}
	checkInModes(t, tools, list)
}
