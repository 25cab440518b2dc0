package cpu

import (
	"bytes"
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
)

// Blocks of scores lie transposed: a row for each key, a column for each query, s = k·qᵀ. The probabilities
// that they become are then the right operand of the second product, oᵀ = vᵀ·p, as they lie, and a
// micro-kernel with as many columns as a block has queries holds both products' sums. Left operands are keys
// and transposed values, packed once for all heads and blocks of queries that look at them.

// packedKeys are the keys and values of all heads, packed by blocks.
type packedKeys struct {
	keys, values           []float32
	keysBlock, valuesBlock int // elements of a block
	blocks                 int // of a head
	tokens                 int // of a head
}

// pack packs the keys and values of all heads.
func (a *attention) pack(l *launch) *packedKeys {
	tokens := a.tk
	if a.paged != nil {
		tokens = a.paged.longest(a.tq)
	}
	n := min(tokens, keyBlock)
	p := &packedKeys{tokens: tokens,
		keysBlock: gemm.LeftLen(a.kernel, n, a.d), valuesBlock: gemm.LeftLen(a.kernel, a.dv, n),
		blocks: (tokens + keyBlock - 1) / keyBlock,
	}
	heads := a.b * a.hk
	p.keys, p.values = l.scratch.floats(heads*p.blocks*p.keysBlock), l.scratch.floats(heads*p.blocks*p.valuesBlock)
	room := l.scratch.floats(l.pool.Threads() * a.room(keyBlock))
	l.pool.For(heads*p.blocks, func(worker, chunk int) {
		head, token := chunk/p.blocks, chunk%p.blocks*keyBlock
		batch, n := head/a.hk, min(keyBlock, p.length(a, head/a.hk)-token)
		if n <= 0 {
			return
		}
		mine := room[worker*a.room(keyBlock):]
		keys := a.together(l, &a.k, 0, batch, head%a.hk, token, n, mine, a.d)
		gemm.PackLeft(a.kernel, p.keys[chunk*p.keysBlock:][:p.keysBlock], keys, n, a.d)
		values := a.together(l, &a.v, 1, batch, head%a.hk, token, n, mine, a.dv)
		gemm.PackLeft(a.kernel, p.values[chunk*p.valuesBlock:][:p.valuesBlock], across(values), a.dv, n)
	})
	return p
}

// length is how many keys of a batch are packed.
func (p *packedKeys) length(a *attention, batch int) int {
	if a.paged != nil {
		return a.visible(batch, a.tq-1)
	}
	return p.tokens
}

// A blockTask is a block of queries of one head.
type blockTask struct {
	*attention
	l              *launch
	worker         int
	packed         *packedKeys
	head           int // over the batch
	first, queries int
	begin          int // the first key of which a block of scores is computed

	query      []float32 // transposed and scaled: a row for each feature
	scores     []float32 // a row for each key
	sums       []float32 // a row for each feature of the values
	transposed []float32 // a row for each query
	more       []float32 // a part of the mask, transposed
	// Of each query: the largest score so far, or 0 if that is −Inf; exp(what it was − what it is); the sum
	// of exp(score − most).
	most, shift, shrink, total []float32
}

// blockScratch is how many elements a worker needs.
func (a *attention) blockScratch() int {
	return queryBlock * (a.d + keyBlock + a.dv + 4 + max(keyBlock, roundUp16(a.dv)) + vec.Line)
}

// divide cuts up a worker's memory.
func (t *blockTask) divide(mem []float32) {
	next := func(rows int) []float32 {
		r := mem[: rows*queryBlock : rows*queryBlock]
		mem = mem[rows*queryBlock:]
		return r
	}
	t.query, t.scores, t.sums = next(t.d), next(keyBlock), next(t.dv)
	t.most, t.shift, t.shrink, t.total = next(1), next(1), next(1), next(1)
	t.transposed, t.more = next(max(keyBlock, roundUp16(t.dv))), next(vec.Line)
}

