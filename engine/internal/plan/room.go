package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A lodging is where a value lies in another one's room: so many elements behind the start of that.
type lodging struct{ home, at int }

// leastRoomed is the number of rows from which a product of two pairs is worth a library's call.
const leastRoomed = 128

// A guest is a value that could lie in another one's room. Widths are the elements of a row.
type guest struct{ value, width int }

// findRooms puts what an adapter's first product computes, h = x·A, beside x, where a frozen weight has room
// for the adapter's second matrix: then both operands of x·W + h·B lie in one piece, and a library takes them
// as one product. So x has rows with room behind each. All that lies in it is written by one launch, because
// a product that reads columns which lie behind others' reads those, too.
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
	var homes []guest
	guests := map[guest][]guest{} // of each home, in the order in which it is to have them
	for _, k := range o.order {
		for _, m := range k.heavy {
			o.besides(m, writer, func(x, h guest) {
				if guests[x] == nil {
					homes = append(homes, x)
				}
				if !slices.Contains(guests[x], h) {
					guests[x] = append(guests[x], h)
				}
			})
		}
	}
	readers := o.readersOf()
	for _, x := range homes {
		o.lodge(x, guests[x], writer, readers)
	}
}

// besides calls f with the left operand of a layer's product and with that of each of its adapters which
// could lie in the room of the first. A product may be the sum of several layers'.
func (o *ordering) besides(m int, writer []int, f func(x, h guest)) {
	p := &o.values[m]
	if p.op != ir.MatMul || len(p.shape) != 2 || p.shape[0] < leastRoomed || p.dtype != dtype.BF16 && p.dtype != dtype.F16 {
		return
	}
	x := guest{value: -1}
	for i := 0; i < len(p.args); i += 2 {
		base, ch := o.base(p.args[i])
		v, left := &o.values[base], guest{base, o.values[p.args[i]].shape[1]}
		w, _ := o.base(p.args[i+1])
		roomy := o.values[w].kind == leaf && o.roomy[o.values[w].index]
		l, ok := ch.apply(o.layout(base))
		ok = ok && l.Stride[0] == left.width && l.Stride[1] == 1 && writer[base] > 0 && !o.wanted[base] && !v.dense && o.home(base) == base && v.dtype == p.dtype
		switch {
		case roomy && ok:
			x = left
		case roomy:
			x.value = -1
		case ok && x.value >= 0 && left.width <= ir.Room && left.width%8 == 0 && slices.Contains(o.reads[writer[base]-1], x.value):
			f(x, left)
		}
	}
}

// lodge puts values of one launch into the room of x, if all launches that touch them can do with it.
func (o *ordering) lodge(x guest, list []guest, writer []int, readers [][]int) {
	launches, at := append([]int{writer[x.value] - 1}, readers[x.value]...), x.width
	for _, h := range list {
		if at += h.width; writer[h.value] != writer[list[0].value] || at > x.width+ir.Room {
			return
		}
		launches = append(append(launches, writer[h.value]-1), readers[h.value]...)
	}
	before := o.values[x.value].order
	at = x.width
	o.values[x.value].room = x.width
	for _, g := range append([]guest{x}, list...) {
		o.values[g.value].order = pitched(o.layout(g.value).Stride, g.width, x.width+ir.Room)
	}
	for _, h := range list {
		o.lodgings[h.value], o.over[h.value] = lodging{x.value, at}, x.value
		at += h.width
	}
	slices.Sort(launches)
	for _, i := range slices.Compact(launches) {
		if o.writesRows(i) && !o.emit(o.order[i], o.exports[i]).failed {
			continue
		}
		o.values[x.value].room, o.values[x.value].order = 0, before
		for _, h := range list {
			o.values[h.value].order = nil
			delete(o.lodgings, h.value)
			delete(o.over, h.value)
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
		_, lodged := o.lodgings[v]
		return (lodged || o.values[v].room > 0) && !(o.hints.Permuted != nil && o.hints.Permuted(o.values[k.heavy[0]].op))
	})
}
