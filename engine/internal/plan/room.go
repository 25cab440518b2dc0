package plan

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An adapter beside a frozen layer is x·W + h·B, with h = x·A. Where W has room (see ir.Room), h lies in the
// room behind the rows of x, and B in that of W: then both operands lie in one piece, and a library takes
// them as one product. Nothing of x or W is copied; all B of a plan, rounded to the type of W, are copied to
// the rooms by its first launch.

// rooms says what lies in rooms.
type rooms struct {
	inside   map[int]inside
	fillings []*filling
	filled   map[int][]*filling  // those of each leaf
	inRoom   map[[2]int]*filling // that which is an argument of a product
}

// An inside is where a value lies in another one's room: so many elements behind the start of that.
type inside struct{ home, at int }

// A filling is what the first launch copies to the room of a leaf: another leaf, or zeros if value is −1.
// They are as many rows, so many behind the last one of the leaf as a product sees it.
type filling struct {
	home, value int
	from        ir.Layout
	to          ir.Layout
	at          int
}

// A matrix is a value as the left operand of a product, with rows of so many elements.
type matrix struct{ value, width int }

// A pairing is an adapter's pair beside its layer's in product m, of which h could lie in the room of x.
type pairing struct {
	m, layer, pair int // which of the arguments the layer's pair and the adapter's begin at
	x, h           matrix
}

// leastRoomed is the number of rows from which a product of two pairs is worth a library's call.
const leastRoomed = 128

// findRooms finds what can lie in rooms.
func (o *ordering) findRooms() {
	if !o.fuse || !o.hints.Room {
		return
	}
	writer := make([]int, len(o.values)) // the launch that writes a value, plus one
	for i, list := range o.exports {
		for _, v := range list {
			writer[v] = i + 1
		}
	}
	var pairings []pairing
	for _, k := range o.order {
		for _, m := range k.heavy {
			pairings = append(pairings, o.pairingsOf(m, writer)...)
		}
	}
	var homes []matrix
	beside := map[matrix][]matrix{} // of each home, in the order in which it is to have them
	for _, s := range pairings {
		if beside[s.x] == nil {
			homes = append(homes, s.x)
		}
		if !slices.Contains(beside[s.x], s.h) {
			beside[s.x] = append(beside[s.x], s.h)
		}
	}
	readers := o.readersOf()
	for _, x := range homes {
		o.nest(x, beside[x], writer, readers)
	}
	ends := map[[2]int]int{} // of each product's layer, the rows that lie in the room of its weight
	for _, s := range pairings {
		l, ok := o.inside[s.h.value]
		if layer, at := [2]int{s.m, s.layer}, l.at-s.x.width; ok && o.fill(&s, at, ends[layer]) {
			ends[layer] = at + s.h.width
		}
	}
}

// pairingsOf finds those of product m, which may be the sum of several layers.
func (o *ordering) pairingsOf(m int, writer []int) (list []pairing) {
	p := &o.values[m]
	if p.op != ir.MatMul || len(p.shape) != 2 || p.shape[0] < leastRoomed || p.dtype != dtype.BF16 && p.dtype != dtype.F16 {
		return nil
	}
	s := pairing{m: m, layer: -1}
	for i := 0; i < len(p.args); i += 2 {
		base, ch := o.base(p.args[i])
		v, left := &o.values[base], matrix{base, o.values[p.args[i]].shape[1]}
		w, _ := o.base(p.args[i+1])
		l, ok := ch.apply(o.layout(base))
		ok = ok && l.Stride[0] == left.width && l.Stride[1] == 1 && writer[base] > 0 && !o.wanted[base] && !v.dense && o.home(base) == base && v.dtype == p.dtype
		switch {
		case o.values[w].kind == leaf && o.roomy[o.values[w].index] && o.values[w].dtype == p.dtype:
			if s.layer, s.x = i, left; !ok {
				s.layer = -1
			}
		case ok && s.layer >= 0 && left.width <= ir.Room && left.width%8 == 0 && slices.Contains(o.reads[writer[base]-1], s.x.value):
			s.pair, s.h = i, left
			list = append(list, s)
		}
	}
	return list
}

// nest puts values that one launch writes into the room of x, if all launches that touch them can do with
// it. One launch, because a product that reads columns behind others' reads those, too.
func (o *ordering) nest(x matrix, list []matrix, writer []int, readers [][]int) {
	all := append([]matrix{x}, list...)
	var launches []int
	var orders [][]int
	at := 0
	for _, g := range all {
		if at += g.width; o.home(g.value) != g.value || o.values[g.value].room > 0 { // it has its place for another product
			return
		}
		launches, orders = append(append(launches, writer[g.value]-1), readers[g.value]...), append(orders, o.values[g.value].order)
	}
	if at > x.width+ir.Room || slices.ContainsFunc(list, func(h matrix) bool { return writer[h.value] != writer[list[0].value] }) {
		return
	}
	o.values[x.value].room = x.width
	for _, g := range all {
		o.values[g.value].order = pitched(o.layout(g.value).Stride, g.width, x.width+ir.Room)
	}
	at = x.width
	for _, h := range list {
		o.inside[h.value], o.over[h.value] = inside{x.value, at}, x.value
		at += h.width
	}
	slices.Sort(launches)
	for _, i := range slices.Compact(launches) {
		if o.writesRows(i) && !o.emit(o.order[i], o.exports[i]).failed {
			continue
		}
		o.values[x.value].room = 0
		for n, g := range all {
			o.values[g.value].order = orders[n]
			delete(o.inside, g.value)
			delete(o.over, g.value)
		}
		return
	}
}

