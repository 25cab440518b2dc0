package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A doubleAttention is attention in float64, or its gradient: plain loops, one row of scores at a time.
type doubleAttention struct {
	heads
	scale    float64
	operands []*operand // q, k, v and, for the gradient, o, logsumexp and do
	outs     []*backend.Output
}

// A doubleHead is what one query head sees during a launch, each a matrix [tokens features].
type doubleHead struct {
	q, k, v []float64
	scores  []float64 // of one query
	steep   []float64 // with a cap: how steeply each follows the one without
}

func newDoubleAttention(c *standalone, h heads) func(*launch) {
	a := &doubleAttention{heads: h, scale: c.in.Attr.Float}
	inputs, run := 3, a.run
	if c.in.Op == ir.AttentionGrad {
		inputs, run = 6, a.runGrad
	}
	for i := range inputs {
		a.operands = append(a.operands, c.operand(i, c.shape(i), dtype.F64))
	}
	for i := range c.in.Outs {
		a.outs = append(a.outs, c.output(i))
	}
	return run
}

// inputs returns the operands' elements.
func (a *doubleAttention) inputs(l *launch) (x [][]float64) {
	for _, o := range a.operands {
		x = append(x, doubles(o.all(l), o.n))
	}
	return x
}

// output returns where a result is stored, or scratch memory if no output is that result.
func (a *doubleAttention) output(l *launch, i, n int) []float64 {
	if a.outs[i] == nil {
		return elements[float64](l.scratch.bytes(8 * n))
	}
	return doubles(l.pointer(a.outs[i].Buf), n)
}

// head returns the matrices of a query head, numbered over the batch, and of the key head that it looks at.
func (a *doubleAttention) head(x [][]float64, head int, scores []float64) doubleHead {
	key := head/a.hq*a.hk + a.keyHead(head%a.hq)
	return doubleHead{
		q: x[0][head*a.tq*a.d:][:a.tq*a.d], k: x[1][key*a.tk*a.d:][:a.tk*a.d], v: x[2][key*a.tk*a.dv:][:a.tk*a.dv],
		scores: scores[:a.tk], steep: scores[a.tk:],
	}
}

// score fills in the scaled and masked scores of query i with the keys that it may see, those from begin on.
func (a *doubleAttention) score(worker, head, i int, h *doubleHead) (s []float64, begin int) {
	s, begin = h.scores[:a.visible(head/a.hq, i)], a.from(head/a.hq, i)
	begin = min(begin, len(s))
	q := h.q[i*a.d:][:a.d]
	for j := begin; j < len(s); j++ {
		s[j] = dotDouble(q, h.k[j*a.d:][:a.d]) * a.scale
		if a.Cap != 0 {
			bent := math.Tanh(s[j] / a.Cap)
			s[j], h.steep[j] = a.Cap*bent, 1-bent*bent
		}
	}
	for j := begin; a.mask != nil && j < len(s); j += keyBlock {
		n := min(keyBlock, len(s)-j)
		m := a.mask.fetch(worker, (head*a.tq+i)*a.tk+j, n)
		if !a.boolMask {
			addElements[float64](unsafe.Pointer(&s[j]), m, n)
			continue
		}
		for at, look := range unsafe.Slice((*bool)(m), n) {
			if !look {
				s[j+at] = math.Inf(-1)
			}
		}
	}
	return s, begin
}

func dotDouble(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// logSumExp is ln Σ exp(x) as the greatest x and what is to be added. It is -Inf where every x is, and NaN
// with one.
func logSumExp(x []float64) (top, rest float64) {
	top = maxOf(math.Inf(-1), x)
	if top-top != 0 {
		return top, 0
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top, math.Log(sum)
}

// doubles are n float64 in memory.
func doubles(p unsafe.Pointer, n int) []float64 { return unsafe.Slice((*float64)(p), n) }

// addScaled adds f·x to y.
func addScaled(y []float64, f float64, x []float64) {
	for i, v := range x {
		y[i] += f * v
	}
}

func (a *doubleAttention) run(l *launch) {
	x := a.inputs(l)
	rows := a.b * a.hq * a.tq
	out, lse := a.output(l, 0, rows*a.dv), a.output(l, 1, rows)
	room := 2 * a.tk
	scratch := elements[float64](l.scratch.bytes(8 * room * l.pool.Threads()))
	l.pool.Range(rows, max(1, mapGrain/max(1, a.tk*(a.d+a.dv))), func(worker, lo, hi int) {
		for row := lo; row < hi && !l.pool.Stopped(); row++ {
			head, i := row/a.tq, row%a.tq
			h := a.head(x, head, scratch[worker*room:][:room])
			s, begin := a.score(worker, head, i, &h)
			top, rest := logSumExp(s[begin:])
			lse[row] = top + rest
			o := out[row*a.dv:][:a.dv]
			clear(o)
			if math.IsInf(top, -1) {
				continue // it may look nowhere
			}
			for j := begin; j < len(s); j++ {
				addScaled(o, math.Exp(s[j]-top-rest), h.v[j*a.dv:][:a.dv])
			}
		}
	})
}

// runGrad shares out the heads of keys: a worker goes through all queries that look at one, and adds to its
// gradients.
func (a *doubleAttention) runGrad(l *launch) {
	x := a.inputs(l)
	dq, dk := a.output(l, 0, a.operands[0].n), a.output(l, 1, a.operands[1].n)
	dv := a.output(l, 2, a.operands[2].n)
	room := 2 * a.tk
	scratch := elements[float64](l.scratch.bytes(8 * room * l.pool.Threads()))
	l.pool.For(a.b*a.hk, func(worker, key int) {
		dk, dv := dk[key*a.tk*a.d:][:a.tk*a.d], dv[key*a.tk*a.dv:][:a.tk*a.dv]
		clear(dk)
		clear(dv)
		group := a.hq / a.hk
		for head := key * group; head < (key+1)*group; head++ {
			h := a.head(x, head, scratch[worker*room:][:room])
			for i := 0; i < a.tq && !l.pool.Stopped(); i++ {
				row := head*a.tq + i
				scores, begin := a.score(worker, head, i, &h)
				a.gradOf(x, row, begin, scores, &h, dq[row*a.d:][:a.d], dk, dv)
			}
		}
	})
}

// gradOf computes the gradient of one query, and adds to those of its keys and values.
func (a *doubleAttention) gradOf(x [][]float64, row, begin int, scores []float64, h *doubleHead, dq, dk, dv []float64) {
	clear(dq)
	o, lse, do := x[3][row*a.dv:][:a.dv], x[4][row], x[5][row*a.dv:][:a.dv]
	if math.IsInf(lse, -1) {
		return
	}
	dot, q := dotDouble(do, o), h.q[row%a.tq*a.d:][:a.d]
	for j := begin; j < len(scores); j++ {
		p := math.Exp(scores[j] - lse)
		if p == 0 {
			continue
		}
		addScaled(dv[j*a.dv:][:a.dv], p, do)
		ds := p * (dotDouble(do, h.v[j*a.dv:][:a.dv]) - dot) * a.scale
		if a.Cap != 0 {
			ds *= h.steep[j]
		}
		addScaled(dq, ds, h.k[j*a.d:][:a.d])
		addScaled(dk[j*a.d:][:a.d], ds, q)
	}
}
