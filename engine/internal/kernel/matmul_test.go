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
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A productTrial is one product, y[m n] = x[m k]·w[k n], with what a tile has to cope with.
type productTrial struct {
	m, k, n    int
	a, b       dtype.Type // of the operands; the result has b
	down       [2]bool    // the operand lies in memory column by column
	offset     int        // of the right operand's first element, so that its lines are not aligned
	epilogue   bool       // y = gelu(x·w + bias) + residual
	tf32       bool
	terms      bool // the result has the left operand's type
	processors int
	family     Family
	warpgroups bool
}

func (p productTrial) String() string {
	s := fmt.Sprintf("%v×%v[%d %d %d], down %v, from %d, epilogue %v, tf32 %v, %d processors", p.a, p.b, p.m, p.k, p.n, p.down, p.offset, p.epilogue, p.tf32, p.processors)
	if p.warpgroups {
		s += ", warpgroups"
	}
	if p.terms {
		s += ", in terms"
	}
	return s
}

// lies is a matrix in memory, column by column or row by row.
func lies(rows, columns int, down bool) ir.Layout {
	if down {
		return ir.Contiguous([]int{columns, rows}).Permute([]int{1, 0})
	}
	return ir.Contiguous([]int{rows, columns})
}

func (p productTrial) group() *backend.Group {
	y := p.b
	if p.terms {
		y = p.a
	}
	g := oneOp(backend.MatMul, ir.MatMul, ir.Attr{}, []ir.Type{typeOf(p.a, p.m, p.k), typeOf(p.b, p.k, p.n)}, typeOf(y, p.m, p.n))
	g.TF32 = p.tf32
	g.Inputs[0].Layout, g.Inputs[1].Layout = lies(p.m, p.k, p.down[0]), lies(p.k, p.n, p.down[1])
	if p.offset > 0 { // a part of a wider matrix
		wide := p.n + p.offset
		g.Inputs[1].Layout = ir.Layout{Shape: []int{p.k, p.n}, Stride: []int{wide, 1}, Offset: 0}
	}
	if p.epilogue {
		shape := []int{p.m, p.n}
		bias := withLayout(tensorInput(3, y, p.n), ir.Contiguous([]int{1, p.n}).Expand(shape))
		g.Inputs = append(g.Inputs, bias, tensorInput(4, y, p.m, p.n))
		g.Outputs[0].Buf = 2
		g.Insts = append(g.Insts, inst(ir.Add, y, shape, ref(0), backend.In(2)), inst(ir.Gelu, y, shape, ref(1)), inst(ir.Add, y, shape, ref(2), backend.In(3)))
		g.Outputs[0].Value = ref(3)
	}
	return g
}

// square says whether a case with these levels of its factors runs without -long: half of the cases do, which
// have each pair of levels of two factors.
func square(levels ...int) bool {
	sum := 0
	for _, n := range levels {
		sum += n
	}
	return sum%2 == 0 || long.Tests()
}

