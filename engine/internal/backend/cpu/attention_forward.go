package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
)

// attention computes o = softmax(scale·q·kᵀ + mask)·v, and the logarithm of the sum that each softmax divides by. A
// query that may look nowhere gives 0.
type attention struct {
	heads
	out, lse     *backend.Output // nil if nobody wants it
	keys, values packing
	few          bool // few queries: keys and values are read as they lie
	group        int  // few: so many query heads of one key head may stand in one task, whose rows read each key once
	sizes        attentionSizes
}

// attentionSizes are the lengths of a worker's scratch memory.
type attentionSizes struct{ query, scores, probs, sums, rows, all int }

func newAttention(g *backend.Group, h heads) *attention {
	a := &attention{heads: h, out: outputOf(g, 0), lse: outputOf(g, 1)}
	a.keys = newPacking(&a.k, h.tk, h.d, true)
	a.values = newPacking(&a.v, h.tk, h.dv, false)
	a.few = h.tq <= gemm.Few && h.k.stride[3] == 1 && h.v.stride[3] == 1
	rows := min(queryBlock, h.tq)
	a.group = 1
	if a.few && h.tq > 0 && h.hk > 0 {
		a.group = divisorBelow(h.hq/h.hk, gemm.Few/h.tq)
		rows = a.group * h.tq
	}
	s := attentionSizes{
		query: max(gemm.LeftLen(a.keys.kernel, rows, h.d), roundUp16(rows*h.d)), scores: rows * keyBlock,
		probs: gemm.LeftLen(a.values.kernel, rows, keyBlock), sums: roundUp16(rows * h.dv), rows: roundUp16(rows),
	}
	s.all = s.query + s.scores + s.probs + s.sums + 2*s.rows
	a.sizes = s
	return a
}

// divisorBelow is the largest divisor of n that is at most limit, or 1.
func divisorBelow(n, limit int) int {
	for d := min(n, limit); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}

func roundUp16(n int) int { return (n + 15) &^ 15 }

func (a *attention) run(l *launch) {
	heads := a.b * a.hq
	tasks := heads * ((a.tq + queryBlock - 1) / queryBlock)
	if tasks == 0 {
		return
	}
	group := a.group
	if heads/group < l.pool.Threads() { // too few tasks for all: each takes fewer heads
		group = divisorBelow(group, heads/min(heads, l.pool.Threads()))
	}
	tasks, heads = tasks/group, heads/group
	a.bind(l)
	defer a.release()
	var keys, values []float32
	if !a.few {
		keys = l.scratch.floats(a.keys.size(a.b * a.hk))
		values = l.scratch.floats(a.values.size(a.b * a.hk))
		l.pool.For(a.b*a.hk*a.keys.blocks, func(_, chunk int) {
			head, i := chunk/a.keys.blocks, chunk%a.keys.blocks
			a.keys.pack(l, keys, head/a.hk, head%a.hk, a.hk, i)
			a.values.pack(l, values, head/a.hk, head%a.hk, a.hk, i)
		})
	}
	scratch := l.scratch.floats(l.pool.Threads() * a.sizes.all)
	l.pool.For(tasks, func(worker, chunk int) {
		t := attentionTask{attention: a, l: l, worker: worker, keyData: keys, valueData: values}
		// The last queries see the most keys with a causal mask: they come first.
		t.head, t.first = chunk%heads*group, (tasks/heads-1-chunk/heads)*queryBlock
		t.rows = group * min(queryBlock, a.tq-t.first)
		t.take(scratch[worker*a.sizes.all:])
		t.run()
	})
}

// An attentionTask is a block of queries of one head, or all queries of several heads that look at the same keys: then its
// rows are the queries of the first head, those of the second, and so on.
type attentionTask struct {
	*attention
	l                  *launch
	worker             int
	head               int // the first one, over the batch
	first, rows        int // queries
	keyData, valueData []float32

	query, scores, probs, sums []float32
	most, total                []float32 // of each query: the largest score so far, the sum of exp(score − most)
	left                       gemm.Left
}

// take cuts up a worker's scratch memory.
func (t *attentionTask) take(mem []float32) {
	next := func(n int) []float32 {
		r := mem[:n:n]
		mem = mem[n:]
		return r
	}
	s := &t.sizes
	t.query, t.scores, t.probs = next(s.query), next(s.scores), next(s.probs)
	t.sums, t.most, t.total = next(s.sums)[:t.rows*t.dv], next(s.rows), next(s.rows)
	if t.out != nil && t.out.DType == dtype.F32 {
		at := (t.head*t.tq + t.first) * t.dv
		t.sums = elements[float32](t.l.bufs[t.out.Buf])[at : at+t.rows*t.dv]
	}
}

