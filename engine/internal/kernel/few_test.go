package kernel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// loraGroup is x·W + s·(x·A)·B, with W as it lies in memory: [k n], or [n k] if it is transposed.
func loraGroup(dt dtype.Type, m, k, n, rank int, transposed bool) *backend.Group {
	g := &backend.Group{Name: "lora", Kind: backend.MatMul}
	w := ir.Contiguous([]int{k, n})
	if transposed {
		w = ir.Contiguous([]int{n, k}).Permute([]int{1, 0})
	}
	g.Inputs = []backend.Input{tensorInput(0, dt, m, k), tensorInput(1, dt, k, n), tensorInput(2, dt, k, rank), tensorInput(3, dt, rank, n),
		{Buf: -1, Scalar: 0, DType: dtype.F32}}
	g.Inputs[1].Layout = w
	g.Insts = []backend.Inst{
		{Op: ir.MatMul, DType: dt, Shape: []int{m, rank}, Args: []backend.Ref{backend.In(0), backend.In(2)}},
		{Op: ir.Mul, DType: dt, Shape: []int{m, rank}, Args: []backend.Ref{{Index: 0}, backend.In(4)}},
		{Op: ir.MatMul, DType: dt, Shape: []int{m, n}, Args: []backend.Ref{backend.In(0), backend.In(1), {Index: 1}, backend.In(3)}},
	}
	g.Outputs = []backend.Output{{Value: backend.Ref{Index: 2}, Buf: 4, DType: dt, Shape: []int{m, n}}}
	return g
}

// fewTrials are products of few rows, and LoRA of few rows.
func fewTrials() []trial {
	var list []trial
	for _, c := range []struct {
		m, k, n    int
		dt         dtype.Type
		transposed bool
	}{
		{1, 200, 132, dtype.F32, false}, {1, 200, 132, dtype.BF16, true}, {3, 37, 71, dtype.F32, true}, {8, 64, 30, dtype.F32, false},
		{16, 200, 132, dtype.F32, false}, {11, 136, 68, dtype.BF16, false}, {9, 600, 77, dtype.F32, true},
		{1, 4360, 36, dtype.BF16, true}, {5, 1096, 20, dtype.F16, true}, {2, 1100, 68, dtype.F32, true},
		{16, 200, 132, dtype.BF16, true}, {13, 1100, 36, dtype.F16, false}, {12, 1100, 68, dtype.F32, false}, {16, 1100, 36, dtype.F32, true},
	} {
		g := loraGroup(c.dt, c.m, c.k, c.n, 16, c.transposed)
		list = append(list, trial{name: fmt.Sprintf("lora %v[%d %d %d], transposed: %v", c.dt, c.m, c.k, c.n, c.transposed), group: g})
		x, w := g.Inputs[0], g.Inputs[1]
		alone := oneOp(backend.MatMul, ir.MatMul, ir.Attr{}, []ir.Type{typeOf(c.dt, c.m, c.k), typeOf(c.dt, c.k, c.n)}, typeOf(c.dt, c.m, c.n))
		alone.Inputs = []backend.Input{x, w}
		list = append(list, trial{name: fmt.Sprintf("few rows %v[%d %d %d], transposed: %v", c.dt, c.m, c.k, c.n, c.transposed), group: alone})
	}
	return list
}

// quantTrials are products with quantised weights, of few rows and of more: each reads codes by words.
func quantTrials() []trial {
	var list []trial
	for _, m := range []int{1, 5, 11, 40} {
		for _, bits := range []int{4, 8} {
			for kind := range 2 * (ir.Table + 1) {
				form, transposed := kind/2, kind%2 == 1
				q := ir.Quant{K: 70, N: 45, Bits: bits, Group: 32, Form: form, DType: dtype.F32, Transposed: transposed}
				k, n := q.K, q.N
				if transposed {
					k, n = n, k
				}
				g := &backend.Group{Name: "quantised", Kind: backend.MatMul}
				extra := tensorInput(3, dtype.U8, q.Blocks(), q.Groups(), 16)
				switch form {
				case ir.Minimums:
					extra = tensorInput(3, dtype.F32, q.Blocks(), q.Groups(), 16)
				case ir.Table:
					extra = tensorInput(3, dtype.F32, 1<<bits)
				}
				g.Inputs = []backend.Input{tensorInput(0, dtype.F32, m, k), tensorInput(1, dtype.U8, q.Blocks(), q.Lines(), 64),
					tensorInput(2, dtype.F32, q.Blocks(), q.Groups(), 16), extra}
				g.Insts = []backend.Inst{
					{Op: ir.Dequantize, Attr: q.Attr(), DType: dtype.F32, Shape: []int{k, n}, Args: []backend.Ref{backend.In(1), backend.In(2), backend.In(3)}[:min(3, 2+int(form))]},
					{Op: ir.MatMul, DType: dtype.F32, Shape: []int{m, n}, Args: []backend.Ref{backend.In(0), {Index: 0}}},
				}
				g.Outputs = []backend.Output{{Value: backend.Ref{Index: 1}, Buf: 4, DType: dtype.F32, Shape: []int{m, n}}}
				list = append(list, trial{name: fmt.Sprintf("%d rows, %d bits, form %d, transposed: %v", m, bits, form, transposed), group: g, below: 256})
			}
		}
	}
	return list
}

