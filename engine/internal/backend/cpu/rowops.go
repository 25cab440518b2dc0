package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// finite says whether a row's maximum is a number that can be subtracted.
func finite(x float32) bool { return x-x == 0 }

// maxOf is the largest element of a row.
func (k *rowKernel) maxOf(row unsafe.Pointer) float32 {
	top := float32(math.Inf(-1))
	k.spans(func(o, n int) { top = max(top, vec.MaxOf(unsafe.Add(row, o), n)) })
	return top
}

func softmaxRow(k *rowKernel, x, _ []unsafe.Pointer, at int, y unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	top := k.maxOf(row)
	sum := k.inChunks(func(o, n int) float32 { return vec.ExpSubSum(unsafe.Add(y, o), unsafe.Add(row, o), top, n) })
	if finite(top) {
		k.spans(func(o, n int) { vec.ScaleTo(unsafe.Add(y, o), unsafe.Add(y, o), float32(1/sum), n) })
	}
}

// logSoftmaxRow subtracts in two steps, so that a large maximum does not cost digits of the small difference.
func logSoftmaxRow(k *rowKernel, x, _ []unsafe.Pointer, at int, y unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	top := k.maxOf(row)
	k.spans(func(o, n int) { vec.SubTo(unsafe.Add(y, o), unsafe.Add(row, o), top, n) })
	if finite(top) {
		sum := k.inChunks(func(o, n int) float32 { return vec.SumExpSub(unsafe.Add(row, o), top, n) })
		k.spans(func(o, n int) { vec.SubTo(unsafe.Add(y, o), unsafe.Add(y, o), float32(math.Log(sum)), n) })
	}
}

func softmaxGradRow(k *rowKernel, x, _ []unsafe.Pointer, at int, d unsafe.Pointer) {
	y, dy := unsafe.Add(x[0], at), unsafe.Add(x[1], at)
	dot := k.inChunks(func(o, n int) float32 { return vec.Dot(unsafe.Add(y, o), unsafe.Add(dy, o), n) })
	k.spans(func(o, n int) {
		vec.SoftmaxGradTo(unsafe.Add(d, o), unsafe.Add(y, o), unsafe.Add(dy, o), float32(dot), n)
	})
}

func logSoftmaxGradRow(k *rowKernel, x, _ []unsafe.Pointer, at int, d unsafe.Pointer) {
	y, dy := unsafe.Add(x[0], at), unsafe.Add(x[1], at)
	sum := k.inChunks(func(o, n int) float32 { return vec.Sum(unsafe.Add(dy, o), n) })
	k.spans(func(o, n int) {
		vec.LogSoftmaxGradTo(unsafe.Add(d, o), unsafe.Add(y, o), unsafe.Add(dy, o), float32(sum), n)
	})
}

// moments returns a row's mean and 1/√(variance + eps).
func (k *rowKernel) moments(row unsafe.Pointer) (mean, r float32) {
	n := float64(k.n)
	mean = float32(k.inChunks(func(o, n int) float32 { return vec.Sum(unsafe.Add(row, o), n) }) / n)
	squares := k.inChunks(func(o, n int) float32 { return vec.SumSquaresAbout(unsafe.Add(row, o), mean, n) })
	return mean, float32(1 / math.Sqrt(squares/n+k.attr.Float))
}

// rootMeanSquare returns 1/√(mean x² + eps).
func (k *rowKernel) rootMeanSquare(row unsafe.Pointer) float32 {
	squares := k.inChunks(func(o, n int) float32 { return vec.SumSquares(unsafe.Add(row, o), n) })
	return float32(1 / math.Sqrt(squares/float64(k.n)+k.attr.Float))
}

func layerNormRow(k *rowKernel, x, w []unsafe.Pointer, at int, y unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	mean, r := k.moments(row)
	k.spans(func(o, n int) {
		vec.NormTo(unsafe.Add(y, o), unsafe.Add(row, o), unsafe.Add(w[0], o), unsafe.Add(w[1], o), mean, r, n)
	})
}

