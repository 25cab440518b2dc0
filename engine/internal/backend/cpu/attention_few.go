package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
)

// A fewTask is all of few queries of several heads that look at the same keys: its rows are the queries of
// the first head, those of the second, and so on. Its time is that of reading keys and values, so it reads
// them as they lie.
type fewTask struct {
	*attention
	l      *launch
	worker int
	head   int // the first one, over the batch
	rows   int

	query, scores, sums []float32
	room                []float32
	most, total         []float32 // of each query: the largest score so far, the sum of exp(score − most)
}

// fewScratch is how many elements a worker needs.
func (a *attention) fewScratch() int {
	rows := a.group * a.tq
	return a.room(keyBlock) + roundUp16(rows*a.d) + rows*keyBlock + roundUp16(rows*a.dv) + 2*roundUp16(rows)
}

// runFew computes so many heads.
func (a *attention) runFew(l *launch, heads int) {
	group := a.group
	if heads/group < l.pool.Threads() { // too few tasks for all: each takes fewer heads
		group = divisorBelow(group, heads/min(heads, l.pool.Threads()))
	}
	memory := l.scratch.floats(l.pool.Threads() * a.scratch)
	l.pool.For(heads/group, func(worker, chunk int) {
		t := fewTask{attention: a, l: l, worker: worker, head: chunk * group, rows: group * a.tq}
		t.divide(memory[worker*a.scratch:])
		t.run()
	})
}

// divide cuts up a worker's memory.
func (t *fewTask) divide(mem []float32) {
	next := func(n int) []float32 {
		r := mem[:n:n]
		mem = mem[roundUp16(n):]
		return r
	}
	t.room = next(t.attention.room(keyBlock))
	t.query, t.scores, t.sums = next(t.rows*t.d), next(t.rows*keyBlock), next(t.rows*t.dv)
	t.most, t.total = next(t.rows), next(t.rows)
	if t.out != nil && t.out.DType == dtype.F32 {
		t.sums = elements[float32](t.l.bufs[t.out.Buf])[t.head*t.tq*t.dv:][:t.rows*t.dv]
	}
}

func (t *fewTask) run() {
	for i := range t.rows {
		head, query := t.row(i)
		micro.Spread(t.query[i*t.d:], t.q.source(t.l, t.head/t.hq, head, query), t.d)
		t.most[i], t.total[i] = float32(math.Inf(-1)), 0
	}
	scaleRow(t.query, t.scale)
	clear(t.sums)
	batch := t.head / t.hq
	limit := t.visible(batch, t.tq-1)
	for key := t.from(batch, 0); key < limit; key += keyBlock {
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

// row says which head, of its batch, and which query row i is.
func (t *fewTask) row(i int) (head, query int) { return t.head%t.hq + i/t.tq, i % t.tq }

// score computes the scores of n keys from key on.
func (t *fewTask) score(key, n int) {
	clear(t.scores)
	for at := 0; at < n; {
		s, run := t.lines(t.l, &t.k, 0, t.head/t.hq, t.keyHead(t.head%t.hq), key+at, n-at, t.room, t.d)
		micro.Dot(t.rows, run, t.d, unsafe.SliceData(t.query), t.d, s, &t.scores[at], keyBlock)
		at += run
	}
	for i := range t.rows {
		t.capped(t.scores[i*keyBlock:][:n], nil)
	}
}

// softmax turns a query's scores into exp(score − most), and brings what was summed before to the new largest
// score.
func (t *fewTask) softmax(i, key, n int) {
	row := t.scores[i*keyBlock:][:n]
	p := unsafe.Pointer(unsafe.SliceData(row))
	head, query := t.row(i)
	batch := t.head / t.hq
	seen := min(n, max(0, t.visible(batch, query)-key))
	t.addMask(t.worker, batch, head, query, key, seen, p)
	copy(row[:seen], hidden[:max(0, min(seen, t.from(batch, query)-key))])
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
func (t *fewTask) weigh(key, n int) {
	if t.dv == 0 {
		return
	}
	for at := 0; at < n; {
		s, run := t.lines(t.l, &t.v, 1, t.head/t.hq, t.keyHead(t.head%t.hq), key+at, n-at, t.room, t.dv)
		s = across(s)
		micro.Axpy(t.rows, t.dv, run, &t.scores[at], keyBlock, s, unsafe.SliceData(t.sums), t.dv)
		at += run
	}
}

// store divides by the sums and writes the results.
func (t *fewTask) store() {
	for i := range t.rows {
		if t.total[i] != 0 {
			scaleRow(t.sums[i*t.dv:][:t.dv], 1/t.total[i])
		}
		t.total[i] = t.most[i] + float32(math.Log(float64(t.total[i])))
	}
	at := t.head * t.tq
	if t.out != nil && t.out.DType != dtype.F32 {
		storeRows(t.l, t.out, at*t.dv, t.sums)
	}
	if t.lse != nil {
		storeRows(t.l, t.lse, at, t.total)
	}
}
