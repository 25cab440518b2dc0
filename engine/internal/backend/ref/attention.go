package ref

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.Rope] = one(rope)
	ops[ir.Attention] = attention
	ops[ir.AttentionGrad] = attentionGrad
	ops[ir.PagedAttention] = pagedAttention
}

// rope turns each pair of a row of width d by position times the pair's rate, or by minus that angle with
// Reverse. Pairs are (i, i+d/2), or (2i, 2i+1) with Interleaved.
func rope(in *backend.Inst, a []value) value {
	x, positions := a[0], a[1]
	r := newValue(in.DType, in.Shape)
	n, d := rows(in.Shape)
	tokens := in.Shape[len(in.Shape)-2]
	perRow, rates := positions, ir.RopeRates(&in.Attr, d)
	if len(a) > 2 {
		for i := range rates {
			rates[i] = 2 * math.Pi * (a[2].f[2*i] + a[2].f[2*i+1])
		}
	}
	if len(positions.shape) > 1 {
		perRow = expand(positions, in.Shape[:len(in.Shape)-1])
	}
	for row := range n {
		at := row
		if len(positions.shape) <= 1 {
			at = row % tokens
		}
		for i, rate := range rates {
			angle := float64(perRow.i[at]) * rate
			if in.Attr.Flags&ir.Reverse != 0 {
				angle = -angle
			}
			p, q := row*d+i, row*d+i+d/2
			if in.Attr.Flags&ir.Interleaved != 0 {
				p, q = row*d+2*i, row*d+2*i+1
			}
			sin, cos := math.Sincos(angle)
			r.f[p] = x.f[p]*cos - x.f[q]*sin
			r.f[q] = x.f[p]*sin + x.f[q]*cos
		}
	}
	return r
}

// heads is the geometry of an attention: B batches, Hq query heads that share Hk key heads, Tq queries, Tk
// keys.
type heads struct {
	B, Hq, Hk, Tq, Tk, D, Dv int
	scale                    float64
	causal                   bool
	ir.Sight
	mask *value // [B Hq Tq Tk], Bool or float
}

func headsOf(in *backend.Inst, q, k, v value, mask []value) heads {
	h := heads{
		B: q.shape[0], Hq: q.shape[1], Tq: q.shape[2], D: q.shape[3],
		Hk: k.shape[1], Tk: k.shape[2], Dv: v.shape[3],
		scale: in.Attr.Float, causal: in.Attr.Flags&ir.Causal != 0, Sight: ir.SightOf(&in.Attr),
	}
	if len(mask) > 0 {
		m := expand(mask[0], []int{h.B, h.Hq, h.Tq, h.Tk})
		h.mask = &m
	}
	return h
}

// scores returns the scaled, capped and masked scores of one query, with -Inf for keys that it may not see,
// and how steeply each follows the score without a cap.
func (h *heads) scores(q, k value, b, head, i int) (s, steep []float64) {
	s, steep = make([]float64, h.Tk), make([]float64, h.Tk)
	for j := range s {
		place := i + h.Tk - h.Tq
		if h.causal && j > place || h.Window > 0 && max(j-place, place-j) >= h.Window {
			s[j] = math.Inf(-1)
			continue
		}
		for d := range h.D {
			s[j] += q.f[h.query(b, head, i)*h.D+d] * k.f[h.key(b, head, j)*h.D+d]
		}
		s[j], steep[j] = s[j]*h.scale, 1
		if h.Cap != 0 {
			bent := math.Tanh(s[j] / h.Cap)
			s[j], steep[j] = h.Cap*bent, 1-bent*bent
		}
		if h.mask == nil {
			continue
		}
		at := h.query(b, head, i)*h.Tk + j
		if h.mask.dtype != dtype.Bool {
			s[j] += h.mask.f[at]
		} else if h.mask.i[at] == 0 {
			s[j] = math.Inf(-1)
		}
	}
	return s, steep
}

// query and key give the row of a query and of the key that its head looks at.
func (h *heads) query(b, head, i int) int { return (b*h.Hq+head)*h.Tq + i }
func (h *heads) key(b, head, j int) int   { return (b*h.Hk+head/(h.Hq/h.Hk))*h.Tk + j }

// each calls f for every query.
func (h *heads) each(f func(b, head, i int)) {
	for b := range h.B {
		for head := range h.Hq {
			for i := range h.Tq {
				f(b, head, i)
			}
		}
	}
}