func rmsNormRow(k *rowKernel, x, w []unsafe.Pointer, at int, y unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	r := k.rootMeanSquare(row)
	k.spans(func(o, n int) { vec.ScaleMulTo(unsafe.Add(y, o), unsafe.Add(row, o), unsafe.Add(w[0], o), r, n) })
}

// normPieceRows is how many rows add to one partial gradient of the weights. It does not depend on the number of
// threads, so neither do the sums.
const normPieceRows = 16

// runNormGrad computes dx row by row, and dweight (and dbias) as sums of one partial for each piece of rows.
func (k *rowKernel) runNormGrad(l *launch) {
	w := k.vector()[0]
	pieces := min(64, (k.rows+normPieceRows-1)/normPieceRows)
	stride := k.n + 80 // not a multiple of a page, at which addresses would get in each other's way
	partial := l.scratch.floats(2 * max(1, pieces) * stride)
	l.pool.Range(len(partial), span, func(_, lo, hi int) { clear(partial[lo:hi]) })
	part := func(piece, which int) unsafe.Pointer {
		return unsafe.Pointer(unsafe.SliceData(partial[(2*piece+which)*stride:]))
	}
	l.pool.For(pieces, func(worker, piece int) {
		lo, hi := k.rows*piece/pieces, k.rows*(piece+1)/pieces
		for ; lo < hi && !l.pool.Stopped(); lo += k.block {
			rows := min(k.block, hi-lo)
			x := k.full.at(worker).Fetch(lo*k.n, rows*k.n)
			d := k.result(l, worker, lo*k.n)
			for r := range rows {
				at := 4 * r * k.n
				k.normGradRow(unsafe.Add(x[0], at), w, unsafe.Add(x[1], at), unsafe.Add(d, at), part(piece, 0), part(piece, 1))
			}
			k.store(worker, lo*k.n, rows*k.n, d)
		}
	})
	if l.pool.Stopped() {
		return
	}
	l.pool.Range(k.n, 1024, func(_, lo, hi int) {
		for which, out := range k.extra {
			sum := func(piece int) unsafe.Pointer { return unsafe.Add(part(piece, which-1), 4*lo) }
			addPairwise(sum, pieces, hi-lo)
			narrowTo(out.DType, unsafe.Add(l.pointer(out.Buf), lo*out.DType.Size()), sum(0), hi-lo)
		}
	})
}

// addPairwise adds up n columns of all pieces into the first, in a tree, which keeps the rounding error small.
func addPairwise(piece func(int) unsafe.Pointer, pieces, n int) {
	add := vec.Of(vec.Add)
	for step := 1; step < pieces; step *= 2 {
		for p := 0; p+step < pieces; p += 2 * step {
			add(piece(p), piece(p), piece(p+step), nil, n)
		}
	}
}

// normGradRow computes one row of dx, and adds to dw and db.
func (k *rowKernel) normGradRow(x, w, dy, d, dw, db unsafe.Pointer) {
	n := float64(k.n)
	var mean, r float32
	if k.op == ir.LayerNormGrad {
		mean, r = k.moments(x)
	} else {
		r = k.rootMeanSquare(x)
	}
	var c1, c2 float64
	for i := 0; i < k.n && !k.stopped(i); i += chunk {
		g, gx := vec.NormGradSums(unsafe.Add(x, 4*i), unsafe.Add(w, 4*i), unsafe.Add(dy, 4*i), mean, r, min(chunk, k.n-i))
		c1 += float64(g)
		c2 += float64(gx)
	}
	if k.op == ir.RMSNormGrad {
		c1 = 0
	}
	k.spans(func(o, m int) {
		d, x, w, dy, dw := unsafe.Add(d, o), unsafe.Add(x, o), unsafe.Add(w, o), unsafe.Add(dy, o), unsafe.Add(dw, o)
		vec.NormGradTo(d, x, w, dy, mean, r, float32(c1/n), float32(c2/n), m)
		if k.op == ir.RMSNormGrad {
			vec.ScaleGradParam(dw, x, dy, r, m)
		} else {
			vec.NormGradParams(dw, unsafe.Add(db, o), x, dy, mean, r, m)
		}
	})
}