func (t *attentionTask) run() {
	t.loadQueries()
	for i := range t.rows {
		t.most[i], t.total[i] = float32(math.Inf(-1)), 0
	}
	clear(t.sums)
	limit := t.visible(min(t.tq, t.first+t.rows) - 1)
	for key := 0; key < limit; key += keyBlock {
		if t.l.pool.Stopped() {
			return
		}
		n := min(keyBlock, limit-key)
		t.score(key, n)
		for i := range t.rows {
			t.softmax(i, key, n)
		}
		t.weigh(key, n)
	}
	t.store()
}

// loadQueries packs the queries, scaled.
func (t *attentionTask) loadQueries() {
	if t.few {
		for i := range t.rows {
			head, query := t.row(i)
			asm.Spread(t.query[i*t.d:], t.q.source(t.l, t.head/t.hq, head, query), t.d)
		}
	} else {
		t.left = gemm.PackLeft(t.keys.kernel, t.query, t.q.source(t.l, t.head/t.hq, t.head%t.hq, t.first), t.rows, t.d)
	}
	scaleRow(t.query, t.scale)
}

// row says which head, of its batch, and which query row i is.
func (t *attentionTask) row(i int) (head, query int) {
	if !t.few {
		return t.head % t.hq, t.first + i
	}
	return t.head%t.hq + i/t.tq, i % t.tq
}

// keyHeadOverBatch numbers the head of keys over the batch.
func (t *attentionTask) keyHeadOverBatch() int {
	return t.head/t.hq*t.hk + t.keyHead(t.head%t.hq)
}

// score computes the scores of n keys from key on.
func (t *attentionTask) score(key, n int) {
	if t.few {
		clear(t.scores)
		s := t.k.source(t.l, t.head/t.hq, t.keyHead(t.head%t.hq), key)
		asm.Dot(t.rows, n, t.d, unsafe.SliceData(t.query), t.d, s, unsafe.SliceData(t.scores), keyBlock)
		return
	}
	gemm.Multiply(t.left, t.keys.get(t.keyData, t.keyHeadOverBatch(), key/keyBlock), n, unsafe.SliceData(t.scores), keyBlock, false)
}

// softmax turns a query's scores into exp(score − most), and brings what was summed before to the new largest score.
func (t *attentionTask) softmax(i, key, n int) {
	row := t.scores[i*keyBlock:][:n]
	p := unsafe.Pointer(unsafe.SliceData(row))
	head, query := t.row(i)
	seen := min(n, max(0, t.visible(query)-key))
	t.addMask(t.worker, t.head/t.hq, head, query, key, seen, p)
	clear(row[seen:])
	if seen == 0 {
		return
	}
	most := max(t.most[i], vec.MaxOf(p, seen))
	if math.IsInf(float64(most), -1) {
		clear(row)
		return
	}
	if key > 0 && most != t.most[i] {
		shrink := float32(math.Exp(float64(t.most[i] - most)))
		t.total[i] *= shrink
		scaleRow(t.sums[i*t.dv:][:t.dv], shrink)
	}
	t.most[i] = most
	t.total[i] += vec.ExpSubSum(p, p, most, seen)
}

// weigh adds the values of n keys from key on, weighted.
func (t *attentionTask) weigh(key, n int) {
	if t.dv == 0 {
		return
	}
	sums := unsafe.SliceData(t.sums)
	if t.few {
		s := t.v.source(t.l, t.head/t.hq, t.keyHead(t.head%t.hq), key)
		s = across(s)
		for j := 0; j < n; j += asm.FewSteps {
			asm.Axpy(t.rows, t.dv, min(asm.FewSteps, n-j), &t.scores[j], keyBlock, s.At(0, j), sums, t.dv)
		}
		return
	}
	scores := asm.Source{Base: unsafe.Pointer(unsafe.SliceData(t.scores)), Line: keyBlock, Step: 1}
	left := gemm.PackLeft(t.values.kernel, t.probs, scores, t.rows, n)
	gemm.Multiply(left, t.values.get(t.valueData, t.keyHeadOverBatch(), key/keyBlock), t.dv, sums, t.dv, true)
}

// store divides by the sums and writes the results.
func (t *attentionTask) store() {
	for i := range t.rows {
		if t.total[i] != 0 {
			scaleRow(t.sums[i*t.dv:][:t.dv], 1/t.total[i])
		}
		t.total[i] = t.most[i] + float32(math.Log(float64(t.total[i])))
	}
	at := t.head*t.tq + t.first
	if t.out != nil && t.out.DType != dtype.F32 {
		storeRows(t.l, t.out, at*t.dv, t.sums)
	}
	if t.lse != nil {
		storeRows(t.l, t.lse, at, t.total[:t.rows])
	}
}