// productTrials are products of each kind of tile.
func productTrials() []productTrial {
	var list []productTrial
	for f, family := range []Family{Apple, NVIDIA} {
		for d, dt := range []dtype.Type{dtype.F16, dtype.BF16, dtype.F32} {
			var all []productTrial
			for _, down := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
				all = append(all, productTrial{m: 72, k: 48, n: 136, a: dt, b: dt, down: down, epilogue: down[0] == down[1], family: family})
			}
			all = append(all,
				productTrial{m: 33, k: 17, n: 37, a: dt, b: dt, epilogue: true, family: family},                           // nothing is aligned
				productTrial{m: 40, k: 36, n: 44, a: dt, b: dt, offset: 4, family: family},                                // fours, but no pieces of 16 bytes
				productTrial{m: 150, k: 40, n: 16, a: dt, b: dt, family: family},                                          // thin
				productTrial{m: 16, k: 40, n: 150, a: dt, b: dt, down: [2]bool{false, true}, family: family},              // thin
				productTrial{m: leastTall + 40, k: 72, n: 16, a: dt, b: dt, down: [2]bool{f == d, false}, family: family}, // thin and tall
				productTrial{m: 48, k: 800, n: 56, a: dt, b: dt, epilogue: true, processors: 3, family: family},
				productTrial{m: 150, k: 24, n: 264, a: dt, b: dt, down: [2]bool{false, true}, processors: 1, family: family}, // large tiles
			)
			for i, p := range all {
				if square(f, d, i) {
					list = append(list, p)
				}
			}
		}
		list = append(list,
			productTrial{m: 48, k: 64, n: 64, a: dtype.F32, b: dtype.BF16, family: family},
			productTrial{m: 48, k: 64, n: 64, a: dtype.F16, b: dtype.F32, down: [2]bool{true, true}, family: family},
			productTrial{m: 48, k: 64, n: 64, a: dtype.F32, b: dtype.BF16, down: [2]bool{true, true}, family: family}, // f32 is rounded
			productTrial{m: 150, k: 300, n: 16, a: dtype.F32, b: dtype.BF16, processors: 3, family: family},
			productTrial{m: 16, k: 300, n: 150, a: dtype.F32, b: dtype.F16, down: [2]bool{true, false}, processors: 3, family: family},
			productTrial{m: 24, k: 72, n: 152, a: dtype.F32, b: dtype.F16, down: [2]bool{false, true}, family: family},
			productTrial{m: 13, k: 300, n: 152, a: dtype.F32, b: dtype.BF16, terms: true, family: family}, // blocks of rows
			productTrial{m: 16, k: 1100, n: 150, a: dtype.F32, b: dtype.BF16, down: [2]bool{false, true}, epilogue: true, terms: true, family: family},
			productTrial{m: 17, k: 70, n: 150, a: dtype.F32, b: dtype.BF16, family: family},
			productTrial{m: 150, k: 700, n: 20, a: dtype.BF16, b: dtype.BF16, down: [2]bool{true, true}, processors: 3, family: family}, // loaded far ahead
			productTrial{m: 50, k: 30, n: 70, a: dtype.I64, b: dtype.I64, family: family},
			productTrial{m: 50, k: 32, n: 72, a: dtype.I8, b: dtype.I8, down: [2]bool{true, true}, family: family},
			productTrial{m: 150, k: 40, n: 136, a: dtype.F32, b: dtype.F32, processors: 1, down: [2]bool{true, true}, family: family},
		)
	}
	for d, dt := range []dtype.Type{dtype.F16, dtype.BF16} {
		for i, down := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			for j, processors := range []int{1, 5} { // tiles of 128×256 and of 128×128
				if !square(d, i, j) {
					continue
				}
				list = append(list, productTrial{m: 136, k: 328, n: 264, a: dt, b: dt, down: down, epilogue: down[0], processors: processors, family: NVIDIA, warpgroups: true})
			}
		}
		list = append(list, productTrial{m: 33, k: 17, n: 37, a: dt, b: dt, epilogue: true, processors: 1, family: NVIDIA, warpgroups: true}) // nothing is aligned
	}
	for i, k := range []int{16, 6, 32, 24} { // short: what an adapter adds
		for j, n := range []int{136, 68} { // eight columns at a time, four
			list = append(list, productTrial{m: 70, k: k, n: n, a: dtype.BF16, b: dtype.F32, down: [2]bool{false, i%2 == j}, epilogue: i/2 == j, terms: true, processors: 1, family: NVIDIA})
		}
	}
	return append(list, productTrial{m: 72, k: 64, n: 136, a: dtype.F32, b: dtype.BF16, tf32: true, family: NVIDIA})
}

// adapters is y = h·B + h'·B', of two adapters whose weights are F32, in F32 where it is not rounded.
func adapters(dt dtype.Type, m, n int, rounded bool) *backend.Group {
	g := oneOp(backend.MatMul, ir.MatMul, ir.Attr{},
		[]ir.Type{typeOf(dt, m, 16), typeOf(dtype.F32, 16, n), typeOf(dt, m, 8), typeOf(dtype.F32, 8, n)}, typeOf(dt, m, n))
	g.Inputs[1].Layout = lies(16, n, true)
	if !rounded {
		g.Insts = append(g.Insts, inst(ir.Cast, dtype.F32, []int{m, n}, ref(0)))
		g.Insts[1].Attr.DType = dtype.F32
		g.Outputs[0].Value, g.Outputs[0].DType = ref(1), dtype.F32
	}
	return g
}

