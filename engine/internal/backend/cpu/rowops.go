package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// finite says whether a row's maximum is a number that can be subtracted.
func finite(x float32) bool { return x-x == 0 }

// maxOf is the largest element of a row. It passes over NaN beside a number: what is computed from the NaN is
// NaN, and so are the sums of that.
func (k *rowKernel) maxOf(row unsafe.Pointer) float32 {
	top := float32(math.Inf(-1))
	k.chunks(func(o, n int) { top = max(top, vec.MaxOfNumbers(unsafe.Add(row, o), n)) })
	if !finite(top) {
		k.chunks(func(o, n int) { top = max(top, vec.MaxOf(unsafe.Add(row, o), n)) })
	}
	return top
}

func softmaxRow(k *rowKernel, x, _ []unsafe.Pointer, at int, y, d unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	top := k.maxOf(row)
	if !finite(top) {
		k.chunks(func(o, n int) { vec.ExpSubSum(unsafe.Add(d, o), unsafe.Add(row, o), top, n) })
		return
	}
	var sum float64
	k.chunks(func(o, n int) { sum += float64(vec.ExpSubSum(unsafe.Add(y, o), unsafe.Add(row, o), top, n)) })
	k.chunks(func(o, n int) { k.last.scale(unsafe.Add(d, o), unsafe.Add(y, o), float32(1/sum), n) })
}

// logSoftmaxRow subtracts in two steps, so that a large maximum does not cost digits of the small difference.
func logSoftmaxRow(k *rowKernel, x, _ []unsafe.Pointer, at int, y, d unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	top := k.maxOf(row)
	var sum float64
	if finite(top) {
		k.chunks(func(o, n int) { sum += float64(vec.SumExpSub(unsafe.Add(row, o), top, n)) })
	} else {
		sum = 1
	}
	k.chunks(func(o, n int) {
		vec.SubTo(unsafe.Add(y, o), unsafe.Add(row, o), top, n)
		k.last.sub(unsafe.Add(d, o), unsafe.Add(y, o), float32(math.Log(sum)), n)
	})
}

func softmaxGradRow(k *rowKernel, x, _ []unsafe.Pointer, at int, _, d unsafe.Pointer) {
	y, dy := unsafe.Add(x[0], at), unsafe.Add(x[1], at)
	var dot float64
	k.chunks(func(o, n int) { dot += float64(vec.Dot(unsafe.Add(y, o), unsafe.Add(dy, o), n)) })
	k.chunks(func(o, n int) {
		k.last.softmaxGrad(unsafe.Add(d, o), unsafe.Add(y, o), unsafe.Add(dy, o), float32(dot), n)
	})
}

func logSoftmaxGradRow(k *rowKernel, x, _ []unsafe.Pointer, at int, _, d unsafe.Pointer) {
	y, dy := unsafe.Add(x[0], at), unsafe.Add(x[1], at)
	var sum float64
	k.chunks(func(o, n int) { sum += float64(vec.Sum(unsafe.Add(dy, o), n)) })
	k.chunks(func(o, n int) {
		k.last.logSoftmaxGrad(unsafe.Add(d, o), unsafe.Add(y, o), unsafe.Add(dy, o), float32(sum), n)
	})
}

// meanOf is the mean of a row.
func (k *rowKernel) meanOf(row unsafe.Pointer) float32 {
	var sum float64
	k.chunks(func(o, n int) { sum += float64(vec.Sum(unsafe.Add(row, o), n)) })
	return float32(sum / float64(k.n))
}

// root is 1/√(mean square + eps), given the sum of the squares.
func (k *rowKernel) root(squares float64) float32 {
	return float32(1 / math.Sqrt(squares/float64(k.n)+k.attr.Float))
}

func layerNormRow(k *rowKernel, x, w []unsafe.Pointer, at int, _, d unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	mean := k.meanOf(row)
	var squares float64
	k.chunks(func(o, n int) { squares += float64(vec.SumSquaresAbout(unsafe.Add(row, o), mean, n)) })
	r := k.root(squares)
	k.chunks(func(o, n int) {
		k.last.norm(unsafe.Add(d, o), unsafe.Add(row, o), unsafe.Add(w[0], o), unsafe.Add(w[1], o), mean, r, n)
	})
}

