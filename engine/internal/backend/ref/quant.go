package ref

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.Dequantize] = one(dequantize)
	ops[ir.DequantizeTake] = one(dequantizeTake)
}

// weight is element [k n] of a quantised matrix with these parts. The outputs of each matrix of a stack begin
// a block, so the matrices are one whose outputs stand side by side.
func weight(q ir.Quant, parts []value, k, n int) float64 {
	block, lane := n/ir.QuantBlock, n%ir.QuantBlock
	line, place := k/q.PerLine(), k%q.PerLine()
	code := parts[0].i[((block*q.Lines()+line)*ir.QuantBlock+lane)*4+place%4]
	if q.Bits == 4 {
		code = code >> (4 * (place / 4)) & 15
	}
	at := (block*q.Groups()+k/q.Group)*ir.QuantBlock + lane
	scale := parts[1].f[at]
	switch q.Form {
	case ir.Zeros:
		return scale * float64(code-parts[2].i[at])
	case ir.Minimums:
		return float64(float32(scale*float64(code))) + parts[2].f[at]
	case ir.Table:
		return scale * parts[2].f[code]
	}
	return scale * float64(code-1<<(q.Bits-1))
}

func dequantize(in *backend.Inst, a []value) value {
	q := ir.QuantOf(&in.Attr)
	return stack(q, newValue(in.DType, in.Shape), a)
}

// stack fills in a quantised weight, or all of a stack.
func stack(q ir.Quant, r value, a []value) value {
	for i := range r.f {
		matrix, k, n := i/(q.K*q.N), i%(q.K*q.N)/q.N, i%q.N
		if q.Transposed {
			k, n = i%q.K, i%(q.K*q.N)/q.K
		}
		r.f[i] = weight(q, a, k, matrix*q.Blocks()*ir.QuantBlock+n)
	}
	return r
}

func dequantizeTake(in *backend.Inst, a []value) value {
	q, r := ir.QuantOf(&in.Attr), newValue(in.DType, in.Shape)
	for i := range a[0].i {
		n := position(in.Op, 1, a[0], i, q.N)
		for k := range q.K {
			r.f[i*q.K+k] = weight(q, a[1:], k, n)
		}
	}
	return r
}