func (t *blockTask) run() {
	if t.d > 0 {
		micro.PackPanel(t.query, queryBlock, t.q.source(t.l, t.head/t.hq, t.head%t.hq, t.first), t.queries, t.d)
		scaleRow(t.query, t.scale)
	}
	for i := range t.most {
		t.most[i], t.total[i] = float32(math.Inf(-1)), 0
	}
	batch := t.head / t.hq
	limit := t.visible(batch, t.first+t.queries-1)
	t.begin = t.from(batch, t.first) / keyBlock * keyBlock
	if limit == 0 {
		clear(t.sums)
	}
	for key := t.begin; key < limit; key += keyBlock {
		if t.l.pool.Stopped() {
			return
		}
		n := min(keyBlock, limit-key)
		t.score(key, n)
		t.capped(t.scores[:n*queryBlock], nil)
		t.hide(key, n)
		t.softmax(key, n)
		t.weigh(key, n)
	}
	t.store()
}

// block is which packed block holds a key.
func (t *blockTask) block(key int) int {
	return t.keyHeadOverBatch(t.head)*t.packed.blocks + key/keyBlock
}

// hiddenFrom is how many queries of the block, counted from the first, may not look at a key.
func (t *blockTask) hiddenFrom(key int) int {
	if t.paged == nil {
		key -= t.ahead() - 1
	}
	return t.before(key)
}

// before is how many queries of the block, counted from the first, stand before a key. In pages most blocks
// are of tokens one behind the other, each of which sees one key more.
func (t *blockTask) before(key int) int {
	if t.paged == nil {
		return min(t.queries, max(0, key-(t.tk-t.tq)-t.first))
	}
	until := t.paged.until[t.head/t.hq*t.tq+t.first:][:t.queries]
	i := min(t.queries, max(0, key+1-int(until[0])))
	for i < t.queries && int(until[i]) <= key {
		i++
	}
	for i > 0 && int(until[i-1]) > key {
		i--
	}
	return i
}

// score computes the scores of n keys from key on, but for whole vectors of queries that may not look at
// them.
func (t *blockTask) score(key, n int) {
	left := gemm.PackedLeft(t.kernel, t.packed.keys[t.block(key)*t.packed.keysBlock:], n, t.d)
	for i := 0; i < n; {
		rows, skip := t.kernel.Rows, t.hiddenFrom(key+i)/vec.Line*vec.Line
		for i+rows < n && t.hiddenFrom(key+i+rows)/vec.Line*vec.Line == skip {
			rows += t.kernel.Rows
		}
		if cols := t.queries - skip; cols > 0 {
			query := unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.query)), 4*skip)
			gemm.MultiplyRows(left.From(i, rows), (*float32)(query), queryBlock, cols, &t.scores[i*queryBlock+skip], queryBlock, false)
		}
		i += rows
	}
}

// hide applies the masks to the scores of n keys from key on.
func (t *blockTask) hide(key, n int) {
	for i := range n {
		copy(t.scores[i*queryBlock:], hidden[:t.hiddenFrom(key+i)])
	}
	if t.Window > 0 {
		for i := range n { // the queries whose window has passed the key
			from := t.before(key + i + t.Window)
			copy(t.scores[i*queryBlock+from:][:t.queries-from], hidden[:])
		}
	}
	switch {
	case t.mask == nil:
	case t.boolMask:
		for i := range t.queries {
			t.hideWhereFalse(i, key, n)
		}
	default: // the mask is transposed, then added
		for i := range t.queries {
			copy(t.transposed[i*keyBlock:], unsafe.Slice((*float32)(t.maskOf(i, key, n)), n))
		}
		s := micro.Source{Base: unsafe.Pointer(unsafe.SliceData(t.transposed)), Line: keyBlock, Step: 1}
		for i := 0; i < n; i += vec.Line { // a few keys at a time need little room
			rows := min(vec.Line, n-i)
			micro.PackPanel(t.more, queryBlock, s.At(0, i), t.queries, rows)
			at := unsafe.Pointer(&t.scores[i*queryBlock])
			vec.Of(vec.Add)(at, at, unsafe.Pointer(&t.more[0]), nil, rows*queryBlock)
		}
	}
}

