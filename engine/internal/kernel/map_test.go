package kernel

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

var update = flag.Bool("update", false, "write the texts in testdata")

var limits = Limits{Threads: 1024, SIMDWidth: 32}

// tensor is an input in C order.
func tensorInput(buf int, dt dtype.Type, shape ...int) backend.Input {
	return backend.Input{DType: dt, Layout: ir.Contiguous(shape), Buf: buf}
}

func withLayout(in backend.Input, l ir.Layout) backend.Input {
	in.Layout = l
	return in
}

func scalarInput(dt dtype.Type, n int) backend.Input {
	return backend.Input{DType: dt, Buf: -1, Scalar: n}
}

func inst(op ir.Op, dt dtype.Type, shape []int, args ...backend.Ref) backend.Inst {
	return backend.Inst{Op: op, DType: dt, Shape: shape, Args: args}
}

func ref(i int) backend.Ref { return backend.Ref{Index: i} }

// siluMul is silu(x)·y·s of a shape, as F16, with given layouts.
func siluMul(shape []int, x, y ir.Layout) *backend.Group {
	return &backend.Group{
		Name: "silu_mul", Kind: backend.Map,
		Inputs: []backend.Input{withLayout(tensorInput(0, dtype.F32), x), withLayout(tensorInput(1, dtype.BF16), y), scalarInput(dtype.F32, 0)},
		Insts: []backend.Inst{
			inst(ir.Silu, dtype.F32, shape, backend.In(0)), inst(ir.Cast, dtype.F32, shape, backend.In(1)),
			inst(ir.Mul, dtype.F32, shape, ref(0), ref(1)), inst(ir.Mul, dtype.F32, shape, ref(2), backend.In(2)),
			{Op: ir.Cast, DType: dtype.F16, Attr: ir.Attr{DType: dtype.F16}, Shape: shape, Args: []backend.Ref{ref(3)}},
		},
		Outputs: []backend.Output{{Value: ref(4), Buf: 2, DType: dtype.F16, Shape: shape}},
	}
}

// TestMapTexts compares whole texts with those in testdata.
func TestMapTexts(t *testing.T) {
	shape := []int{6, 8}
	plain := ir.Contiguous(shape)
	for name, g := range map[string]*backend.Group{
		"vectors":    siluMul(shape, plain, plain),
		"broadcast":  siluMul(shape, plain, ir.Contiguous([]int{1, 8}).Expand(shape)),
		"transposed": siluMul(shape, plain, ir.Contiguous([]int{8, 6}).Permute([]int{1, 0})),
		"flipped":    siluMul([]int{3, 5, 2, 4, 3}, ir.Contiguous([]int{3, 5, 2, 4, 3}).Flip([]int{0, 2}), ir.Contiguous([]int{3, 4, 2, 5, 3}).Permute([]int{0, 3, 2, 1, 4})),
	} {
		k, err := Render(g, limits)
		if err != nil {
			t.Fatal(err)
		}
		got := k.Dispatches[0].Text
		path := filepath.Join("testdata", "map_"+name+".metal")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

// TestTextsHaveNoLengths: groups that differ in lengths, strides and offsets alone share a text.
func TestTextsHaveNoLengths(t *testing.T) {
	of := func(g *backend.Group) string {
		t.Helper()
		k, err := Render(g, limits)
		if err != nil {
			t.Fatal(err)
		}
		return k.Dispatches[0].Text
	}
	whole := func(shape ...int) *backend.Group {
		return siluMul(shape, ir.Contiguous(shape), ir.Contiguous(shape))
	}
	sliced := func(n, from int) *backend.Group {
		shape := []int{n, 5}
		l := ir.Contiguous([]int{n + 9, 11}).Slice([]int{from, from + n, 1, 3, 8, 1})
		return siluMul(shape, l, l)
	}
	for _, test := range []struct {
		name string
		a, b *backend.Group
		same bool
	}{
		{"lengths", whole(8), whole(4096, 4096), true},
		{"ranks that join", whole(4, 4, 4), whole(64), true},
		{"four at once or one", whole(64), whole(63), false},
		{"strides and offsets", sliced(7, 1), sliced(20, 2), true},
		{"strided or not", sliced(7, 1), whole(35), false},
		{"more than 2^31 elements", whole(1<<20, 1<<10), whole(1<<20, 1<<13), false},
	} {
		if got := of(test.a) == of(test.b); got != test.same {
			t.Errorf("%s: same text %v, want %v", test.name, got, test.same)
		}
	}
}

// TestNothingToCompute: without elements there is no dispatch.
func TestNothingToCompute(t *testing.T) {
	shape := []int{3, 0}
	k, err := Render(siluMul(shape, ir.Contiguous(shape), ir.Contiguous(shape)), limits)
	if err != nil || len(k.Dispatches) != 0 {
		t.Errorf("got %+v, %v, want no dispatch", k, err)
	}
}

func TestUnsupported(t *testing.T) {
	g := siluMul([]int{4}, ir.Contiguous([]int{4}), ir.Contiguous([]int{4}))
	g.Inputs[0].DType = dtype.F64
	if _, err := Render(g, limits); err == nil || !strings.Contains(err.Error(), "silu_mul: got f64, which has no text for a GPU") {
		t.Errorf("got %v", err)
	}
}

// TestGrid: a group has at most 64 threads along z, as CUDA wants it, and axes that fit are covered.
func TestGrid(t *testing.T) {
	for _, c := range []struct {
		width           int
		outer           []int
		groups, threads [3]int
	}{
		{5, nil, [3]int{1, 1, 1}, [3]int{8, 1, 1}},
		{1000, []int{3}, [3]int{4, 3, 1}, [3]int{256, 1, 1}},
		{1, []int{1, 1000}, [3]int{1, 1, 16}, [3]int{1, 1, 64}},
		{1, []int{2, 100, 3}, [3]int{1, 1, 5}, [3]int{1, 2, 64}},
		{8, []int{70000}, [3]int{1, 2188, 1}, [3]int{8, 32, 1}},
		{256, []int{70000}, [3]int{1, 65535, 1}, [3]int{256, 1, 1}}, // the text goes on from there
	} {
		if groups, threads := grid(c.width, c.outer, limits); groups != c.groups || threads != c.threads {
			t.Errorf("%d×%v: got %v groups of %v, want %v of %v", c.width, c.outer, groups, threads, c.groups, c.threads)
		}
	}
}
