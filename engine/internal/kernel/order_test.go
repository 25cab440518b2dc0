package kernel

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// TestOrderLaunches counts what sorting and running sums take: the tiles of a row, and then the tiles of the
// tiles' best, or a launch for each doubling.
func TestOrderLaunches(t *testing.T) {
	f := func(shape ...int) ir.Type { return typeOf(dtype.F32, shape...) }
	top := func(rows, n, k int) *backend.Group {
		return oneOp(backend.Single, ir.TopK, ir.Attr{Index: k}, []ir.Type{f(rows, n)}, f(rows, k), typeOf(dtype.I64, rows, k))
	}
	sum := func(axis int, shape ...int) *backend.Group {
		return oneOp(backend.Single, ir.CumSum, ir.Attr{Axis: axis}, []ir.Type{f(shape...)}, f(shape...))
	}
	best := func(n int) *backend.Group {
		return oneOp(backend.Single, ir.ArgMax, ir.Attr{}, []ir.Type{f(n)}, typeOf(dtype.I64, 1))
	}
	for _, c := range []struct {
		name     string
		group    *backend.Group
		launches int
	}{
		{"eight of 64 experts", top(4096, 64, 8), 1},
		{"sort a row of a tile", top(3, 2048, 2048), 1},
		{"sort a row of two tiles", top(3, 2049, 2049), 2},
		{"sort a million", top(1, 1<<20, 1<<20), 10},
		{"fifty of a vocabulary", top(1, 151936, 50), 3},
		{"one of a vocabulary", top(64, 151936, 1), 2},
		{"none", top(3, 2049, 0), 0},
		{"running sums of many lines", sum(1, 4096, 1000), 1},
		{"running sums down columns", sum(0, 1000, 4096), 1},
		{"a running sum of one long line", sum(0, 1<<20), 2},
		{"the best of a short line", best(100), 1},
		{"the best of a long line", best(1 << 20), 2},
	} {
		k, err := Render(c.group, limits)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := len(k.Dispatches); got != c.launches {
			t.Errorf("%s: got %d launches, want %d", c.name, got, c.launches)
		}
	}
}

// TestWide: texts for more elements than 32 bits count are compiled, too. No test has the memory to run them.
func TestWide(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	f := func(shape ...int) ir.Type { return typeOf(dtype.F32, shape...) }
	const many = 1 << 20
	texts := map[string]string{}
	for _, g := range []*backend.Group{
		oneOp(backend.Single, ir.TopK, ir.Attr{Index: 5000}, []ir.Type{f(many, 5000)}, f(many, 5000), typeOf(dtype.I64, many, 5000)),
		oneOp(backend.Single, ir.TopK, ir.Attr{Index: 3}, []ir.Type{typeOf(dtype.I64, many, 5000)}, typeOf(dtype.I64, many, 3), typeOf(dtype.I64, many, 3)),
		oneOp(backend.Single, ir.CumSum, ir.Attr{Axis: 1}, []ir.Type{f(many, 5000)}, f(many, 5000)),
		oneOp(backend.Single, ir.CumSum, ir.Attr{}, []ir.Type{f(many, 5000)}, f(many, 5000)),
		oneOp(backend.Single, ir.CumSum, ir.Attr{}, []ir.Type{f(many * 5000)}, f(many*5000)),
		oneOp(backend.Single, ir.ArgMax, ir.Attr{Axis: 1}, []ir.Type{f(many, 5000)}, typeOf(dtype.I64, many, 1)),
		oneOp(backend.Single, ir.ArgMax, ir.Attr{}, []ir.Type{f(many * 5000)}, typeOf(dtype.I64, 1)),
	} {
		k, err := Render(g, limits)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range k.Dispatches {
			if texts[d.Function] = d.Text; !strings.Contains(d.Text, "\tlong ") {
				t.Errorf("got a text without long indices:\n%s", d.Text)
			}
		}
	}
	d, err := tools.Start(t.Context(), check.Plain, sourcesOf(t, texts)...)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}