func rmsNormRow(k *rowKernel, x, w []unsafe.Pointer, at int, _, d unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	var squares float64
	k.chunks(func(o, n int) { squares += float64(vec.SumSquares(unsafe.Add(row, o), n)) })
	r := k.root(squares)
	k.chunks(func(o, n int) { k.last.scaleMul(unsafe.Add(d, o), unsafe.Add(row, o), unsafe.Add(w[0], o), r, n) })
}

// normPieceRows is how many rows, at least, add to one partial gradient of the weights. partialBytes is about
// how much memory all partial gradients may take. Neither depends on the number of threads, so neither do the
// sums.
const (
	normPieceRows = 16
	partialBytes  = 16 << 20
)

// normPieces is the number of partial gradients.
func (k *rowKernel) normPieces() int {
	return min((k.rows+normPieceRows-1)/normPieceRows, 32, max(4, partialBytes/(8*max(1, k.n))))
}

// runNormGrad computes dx row by row, and dweight (and dbias) as sums of one partial for each piece of rows.
func (k *rowKernel) runNormGrad(l *launch) {
	gradRow, vectors := (*rowKernel).layerNormGradRow, 2
	if k.op == ir.RMSNormGrad {
		gradRow, vectors = (*rowKernel).rmsNormGradRow, 1
	}
	w := k.vector()[0]
	pieces := k.normPieces()
	partial := partialSums{vectors: vectors, stride: k.n + 80} // not a multiple of a page, at which addresses would get in each other's way
	partial.sums = l.scratch.floats(vectors * max(1, pieces) * partial.stride)
	if pieces == 0 {
		clear(partial.sums)
	}
	l.pool.For(pieces, func(worker, piece int) {
		clear(partial.sums[vectors*piece*partial.stride:][:vectors*partial.stride])
		dw, db := partial.of(piece, 0), partial.of(piece, vectors-1)
		lo, hi := k.rows*piece/pieces, k.rows*(piece+1)/pieces
		for ; lo < hi && !l.pool.Stopped(); lo += k.block {
			rows := min(k.block, hi-lo)
			x := k.full.at(worker).Fetch(lo*k.n, rows*k.n)
			d := k.result(l, worker, lo*k.n)
			for r := range rows {
				at := 4 * r * k.n
				gradRow(k, unsafe.Add(x[0], at), w, unsafe.Add(x[1], at), unsafe.Add(d, at), dw, db)
			}
			k.store(worker, lo*k.n, rows*k.n, d)
		}
	})
	if l.pool.Stopped() {
		return
	}
	l.pool.Range(k.n, max(256, mapGrain/max(1, pieces)), func(_, lo, hi int) {
		for which, out := range k.extra {
			sum := func(piece int) unsafe.Pointer { return unsafe.Add(partial.of(piece, which-1), 4*lo) }
			addPairwise(sum, pieces, hi-lo)
			narrowTo(out.DType, unsafe.Add(l.pointer(out.Buf), lo*out.DType.Size()), sum(0), hi-lo)
		}
	})
}

// partialSums are the sums of each piece of rows, for one gradient or several.
type partialSums struct {
	sums            []float32
	vectors, stride int
}

// of is where the sums of a piece for one of the gradients begin.
func (p partialSums) of(piece, which int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(p.sums[(p.vectors*piece+which)*p.stride:]))
}

// addPairwise adds up n columns of all pieces into the first, in a tree, which keeps the rounding error
// small.
func addPairwise(piece func(int) unsafe.Pointer, pieces, n int) {
	add := vec.Of(vec.Add)
	for step := 1; step < pieces; step *= 2 {
		for p := 0; p+step < pieces; p += 2 * step {
			add(piece(p), piece(p), piece(p+step), nil, n)
		}
	}
}

// layerNormGradRow computes one row of dx, and adds to dw and db.
func (k *rowKernel) layerNormGradRow(x, w, dy, d, dw, db unsafe.Pointer) {
	mean := k.meanOf(x)
	var g, gc, cc float64 // sums of g = dy·w, of g·c and of c² with c = x−mean
	k.chunks(func(o, n int) {
		a, b, c := vec.NormGradSums(unsafe.Add(x, o), unsafe.Add(w, o), unsafe.Add(dy, o), mean, n)
		g, gc, cc = g+float64(a), gc+float64(b), cc+float64(c)
	})
	r, n := k.root(cc), float64(k.n)
	c1, c2 := float32(g/n), float32(gc*float64(r)/n)
	k.chunks(func(o, n int) {
		x, w, dy := unsafe.Add(x, o), unsafe.Add(w, o), unsafe.Add(dy, o)
		// Two loops, because stores past the caches and stores to them would hold each other up.
		k.last.normGrad(unsafe.Add(d, o), x, w, dy, mean, r, c1, c2, n)
		vec.NormGradParams(unsafe.Add(dw, o), unsafe.Add(db, o), x, dy, mean, r, n)
	})
}