// attention is softmax(scale·q·kᵀ + mask)·v, and the logsumexp of the scores. A query that may see no key
// gives 0.
func attention(in *backend.Inst, a []value) []value {
	q, k, v := a[0], a[1], a[2]
	h := headsOf(in, q, k, v, a[3:])
	out := results(in)
	o, lse := out[0], out[1]
	h.each(func(b, head, i int) {
		row := h.query(b, head, i)
		s, _ := h.scores(q, k, b, head, i)
		top, rest := logSumExp(s)
		lse.f[row] = top + rest
		if math.IsInf(top, -1) {
			return
		}
		for j, x := range s {
			p := math.Exp(x - top - rest)
			for d := range h.Dv {
				o.f[row*h.Dv+d] += p * v.f[h.key(b, head, j)*h.Dv+d]
			}
		}
	})
	return out
}

// attentionGrad takes q, k, v, o, logsumexp, do and the mask. With p the probabilities and dp = do·vᵀ, ds =
// p·(dp − do·o), dq = scale·ds·k, dk = scale·dsᵀ·q, dv = pᵀ·do; keys and values sum over the heads that share
// them.
func attentionGrad(in *backend.Inst, a []value) []value {
	q, k, v, o, lse, do := a[0], a[1], a[2], a[3], a[4], a[5]
	h := headsOf(in, q, k, v, a[6:])
	out := results(in)
	dq, dk, dv := out[0], out[1], out[2]
	h.each(func(b, head, i int) {
		row := h.query(b, head, i)
		if math.IsInf(lse.f[row], -1) {
			return
		}
		var dot float64
		for d := range h.Dv {
			dot += do.f[row*h.Dv+d] * o.f[row*h.Dv+d]
		}
		s, steep := h.scores(q, k, b, head, i)
		for j, x := range s {
			key := h.key(b, head, j)
			p := math.Exp(x - lse.f[row])
			var dp float64
			for d := range h.Dv {
				dp += do.f[row*h.Dv+d] * v.f[key*h.Dv+d]
				dv.f[key*h.Dv+d] += p * do.f[row*h.Dv+d]
			}
			ds := p * (dp - dot) * steep[j] * h.scale
			if p == 0 {
				continue
			}
			for d := range h.D {
				dq.f[row*h.D+d] += ds * k.f[key*h.D+d]
				dk.f[key*h.D+d] += ds * q.f[row*h.D+d]
			}
		}
	})
	return out
}

// pagedAttention takes q, k, v, pages, last and perhaps the scales of k and v, and gives what attention does.
func pagedAttention(in *backend.Inst, a []value) []value {
	q, k, v, pages, last := a[0], a[1], a[2], a[3], a[4]
	set, each := ir.SightOf(&in.Attr), in.Attr.Ints[0] // slots of a page
	H, T, D := q.shape[1], q.shape[2], q.shape[3]
	G, S, E, P := k.shape[0], k.shape[1], v.shape[2], pages.shape[1]
	element := func(x value, scales []value, which, row, d, width int) float64 {
		if x.f != nil {
			return x.f[row*width+d]
		}
		return float64(x.i[row*width+d]) * scales[which].f[row]
	}
	slot := func(b, j int) int {
		page := min(max(0, int(pages.i[b*P+j/each])), S/each-1)
		return page*each + j%each
	}
	out := results(in)
	r, lse := out[0], out[1]
	for row := range q.shape[0] * H * T {
		lse.f[row] = math.Inf(-1)
		b, head, t := row/(H*T), row/T%H, row%T
		end := int(min(max(-1, last.i[b*T+t]), int64(P*each-1)))
		begin := 0
		if set.Window > 0 {
			begin = max(0, end-set.Window+1)
		}
		if end < begin {
			continue
		}
		scores := make([]float64, end+1-begin)
		for j := range scores {
			key := head/(H/G)*S + slot(b, begin+j)
			for d := range D {
				scores[j] += q.f[row*D+d] * element(k, a[5:], 0, key, d, D)
			}
			if scores[j] *= in.Attr.Float; set.Cap != 0 {
				scores[j] = set.Cap * math.Tanh(scores[j]/set.Cap)
			}
		}
		top, rest := logSumExp(scores)
		if lse.f[row] = top + rest; math.IsInf(top, -1) {
			continue
		}
		for j, x := range scores {
			p := math.Exp(x - top - rest)
			key := head/(H/G)*S + slot(b, begin+j)
			for d := range E {
				r.f[row*E+d] += p * element(v, a[5:], 1, key, d, E)
			}
		}
	}
	return out
}
