package kernel

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// A roomed group has the products of layers that read one x, whose room has the h of all their adapters.
type roomed struct {
	dt, b  dtype.Type // of b, the adapters' second matrices
	m, k   int
	from   int // x's first element in its buffer
	layers []roomedLayer
	change func(g *backend.Group)
}

type roomedLayer struct {
	n                int
	ranks            []int
	turned, residual bool
}

func (r roomed) group() *backend.Group {
	g := &backend.Group{Name: "roomed", Kind: backend.MatMul}
	pitch, column, bufs := r.k+ir.Room, r.from+r.k, 1
	left := func(columns, from int) backend.Ref {
		g.Inputs = append(g.Inputs, withLayout(tensorInput(0, r.dt), ir.Layout{Shape: []int{r.m, columns}, Stride: []int{pitch, 1}, Offset: from}))
		return backend.In(len(g.Inputs) - 1)
	}
	right := func(dt dtype.Type, l ir.Layout) backend.Ref {
		g.Inputs = append(g.Inputs, withLayout(tensorInput(bufs, dt), l))
		bufs++
		return backend.In(len(g.Inputs) - 1)
	}
	x := left(r.k, r.from)
	for _, l := range r.layers {
		lies := ir.Layout{Shape: []int{r.k, l.n}, Stride: []int{l.n + ir.Room, 1}}
		if l.turned {
			lies.Stride = []int{1, r.k + ir.Room}
		}
		y := inst(ir.MatMul, r.dt, []int{r.m, l.n}, x, right(r.dt, lies))
		g.Inputs[len(g.Inputs)-1].Room = true
		for _, rank := range l.ranks {
			y.Args = append(y.Args, left(rank, column), right(r.b, ir.Contiguous([]int{rank, l.n})))
			column += rank
		}
		g.Insts = append(g.Insts, y)
		if l.residual {
			g.Insts = append(g.Insts, inst(ir.Add, r.dt, y.Shape, ref(len(g.Insts)-1), right(r.dt, ir.Contiguous(y.Shape))))
		}
		g.Outputs = append(g.Outputs, backend.Output{Value: ref(len(g.Insts) - 1), DType: r.dt, Shape: y.Shape, Stride: []int{l.n + ir.Room, 1}})
	}
	for i := range g.Outputs {
		g.Outputs[i].Buf = bufs + i
	}
	if r.change != nil {
		r.change(g)
	}
	return g
}

// added makes the two products of a roomed group one, each with an x of its own: the gradient of what two
// layers read.
func added(g *backend.Group) {
	y, z := &g.Insts[0], g.Insts[1]
	g.Inputs = append(g.Inputs, g.Inputs[0])
	z.Args[0] = backend.In(len(g.Inputs) - 1)
	for n := 0; n < len(z.Args); n += 2 {
		i, _ := z.Args[n].Input()
		g.Inputs[i].Buf = g.Outputs[1].Buf
	}
	y.Args = append(y.Args, z.Args...)
	g.Insts, g.Outputs = g.Insts[:1], g.Outputs[:1]
}