// TestFew: which products of decoders are those of few rows on NVIDIA's GPUs.
func TestFew(t *testing.T) {
	const f32, bf16 = dtype.F32, dtype.BF16
	for _, c := range []struct {
		rows, inner, columns int
		left, right          dtype.Type
		want                 bool
	}{
		{1, 8192, 1 << 18, bf16, bf16, true},
		{2, 3584, 3584, bf16, bf16, true}, // q of 7 B
		{2, 3584, 18944, bf16, bf16, false},
		{8, 896, 4864, bf16, bf16, true}, // gate of 0.5 B
		{9, 896, 896, bf16, bf16, false},
		{4, 3584, 18944, f32, bf16, true},
		{6, 3584, 18944, f32, bf16, false},
		{16, 896, 4864, f32, bf16, true},
		{16, 1536, 8960, f32, bf16, false},
		{17, 896, 896, f32, bf16, false},
		{16, 4096, 4096, f32, f32, true},
		{8, 8192, 8192, bf16, dtype.U8, true}, // in codes
		{16, 8192, 8192, f32, dtype.U8, true},
		{16, 1024, 4096, bf16, dtype.U8, true},
		{9, 8192, 8192, bf16, dtype.U8, false},
		{17, 896, 896, f32, dtype.U8, false},
		{8, 4096, 4096, dtype.I8, dtype.I8, true},
	} {
		if got := (Limits{Family: NVIDIA}).Few(c.rows, c.inner, c.columns, c.left, c.right); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// TestLaunches counts what a group of products takes: LoRA of few rows is one launch.
func TestLaunches(t *testing.T) {
	for _, c := range []struct {
		name string
		g    *backend.Group
		want int
	}{
		{"lora of one row", loraGroup(dtype.BF16, 1, 896, 896, 16, false), 1},
		{"lora of one row, x·Wᵀ", loraGroup(dtype.BF16, 1, 896, 896, 16, true), 1},
		{"lora of eight rows", loraGroup(dtype.F32, 8, 896, 896, 16, false), 1},
		{"lora of nine rows", loraGroup(dtype.F32, 9, 896, 896, 16, false), 2},
		{"a wide first product", loraGroup(dtype.F32, 1, 896, 896, 256, false), 2},
		{"lora of sixteen rows on NVIDIA's", loraGroup(dtype.F32, 16, 1024, 4096, 16, false), 1},
		{"lora of sixteen rows on NVIDIA's, x·Wᵀ", loraGroup(dtype.F32, 16, 1024, 4096, 16, true), 1},
		{"a large lora of sixteen rows on NVIDIA's", loraGroup(dtype.F32, 16, 4096, 4096, 16, false), 1},
		{"lora of sixteen rows and few columns on NVIDIA's", loraGroup(dtype.F32, 16, 4096, 512, 16, false), 1},
		{"lora of eight rows in bf16 on NVIDIA's, x·Wᵀ", loraGroup(dtype.BF16, 8, 1024, 1024, 16, true), 1},
		{"a large lora of eight rows in bf16 on NVIDIA's", loraGroup(dtype.BF16, 8, 4096, 4096, 16, false), 2},
		{"lora of nine rows in bf16 on NVIDIA's", loraGroup(dtype.BF16, 9, 1024, 1024, 16, false), 2},
		{"lora of seventeen rows on NVIDIA's", loraGroup(dtype.F32, 17, 4096, 4096, 16, false), 2},
	} {
		limits := Limits{Threads: 1024, SIMDWidth: simdWidth}
		if strings.Contains(c.name, "NVIDIA") {
			limits.Processors, limits.Family = 132, NVIDIA
		}
		k, err := Render(c.g, limits)
		if err != nil {
			t.Fatal(err)
		}
		if len(k.Dispatches) != c.want || c.want == 1 && k.Scratch != 0 {
			t.Errorf("%s: got %d launches and %d bytes of workspace, want %d and none for one", c.name, len(k.Dispatches), k.Scratch, c.want)
		}
	}
}

// TestFewOneText renders products that differ in their lengths only: a text holds none of them.
func TestFewOneText(t *testing.T) {
	var texts []string
	for _, n := range []int{896, 4096} {
		k, err := Render(loraGroup(dtype.BF16, 1, n, 2*n, 16, false), Limits{Threads: 1024, SIMDWidth: simdWidth})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, k.Dispatches[0].Text)
	}
	if texts[0] != texts[1] {
		t.Errorf("got two texts for two lengths:\n%s\n%s", texts[0], texts[1])
	}
}

// TestQuantisedWords sees that no product reads its codes an element at a time.
func TestQuantisedWords(t *testing.T) {
	for _, tr := range quantTrials() {
		k, err := Render(tr.group, Limits{Threads: 1024, SIMDWidth: simdWidth})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(k.Dispatches[0].Text, "dequantized(") {
			t.Errorf("%s: got an element at a time:\n%s", tr.name, k.Dispatches[0].Text)
		}
	}
}

// TestFewChecked holds products of few rows against float64 on the checking device: with strips of all
// widths, of which a device with many processors gets narrow ones.
func TestFewChecked(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	var list []trial
	for i, tr := range slices.Concat(fewTrials(), quantTrials()) {
		name := tr.name
		for j, limits := range []Limits{{Threads: 64}, {Threads: 96, Processors: 132}, {Threads: 256, Processors: 3}, {Threads: 256, Processors: 132},
			{Threads: 96, Processors: 3, Family: NVIDIA}, {Threads: 256, Processors: 9, Family: NVIDIA}, {Threads: 1024, Processors: 9, Family: NVIDIA}} {
			if !square(i/2, i/8, i/16, j) {
				continue
			}
			tr.limits = limits
			tr.limits.SIMDWidth = simdWidth
			tr.name = name + fmt.Sprintf(", %d threads, %d processors, family %d", limits.Threads, limits.Processors, limits.Family)
			list = append(list, tr)
		}
	}
	checkInModes(t, tools, some(list))
}

// checkInModes holds groups against the reference in each of the checking device's modes, without -long in
// the first.
func checkInModes(t *testing.T, tools *check.Toolchain, list []trial) {
	t.Helper()
	modes := check.Modes[:1]
	if long.Tests() {
		modes = check.Modes
	}
	for _, m := range modes {
		t.Run(m.String(), func(t *testing.T) { checkTrials(t, tools, m, list) })
	}
}

// checkTrials compares trials on one device, each with threads that take turns in one of three orders. Limits
// for which a group has the launches that it has for others are run once.
func checkTrials(t *testing.T, tools *check.Toolchain, m check.Mode, list []trial) {
	texts, kernels := map[string]string{}, make([]*Kernel, len(list))
	for i, tr := range list {
		if m == check.Thread { // it tells no more threads apart
			tr.limits.Threads = min(tr.limits.Threads, mostWatched)
		}
		var err error
		if kernels[i], err = Render(tr.group, tr.limits); err != nil {
			t.Fatalf("%s: %v", tr.name, err)
		}
		for _, d := range kernels[i].Dispatches {
			texts[d.Function] = d.Text
		}
	}
	d, err := tools.Start(context.Background(), m, sourcesOf(t, texts)...)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var data, want [][]byte // of a group
	ran := map[string]bool{}
	for i, tr := range list {
		launches := fmt.Sprintf("%p %v %v", tr.group, kernels[i].Dispatches, kernels[i].Table)
		if ran[launches] {
			continue
		}
		ran[launches] = true
		if i == 0 || tr.group != list[i-1].group {
			data, want = tr.expected(t)
		}
		if err := tr.compare(d, kernels[i], m, uint32(i%3), data, want); err != nil {
			t.Errorf("%s: %v", tr.name, err)
		}
	}
}

// TestFewPTX: what a thread of a product of few rows holds is in registers.
func TestFewPTX(t *testing.T) {
	long.Only(t, "translates products of few rows to PTX")
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	texts := map[string]string{}
	for _, tr := range slices.Concat(fewTrials(), quantTrials()) {
		for _, processors := range []int{9, 132} { // with many, nine rows want more columns
			k, err := Render(tr.group, Limits{Threads: 1024, SIMDWidth: simdWidth, Processors: processors, Family: NVIDIA})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range k.Dispatches {
				texts[d.Function] = d.Text
			}
		}
	}
	for _, s := range sourcesOf(t, texts) {
		ptx, err := tools.PTX(context.Background(), "sm_80", s)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(ptx), ".entry ") {
			if strings.Contains(part, "st.local") {
				t.Errorf("got memory of a thread in %s", part[:strings.IndexByte(part, '(')])
			}
		}
	}
}
