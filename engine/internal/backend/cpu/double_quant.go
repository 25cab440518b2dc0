package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A doubleWeight is a quantised weight that is dequantised to float64: its numbers are not rounded.
type doubleWeight struct {
	ir.Quant
	codes, zeros []byte
	scales       []byte
	scale        dtype.Type
}

func bindDoubleWeight(l *launch, q ir.Quant, at [3]place) doubleWeight {
	w := doubleWeight{Quant: q, scale: at[1].dtype}
	parts := q.Blocks() * q.Groups() * ir.QuantBlock
	w.codes = unsafe.Slice((*byte)(at[0].at(l, nil)), q.Blocks()*q.Lines()*4*ir.QuantBlock)
	w.scales = unsafe.Slice((*byte)(at[1].at(l, nil)), parts*w.scale.Size())
	if at[2] != nowhere {
		w.zeros = unsafe.Slice((*byte)(at[2].at(l, nil)), parts)
	}
	return w
}

// at is the number of input k and output n.
func (w *doubleWeight) at(k, n int) float64 {
	block, lane := n/ir.QuantBlock, n%ir.QuantBlock
	line, place := k/w.PerLine(), k%w.PerLine()
	code := w.codes[((block*w.Lines()+line)*ir.QuantBlock+lane)*4+place%4]
	if w.Bits == 4 {
		code = code >> (4 * (place / 4)) & 15
	}
	group, zero := (block*w.Groups()+k/w.Group)*ir.QuantBlock+lane, 1<<(w.Bits-1)
	if w.zeros != nil {
		zero = int(w.zeros[group])
	}
	return ir.Load(w.scale, w.scales[group*w.scale.Size():]).F * float64(int(code)-zero)
}

// write writes the whole weight out.
func (w *doubleWeight) write(l *launch, to unsafe.Pointer) {
	out := doubles(to, w.K*w.N)
	l.pool.Range(w.N, max(1, mapGrain/8/max(1, w.K)), func(_, lo, hi int) {
		for n := lo; n < hi && !l.pool.Stopped(); n++ {
			for k := range w.K {
				at := k*w.N + n
				if w.Transposed {
					at = n*w.K + k
				}
				out[at] = w.at(k, n)
			}
		}
	})
}

// take writes columns out as rows.
func (w *doubleWeight) take(l *launch, to unsafe.Pointer, index []int64) {
	out := doubles(to, len(index)*w.K)
	l.pool.Range(len(index), max(1, mapGrain/8/max(1, w.K)), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			n := fromStart(index[i], w.N)
			for k := range w.K {
				out[i*w.K+k] = w.at(k, n)
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
