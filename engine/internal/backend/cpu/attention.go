package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Attention goes over the keys in blocks and never holds all scores of a query (Dao et al. 2022,
// FlashAttention): a block of scores stays in the cache from its first product to its second. Keys and values
// are packed once for all the queries that look at them; with a causal mask or a window, a block of queries
// skips the blocks of keys that none of them may see.
const (
	queryBlock = vec.ColumnsApart
	keyBlock   = 256
)

// heads is the geometry of an attention, and how its operands lie.
type heads struct {
	b, hq, hk, tq, tk, d, dv int
	scale                    float32
	causal                   bool
	ir.Sight
	q, k, v  tensor4
	mask     *operand // [b hq tq tk], Bool or f32; nil without one
	boolMask bool
	paged    *paging // nil where keys lie as [batch head token feature]
}

// A tensor4 is an input [batch, head, token, feature].
type tensor4 struct {
	buf    int
	elem   micro.Elem
	codes  bool // i8 with scales, in place of elem
	offset int
	stride [4]int
}

// source returns a head's matrix from a token on: lines are tokens, steps are features.
func (t *tensor4) source(l *launch, batch, head, token int) micro.Source {
	at := t.offset + batch*t.stride[0] + head*t.stride[1] + token*t.stride[2]
	return micro.Source{Base: unsafe.Add(l.pointer(t.buf), at*t.elem.Size()), Elem: t.elem, Line: t.stride[2], Step: t.stride[3]}
}

// across swaps lines and steps.
func across(s micro.Source) micro.Source {
	s.Line, s.Step = s.Step, s.Line
	return s
}

func compileAttention(c *standalone) func(*launch) {
	in, q, k, v := c.in, c.shape(0), c.shape(1), c.shape(2)
	h := heads{
		b: q[0], hq: q[1], tq: q[2], d: q[3], hk: k[1], tk: k[2], dv: v[3],
		scale: float32(in.Attr.Float), causal: in.Attr.Flags&ir.Causal != 0, Sight: ir.SightOf(&in.Attr),
		q: newTensor4(c.input(0)), k: newTensor4(c.input(1)), v: newTensor4(c.input(2)),
	}
	double := c.dtype(0) == dtype.F64
	mask := 3
	if in.Op == ir.AttentionGrad {
		mask = 6
	}
	if len(in.Args) > mask {
		t := dtype.F32
		switch h.boolMask = c.dtype(mask) == dtype.Bool; {
		case h.boolMask:
			t = dtype.Bool
		case double:
			t = dtype.F64
		}
		h.mask = c.operand(mask, []int{h.b, h.hq, h.tq, h.tk}, t).reserve(keyBlock)
	}
	switch {
	case double:
		return newDoubleAttention(c, h)
	case in.Op == ir.AttentionGrad:
		return newAttentionGrad(c, h)
	}
	return newAttention(c, h)
}

func newTensor4(in *backend.Input) tensor4 {
	t := tensor4{buf: in.Buf, elem: elemOf(in.DType), offset: in.Layout.Offset}
	copy(t.stride[:], in.Layout.Stride)
	for axis, n := range in.Layout.Shape {
		if n == 1 {
			t.stride[axis] = 0
		}
	}
	if in.Layout.Shape[3] == 1 {
		t.stride[3] = 1
	}
	return t
}

// keyHead is the head of keys and values that query head h looks at.
func (h *heads) keyHead(head int) int { return head / (h.hq / h.hk) }

// ahead is how many keys, from its place on, a query may see.
func (h *heads) ahead() int {
	switch {
	case h.causal:
		return 1
	case h.Window > 0:
		return h.Window
	}
	return h.tk + h.tq
}

// visible is how many keys, counted from the first, query i of a batch may see.
func (h *heads) visible(batch, i int) int {
	if h.paged != nil {
		return int(h.paged.until[batch*h.tq+i])
	}
	return min(h.tk, max(0, i+h.tk-h.tq+h.ahead()))
}

// from is the first key that query i of a batch may see.
func (h *heads) from(batch, i int) int {
	switch {
	case h.Window == 0:
		return 0
	case h.paged != nil:
		return max(0, h.visible(batch, i)-h.Window)
	}
	return min(h.tk, max(0, i+1+h.tk-h.tq-h.Window))
}

// addMask applies the mask to n scores from key j on of one query.
func (h *heads) addMask(worker, batch, head, i, j, n int, scores unsafe.Pointer) {
	if h.mask == nil || n == 0 {
		return
	}
	m := h.mask.fetch(worker, ((batch*h.hq+head)*h.tq+i)*h.tk+j, n)
	if h.boolMask {
		vec.Of(vec.Where)(scores, m, scores, unsafe.Pointer(&hidden), n)
	} else {
		vec.Of(vec.Add)(scores, scores, m, nil, n)
	}
}

// hidden are scores of keys that a query may not look at.
var hidden = func() (r [keyBlock]float32) {
	for i := range r {
		r[i] = float32(math.Inf(-1))
	}
	return r
}()

// A packing is keys or values of all heads, packed block by block.
type packing struct {
	of     *tensor4
	kernel *micro.Kernel
	keys   bool // the columns are keys and the steps features; otherwise the other way round
	tokens int
	width  int // features
	block  int // elements of a block
	blocks int // of a head
}

func newPacking(of *tensor4, tokens, width int, keys bool) packing {
	p := packing{of: of, tokens: tokens, width: width, keys: keys, blocks: (tokens + keyBlock - 1) / keyBlock}
	if keys {
		p.kernel = gemm.Kernel(min(tokens, keyBlock))
		p.block = gemm.RightLen(p.kernel, min(tokens, keyBlock), width)
	} else {
		p.kernel = gemm.Kernel(width)
		p.block = gemm.RightLen(p.kernel, width, min(tokens, keyBlock))
	}
	return p
}

// size is how many elements all blocks of so many heads take.
func (p *packing) size(heads int) int { return heads * p.blocks * p.block }

// pack packs block i of a head into data, which holds all of them.
func (p *packing) pack(l *launch, data []float32, batch, head, heads, i int) {
	s := p.of.source(l, batch, head, i*keyBlock)
	dst := data[((batch*heads+head)*p.blocks+i)*p.block:][:p.block]
	if n := p.length(i); p.keys {
		gemm.PackRight(p.kernel, dst, s, n, p.width)
	} else {
		gemm.PackRight(p.kernel, dst, across(s), p.width, n)
	}
}

// length is the number of tokens in block i.
func (p *packing) length(i int) int { return min(keyBlock, p.tokens-i*keyBlock) }

// get returns packed block i of a head; heads are numbered over the batch.
func (p *packing) get(data []float32, head, i int) gemm.Right {
	src := data[(head*p.blocks+i)*p.block:][:p.block]
	if p.keys {
		return gemm.PackedRight(p.kernel, src, p.length(i), p.width)
	}
	return gemm.PackedRight(p.kernel, src, p.width, p.length(i))
}

// storeRows rounds n float32 elements into an output, from element at on.
func storeRows(l *launch, o *backend.Output, at int, x []float32) {
	if len(x) == 0 {
		return
	}
	dst := unsafe.Add(l.pointer(o.Buf), at*o.DType.Size())
	switch o.DType {
	case dtype.F16:
		vec.Of(vec.ToF16)(dst, unsafe.Pointer(&x[0]), nil, nil, len(x))
	case dtype.BF16:
		vec.Of(vec.ToBF16)(dst, unsafe.Pointer(&x[0]), nil, nil, len(x))
	default:
		copy(unsafe.Slice((*float32)(dst), len(x)), x)
	}
}

// scaleRow multiplies a row by s in place.
func scaleRow(x []float32, s float32) {
	if len(x) > 0 {
		vec.ScaleTo(unsafe.Pointer(&x[0]), unsafe.Pointer(&x[0]), s, len(x))
	}
}

// capped bends scores. Steep, of the same length or nil, becomes how steeply each follows the one before.
func (h *heads) capped(scores, steep []float32) {
	if h.Cap == 0 || len(scores) == 0 {
		return
	}
	c, p := float32(h.Cap), unsafe.Pointer(&scores[0])
	scaleRow(scores, 1/c)
	vec.Of(vec.Tanh)(p, p, nil, nil, len(scores))
	for i := range steep {
		steep[i] = 1 - scores[i]*scores[i]
	}
	scaleRow(scores, c)
}