// TestProducts holds products of every kind of tile against float64 on the checking device.
func TestProducts(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	var list []trial
	add := func(name string, g *backend.Group, below int, l Limits) {
		l.Threads, l.SIMDWidth = 1024, simdWidth
		list = append(list, trial{name: fmt.Sprintf("%s, family %d", name, l.Family), group: g, below: below, limits: l})
	}
	for _, p := range productTrials() {
		add(p.String(), p.group(), 5, Limits{Family: p.family, Processors: p.processors, Warpgroups: p.warpgroups})
	}
	for _, rounded := range []bool{true, false} {
		add(fmt.Sprintf("two adapters, rounded: %v", rounded), adapters(dtype.BF16, 300, 264, rounded), 0, Limits{Family: NVIDIA, Processors: 1})
		list[len(list)-1].halves = true
	}
	halves := func(shape ...int) ir.Type { return typeOf(dtype.BF16, shape...) }
	groups := Limits{Family: NVIDIA, Processors: 1, Warpgroups: true}
	add("grouped_matmul by warpgroups", oneOp(backend.Single, ir.GroupedMatMul, ir.Attr{}, []ir.Type{halves(300, 72), halves(3, 72, 264), typeOf(dtype.I64, 300)}, halves(300, 264)), 3, groups)
	add("grouped_weight by warpgroups", oneOp(backend.Single, ir.GroupedWeight, ir.Attr{Index: 3, DType: dtype.BF16}, []ir.Type{halves(300, 72), halves(300, 264), typeOf(dtype.I64, 300)}, halves(3, 72, 264)), 3, groups)
	for kind := range 4 * (ir.Table + 1) { // in codes: 320 rows by warpgroups, 40 by thin tiles
		form, transposed, bits := kind/4, kind/2%2 == 1, 4+int(kind%2)*4
		for i, rows := range []int{40, 320} {
			if !square(int(kind/4), int(kind/2), int(kind), i) {
				continue
			}
			q := ir.Quant{Matrices: 3, K: 264, N: 136, Bits: bits, Group: 32, Form: form, DType: dtype.BF16, Transposed: transposed}
			if transposed {
				q.K, q.N = 132, 260 // nothing is aligned
			}
			codes, scales := q.Shapes()
			operands := []ir.Type{halves(rows, q.Shape()[1]), typeOf(dtype.U8, codes...), typeOf(dtype.I64, rows), typeOf(dtype.F32, scales...)}
			switch form {
			case ir.Zeros:
				operands = append(operands, typeOf(dtype.U8, scales...))
			case ir.Minimums:
				operands = append(operands, typeOf(dtype.F32, scales...))
			case ir.Table:
				operands = append(operands, typeOf(dtype.F32, 1<<bits))
			}
			add(fmt.Sprintf("grouped_matmul of %d rows, %d bits, form %d, transposed: %v", rows, bits, form, transposed),
				oneOp(backend.Single, ir.GroupedMatMul, q.Attr(), operands, halves(rows, q.Shape()[2])), 3, groups)
			list[len(list)-1].rounded = true
		}
	}
	add("lora by warpgroups", loraGroup(dtype.BF16, 136, 72, 264, 16, false), 0, groups)
	for _, family := range []Family{Apple, NVIDIA} {
		for _, dt := range []dtype.Type{dtype.BF16, dtype.F32} {
			add(fmt.Sprintf("lora %v", dt), loraGroup(dt, 40, 72, 136, 16, false), 0, Limits{Family: family})
		}
		for i, tr := range quantTrials() {
			if tr.group.Insts[1].Shape[0] > mostFewRows && square(int(family), i, i/2, i/8) {
				add(tr.name, tr.group, 256, Limits{Family: family})
			}
		}
	}
	checkInModes(t, tools, some(list))
}

