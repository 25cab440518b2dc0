package cpu

import (
	"iter"
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Row ops in float64 are plain loops over whole rows.

// doubles are n float64 in memory.
func doubles(p unsafe.Pointer, n int) []float64 { return unsafe.Slice((*float64)(p), n) }

// runDouble runs the op in float64.
func (k *rowKernel) runDouble(l *launch) {
	switch k.op {
	case ir.LayerNormGrad, ir.RMSNormGrad:
		k.doubleNormGrads(l)
	case ir.CrossEntropy:
		k.doubleCrossEntropy(l)
	case ir.CrossEntropyGrad:
		k.doubleCrossEntropyGrad(l)
	default:
		k.doubleRows(l, doubleRows[k.op])
	}
}

// doubleRows compute a row y from rows x, one for each operand of the full shape, and vectors w.
var doubleRows = map[ir.Op]func(k *rowKernel, x, w [][]float64, y []float64){
	ir.Softmax: func(k *rowKernel, x, _ [][]float64, y []float64) {
		top, rest := logSumExp(x[0], k.spans)
		for lo, hi := range k.spans {
			for i, v := range x[0][lo:hi] {
				y[lo+i] = math.Exp(v - top - rest)
			}
		}
	},
	ir.LogSoftmax: func(k *rowKernel, x, _ [][]float64, y []float64) {
		top, rest := logSumExp(x[0], k.spans)
		for lo, hi := range k.spans {
			for i, v := range x[0][lo:hi] {
				y[lo+i] = v - top - rest
			}
		}
	},
	ir.SoftmaxGrad: func(k *rowKernel, x, _ [][]float64, d []float64) {
		dot := 0.0
		for lo, hi := range k.spans {
			for i, y := range x[0][lo:hi] {
				dot += y * x[1][lo+i]
			}
		}
		for lo, hi := range k.spans {
			for i, y := range x[0][lo:hi] {
				d[lo+i] = y * (x[1][lo+i] - dot)
			}
		}
	},
	ir.LogSoftmaxGrad: func(k *rowKernel, x, _ [][]float64, d []float64) {
		sum := 0.0
		for lo, hi := range k.spans {
			sum = sumOf(sum, x[1][lo:hi])
		}
		for lo, hi := range k.spans {
			for i, y := range x[0][lo:hi] {
				d[lo+i] = x[1][lo+i] - math.Exp(y)*sum
			}
		}
	},
	ir.LayerNorm: func(k *rowKernel, x, w [][]float64, y []float64) {
		mean, r := k.doubleMoments(x[0])
		for lo, hi := range k.spans {
			for i, v := range x[0][lo:hi] {
				y[lo+i] = (v-mean)*r*w[0][lo+i] + w[1][lo+i]
			}
		}
	},
	ir.RMSNorm: func(k *rowKernel, x, w [][]float64, y []float64) {
		_, r := k.doubleMoments(x[0])
		for lo, hi := range k.spans {
			for i, v := range x[0][lo:hi] {
				y[lo+i] = v * r * w[0][lo+i]
			}
		}
	},
}

// spans yields the borders of stretches of a row. It ends early when the launch is to stop.
func (k *rowKernel) spans(yield func(lo, hi int) bool) {
	for i := 0; i < k.n && !k.stopped(i) && yield(i, min(i+span, k.n)); i += span {
	}
}

// logSumExp is ln Σ exp(x) as the greatest x and what is to be added. It is -Inf where every x is, and NaN
// with one. It reads x span by span.
func logSumExp(x []float64, spans iter.Seq2[int, int]) (top, rest float64) {
	top = math.Inf(-1)
	for lo, hi := range spans {
		for _, v := range x[lo:hi] {
			top = max(top, v)
		}
	}
	if top-top != 0 {
		return top, 0
	}
	sum := 0.0
	for lo, hi := range spans {
		for _, v := range x[lo:hi] {
			sum += math.Exp(v - top)
		}
	}
	return top, math.Log(sum)
}

// doubleMoments returns a row's mean and 1/√(variance + eps); for the RMS norms 0 and 1/√(mean x² + eps).
func (k *rowKernel) doubleMoments(x []float64) (mean, r float64) {
	n := float64(k.n)
	if k.op == ir.LayerNorm || k.op == ir.LayerNormGrad {
		for lo, hi := range k.spans {
			mean = sumOf(mean, x[lo:hi])
		}
		mean /= n
	}
	squares := 0.0
	for lo, hi := range k.spans {
		for _, v := range x[lo:hi] {
			squares += (v - mean) * (v - mean)
		}
	}
	return mean, 1 / math.Sqrt(squares/n+k.attr.Float)
}

// doubleBlock calls f for each row of a block, with the row of each of the fetched runs.
func (k *rowKernel) doubleBlock(runs []unsafe.Pointer, rows int, f func(row int, x [][]float64)) {
	x := make([][]float64, len(runs))
	for row := range rows {
		for i, p := range runs {
			x[i] = doubles(p, rows*k.n)[row*k.n:][:k.n]
		}
		f(row, x)
	}
}

// doubleVectors are the operands of a row's length.
func (k *rowKernel) doubleVectors() [][]float64 {
	var w [][]float64
	for _, p := range k.vector() {
		w = append(w, doubles(p, k.n))
	}
	return w
}

func (k *rowKernel) doubleRows(l *launch, f func(k *rowKernel, x, w [][]float64, y []float64)) {
	w := k.doubleVectors()
	l.pool.Range(k.rows, max(1, mapGrain/8/max(1, k.n)), func(worker, lo, hi int) {
		for ; lo < hi && !l.pool.Stopped(); lo += k.block {
			rows := min(k.block, hi-lo)
			runs := k.full.at(worker).Fetch(lo*k.n, rows*k.n)
			result := k.result(l, worker, lo*k.n)
			y := doubles(result, rows*k.n)
			k.doubleBlock(runs, rows, func(row int, x [][]float64) { f(k, x, w, y[row*k.n:][:k.n]) })
			k.store(worker, lo*k.n, rows*k.n, result)
		}
	})
}

// doubleNormGrads computes dx row by row, and dweight and dbias as sums of one partial for each piece of
// rows.
func (k *rowKernel) doubleNormGrads(l *launch) {
	w := k.doubleVectors()[0]
	pieces := max(1, min(64, (k.rows+normPieceRows-1)/normPieceRows))
	partial := elements[float64](l.scratch.bytes(8 * 2 * pieces * k.n))
	l.pool.For(pieces, func(worker, piece int) {
		dw, db := partial[2*piece*k.n:][:k.n], partial[(2*piece+1)*k.n:][:k.n]
		clear(dw)
		clear(db)
		lo, hi := k.rows*piece/pieces, k.rows*(piece+1)/pieces
		for ; lo < hi && !l.pool.Stopped(); lo += k.block {
			rows := min(k.block, hi-lo)
			runs := k.full.at(worker).Fetch(lo*k.n, rows*k.n)
			result := k.result(l, worker, lo*k.n)
			d := doubles(result, rows*k.n)
			k.doubleBlock(runs, rows, func(row int, x [][]float64) {
				k.doubleNormGrad(x[0], w, x[1], d[row*k.n:][:k.n], dw, db)
			})
			k.store(worker, lo*k.n, rows*k.n, result)
		}
	})
	for which, out := range k.extra {
		sum := doubles(l.pointer(out.Buf), k.n)
		clear(sum)
		for piece := range pieces {
			for i, v := range partial[(2*piece+which-1)*k.n:][:k.n] {
				sum[i] += v
			}
		}
	}
}

// doubleNormGrad computes one row of dx, and adds to dw and db.
func (k *rowKernel) doubleNormGrad(x, w, dy, d, dw, db []float64) {
	mean, r := k.doubleMoments(x)
	var c1, c2 float64
	for lo, hi := range k.spans {
		for i, v := range x[lo:hi] {
			g := dy[lo+i] * w[lo+i]
			c1 += g
			c2 += g * (v - mean) * r
		}
	}
	if k.op == ir.RMSNormGrad {
		c1 = 0
	}
	c1, c2 = c1/float64(k.n), c2/float64(k.n)
	for lo, hi := range k.spans {
		for i := lo; i < hi; i++ {
			hat := (x[i] - mean) * r
			d[i] = r * (dy[i]*w[i] - c1 - hat*c2)
			dw[i] += dy[i] * hat
			db[i] += dy[i]
		}
	}
}

// spansOf calls f for stretches of a row of logits, which are fetched a chunk at a time.
func (k *rowKernel) spansOf(worker, row int, f func(at int, x []float64)) {
	for i := 0; i < k.n && !k.stopped(i); i += chunk {
		n := min(chunk, k.n-i)
		f(i, doubles(k.full.at(worker).Fetch(row*k.n+i, n)[0], n))
	}
}

func (k *rowKernel) doubleCrossEntropy(l *launch) {
	targets := k.column.Fetch(0, k.rows)[0]
	lse, wanted := k.extra[1]
	loss := elements[float64](l.scratch.bytes(8 * k.rows))
	var dloss []float64
	if k.gradient != nil {
		dloss = doubles(k.gradient.column.Fetch(0, k.rows)[1], k.rows)
	}
	l.pool.Range(k.rows, max(1, mapGrain/8/max(1, k.n)), func(worker, lo, hi int) {
		for row := lo; row < hi && !l.pool.Stopped(); row++ {
			target := k.target(l, targets, row)
			var sum, total, at float64
			top := math.Inf(-1)
			k.spansOf(worker, row, func(_ int, x []float64) { top = maxOf(top, x) })
			k.spansOf(worker, row, func(first int, x []float64) {
				for _, v := range x {
					sum += math.Exp(v - top)
				}
				total = sumOf(total, x)
				if target >= first && target < first+len(x) {
					at = x[target-first]
				}
			})
			rest := 0.0
			if top-top == 0 {
				rest = math.Log(sum)
			}
			if wanted {
				doubles(l.pointer(lse.Buf), k.rows)[row] = top + rest
			}
			if k.gradient != nil {
				k.gradient.doubleGradientOf(l, worker, row, target, top+rest, dloss[row])
			}
			if loss[row] = 0; target < 0 {
				continue
			}
			s := k.attr.Float
			loss[row] = (1 - s) * (top - at + rest)
			if s != 0 {
				loss[row] += s * (top - total/float64(k.n) + rest)
			}
		}
		k.epilogue.at(worker).SetGiven(0, unsafe.Pointer(unsafe.SliceData(loss)), 0)
		k.epilogue.at(worker).Run(lo, hi-lo)
	})
}

func (k *rowKernel) doubleCrossEntropyGrad(l *launch) {
	column := k.column.Fetch(0, k.rows)
	targets, lses, scales := column[0], doubles(column[1], k.rows), doubles(column[2], k.rows)
	l.pool.Range(k.rows, max(1, mapGrain/8/max(1, k.n)), func(worker, lo, hi int) {
		for row := lo; row < hi && !l.pool.Stopped(); row++ {
			k.doubleGradientOf(l, worker, row, k.target(l, targets, row), lses[row], scales[row])
		}
	})
}

// doubleGradientOf computes a row of the gradient of a cross entropy.
func (k *rowKernel) doubleGradientOf(l *launch, worker, row, target int, lse, scale float64) {
	s := k.attr.Float
	k.spansOf(worker, row, func(first int, x []float64) {
		result := k.result(l, worker, row*k.n+first)
		d := doubles(result, len(x))
		for i, v := range x {
			p := math.Exp(v-lse) - s/float64(k.n)
			if first+i == target {
				p -= 1 - s
			}
			if d[i] = scale * p; target < 0 {
				d[i] = 0
			}
		}
		k.store(worker, row*k.n+first, len(x), result)
	})
}
