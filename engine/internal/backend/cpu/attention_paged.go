package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A paging says where the keys of an [ir.PagedAttention] lie, and how many there are: both are data of a
// launch. Keys that lie in pages one behind the other are read as one run.
type paging struct {
	page, slots, pages int // slots of a page and of all; pages of a batch at most
	table, last        *operand
	scales             [2]*backend.Input // of keys and values in i8, else nil

	// Of the launch under way.
	at    []int64 // [batch pages]
	until []int64 // [batch tq]: how many keys each query sees, counted from the first
}

// compilePaged compiles a PagedAttention.
func compilePaged(c *standalone) func(*launch) {
	in, q, k, v, pages := c.in, c.shape(0), c.shape(1), c.shape(2), c.shape(3)
	p := &paging{page: in.Attr.Ints[0], slots: k[1], pages: pages[1], table: c.index(3), last: c.index(4)}
	h := heads{
		b: q[0], hq: q[1], tq: q[2], d: q[3], hk: k[0], tk: pages[1] * p.page, dv: v[2], scale: float32(in.Attr.Float), Sight: ir.SightOf(&in.Attr), paged: p,
		q: newTensor4(c.input(0)), k: newSlots(c.input(1)), v: newSlots(c.input(2)),
	}
	for i := range in.Args[5:] {
		p.scales[i] = c.input(5 + i)
	}
	c.bound = append(c.bound, p)
	return newAttention(c, h)
}

// newSlots is the tensor of an input [head slot feature], which is that of all batches.
func newSlots(in *backend.Input) tensor4 {
	t := tensor4{buf: in.Buf, offset: in.Layout.Offset, codes: in.DType == dtype.I8}
	if !t.codes {
		t.elem = elemOf(in.DType)
	}
	copy(t.stride[1:], in.Layout.Stride)
	if in.Layout.Shape[2] == 1 {
		t.stride[3] = 1
	}
	return t
}

// bind reads how many keys there are, and where.
func (p *paging) bind(l *launch) {
	p.at = p.table.indices(l)
	last := p.last.indices(l)
	p.until = elements[int64](l.scratch.bytes(8 * len(last)))
	for i, x := range last {
		p.until[i] = min(max(0, x+1), int64(p.pages*p.page))
	}
}

func (p *paging) release() { p.at, p.until = nil, nil }

// longest is how many keys the last of tq queries of any batch sees.
func (p *paging) longest(tq int) int {
	n := 0
	for i := tq - 1; i < len(p.until); i += tq {
		n = max(n, int(p.until[i]))
	}
	return n
}

// adjacent is the slot of a key, and how many of the n keys from it on lie in slots one behind the other.
func (p *paging) adjacent(batch, key, n int) (slot, count int) {
	page := func(key int) int {
		return min(max(0, int(p.at[batch*p.pages+key/p.page])), p.slots/p.page-1)
	}
	first := page(key)
	slot, count = first*p.page+key%p.page, p.page-key%p.page
	for count < n && page(key+count) == first+(key+count)/p.page-key/p.page {
		count += p.page
	}
	return slot, min(n, count)
}

// lines returns as many of n keys, or of their values, from one on as lie one behind the other: lines are
// keys, steps features. Those in i8 are converted into room, which has a row of width numbers for each.
func (h *heads) lines(l *launch, of *tensor4, which, batch, head, key, n int, room []float32, width int) (s micro.Source, count int) {
	if h.paged == nil {
		return of.source(l, batch, head, key), n
	}
	slot, count := h.paged.adjacent(batch, key, n)
	if !of.codes {
		return of.source(l, batch, head, slot), count
	}
	codes := elements[int8](l.bufs[of.buf])[of.offset+head*of.stride[1]:]
	scales := h.paged.scales[which]
	numbers, layout := elements[float32](l.bufs[scales.Buf]), scales.Layout
	for i := range count {
		scale := numbers[layout.Offset+head*layout.Stride[0]+(slot+i)*layout.Stride[1]]
		row := codes[(slot+i)*of.stride[2]:]
		to := room[i*width:][:width]
		for d := range to {
			to[d] = float32(row[d*of.stride[3]]) * scale
		}
	}
	return micro.Source{Base: unsafe.Pointer(unsafe.SliceData(room)), Line: width, Step: 1}, count
}

// together returns n keys, or their values, as one source: copied into room unless they lie one behind the
// other.
func (h *heads) together(l *launch, of *tensor4, which, batch, head, key, n int, room []float32, width int) micro.Source {
	if h.paged == nil {
		return of.source(l, batch, head, key)
	}
	s, count := h.lines(l, of, which, batch, head, key, n, room, width)
	if count == n {
		return s
	}
	for at := 0; ; {
		for i := range count {
			if !of.codes {
				micro.Spread(room[(at+i)*width:], s.At(i, 0), width)
			}
		}
		if at += count; at == n {
			return micro.Source{Base: unsafe.Pointer(unsafe.SliceData(room)), Line: width, Step: 1}
		}
		s, count = h.lines(l, of, which, batch, head, key+at, n-at, room[at*width:], width)
	}
}

// room is how many numbers the copy of n keys or values takes; 0 where they are read as they lie.
func (h *heads) room(n int) int {
	if h.paged == nil {
		return 0
	}
	return roundUp16(n * max(h.d, h.dv))
}
