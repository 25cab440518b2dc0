package kernel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// A roomed group has the products of layers that read one x, whose room has the h of all their adapters. The
// rooms of the weights have what those are multiplied with.
type roomed struct {
	dt     dtype.Type
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
	input := func(buf int, l ir.Layout) backend.Ref {
		g.Inputs = append(g.Inputs, withLayout(tensorInput(buf, r.dt), l))
		return backend.In(len(g.Inputs) - 1)
	}
	left := func(columns, from int) backend.Ref {
		return input(0, ir.Layout{Shape: []int{r.m, columns}, Stride: []int{pitch, 1}, Offset: from})
	}
	x := left(r.k, r.from)
	for _, l := range r.layers {
		lies := ir.Layout{Shape: []int{r.k, l.n}, Stride: []int{l.n + ir.Room, 1}}
		if l.turned {
			lies.Stride = []int{1, r.k + ir.Room}
		}
		y := inst(ir.MatMul, r.dt, []int{r.m, l.n}, x, input(bufs, lies))
		for _, rank := range l.ranks {
			y.Args = append(y.Args, left(rank, column), input(bufs, ir.Layout{Shape: []int{rank, l.n}, Stride: lies.Stride, Offset: (column - r.from) * lies.Stride[0]}))
			g.Inputs[len(g.Inputs)-1].Room = true
			column += rank
		}
		bufs++
		g.Insts = append(g.Insts, y)
		if l.residual {
			g.Insts = append(g.Insts, inst(ir.Add, r.dt, y.Shape, ref(len(g.Insts)-1), input(bufs, ir.Contiguous(y.Shape))))
			bufs++
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

// clearRooms puts zeros into the rooms of weights where nothing lies.
func (r roomed) clearRooms(g *backend.Group, data [][]byte) {
	for _, in := range g.Insts {
		for n := 1; n < len(in.Args); n += 2 {
			i, _ := in.Args[n].Input()
			if w := g.Inputs[i]; in.Op == ir.MatMul && !w.Room {
				r.clearRoom(g, &w, data[w.Buf])
			}
		}
	}
}

func (r roomed) clearRoom(g *backend.Group, w *backend.Input, data []byte) {
	stride := w.Layout.Stride
	for row := r.k; row < r.k+ir.Room; row++ {
		if slices.ContainsFunc(g.Inputs, func(b backend.Input) bool {
			first := b.Layout.Offset / stride[0]
			return b.Room && b.Buf == w.Buf && first <= row && row < first+b.Layout.Shape[0]
		}) {
			continue
		}
		for column := range w.Layout.Shape[1] {
			if at := 2 * (row*stride[0] + column*stride[1]); at < len(data) {
				clear(data[at : at+2])
			}
		}
	}
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

// TestRooms: where h lies in x's room and B in the weight's, a layer and its adapters are one call.
func TestRooms(t *testing.T) {
	const bf16 = dtype.BF16
	r16 := []int{16}
	elsewhere := func(input int) func(g *backend.Group) {
		return func(g *backend.Group) { g.Inputs[input].Buf, g.Inputs[input].Room = 5, false }
	}
	qkv := []roomedLayer{{n: 896, ranks: r16}, {n: 128, ranks: r16}, {n: 128, ranks: r16}}
	for _, c := range []struct {
		name string
		roomed
		want []string
	}{
		{"a layer", roomed{bf16, 4096, 896, 0, []roomedLayer{{n: 4864, ranks: r16}}, nil}, []string{"4096×912 by 912×4864 of bf16"}},
		{"with a residual, turned", roomed{bf16, 4096, 4864, 64, []roomedLayer{{n: 896, ranks: r16, turned: true, residual: true}}, nil},
			[]string{"4096×4880 by 4880×896 of bf16, with a matrix added"}},
		{"q, k and v", roomed{bf16, 4096, 896, 0, qkv, nil},
			[]string{"4096×912 by 912×896 of bf16", "4096×928 by 928×128 of bf16", "4096×944 by 944×128 of bf16"}},
		{"k and v", roomed{bf16, 4096, 896, 0, qkv[1:], nil}, []string{"4096×912 by 912×128 of bf16", "4096×928 by 928×128 of bf16"}},
		{"two adapters", roomed{bf16, 4096, 3584, 0, []roomedLayer{{n: 18944, ranks: []int{8, 48}}}, nil}, []string{"4096×3640 by 3640×18944 of bf16"}},
		{"a second adapter without room", roomed{bf16, 4096, 3584, 0, []roomedLayer{{n: 3584, ranks: []int{16, 40}}}, elsewhere(4)},
			[]string{"4096×40 by 40×3584 of bf16", "4096×3600 by 3600×3584 of bf16, with a matrix added"}},
		{"two layers' gradients added", roomed{bf16, 4096, 4864, 0, []roomedLayer{{n: 896, ranks: r16}, {n: 896, ranks: r16}}, added},
			[]string{"4096×4880 by 4880×896 of bf16, as f32", "4096×4896 by 4896×896 of bf16, as f32, with a matrix added", "map"}},
		{"h lies elsewhere", roomed{bf16, 4096, 4864, 0, []roomedLayer{{n: 896, ranks: r16}}, elsewhere(2)},
			[]string{"4096×16 by 16×896 of bf16", "4096×4864 by 4864×896 of bf16, with a matrix added"}},
	} {
		k, err := Render(c.group(), Limits{Threads: 1024, SIMDWidth: simdWidth, Processors: 132, Family: NVIDIA, Library: &Library{Offer: func(Work) (int, bool) { return 0, true }}})
		if err != nil {
			t.Fatal(err)
		}
		if got := stepsOf(k); !slices.Equal(got, c.want) {
			t.Errorf("%s: got  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestRoomsChecked holds such groups, and the maps that fill rooms, against the reference.
func TestRoomsChecked(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	limits := Limits{Threads: 256, SIMDWidth: simdWidth, Family: NVIDIA, Processors: 2, Library: &Library{Always: true, Offer: func(Work) (int, bool) { return 0, true }}}
	var list []trial
	var rooms []roomed
	add := func(name string, r roomed) {
		list, rooms = append(list, trial{name: name, group: r.group(), limits: limits}), append(rooms, r)
	}
	for i, dt := range []dtype.Type{dtype.F16, dtype.BF16} {
		for j, turned := range []bool{false, true} {
			add(fmt.Sprintf("%v, turned %v", dt, turned), roomed{dt: dt, m: 40 + 3*i, k: 72, from: 8 * j, layers: []roomedLayer{
				{n: 136, ranks: []int{8, 16}, residual: true}, {n: 36 + i, ranks: []int{16}, turned: turned, residual: i == 0}, {n: 72, turned: true}, {n: 24, ranks: []int{3}, turned: !turned},
			}})
		}
	}
	add("added", roomed{dt: dtype.BF16, m: 40, k: 64, layers: []roomedLayer{{n: 72, ranks: []int{16}}, {n: 72, ranks: []int{8}, turned: true}}, change: added})
	maps := &backend.Group{Name: "maps", Kind: backend.Maps, Inputs: []backend.Input{
		tensorInput(0, dtype.F32, 16, 136), withLayout(tensorInput(1, dtype.F32), ir.Layout{Shape: []int{72, 16}, Stride: []int{1, 72}}), {DType: dtype.BF16, Buf: -1}, tensorInput(2, dtype.BF16, 8, 36),
	}}
	for i, shape := range [][]int{{16, 136}, {72, 16}, {5, 24}, {8, 36}} {
		value := backend.In(i)
		if i < 2 {
			maps.Insts, value = append(maps.Insts, inst(ir.Cast, dtype.BF16, shape, value)), ref(i)
		}
		maps.Outputs = append(maps.Outputs, backend.Output{Value: value, Buf: 3 + i, DType: dtype.BF16, Shape: shape, Stride: []int{shape[1] + ir.Room, 1}, Offset: 8 * i})
	}
	list = append(list, trial{name: "maps", group: maps, limits: limits})
	texts, kernels := map[string]string{}, make([]*Kernel, len(list))
	for i, tr := range list {
		if kernels[i], err = Render(tr.group, tr.limits); err != nil {
			t.Fatal(err)
		}
		for _, d := range kernels[i].Dispatches {
			texts[d.Function] = d.Text
		}
		if got := stepsOf(kernels[i]); slices.Contains(got, "matmul") || i < len(rooms) && slices.Contains(got, "maps") || i == len(rooms) && len(got) > 1 {
			t.Errorf("%s: got %q, want the library's products, or one dispatch of maps", tr.name, got)
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
		if i < len(rooms) {
			rooms[i].clearRooms(tr.group, data)
		}
		if err := tr.compare(d, kernels[i], check.Modes[0], 0, data, want); err != nil {
			t.Errorf("%s: %v", tr.name, err)
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
	p, memory := c.Work.(Product), [ProductD + 1][]byte{}
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
