package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
)

// attentionGrad computes dq, dk and dv from the probabilities p, which it computes again, block by block,
// from the logsumexp of the forward pass:
//
//	dp = do·vᵀ   ds = p∘(dp − do·o)   dq = scale·ds·k   dk = scale·dsᵀ·q   dv = pᵀ·do
//
// A task is a head of keys with some of the blocks of queries that look at it. If there are few heads,
// several tasks share the blocks of a head, each with sums of its own, which are added up at the end.
type attentionGrad struct {
	heads
	do                   tensor4
	outRows, doRows, lse *operand        // f32
	dq, dk, dv           *backend.Output // nil if it is not wanted
	keys, values         packing         // columns are keys: for the scores, and for dp
	features             packing         // of the keys, for dq
	valueKernel          *micro.Kernel   // for dv
	sizes                gradSizes
	launch               *gradLaunch // the run under way; kept for the next one
}

const (
	// gradQueries is the number of queries in a block.
	gradQueries = 64
	// gradTasks is how many tasks there are at least, if there are as many blocks. It does not depend on the
	// number of threads, so neither do the sums.
	gradTasks = 16
)

// gradSizes are the lengths of a worker's scratch memory.
type gradSizes struct{ query, do, queryRight, doRight, square, left, dq, rows, steep, all int }

func newAttentionGrad(c *standalone, h heads) func(*launch) {
	a := &attentionGrad{heads: h, do: newTensor4(c.input(5)), dq: c.output(0), dk: c.output(1), dv: c.output(2)}
	a.outRows = c.operand(3, []int{h.b, h.hq, h.tq, h.dv}, dtype.F32).reserve(h.dv)
	a.lse = c.operand(4, []int{h.b, h.hq, h.tq}, dtype.F32).reserve(gradQueries)
	a.doRows = c.operand(5, []int{h.b, h.hq, h.tq, h.dv}, dtype.F32).reserve(h.dv)
	a.keys = newPacking(&a.k, h.tk, h.d, true)
	a.values = newPacking(&a.v, h.tk, h.dv, true)
	a.features = newPacking(&a.k, h.tk, h.d, false)
	a.valueKernel = gemm.Kernel(h.dv)
	rows := min(gradQueries, h.tq)
	s := gradSizes{
		query: gemm.LeftLen(a.keys.kernel, rows, h.d), do: gemm.LeftLen(a.values.kernel, rows, h.dv),
		queryRight: gemm.RightLen(a.features.kernel, h.d, rows), doRight: gemm.RightLen(a.valueKernel, h.dv, rows),
		square: rows * keyBlock, dq: roundUp16(rows * h.d), rows: roundUp16(rows),
		left: max(gemm.LeftLen(a.features.kernel, keyBlock, rows), gemm.LeftLen(a.valueKernel, keyBlock, rows),
			gemm.LeftLen(a.features.kernel, rows, keyBlock)),
	}
	if h.Cap != 0 {
		s.steep = keyBlock
	}
	s.all = s.query + s.do + s.queryRight + s.doRight + 2*s.square + s.left + s.dq + s.rows + s.steep
	a.sizes = s
	return a.run
}

// A gradLaunch is one run.
type gradLaunch struct {
	*attentionGrad
	l                          *launch
	keyData, valueData, byKeys []float32
	parts                      int       // tasks of a head of keys
	dkSums, dvSums             []float32 // of all tasks
	scratch                    []float32

	pack, work, gather func(worker, i int)
}

// newLaunch returns a gradLaunch without a launch's memory.
func (a *attentionGrad) newLaunch() *gradLaunch {
	r := &gradLaunch{attentionGrad: a}
	r.pack = func(_, chunk int) {
		head, i := chunk/a.keys.blocks, chunk%a.keys.blocks
		a.keys.pack(r.l, r.keyData, head/a.hk, head%a.hk, a.hk, i)
		a.values.pack(r.l, r.valueData, head/a.hk, head%a.hk, a.hk, i)
		a.features.pack(r.l, r.byKeys, head/a.hk, head%a.hk, a.hk, i)
	}
	r.work, r.gather = r.task, r.collect
	return r
}

func (a *attentionGrad) run(l *launch) {
	heads := a.b * a.hk
	if heads == 0 {
		return
	}
	if a.launch == nil {
		a.launch = a.newLaunch()
	}
	r := a.launch
	r.l = l
	defer r.forget()
	r.keyData = l.scratch.floats(a.keys.size(heads))
	r.valueData = l.scratch.floats(a.values.size(heads))
	r.byKeys = l.scratch.floats(a.features.size(heads))
	l.pool.For(heads*a.keys.blocks, r.pack)
	r.parts = max(1, min((gradTasks+heads-1)/heads, a.items()))
	r.dkSums, r.dvSums = r.sums(a.dk, a.d), r.sums(a.dv, a.heads.dv)
	r.scratch = l.scratch.floats(l.pool.Threads() * a.sizes.all)
	l.pool.For(heads*r.parts, r.work)
	l.pool.For(heads, r.gather)
}

