package cpu

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// nowhere is the place of a value that is not in memory.
var nowhere = place{buf: -1, offset: -1}

// rightOperand is operand for the right-hand side of a product, which may be a quantised weight: then it
// gives the layout that the weight would have, and where the codes are.
func (m *matMul) rightOperand(p *problem, t *gemm.Term, r backend.Ref) (ir.Layout, place, error) {
	if _, input := r.Input(); input || m.g.Insts[r.Index].Op != ir.Dequantize {
		p.scales, p.extra = append(p.scales, nowhere), append(p.extra, nowhere)
		return m.operand(r)
	}
	in := &m.g.Insts[r.Index]
	at, err := quantParts(m.g, in.Args)
	if err != nil {
		return ir.Layout{}, nowhere, err
	}
	q := ir.QuantOf(&in.Attr)
	if in.DType == dtype.F64 {
		p.scales, p.extra = append(p.scales, nowhere), append(p.extra, nowhere)
		to := m.reserve(in.DType, q.K*q.N)
		p.weights = append(p.weights, writtenWeight{q, at, to})
		return ir.Contiguous(in.Shape), to, nil
	}
	p.scales, p.extra = append(p.scales, at[1]), append(p.extra, at[2])
	t.Codes = codesOf(q, at[1].dtype)
	return ir.Contiguous(in.Shape), at[0], nil
}

// quantParts returns where the parts of a quantised weight are: codes, scales, and what its form needs.
func quantParts(g *backend.Group, args []backend.Ref) (at [3]place, err error) {
	at[2] = nowhere
	for i, arg := range args {
		in := inputOf(g, arg)
		if !slices.Equal(in.Layout.Stride, ir.Contiguous(in.Layout.Shape).Stride) {
			return at, fmt.Errorf("got a part of a quantised weight with strides %v, want contiguous memory", in.Layout.Stride)
		}
		at[i] = place{buf: in.Buf, offset: in.Layout.Offset * in.DType.Size(), dtype: in.DType}
	}
	return at, nil
}

// bindQuant is the weight during a launch.
func bindQuant(l *launch, q ir.Quant, at [3]place) *micro.Quant {
	return &micro.Quant{
		Bits: q.Bits, Group: q.Group, Form: q.Form, Groups: q.Groups(), Scale: elemOf(at[1].dtype),
		Codes: at[0].at(l, nil), Scales: at[1].at(l, nil), Extra: at[2].at(l, nil),
	}
}

// codesOf describes a weight to a product.
func codesOf(q ir.Quant, scale dtype.Type) *gemm.Codes {
	return &gemm.Codes{K: q.K, N: q.N, Bits: q.Bits, Group: q.Group, Form: q.Form, Scale: elemOf(scale), Transposed: q.Transposed}
}

// tileInputs is how many inputs of a block are dequantised at a time.
const tileInputs = 64

// compileDequantize writes a weight out: each chunk is one block of outputs.
func compileDequantize(c *standalone) func(*launch) {
	at, err := quantParts(c.g, c.in.Args)
	c.failed(err)
	q, out := ir.QuantOf(&c.in.Attr), c.g.Outputs[0].Buf
	if q.DType == dtype.F64 {
		return func(l *launch) { writeDoubles(l, q, bindQuant(l, q, at), l.pointer(out)) }
	}
	return func(l *launch) {
		weight, to := bindQuant(l, q, at), l.pointer(out)
		l.pool.For(max(1, q.Matrices)*q.Blocks(), func(_, block int) {
			var tile, transposed [tileInputs * micro.Lanes]float32
			matrix, first := block/q.Blocks()*q.K*q.N, block%q.Blocks()*micro.Lanes
			outputs := min(micro.Lanes, q.N-first)
			for k := 0; k < q.K && !l.pool.Stopped(); k += tileInputs {
				n := min(tileInputs, q.K-k)
				weight.Dequantize(block, k, (k+n+7)&^7, &tile[0], micro.Lanes)
				if !q.Transposed {
					for i := range n {
						storeFloats(q.DType, to, matrix+(k+i)*q.N+first, &tile[i*micro.Lanes], outputs)
					}
					continue
				}
				for o := range outputs {
					for i := range n {
						transposed[o*tileInputs+i] = tile[i*micro.Lanes+o]
					}
					storeFloats(q.DType, to, matrix+(first+o)*q.K+k, &transposed[o*tileInputs], n)
				}
			}
		})
	}
}

// storeFloats rounds n numbers to a dtype and stores them from element at on.
func storeFloats(t dtype.Type, to unsafe.Pointer, at int, from *float32, n int) {
	narrowTo(t, unsafe.Add(to, at*t.Size()), unsafe.Pointer(from), n)
}

// compileDequantizeTake writes out the columns that an index names.
func compileDequantizeTake(c *standalone) func(*launch) {
	at, err := quantParts(c.g, c.in.Args[1:])
	c.failed(err)
	index, op := c.index(0), c.in.Op
	q, out := ir.QuantOf(&c.in.Attr), c.g.Outputs[0].Buf
	return func(l *launch) {
		ix := index.indices(l)
		if !checkIndices(l, op, 1, q.N, ix) {
			return
		}
		weight, to := bindQuant(l, q, at), l.pointer(out)
		if q.DType == dtype.F64 {
			takeDoubles(l, q, weight, to, ix)
			return
		}
		l.pool.Range(len(ix), max(1, mapGrain/max(1, 8*q.K)), func(_, lo, hi int) {
			var row [tileInputs]float32
			for i := lo; i < hi; i++ {
				for k := 0; k < q.K; k += tileInputs {
					n := min(tileInputs, q.K-k)
					weight.Column(fromStart(ix[i], q.N), k, row[:n])
					storeFloats(q.DType, to, i*q.K+k, &row[0], n)
				}
			}
		})
	}
}

// writeDoubles writes the whole weight out in float64.
func writeDoubles(l *launch, q ir.Quant, weight *micro.Quant, to unsafe.Pointer) {
	line, step := 1, q.N
	if q.Transposed {
		line, step = q.K, 1
	}
	matrices := max(1, q.Matrices)
	out := doubles(to, matrices*q.K*q.N)
	l.pool.Range(matrices*q.N, max(1, mapGrain/8/max(1, q.K)), func(_, lo, hi int) {
		for i := lo; i < hi && !l.pool.Stopped(); i++ {
			matrix, n := i/q.N, i%q.N
			for k := range q.K {
				out[matrix*q.K*q.N+n*line+k*step] = weight.At(k, matrix*q.Blocks()*micro.Lanes+n)
			}
		}
	})
}

// takeDoubles writes columns out as rows of float64.
func takeDoubles(l *launch, q ir.Quant, weight *micro.Quant, to unsafe.Pointer, index []int64) {
	out := doubles(to, len(index)*q.K)
	l.pool.Range(len(index), max(1, mapGrain/8/max(1, q.K)), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			n := fromStart(index[i], q.N)
			for k := range q.K {
				out[i*q.K+k] = weight.At(k, n)
			}
		}
	})
}

// A writtenWeight is a quantised weight that is written out before a product of float64 reads it.
type writtenWeight struct {
	quant ir.Quant
	parts [3]place
	to    place
}