// target returns the class of a row, or -1 if the row is ignored; it reports one that does not exist.
func (k *rowKernel) target(l *launch, targets unsafe.Pointer, row int) int {
	t := *(*int64)(unsafe.Add(targets, 8*row))
	switch {
	case t == int64(k.attr.Index):
		return -1
	case t < 0 || t >= int64(k.n):
		l.fail("%v: target %d of row %d is out of range for %d classes", k.op, t, row, k.n)
		return -1
	}
	return int(t)
}

// runCrossEntropy reads each row once: the maximum and the sum are brought up to date chunk by chunk.
func (k *rowKernel) runCrossEntropy(l *launch) {
	targets := k.column.Fetch(0, k.rows)[0]
	lse, wanted := k.extra[1]
	loss := l.scratch.floats(k.rows)
	l.pool.Range(k.rows, max(1, mapGrain/max(1, k.n)), func(worker, lo, hi int) {
		for row := lo; row < hi && !l.pool.Stopped(); row++ {
			value := k.lossOf(l, worker, row, k.target(l, targets, row))
			loss[row] = float32(value.loss)
			if wanted {
				*(*float32)(unsafe.Add(l.pointer(lse.Buf), 4*row)) = float32(value.lse)
			}
		}
		k.epilogue.at(worker).SetGiven(0, unsafe.Pointer(unsafe.SliceData(loss)), 0)
		k.epilogue.at(worker).Run(lo, hi-lo)
	})
}

type rowLoss struct{ loss, lse float64 }

func (k *rowKernel) lossOf(l *launch, worker, row, target int) rowLoss {
	state := k.full.at(worker)
	top := float32(math.Inf(-1))
	var sum, total float64 // Σ exp(x−top), Σ x
	smoothing := k.attr.Float
	for i := 0; i < k.n && !k.stopped(i); i += chunk {
		n := min(chunk, k.n-i)
		x := state.Fetch(row*k.n+i, n)[0]
		if smoothing != 0 {
			total += float64(vec.Sum(x, n))
		}
		switch high := vec.MaxOf(x, n); {
		case high <= top && math.IsInf(float64(high), -1): // nothing to add
		case high <= top:
			sum += float64(vec.SumExpSub(x, top, n))
		default: // larger, or NaN
			sum = sum*math.Exp(float64(top)-float64(high)) + float64(vec.SumExpSub(x, high, n))
			top = high
		}
		if top != top {
			break
		}
	}
	lse := float64(top)
	if finite(top) {
		lse += math.Log(sum)
	}
	if target < 0 {
		return rowLoss{0, lse}
	}
	at := float64(*(*float32)(state.Fetch(row*k.n+target, 1)[0]))
	loss := (1 - smoothing) * (lse - at)
	if smoothing != 0 {
		loss += smoothing * (lse - total/float64(k.n))
	}
	return rowLoss{loss, lse}
}

// runCrossEntropyGrad gives dloss·(softmax(x) − (1−s)·onehot(target) − s/V), and 0 in rows that are ignored.
func (k *rowKernel) runCrossEntropyGrad(l *launch) {
	column := k.column.Fetch(0, k.rows)
	targets, lses, dlosses := column[0], column[1], column[2]
	smooth := k.attr.Float / float64(k.n)
	l.pool.Range(k.rows, max(1, mapGrain/max(1, k.n)), func(worker, lo, hi int) {
		for row := lo; row < hi && !l.pool.Stopped(); row++ {
			target := k.target(l, targets, row)
			lse := *(*float32)(unsafe.Add(lses, 4*row))
			scale := *(*float32)(unsafe.Add(dlosses, 4*row))
			for i := 0; i < k.n && !k.stopped(i); i += chunk {
				first, n := row*k.n+i, min(chunk, k.n-i)
				d := k.result(l, worker, first)
				if target < 0 {
					clear(unsafe.Slice((*float32)(d), n))
				} else {
					x := k.full.at(worker).Fetch(first, n)[0]
					vec.CrossEntropyGradTo(d, x, lse, scale, float32(smooth), n)
				}
				if target >= i && target < i+n {
					*(*float32)(unsafe.Add(d, 4*(target-i))) -= scale * float32(1-k.attr.Float)
				}
				k.store(worker, first, n, d)
			}
		}
	})
}