// rmsNormGradRow computes one row of dx, and adds to dw.
func (k *rowKernel) rmsNormGradRow(x, w, dy, d, dw, _ unsafe.Pointer) {
	var gx, xx float64
	k.chunks(func(o, n int) {
		a, b := vec.ScaleGradSums(unsafe.Add(x, o), unsafe.Add(w, o), unsafe.Add(dy, o), n)
		gx, xx = gx+float64(a), xx+float64(b)
	})
	r := float64(k.root(xx))
	k.chunks(func(o, n int) {
		x, w, dy := unsafe.Add(x, o), unsafe.Add(w, o), unsafe.Add(dy, o)
		k.last.scaleGrad(unsafe.Add(d, o), x, w, dy, float32(r), float32(r*r*r*gx/float64(k.n)), n)
		vec.ScaleGradParam(unsafe.Add(dw, o), x, dy, float32(r), n)
	})
}

// target returns the class of a row, or -1 if the row is ignored. A class that does not exist fails the
// launch.
func (k *rowKernel) target(l *launch, targets unsafe.Pointer, row int) int {
	t := *(*int64)(unsafe.Add(targets, 8*row))
	switch {
	case t == int64(k.attr.Index):
		return -1
	case t < 0 || t >= int64(k.n):
		l.fail("%v: target %d of row %d is out of range for %d classes", k.op, t, k.attr.Axis+row, k.n)
		return -1
	}
	return int(t)
}

// runCrossEntropy reads each row once: each chunk brings the maximum and the sum up to date. The gradient, if
// the launch has it, too, finds the row in the caches.
func (k *rowKernel) runCrossEntropy(l *launch) {
	targets := k.column.Fetch(0, k.rows)[0]
	var dloss unsafe.Pointer
	if k.gradient != nil {
		dloss = k.gradient.column.Fetch(0, k.rows)[1]
	}
	lse, wanted := k.extra[1]
	loss := l.scratch.floats(k.rows)
	l.pool.Range(k.rows, max(1, mapGrain/max(1, k.n)), func(worker, lo, hi int) {
		for row := lo; row < hi && !l.pool.Stopped(); row++ {
			target := k.target(l, targets, row)
			value := k.lossOf(l, worker, row, target)
			loss[row] = float32(value.loss)
			if wanted {
				*(*float32)(unsafe.Add(l.pointer(lse.Buf), 4*row)) = float32(value.lse)
			}
			if k.gradient != nil {
				k.gradient.gradientOf(l, worker, row, target, float32(value.lse), *(*float32)(unsafe.Add(dloss, 4*row)))
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
		high := vec.MaxOfNumbers(x, n)
		if !finite(high) { // nothing to add, unless there is NaN
			high = vec.MaxOf(x, n)
		}
		switch {
		case high <= top && math.IsInf(float64(high), -1):
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
	l.pool.Range(k.rows, max(1, mapGrain/max(1, k.n)), func(worker, lo, hi int) {
		for row := lo; row < hi && !l.pool.Stopped(); row++ {
			k.gradientOf(l, worker, row, k.target(l, targets, row), *(*float32)(unsafe.Add(lses, 4*row)), *(*float32)(unsafe.Add(dlosses, 4*row)))
		}
	})
}

// gradientOf computes a row of the gradient of a cross entropy.
func (k *rowKernel) gradientOf(l *launch, worker, row, target int, lse, scale float32) {
	smooth := float32(k.attr.Float / float64(k.n))
	for i := 0; i < k.n && !k.stopped(i); i += chunk {
		first, n := row*k.n+i, min(chunk, k.n-i)
		d := k.result(l, worker, first)
		if target < 0 {
			clear(unsafe.Slice((*float32)(d), n))
		} else {
			x := k.full.at(worker).Fetch(first, n)[0]
			grad := k.last.crossEntropyGrad
			if target >= i && target < i+n {
				grad = vec.CrossEntropyGradTo // an element is read again
			}
			grad(d, x, lse, scale, smooth, n)
		}
		if target >= i && target < i+n {
			*(*float32)(unsafe.Add(d, 4*(target-i))) -= scale * float32(1-k.attr.Float)
		}
		k.store(worker, first, n, d)
	}
}