// pitched are the strides of rows, which lie one after the other, when they begin so many elements apart.
func pitched(strides []int, width, pitch int) []int {
	list := slices.Clone(strides)
	for axis, s := range strides {
		if s >= width {
			list[axis] = s / width * pitch
		}
	}
	return list
}

// writesRows says whether launch i can leave room between the rows that it writes, if it writes any with
// room.
func (o *ordering) writesRows(i int) bool {
	k := o.order[i]
	return k.kind != backend.Reduce && k.kind != backend.Single || !slices.ContainsFunc(o.exports[i], func(v int) bool {
		_, nested := o.inside[v]
		return (nested || o.values[v].room > 0) && !(o.hints.Permuted != nil && o.hints.Permuted(o.values[k.heavy[0]].op))
	})
}

// fill puts the right operand of a pairing so many rows behind that of its layer, and zeros between the end
// of others and it, if it is a leaf and nothing else lies there. It says whether it did.
func (o *ordering) fill(s *pairing, at, end int) bool {
	p := &o.values[s.m]
	home, whole := o.base(p.args[s.layer+1])
	b, ch := o.base(p.args[s.pair+1])
	if u := o.unconverted(b); u >= 0 {
		base, first := o.base(u)
		b, ch = base, first.then(o.values[base].shape, ch...)
	}
	w, ok := whole.apply(o.layout(home))
	from, well := ch.apply(o.layout(b))
	if !ok || !well || o.values[b].kind != leaf || o.values[b].dtype != dtype.F32 && o.values[b].dtype != p.dtype || w.Size() != o.values[home].size() || at < end {
		return false
	}
	list := []*filling{{home, b, from, behind(w, at, s.h.width), at}}
	if at > end {
		list = append(list, &filling{home: home, value: -1, to: behind(w, end, at-end), at: end})
	}
	for i, f := range list {
		for _, g := range o.filled[home] {
			switch {
			case g.equal(f):
				list[i] = g
			case g.to.Stride[0] == f.to.Stride[0] && g.at < f.at+f.to.Shape[0] && f.at < g.at+g.to.Shape[0]:
				return false
			}
		}
	}
	for _, f := range list {
		if !slices.Contains(o.filled[home], f) {
			o.fillings, o.filled[home] = append(o.fillings, f), append(o.filled[home], f)
		}
	}
	o.inRoom[[2]int{s.m, s.pair + 1}] = list[0]
	return true
}

// behind is the layout of so many rows, at rows behind the last one of a matrix.
func behind(w ir.Layout, at, rows int) ir.Layout {
	return ir.Layout{Shape: []int{rows, w.Shape[1]}, Stride: w.Stride, Offset: w.Offset + (w.Shape[0]+at)*w.Stride[0]}
}

func (f *filling) equal(g *filling) bool {
	return f.value == g.value && f.to.Offset == g.to.Offset && slices.Equal(f.to.Shape, g.to.Shape) && slices.Equal(f.to.Stride, g.to.Stride) &&
		f.from.Offset == g.from.Offset && slices.Equal(f.from.Stride, g.from.Stride)
}

// fillFirst puts the launch that fills rooms before all others.
func (o *ordering) fillFirst() {
	if len(o.fillings) == 0 {
		return
	}
	o.order, o.exports = slices.Insert(o.order, 0, &cluster{kind: backend.Maps}), slices.Insert(o.exports, 0, nil)
	o.uses, o.reads = slices.Insert(o.uses, 0, nil), slices.Insert(o.reads, 0, nil)
}

// fillRooms writes the copies of that launch down, along what lies side by side in rooms.
func (e *emitter) fillRooms() {
	for i, f := range e.fillings {
		home := &e.values[f.home]
		in, to := backend.Input{DType: home.dtype, Buf: -1, Scalar: len(e.scalars)}, f.to
		if f.value >= 0 {
			in = backend.Input{DType: e.values[f.value].dtype, Layout: f.from, Buf: e.buffer(f.value)}
		} else {
			e.scalars = append(e.scalars, e.scalar(expr{dtype: home.dtype, input: literal}))
		}
		if to.Stride[0] == 1 {
			to = to.Permute([]int{1, 0})
			if f.value >= 0 {
				in.Layout = in.Layout.Permute([]int{1, 0})
			}
		}
		value := e.input(place{f.home, fmt.Sprint("filling ", i)}, in, -1)
		if in.DType != home.dtype {
			e.group.Insts = append(e.group.Insts, backend.Inst{Op: ir.Cast, DType: home.dtype, Shape: to.Shape, Args: []backend.Ref{value}})
			value = backend.Ref{Index: len(e.group.Insts) - 1}
		}
		e.group.Outputs = append(e.group.Outputs, backend.Output{Value: value, Buf: e.buffer(f.home), DType: home.dtype, Shape: to.Shape, Stride: to.Stride, Offset: to.Offset})
	}
}

// fromRoom returns the input that lies in a room.
func (e *emitter) fromRoom(f *filling) backend.Ref {
	at := place{f.home, fmt.Sprint("room ", f.to.Offset, f.to.Stride[0])}
	if r, ok := e.refs[at]; ok {
		return r
	}
	return e.input(at, backend.Input{DType: e.values[f.home].dtype, Layout: f.to, Buf: e.buffer(f.home), Room: true}, -1)
}