// TestRooms: where h lies in x's room and the weight has room for B, B is all that is copied, in one dispatch
// for all products of the group.
func TestRooms(t *testing.T) {
	const bf16, f32 = dtype.BF16, dtype.F32
	r16 := []int{16}
	qkv := []roomedLayer{{n: 896, ranks: r16}, {n: 128, ranks: r16}, {n: 128, ranks: r16}}
	for _, c := range []struct {
		name string
		roomed
		want []string
	}{
		{"a layer", roomed{bf16, f32, 4096, 896, 0, []roomedLayer{{n: 4864, ranks: r16}}, nil}, []string{"map", "4096×912 by 912×4864 of bf16"}},
		{"with a residual, turned", roomed{bf16, bf16, 4096, 4864, 64, []roomedLayer{{n: 896, ranks: r16, turned: true, residual: true}}, nil},
			[]string{"map", "4096×4880 by 4880×896 of bf16, with a matrix added"}},
		{"q, k and v", roomed{bf16, f32, 4096, 896, 0, qkv, nil},
			[]string{"maps", "4096×912 by 912×896 of bf16", "4096×928 by 928×128 of bf16", "4096×944 by 944×128 of bf16"}},
		{"k and v", roomed{bf16, f32, 4096, 896, 0, qkv[1:], nil}, []string{"maps", "4096×912 by 912×128 of bf16", "4096×928 by 928×128 of bf16"}},
		{"two adapters", roomed{bf16, f32, 4096, 3584, 0, []roomedLayer{{n: 18944, ranks: []int{8, 48}}}, nil}, []string{"maps", "4096×3640 by 3640×18944 of bf16"}},
		{"a second adapter without room", roomed{bf16, f32, 4096, 3584, 0, []roomedLayer{{n: 3584, ranks: []int{16, 64}}}, nil},
			[]string{"map", "map", "4096×64 by 64×3584 of bf16", "4096×3600 by 3600×3584 of bf16, with a matrix added"}},
		{"two layers' gradients added", roomed{bf16, f32, 4096, 4864, 0, []roomedLayer{{n: 896, ranks: r16}, {n: 896, ranks: r16}}, added},
			[]string{"maps", "4096×4880 by 4880×896 of bf16, as f32", "4096×4896 by 4896×896 of bf16, as f32, with a matrix added", "map"}},
		{"h lies elsewhere", roomed{bf16, f32, 4096, 4864, 0, []roomedLayer{{n: 896, ranks: r16}}, func(g *backend.Group) { g.Inputs[2].Buf = 5 }},
			[]string{"matmul", "4096×4864 by 4864×896 of bf16, with a matrix added"}},
		{"no room", roomed{bf16, f32, 4096, 4864, 0, []roomedLayer{{n: 896, ranks: r16}}, func(g *backend.Group) { g.Inputs[1].Room = false }},
			[]string{"matmul", "4096×4864 by 4864×896 of bf16, with a matrix added"}},
		{"a weight of two products", roomed{bf16, f32, 4096, 4864, 0, []roomedLayer{{n: 896, ranks: r16}, {n: 896, ranks: r16}}, func(g *backend.Group) { g.Inputs[4].Buf = g.Inputs[1].Buf }},
			[]string{"matmul", "4096×4864 by 4864×896 of bf16, with a matrix added", "matmul", "4096×4864 by 4864×896 of bf16, with a matrix added"}},
	} {
		k, err := Render(c.group(), Limits{Threads: 1024, SIMDWidth: simdWidth, Processors: 132, Family: NVIDIA, Library: &Library{Offer: func(Product) (int, bool) { return 0, true }}})
		if err != nil {
			t.Fatal(err)
		}
		if got := stepsOf(k); !slices.Equal(got, c.want) {
			t.Errorf("%s: got  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestRoomsChecked holds such groups against the reference; nothing but rooms is written beside the results.
func TestRoomsChecked(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	var list []trial
	for i, dt := range []dtype.Type{dtype.F16, dtype.BF16} {
		for j, b := range []dtype.Type{dt, dtype.F32} {
			r := roomed{dt: dt, b: b, m: 40 + 3*i, k: 72, from: 8 * j, layers: []roomedLayer{
				{n: 136, ranks: []int{8, 16}, residual: true}, {n: 36 + i, ranks: []int{16}, turned: j == 0, residual: i == 0}, {n: 72, turned: true}, {n: 24, ranks: []int{3}, turned: true},
			}}
			list = append(list, trial{name: fmt.Sprintf("%v and %v", dt, b), group: r.group(), limits: Limits{Threads: 256, SIMDWidth: simdWidth, Family: NVIDIA, Processors: 2,
				Library: &Library{Always: true, Offer: func(Product) (int, bool) { return 0, true }}}})
		}
	}
	sum := roomed{dt: dtype.BF16, b: dtype.F32, m: 40, k: 64, layers: []roomedLayer{{n: 72, ranks: []int{16}}, {n: 72, ranks: []int{8}, turned: true}}, change: added}
	list = append(list, trial{name: "added", group: sum.group(), limits: list[0].limits})
	texts, kernels := map[string]string{}, make([]*Kernel, len(list))
	for i, tr := range list {
		if kernels[i], err = Render(tr.group, tr.limits); err != nil {
			t.Fatal(err)
		}
		for _, d := range kernels[i].Dispatches {
			texts[d.Function] = d.Text
		}
		if got := stepsOf(kernels[i]); got[0] != "maps" || slices.Contains(got[1:], "maps") || slices.Contains(got, "matmul") {
			t.Errorf("%s: got %q, want one dispatch before all products, which are the library's", tr.name, got)
		}
	}
	delete(texts, "")
	d, err := tools.Start(t.Context(), check.Modes[0], sourcesOf(t, texts)...)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i, tr := range list {
		data, want := tr.expected(t)
		if err := tr.compare(d, kernels[i], check.Modes[0], 0, data, want); err != nil {
			t.Errorf("%s: %v", tr.name, err)
		}
		got, err := tr.run(d, kernels[i], check.Modes[0], 0, data)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got[0], data[0]) {
			t.Errorf("%s: x or h were written", tr.name)
		}
		for n, in := range tr.group.Inputs {
			for e := range ir.Size(in.Layout.Shape) {
				at := 2 * (e/in.Layout.Shape[1]*in.Layout.Stride[0] + e%in.Layout.Shape[1]*in.Layout.Stride[1])
				if in.Room && !bytes.Equal(got[in.Buf][at:at+2], data[in.Buf][at:at+2]) {
					t.Fatalf("%s: element %d of input %d was written", tr.name, e, n)
				}
			}
		}
	}
}

// pitched is a group whose matrices of several rows have room behind each of them, but weights of a norm.
func pitched(g *backend.Group) *backend.Group {
	own := *g
	own.Inputs, own.Outputs = slices.Clone(g.Inputs), slices.Clone(g.Outputs)
	for i := range own.Inputs {
		if l := &own.Inputs[i].Layout; len(l.Shape) == 2 && l.IsContiguous() && l.Stride[1] == 1 {
			l.Stride = []int{l.Shape[1] + ir.Room, 1}
		}
	}
	for i := range own.Outputs {
		if o := &own.Outputs[i]; len(o.Shape) == 2 {
			o.Stride = []int{o.Shape[1] + ir.Room, 1}
		}
	}
	return &own
}

// TestPitched: rows with room behind them are read and written as those without, by the same texts; a map,
// which then has two axes, by as many vectors. What a product, or twins, find of x may lie in x's room.
func TestPitched(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	limits := Limits{Threads: 1024, SIMDWidth: simdWidth, Family: NVIDIA, Warpgroups: true, Processors: 2, Memory: 227 << 10}
	typ, bf16 := typeOf, dtype.BF16
	attr := ir.Attr{Float: 1e-5}
	twins := pitched(sharing(bf16, [4]int{1160, 136, 8, 8}))
	list := []trial{
		{name: "map", group: pitched(oneOp(backend.Map, ir.Silu, ir.Attr{}, []ir.Type{typ(bf16, 40, 1024)}, typ(bf16, 40, 1024)))},
		{name: "norm", group: pitched(oneOp(backend.Row, ir.RMSNorm, attr, []ir.Type{typ(bf16, 5, 1024), typ(bf16, 1024)}, typ(bf16, 5, 1024)))},
		{name: "long rows", group: pitched(oneOp(backend.Row, ir.Softmax, attr, []ir.Type{typ(bf16, 3, 40000)}, typ(bf16, 3, 40000)))},
		{name: "norm's gradient", group: pitched(oneOp(backend.Row, ir.RMSNormGrad, attr, []ir.Type{typ(bf16, 21, 1200), typ(bf16, 1200), typ(bf16, 21, 1200)}, typ(bf16, 21, 1200), typ(dtype.F32, 1200)))},
		{name: "product", group: pitched(productTrial{m: 136, k: 64, n: 264, a: bf16, b: bf16, epilogue: true}.group())},
		{name: "product of warpgroups", group: pitched(productTrial{m: 520, k: 136, n: 264, a: bf16, b: bf16}.group())},
		{name: "product of matrices down", group: pitched(productTrial{m: 72, k: 48, n: 136, a: bf16, b: bf16, down: [2]bool{true, true}}.group())},
		{name: "x·A in parts", group: pitched(productTrial{m: 300, k: 1040, n: 16, a: bf16, b: bf16}.group())},
		{name: "few rows", group: pitched(productTrial{m: 5, k: 136, n: 72, a: bf16, b: bf16}.group())},
		{name: "twins", group: twins},
	}
	for i, tr := range list {
		list[i].limits = limits
		got, err := Render(tr.group, limits)
		if err != nil {
			t.Fatal(err)
		}
		plain := *tr.group
		plain.Inputs, plain.Outputs = slices.Clone(plain.Inputs), slices.Clone(plain.Outputs)
		for i := range plain.Inputs {
			if l := &plain.Inputs[i].Layout; len(l.Shape) == 2 && l.Stride[1] == 1 && l.Stride[0] > 1 {
				*l = ir.Contiguous(l.Shape)
			}
		}
		for i := range plain.Outputs {
			plain.Outputs[i].Stride = nil
		}
		want, err := Render(&plain, limits)
		if err != nil {
			t.Fatal(err)
		}
		for n, d := range got.Dispatches {
			text := want.Dispatches[n].Text
			if tr.group.Kind == backend.Map && !strings.Contains(d.Text, "store8") || tr.group.Kind != backend.Map && d.Text != text {
				t.Errorf("%s: got\n%s, want\n%s", tr.name, d.Text, text)
			}
		}
	}
	for _, i := range []int{7, 9} { // the first result goes to x's room
		g := list[i].group
		x := g.Inputs[0].Layout
		g.Outputs[len(g.Outputs)-1].Buf = g.Outputs[0].Buf
		g.Outputs[0].Buf, g.Outputs[0].Offset, g.Outputs[0].Stride = g.Inputs[0].Buf, x.Shape[1]+8, x.Stride
	}
	checkInModes(t, tools, list)
}

// multiplied computes a library's product in the device's memory.
func multiplied(d *check.Device, c *Call, at *Addresses) error {
	p, memory := &c.Product, [ProductD + 1][]byte{}
	address := func(f Field) check.Pointer {
		base := at.Scratch
		if f.Kind == Pointer {
			base = at.Buffers[f.Index]
		}
		return check.Pointer(base + uint64(f.At))
	}
	for i := range memory {
		memory[i] = make([]byte, p.Bytes(i))
		if err := d.Read(memory[i], address(c.Operands[i])); err != nil && len(memory[i]) > 0 {
			return err
		}
	}
	element := func(operand int, m Matrix, row, column int) []byte {
		if m.Transposed {
			row, column = column, row
		}
		return memory[operand][(row*m.Stride+column)*m.DType.Size():]
	}
	for row := range p.Rows {
		for column := range p.Columns {
			sum := 0.0
			for k := range p.Inner {
				sum += ir.Load(p.A.DType, element(ProductA, p.A, row, k)).F * ir.Load(p.B.DType, element(ProductB, p.B, k, column)).F
			}
			if p.Added() {
				sum += ir.Load(p.C.DType, element(ProductC, p.C, row, column)).F
			}
			ir.Append(p.D.DType, element(ProductD, p.D, row, column)[:0], ir.Scalar{F: sum})
		}
	}
	return d.Write(address(c.Operands[ProductD]), memory[ProductD])
}