// forget lets go of the launch's memory.
func (r *gradLaunch) forget() {
	r.l, r.keyData, r.valueData, r.byKeys, r.dkSums, r.dvSums, r.scratch = nil, nil, nil, nil, nil, nil, nil
}

// items is the number of blocks of queries, over all heads, that look at a head of keys.
func (a *attentionGrad) items() int {
	return a.hq / a.hk * ((a.tq + gradQueries - 1) / gradQueries)
}

// sums returns the memory for the sums of all tasks: the output itself if there is one task a head.
func (r *gradLaunch) sums(o *backend.Output, width int) []float32 {
	n := r.b * r.hk * r.parts * r.tk * width
	if r.direct(o) {
		return elements[float32](r.l.bufs[o.Buf])[:n]
	}
	return r.l.scratch.floats(n)
}

// direct says whether sums are gathered in an output itself.
func (r *gradLaunch) direct(o *backend.Output) bool {
	return o != nil && o.DType == dtype.F32 && r.parts == 1
}

// collect adds up the sums of a head's tasks and stores them.
func (r *gradLaunch) collect(_, head int) {
	for _, s := range []struct {
		out   *backend.Output
		sums  []float32
		width int
	}{{r.dk, r.dkSums, r.d}, {r.attentionGrad.dv, r.dvSums, r.heads.dv}} {
		n := r.tk * s.width
		if s.out == nil || n == 0 || r.direct(s.out) {
			continue
		}
		total := s.sums[head*r.parts*n:][:n]
		for part := 1; part < r.parts; part++ {
			more := s.sums[(head*r.parts+part)*n:][:n]
			vec.Of(vec.Add)(unsafe.Pointer(&total[0]), unsafe.Pointer(&total[0]), unsafe.Pointer(&more[0]), nil, n)
		}
		storeRows(r.l, s.out, head*n, total)
	}
}

// A gradTask is the part of a head of keys that one worker computes.
type gradTask struct {
	*gradLaunch
	worker      int
	keyHead     int // over the batch
	dkSum       []float32
	dvSum       []float32
	batch, head int // of the queries
	first, rows int // queries

	query, doLeft                   gemm.Left
	queryRight, doRight             gemm.Right
	queryMem, doMem, qrMem, drMem   []float32
	probs, dp, leftMem, dqMem, dots []float32
	dqSum, steep                    []float32
}

func (r *gradLaunch) task(worker, chunk int) {
	t := &gradTask{gradLaunch: r, worker: worker, keyHead: chunk / r.parts}
	t.batch = t.keyHead / r.hk
	t.dkSum = r.dkSums[chunk*r.tk*r.d:][:r.tk*r.d]
	t.dvSum = r.dvSums[chunk*r.tk*r.heads.dv:][:r.tk*r.heads.dv]
	clear(t.dkSum)
	clear(t.dvSum)
	t.divide(r.scratch[worker*r.sizes.all:])
	group := r.hq / r.hk
	for item := chunk % r.parts; item < r.items() && !r.l.pool.Stopped(); item += r.parts {
		t.head = t.keyHead%r.hk*group + item%group
		t.first = item / group * gradQueries
		t.rows = min(gradQueries, r.tq-t.first)
		t.run()
	}
}

// divide cuts up a worker's scratch memory.
func (t *gradTask) divide(mem []float32) {
	next := func(n int) []float32 {
		r := mem[:n:n]
		mem = mem[n:]
		return r
	}
	s := &t.sizes
	t.queryMem, t.doMem, t.qrMem, t.drMem = next(s.query), next(s.do), next(s.queryRight), next(s.doRight)
	t.probs, t.dp, t.leftMem, t.dqMem, t.dots = next(s.square), next(s.square), next(s.left), next(s.dq), next(s.rows)
	t.steep = next(s.steep)
}

// row is the number of a query over the batch and heads.
func (t *gradTask) row(i int) int { return (t.batch*t.hq+t.head)*t.tq + t.first + i }

