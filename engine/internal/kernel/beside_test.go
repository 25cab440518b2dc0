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