// maskOf returns the mask of query i of the block for n keys from key on.
func (t *blockTask) maskOf(i, key, n int) unsafe.Pointer {
	return t.mask.fetch(t.worker, (t.head*t.tq+t.first+i)*t.tk+key, n)
}

// hideWhereFalse hides the keys that query i's mask has as false.
func (t *blockTask) hideWhereFalse(i, key, n int) {
	m := unsafe.Slice((*byte)(t.maskOf(i, key, n)), n)
	for at := 0; at < n; at++ {
		next := bytes.IndexByte(m[at:], 0)
		if next < 0 {
			return
		}
		for at += next; at < n && m[at] == 0; at++ {
			t.scores[at*queryBlock+i] = hidden[0]
		}
	}
}

// vectors calls f for the columns of the block, 16 at a time.
func (t *blockTask) vectors(f func(column int)) {
	for c := 0; c < t.queries; c += vec.Line {
		f(c)
	}
}

// softmax turns the scores of n keys into exp(score − most), and brings what was summed before to the new
// largest scores.
func (t *blockTask) softmax(key, n int) {
	p := func(x []float32, at int) unsafe.Pointer { return unsafe.Pointer(&x[at]) }
	copy(t.shrink, t.most)
	t.vectors(func(c int) { vec.MaxColumns(p(t.most, c), p(t.scores, c), n) })
	grown := false
	for i, most := range t.most[:t.queries] {
		t.shrink[i] -= most
		if t.shrink[i] != t.shrink[i] { // both are infinite
			t.shrink[i] = 0
		}
		grown = grown || t.shrink[i] != 0
		if t.shift[i] = most; math.IsInf(float64(most), -1) {
			t.shift[i] = 0
		}
	}
	if key > t.begin && grown {
		vec.Of(vec.Exp)(p(t.shrink, 0), p(t.shrink, 0), nil, nil, queryBlock)
		vec.Of(vec.Mul)(p(t.total, 0), p(t.total, 0), p(t.shrink, 0), nil, queryBlock)
		if t.dv > 0 {
			t.vectors(func(c int) { vec.ScaleColumns(p(t.shrink, c), p(t.sums, c), t.dv) })
		}
	}
	t.vectors(func(c int) { vec.ExpColumns(p(t.total, c), p(t.shift, c), p(t.scores, c), n) })
}

// weigh adds the values of n keys from key on, weighted.
func (t *blockTask) weigh(key, n int) {
	left := gemm.PackedLeft(t.kernel, t.packed.values[t.block(key)*t.packed.valuesBlock:], t.dv, min(keyBlock, t.packed.length(t.attention, t.head/t.hq)-key))
	gemm.MultiplyRows(left.First(n), unsafe.SliceData(t.scores), queryBlock, t.queries, unsafe.SliceData(t.sums), queryBlock, key > t.begin)
}

// store divides by the sums and writes the results.
func (t *blockTask) store() {
	for i := range t.queries {
		t.shrink[i] = 1
		if t.total[i] != 0 {
			t.shrink[i] = 1 / t.total[i]
		}
		t.total[i] = t.most[i] + float32(math.Log(float64(t.total[i])))
	}
	at := t.head*t.tq + t.first
	if t.lse != nil {
		storeRows(t.l, t.lse, at, t.total[:t.queries])
	}
	if t.out == nil || t.dv == 0 {
		return
	}
	t.vectors(func(c int) {
		vec.ScaleColumns(unsafe.Pointer(&t.shrink[c]), unsafe.Pointer(&t.sums[c]), t.dv)
	})
	features := micro.Source{Base: unsafe.Pointer(unsafe.SliceData(t.sums)), Line: queryBlock, Step: 1}
	if t.out.DType == dtype.F32 && t.dv%8 == 0 { // what lies between is not written
		micro.PackPanel(elements[float32](t.l.bufs[t.out.Buf])[at*t.dv:][:t.queries*t.dv], t.dv, features, t.dv, t.queries)
		return
	}
	width := roundUp16(t.dv)
	micro.PackPanel(t.transposed, width, features, t.dv, t.queries)
	for i := range t.queries {
		storeRows(t.l, t.out, (at+i)*t.dv, t.transposed[i*width:][:t.dv])
	}
}