// run adds what a block of queries gives.
func (t *gradTask) run() {
	t.load()
	limit := t.visible(t.batch, t.first+t.rows-1)
	for key := t.from(t.batch, t.first) / keyBlock * keyBlock; key < limit; key += keyBlock {
		n := min(keyBlock, limit-key)
		block := key / keyBlock
		gemm.Multiply(t.query, t.keys.get(t.keyData, t.keyHead, block), n, unsafe.SliceData(t.probs), keyBlock, false)
		gemm.Multiply(t.doLeft, t.values.get(t.valueData, t.keyHead, block), n, unsafe.SliceData(t.dp), keyBlock, false)
		lse := unsafe.Slice((*float32)(t.lse.fetch(t.worker, t.row(0), t.rows)), t.rows)
		for i := range t.rows {
			t.scoreGrad(i, key, n, lse[i])
		}
		t.addTo(t.dvSum[key*t.heads.dv:], t.valueKernel, t.probs, n, t.doRight)
		t.addTo(t.dkSum[key*t.d:], t.features.kernel, t.dp, n, t.queryRight)
		ds := micro.Source{Base: unsafe.Pointer(unsafe.SliceData(t.dp)), Line: keyBlock, Step: 1}
		left := gemm.PackLeft(t.features.kernel, t.leftMem, ds, t.rows, n)
		gemm.Multiply(left, t.features.get(t.byKeys, t.keyHead, block), t.d, unsafe.SliceData(t.dqSum), t.d, true)
	}
	if t.dq != nil {
		scaleRow(t.dqSum, t.scale)
		if t.dq.DType != dtype.F32 {
			storeRows(t.l, t.dq, t.row(0)*t.d, t.dqSum)
		}
	}
}

// load packs the queries (scaled) and the gradient of their results, and multiplies the latter with the
// results.
func (t *gradTask) load() {
	q := t.q.source(t.l, t.batch, t.head, t.first)
	do := t.do.source(t.l, t.batch, t.head, t.first)
	t.query = gemm.PackLeft(t.keys.kernel, t.queryMem, q, t.rows, t.d)
	scaleRow(t.queryMem, t.scale)
	t.doLeft = gemm.PackLeft(t.values.kernel, t.doMem, do, t.rows, t.heads.dv)
	t.queryRight = gemm.PackRight(t.features.kernel, t.qrMem, across(q), t.d, t.rows)
	scaleRow(t.qrMem, t.scale)
	t.doRight = gemm.PackRight(t.valueKernel, t.drMem, across(do), t.heads.dv, t.rows)
	dv := t.heads.dv
	for i := range t.rows {
		t.dots[i] = 0
		if dv > 0 {
			t.dots[i] = vec.Dot(t.doRows.fetch(t.worker, t.row(i)*dv, dv), t.outRows.fetch(t.worker, t.row(i)*dv, dv), dv)
		}
	}
	t.dqSum = t.dqMem[:t.rows*t.d]
	if t.dq != nil && t.dq.DType == dtype.F32 {
		t.dqSum = elements[float32](t.l.bufs[t.dq.Buf])[t.row(0)*t.d:][:t.rows*t.d]
	}
	clear(t.dqSum)
}

// scoreGrad turns a query's scores into probabilities, and dp into the gradient of the scores.
func (t *gradTask) scoreGrad(i, key, n int, lse float32) {
	p, dp := t.probs[i*keyBlock:][:n], t.dp[i*keyBlock:][:n]
	seen := min(n, max(0, t.visible(t.batch, t.first+i)-key))
	if math.IsInf(float64(lse), -1) {
		seen = 0
	}
	skip := min(seen, max(0, t.from(t.batch, t.first+i)-key))
	if seen > 0 {
		at, grad := unsafe.Pointer(&p[0]), unsafe.Pointer(&dp[0])
		steep := t.steep[:min(seen, len(t.steep))]
		t.capped(p[:seen], steep)
		t.addMask(t.worker, t.batch, t.head, t.first+i, key, seen, at)
		vec.ExpSubSum(at, at, lse, seen)
		vec.SoftmaxGradTo(grad, at, grad, t.dots[i], seen)
		vec.Of(vec.Mul)(grad, grad, unsafe.Pointer(unsafe.SliceData(steep)), nil, len(steep))
	}
	clear(p[:skip])
	clear(dp[:skip])
	clear(p[seen:])
	clear(dp[seen:])
}

// addTo adds the transpose of a block of queries × n keys, times rows of the queries, to the sums of the
// keys.
func (t *gradTask) addTo(sums []float32, k *micro.Kernel, square []float32, n int, right gemm.Right) {
	s := micro.Source{Base: unsafe.Pointer(unsafe.SliceData(square)), Line: 1, Step: keyBlock}
	gemm.Multiply(gemm.PackLeft(k, t.leftMem, s, n, t.rows), right, right.Cols(), unsafe.SliceData(sums), right.Cols(), true)
}