// TestProductPTX: what goes to an NVIDIA GPU multiplies halves by its matrix units, from tiles that are
// loaded ahead; f32 is multiplied by FMA, unless TF32 is allowed. No sum lies in memory.
func TestProductPTX(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		productTrial
		with, without string
	}{
		{productTrial{m: 256, k: 256, n: 256, a: dtype.F16, b: dtype.F16, processors: 1}, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "st.local"},
		{productTrial{m: 256, k: 256, n: 256, a: dtype.BF16, b: dtype.BF16, processors: 1, epilogue: true}, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "st.local"},
		{productTrial{m: 256, k: 256, n: 256, a: dtype.BF16, b: dtype.BF16, processors: 1, down: [2]bool{false, true}}, "cp.async.cg.shared.global", "st.local"},
		{productTrial{m: 256, k: 256, n: 256, a: dtype.F32, b: dtype.F32, processors: 1, tf32: true}, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "st.local"},
		{productTrial{m: 256, k: 256, n: 256, a: dtype.BF16, b: dtype.F32, processors: 1}, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "st.local"},
		{productTrial{m: 256, k: 256, n: 256, a: dtype.F32, b: dtype.BF16, processors: 1}, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "st.local"},
		{productTrial{m: 256, k: 256, n: 256, a: dtype.BF16, b: dtype.BF16, processors: 1, warpgroups: true}, "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", "st.local"},
		{productTrial{m: 256, k: 256, n: 256, a: dtype.F16, b: dtype.F16, processors: 3, warpgroups: true}, "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", "st.local"},
		{productTrial{m: 1024, k: 256, n: 16, a: dtype.BF16, b: dtype.BF16, processors: 132}, "cp.async.wait_group 2", "st.local"},
		{productTrial{m: 256, k: 256, n: 256, a: dtype.F32, b: dtype.F32, processors: 1}, "fma.rn.f32", "mma.sync"},
		{productTrial{m: 256, k: 256, n: 256, a: dtype.F32, b: dtype.F32, processors: 1}, "cp.async.cg.shared.global", "st.local"},
	} {
		k, err := Render(c.group(), Limits{Threads: 1024, SIMDWidth: simdWidth, Processors: c.processors, Family: NVIDIA, Warpgroups: c.warpgroups})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sourcesOf(t, map[string]string{k.Dispatches[0].Function: k.Dispatches[0].Text}) {
			arch := "sm_80"
			if c.warpgroups {
				arch = "sm_90a"
			}
			ptx, err := tools.PTX(context.Background(), arch, s)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(ptx), c.with) {
				t.Errorf("%v: got PTX without %s", c.productTrial, c.with)
			}
			if strings.Contains(string(ptx), c.without) {
				t.Errorf("%v: got PTX with %s", c.productTrial, c.without)
			}
		}
	}
}

// TestWideProducts compiles products whose indices need 64 bits.
func TestWideProducts(t *testing.T) {
	long.Only(t, "translates products with indices of 64 bits")
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	texts := map[string]string{}
	for _, p := range []productTrial{
		{m: 70000, k: 64, n: 70000, a: dtype.BF16, b: dtype.BF16},
		{m: 70000, k: 64, n: 70000, a: dtype.F32, b: dtype.F32, down: [2]bool{true, true}, epilogue: true},
		{m: 64, k: 1 << 31, n: 64, a: dtype.F16, b: dtype.F16, processors: 132},
		{m: 64, k: 1<<31 + 1, n: 65, a: dtype.BF16, b: dtype.BF16, processors: 132},
		{m: 1, k: 1 << 16, n: 1 << 16, a: dtype.F16, b: dtype.F16},
		{m: 2, k: 1 << 16, n: 1 << 16, a: dtype.F16, b: dtype.F16, down: [2]bool{false, true}},
	} {
		for _, family := range []Family{Apple, NVIDIA} {
			k, err := Render(p.group(), Limits{Threads: 1024, SIMDWidth: simdWidth, Family: family, Processors: p.processors})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range k.Dispatches {
				if !strings.Contains(d.Text, "long n0") {
					t.Errorf("%v: got indices of 32 bits", p)
				}
				texts[d.Function] = d.Text
			}
		}
	}
	sources := sourcesOf(t, texts)
	d, err := tools.Start(context.Background(), check.Plain, sources...)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	for _, s := range sources {
		if _, err := tools.PTX(context.Background(), "sm_80", s); err != nil {
			t.Error(err)
		}
	}
}
