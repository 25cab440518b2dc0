package kernel

import (
	"cmp"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Convolutions as products of matrices, by tiles or by the device's library. The elements that a window reads
// are a column, and the columns of all places a matrix, with a row for each tap of each channel of x:
//
//	y = w·columns      dw = dy·columnsᵀ      dx = what wᵀ·dy has for each tap of each place, added up
//
// A dx of windows that move by one element is a convolution of dy itself, with w's taps in reverse.
//
// Bytes and operations: the columns are taps times as large as x, written once and read once, 8 bytes of f32
// for 2·K operations. They are made for a part of the images, or of one's rows, at a time. With parts of 32
// MB, which stay in an H200's cache, 3×3 of 64 and 128 channels took 1.2 to 1.4 times as long: products of so
// few columns leave processors idle. A thread makes the columns' elements of all taps at four places side by
// side, so it finds out once where it stands; few taps are written out, so that their loads are under way
// together.
const (
	mostPart      = 1 << 30 // bytes that a part may have at most
	leastResults  = 8       // rows of a product: fewer leave a tile empty
	leastColumn   = 16      // its inner axis
	flopsForSteps = 1 << 14 // for each processor: below that, launches take longer
	writtenOut    = 3       // taps along an axis
	leastPlaces   = 512     // columns of a product for each image, below which images share one
)

// firstOfColumns is the number of the first buffer that is lent here. A product that goes to a library lends
// others, from lent on, and gives these back before.
const firstOfColumns = lent / 2

// A columned is a convolution that is being written as products.
type columned struct {
	lending
	g       *backend.Group
	limits  Limits
	in      *backend.Inst
	o       backend.Output
	groups  int
	windows []ir.Window
	steps   []Dispatch
	size    int  // bytes of the workspace
	behind  int  // bytes that steps need behind that
	counts  int  // bytes of counts, which each step leaves at 0
	lacks   bool // a step cannot be written
}

// A gathering is what columns are made of: an operand [N C S…], and how windows move over it.
type gathering struct {
	from    backend.Ref
	layout  ir.Layout
	windows []ir.Window
	places  []int // that windows take along each spatial axis
}

// A part are some images, or some rows of one.
type part struct{ image, images, row, rows int }

// convByColumns writes a convolution as products, if that is worth it.
func convByColumns(g *backend.Group, k *Kernel) bool {
	in := &g.Insts[0]
	c := &columned{lending: lending{first: firstOfColumns}, g: g, limits: k.limits, in: in, o: g.Outputs[0], groups: in.Attr.Index, windows: ir.WindowsOf(in.Attr)}
	a, b := inputLayout(g, in.Args[0]), inputLayout(g, in.Args[1])
	if len(a.Shape) == 0 || len(b.Shape) == 0 || ir.Size(a.Shape)*ir.Size(b.Shape) == 0 {
		return false
	}
	if dt := g.Type(in.Args[0]).DType; dt != g.Type(in.Args[1]).DType || dt != in.DType {
		return false
	}
	weight, places := b.Shape, in.Shape
	switch in.Op {
	case ir.ConvTranspose:
		places = a.Shape
	case ir.ConvWeight:
		weight, places = in.Shape, b.Shape
	}
	results, column := weight[0]/c.groups, ir.Size(weight[1:])
	flops := 2 * ir.Size(places) * column
	if results < leastResults || weight[1] < leastResults && in.Op == ir.ConvTranspose || column < leastColumn || flops < flopsForSteps*k.limits.Processors {
		return false
	}
	switch {
	case in.Op == ir.Conv:
		c.forward(gathering{in.Args[0], a, c.windows, places[2:]}, c.matrix(in.Args[1], b), results)
	case in.Op == ir.ConvWeight:
		c.weight(gathering{in.Args[0], a, c.windows, places[2:]}, b)
	case slices.ContainsFunc(c.windows, func(w ir.Window) bool { return w.Stride > 1 }):
		c.transposed(a, c.matrix(in.Args[1], b), weight[1])
	default:
		c.forward(gathering{in.Args[0], a, c.reversed(), in.Shape[2:]}, c.turned(in.Args[1], b), weight[1])
	}
	if c.lacks {
		return false
	}
	for i := range c.steps {
		c.place(&c.steps[i], ceilTo(c.size, workspaceAlignment))
	}
	k.Dispatches = c.steps
	k.Scratch, k.Table = ceilTo(c.size, workspaceAlignment)+c.behind, make([]byte, c.counts)
	return true
}

// borrow takes memory of the workspace, and returns its number as a buffer.
func (c *columned) borrow(elements int, dt dtype.Type) int {
	at := c.size
	c.size += ceilTo(elements*dt.Size(), workspaceAlignment)
	return c.lend(Field{Kind: Scratch, Size: 8, At: at})
}

// within is a buffer that begins so many elements after another one.
func (c *columned) within(buf, elements int, dt dtype.Type) int {
	f := field(buf, 0)
	if buf >= firstOfColumns {
		f = c.places[buf-firstOfColumns]
	}
	f.At += elements * dt.Size()
	return c.lend(f)
}

// add writes the steps of a group.
func (c *columned) add(g *backend.Group) {
	g.Name, g.TF32 = c.g.Name, c.g.TF32
	own, err := Render(g, c.limits)
	if err != nil {
		c.lacks = true
		return
	}
	c.behind = max(c.behind, own.Scratch)
	c.counts = max(c.counts, len(own.Table))
	c.steps = append(c.steps, own.Dispatches...)
}

// product writes a product of [batches… rows inner] and [batches… inner columns].
func (c *columned) product(a, b backend.Input, o backend.Output) {
	in := backend.Inst{Op: ir.MatMul, DType: c.in.DType, Shape: o.Shape, Args: []backend.Ref{backend.In(0), backend.In(1)}}
	c.add(&backend.Group{Kind: backend.MatMul, Inputs: []backend.Input{a, b}, Insts: []backend.Inst{in}, Outputs: []backend.Output{o}})
}

// copy copies an input to a place in a buffer.
func (c *columned) copy(x backend.Input, to ir.Layout, o backend.Output) {
	g := &backend.Group{Name: c.g.Name, Kind: backend.Single, Inputs: []backend.Input{x}}
	c.steps = append(c.steps, copyInto(g, c.limits, o, backend.In(0), x.Layout, to)...)
}

// dense copies an input to the workspace, in C order.
func (c *columned) dense(in backend.Input) backend.Input {
	whole, to := ir.Contiguous(in.Layout.Shape), c.borrow(ir.Size(in.Layout.Shape), in.DType)
	c.copy(in, whole, backend.Output{Buf: to, DType: in.DType})
	in.Buf, in.Layout = to, whole
	return in
}

// input is an operand of the convolution, seen through another layout.
func (c *columned) input(v backend.Ref, l ir.Layout) backend.Input {
	in := *inputOf(c.g, v)
	in.Layout = l
	return in
}

// flat joins the axes of a layout from one on, if they go on in one another.
func flat(l ir.Layout, first int) (ir.Layout, bool) {
	n, stride := 1, 1
	for axis := len(l.Shape) - 1; axis >= first; axis-- {
		if l.Shape[axis] == 1 {
			continue
		}
		if n == 1 {
			stride = l.Stride[axis]
		} else if l.Stride[axis] != n*stride {
			return l, false
		}
		n *= l.Shape[axis]
	}
	return ir.Layout{Shape: append(slices.Clone(l.Shape[:first]), n), Stride: append(slices.Clone(l.Stride[:first]), stride), Offset: l.Offset}, true
}

// matrix is the weight [O C K…] as [G O/G C·K].
func (c *columned) matrix(v backend.Ref, l ir.Layout) backend.Input {
	in := c.input(v, l)
	m, ok := flat(l, 1)
	if !ok {
		in = c.dense(in)
		m, _ = flat(in.Layout, 1)
	}
	in.Layout = c.grouped(m, 0)
	return in
}

// grouped takes an axis of all groups apart.
func (c *columned) grouped(l ir.Layout, axis int) ir.Layout {
	each := l.Shape[axis] / c.groups
	return ir.Layout{Shape: slices.Concat(l.Shape[:axis], []int{c.groups, each}, l.Shape[axis+1:]),
		Stride: slices.Concat(l.Stride[:axis], []int{each * l.Stride[axis], l.Stride[axis]}, l.Stride[axis+1:]), Offset: l.Offset}
}

// turned is the weight as [G C/G O/G·K], with the taps in reverse.
func (c *columned) turned(v backend.Ref, l ir.Layout) backend.Input {
	w := c.grouped(l, 0)
	axes := []int{0, 2, 1}
	for axis := 3; axis < len(w.Shape); axis++ {
		axes = append(axes, axis)
		w.Offset += (w.Shape[axis] - 1) * w.Stride[axis]
		w.Stride[axis] = -w.Stride[axis]
	}
	w = w.Permute(axes)
	in := c.input(v, w)
	m, ok := flat(w, 2)
	if !ok || m.Stride[2] < 0 {
		in = c.dense(in)
		m, _ = flat(in.Layout, 2)
	}
	in.Layout = m
	return in
}

// reversed are the windows of a dx whose windows move by one element.
func (c *columned) reversed() []ir.Window {
	list := slices.Clone(c.windows)
	for i, w := range list {
		list[i].Before = (w.Kernel-1)*w.Dilation - w.Before
	}
	return list
}

// parts cuts images into parts whose columns, of so many bytes for a row of places, are made at a time. Parts
// of an image are only made if rows may be cut.
func (c *columned) parts(images, rows, bytes int, cut bool) []part {
	var list []part
	room := cmp.Or(c.limits.Room, mostPart)
	if each := room / (rows * bytes); each > 0 || !cut {
		each = max(each, 1)
		for n := 0; n < images; n += each {
			list = append(list, part{n, min(each, images-n), 0, rows})
		}
	} else {
		each = max(1, room/bytes)
		for n := range images {
			for r := 0; r < rows; r += each {
				list = append(list, part{n, 1, r, min(each, rows-r)})
			}
		}
	}
	if p := list[0]; p.images*p.rows*bytes > mostPart {
		c.lacks = true
	}
	return list
}

// itself says whether the columns are the operand itself, and returns it as [N G C P].
func (c *columned) itself(x gathering) (ir.Layout, bool) {
	l, ok := flat(x.layout, 2)
	if !ok || l.Stride[2] != 1 || !pointwise(x.windows) {
		return l, false
	}
	return c.grouped(l, 1), true
}

// matched is a matrix of each group for all images of a part.
func matched(m ir.Layout, images int) ir.Layout {
	return ir.Layout{Shape: append([]int{images}, m.Shape...), Stride: append([]int{0}, m.Stride...), Offset: m.Offset}
}

// forward writes w·columns, of so many results in each group.
func (c *columned) forward(x gathering, w backend.Input, results int) {
	images, inner := x.layout.Shape[0], w.Layout.Shape[2]
	places, line := ir.Size(x.places), ir.Size(x.places[1:])
	if l, ok := c.itself(x); ok {
		w.Layout = matched(w.Layout, images)
		c.product(w, c.input(x.from, l), backend.Output{Buf: c.o.Buf, DType: c.o.DType, Shape: []int{images, c.groups, results, places}})
		return
	}
	dt := c.in.DType
	list := c.parts(images, x.places[0], c.groups*inner*line*dt.Size(), true)
	together := list[0].images > 1 && (places < leastPlaces || places*dt.Size()%16 != 0)
	most := list[0].images * list[0].rows * line
	columns := c.borrow(c.groups*inner*ceilTo(most, 8), dt)
	joined := 0
	if together {
		joined = c.borrow(c.groups*results*ceilTo(most, 8), c.o.DType)
	}
	for _, p := range list {
		n := p.rows * line
		to := c.within(c.o.Buf, p.image*c.groups*results*places+p.row*line, c.o.DType)
		if !together {
			apart := ceilTo(n, 8)
			each := ir.Layout{Shape: []int{p.images, c.groups, inner, n}, Stride: []int{c.groups * inner * apart, inner * apart, apart, 1}}
			c.gather(x, p, columns, each.Stride[0], apart)
			a := w
			a.Layout = matched(w.Layout, p.images)
			c.product(a, backend.Input{DType: dt, Layout: each, Buf: columns},
				backend.Output{Buf: to, DType: c.o.DType, Shape: []int{p.images, c.groups, results, n}, Stride: []int{c.groups * results * places, results * places, places, 1}})
			continue
		}
		all := p.images * n
		apart := ceilTo(all, 8)
		c.gather(x, p, columns, n, apart)
		shape := []int{c.groups, results, all}
		c.product(w, backend.Input{DType: dt, Layout: ir.Layout{Shape: []int{c.groups, inner, all}, Stride: []int{inner * apart, apart, 1}}, Buf: columns},
			backend.Output{Buf: joined, DType: c.o.DType, Shape: shape, Stride: []int{results * apart, apart, 1}})
		c.copy(backend.Input{DType: c.o.DType, Buf: joined, Layout: ir.Layout{Shape: []int{p.images, c.groups * results, n}, Stride: []int{n, apart, 1}}},
			ir.Contiguous([]int{p.images, c.groups * results, n}), backend.Output{Buf: to, DType: c.o.DType})
	}
}

// weight writes dy·columnsᵀ: a product for each part, which are added up at the end.
func (c *columned) weight(x gathering, dy ir.Layout) {
	dt, shape := c.in.DType, c.o.Shape
	results, inner, line := shape[0]/c.groups, ir.Size(shape[1:]), ir.Size(x.places[1:])
	list := c.parts(dy.Shape[0], x.places[0], c.groups*inner*line*dt.Size(), true)
	most := ceilTo(list[0].images*list[0].rows*line, 8)
	columns, side := c.borrow(c.groups*inner*most, dt), c.borrow(shape[0]*most, dt)
	sums := c.o
	if len(list) > 1 {
		sums.DType = dtype.F32
		sums.Buf = c.borrow(len(list)*ir.Size(shape), dtype.F32)
	}
	for i, p := range list {
		n := p.rows * line
		all := p.images * n
		apart := ceilTo(all, 8)
		c.gather(x, p, columns, n, apart)
		from := dy
		from.Shape = slices.Clone(dy.Shape)
		from.Shape[0], from.Shape[2] = p.images, p.rows
		from.Offset += p.image*dy.Stride[0] + p.row*dy.Stride[2]
		to := ir.Contiguous(from.Shape)
		to.Stride[0], to.Stride[1] = n, apart
		c.copy(c.input(c.in.Args[1], from), to, backend.Output{Buf: side, DType: dt})
		c.product(backend.Input{DType: dt, Buf: side, Layout: ir.Layout{Shape: []int{c.groups, results, all}, Stride: []int{results * apart, apart, 1}}},
			backend.Input{DType: dt, Buf: columns, Layout: ir.Layout{Shape: []int{c.groups, all, inner}, Stride: []int{inner * apart, 1, apart}}},
			backend.Output{Buf: c.within(sums.Buf, i*ir.Size(shape), sums.DType), DType: sums.DType, Shape: []int{c.groups, results, inner}})
	}
	if len(list) > 1 {
		g := &backend.Group{Kind: backend.Reduce}
		addRows(g, sums.Buf, ir.Contiguous([]int{len(list), ir.Size(shape)}), c.o)
		c.add(g)
	}
}

// transposed writes wᵀ·dy in f32, and adds up what belongs to each element.
func (c *columned) transposed(y ir.Layout, w backend.Input, channels int) {
	inner, places := w.Layout.Shape[2], y.Shape[2:]
	n := ir.Size(places)
	list := c.parts(y.Shape[0], places[0], c.groups*inner*ir.Size(places[1:])*4, false)
	columns, side := c.borrow(list[0].images*c.groups*inner*n, dtype.F32), 0
	lines, ok := flat(y, 2)
	if ok = ok && lines.Stride[2] == 1; !ok {
		side = c.borrow(list[0].images*y.Shape[1]*n, c.in.DType)
	}
	turned := w
	turned.Layout = w.Layout.Permute([]int{0, 2, 1})
	for _, p := range list {
		from := y
		from.Shape = append([]int{p.images}, y.Shape[1:]...)
		from.Offset += p.image * y.Stride[0]
		b := c.input(c.in.Args[0], from)
		if !ok {
			whole := ir.Contiguous(from.Shape)
			c.copy(b, whole, backend.Output{Buf: side, DType: b.DType})
			b.Buf, from = side, whole
		}
		m, _ := flat(from, 2)
		b.Layout = c.grouped(m, 1)
		a := turned
		a.Layout = matched(turned.Layout, p.images)
		c.product(a, b, backend.Output{Buf: columns, DType: dtype.F32, Shape: []int{p.images, c.groups, inner, n}})
		c.fold(p, columns, places, channels)
	}
}
