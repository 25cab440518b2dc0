package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// workOf returns what a launch does. It is made once: a method of a generic type that is passed on is a new
// closure.
func (k *rowKernel[T]) workOf() func(l *launch) {
	each := func(f rowFunc[T]) func(l *launch) { return func(l *launch) { k.runRows(l, f) } }
	switch k.op {
	case ir.Softmax:
		return each((*rowKernel[T]).softmax)
	case ir.LogSoftmax:
		return each((*rowKernel[T]).logSoftmax)
	case ir.SoftmaxGrad:
		return each((*rowKernel[T]).softmaxGrad)
	case ir.LogSoftmaxGrad:
		return each((*rowKernel[T]).logSoftmaxGrad)
	case ir.LayerNorm:
		return each((*rowKernel[T]).layerNorm)
	case ir.RMSNorm:
		return each((*rowKernel[T]).rmsNorm)
	case ir.LayerNormGrad:
		f := (*rowKernel[T]).layerNormGrad
		return func(l *launch) { k.runNormGrad(l, f, 2) }
	case ir.RMSNormGrad:
		f := (*rowKernel[T]).rmsNormGrad
		return func(l *launch) { k.runNormGrad(l, f, 1) }
	case ir.CrossEntropy:
		return k.runCrossEntropy
	case ir.CrossEntropyGrad:
		return k.runCrossEntropyGrad
	}
	return nil
}

// finite says whether a row's maximum is a number that can be subtracted.
func finite[T vec.Float](x T) bool { return x-x == 0 }

// maxOf is the largest element of a row. It passes over NaN beside a number: what is computed from the NaN is
// NaN, and so are the sums of that.
func (k *rowKernel[T]) maxOf(row unsafe.Pointer) T {
	top := T(math.Inf(-1))
	k.chunks(func(o, n int) { top = max(top, k.runs.MaxOfNumbers(unsafe.Add(row, o), n)) })
	if !finite(top) {
		k.chunks(func(o, n int) { top = max(top, k.runs.MaxOf(unsafe.Add(row, o), n)) })
	}
	return top
}

func (k *rowKernel[T]) softmax(x, _ []unsafe.Pointer, at int, y, d unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	top := k.maxOf(row)
	if !finite(top) {
		k.chunks(func(o, n int) { k.runs.ExpSubSum(unsafe.Add(d, o), unsafe.Add(row, o), top, n) })
		return
	}
	var sum float64
	k.chunks(func(o, n int) { sum += float64(k.runs.ExpSubSum(unsafe.Add(y, o), unsafe.Add(row, o), top, n)) })
	k.chunks(func(o, n int) { k.last.Scale(unsafe.Add(d, o), unsafe.Add(y, o), T(1/sum), n) })
}

// logSoftmaxRow subtracts in two steps, so that a large maximum does not cost digits of the small difference.
func (k *rowKernel[T]) logSoftmax(x, _ []unsafe.Pointer, at int, y, d unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	top := k.maxOf(row)
	var sum float64
	if finite(top) {
		k.chunks(func(o, n int) { sum += float64(k.runs.SumExpSub(unsafe.Add(row, o), top, n)) })
	} else {
		sum = 1
	}
	k.chunks(func(o, n int) {
		k.runs.To.Sub(unsafe.Add(y, o), unsafe.Add(row, o), top, n)
		k.last.Sub(unsafe.Add(d, o), unsafe.Add(y, o), T(math.Log(sum)), n)
	})
}

func (k *rowKernel[T]) softmaxGrad(x, _ []unsafe.Pointer, at int, _, d unsafe.Pointer) {
	y, dy := unsafe.Add(x[0], at), unsafe.Add(x[1], at)
	var dot float64
	k.chunks(func(o, n int) { dot += float64(k.runs.Dot(unsafe.Add(y, o), unsafe.Add(dy, o), n)) })
	k.chunks(func(o, n int) {
		k.last.SoftmaxGrad(unsafe.Add(d, o), unsafe.Add(y, o), unsafe.Add(dy, o), T(dot), n)
	})
}

func (k *rowKernel[T]) logSoftmaxGrad(x, _ []unsafe.Pointer, at int, _, d unsafe.Pointer) {
	y, dy := unsafe.Add(x[0], at), unsafe.Add(x[1], at)
	var sum float64
	k.chunks(func(o, n int) { sum += float64(k.runs.Sum(unsafe.Add(dy, o), n)) })
	k.chunks(func(o, n int) {
		k.last.LogSoftmaxGrad(unsafe.Add(d, o), unsafe.Add(y, o), unsafe.Add(dy, o), T(sum), n)
	})
}

// meanOf is the mean of a row.
func (k *rowKernel[T]) meanOf(row unsafe.Pointer) T {
	var sum float64
	k.chunks(func(o, n int) { sum += float64(k.runs.Sum(unsafe.Add(row, o), n)) })
	return T(sum / float64(k.n))
}

// root is 1/√(mean square + eps), given the sum of the squares.
func (k *rowKernel[T]) root(squares float64) T {
	return T(1 / math.Sqrt(squares/float64(k.n)+k.attr.Float))
}

func (k *rowKernel[T]) layerNorm(x, w []unsafe.Pointer, at int, _, d unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	mean := k.meanOf(row)
	var squares float64
	k.chunks(func(o, n int) { squares += float64(k.runs.SumSquaresAbout(unsafe.Add(row, o), mean, n)) })
	r := k.root(squares)
	k.chunks(func(o, n int) {
		k.last.Norm(unsafe.Add(d, o), unsafe.Add(row, o), unsafe.Add(w[0], o), unsafe.Add(w[1], o), mean, r, n)
	})
}

func (k *rowKernel[T]) rmsNorm(x, w []unsafe.Pointer, at int, _, d unsafe.Pointer) {
	row := unsafe.Add(x[0], at)
	var squares float64
	k.chunks(func(o, n int) { squares += float64(k.runs.SumSquares(unsafe.Add(row, o), n)) })
	r := k.root(squares)
	k.chunks(func(o, n int) { k.last.ScaleMul(unsafe.Add(d, o), unsafe.Add(row, o), unsafe.Add(w[0], o), r, n) })
}

// normPieceRows is how many rows, at least, add to one partial gradient of the weights. partialBytes is about
// how much memory all partial gradients may take. Neither depends on the number of threads, so neither do the
// sums.
const (
	normPieceRows = 16
	partialBytes  = 16 << 20
)

// runNormGrad computes dx row by row, and dweight (and dbias) as sums of one partial for each piece of rows.
func (k *rowKernel[T]) runNormGrad(l *launch, gradRow func(k *rowKernel[T], x, w, dy, d, dw, db unsafe.Pointer), vectors int) {
	w := k.vector()[0]
	pieces := min((k.rows+normPieceRows-1)/normPieceRows, 32, max(4, partialBytes/(8*max(1, k.n))))
	partial := partialSums[T]{vectors: vectors, stride: k.n + 80} // not a multiple of a page, at which addresses would get in each other's way
	partial.sums = elements[T](l.scratch.bytes(k.size() * vectors * max(1, pieces) * partial.stride))
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
				at := k.size() * r * k.n
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
			sum := func(piece int) unsafe.Pointer { return unsafe.Add(partial.of(piece, which-1), k.size()*lo) }
			k.addPairwise(sum, pieces, hi-lo)
			narrowTo(out.DType, unsafe.Add(l.pointer(out.Buf), lo*out.DType.Size()), sum(0), hi-lo)
		}
	})
}

// partialSums are the sums of each piece of rows, for one gradient or several.
type partialSums[T vec.Float] struct {
	sums            []T
	vectors, stride int
}

// of is where the sums of a piece for one of the gradients begin.
func (p partialSums[T]) of(piece, which int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(p.sums[(p.vectors*piece+which)*p.stride:]))
}

// addPairwise adds up n columns of all pieces into the first, in a tree, which keeps the rounding error
// small.
func (k *rowKernel[T]) addPairwise(piece func(int) unsafe.Pointer, pieces, n int) {
	for step := 1; step < pieces; step *= 2 {
		for p := 0; p+step < pieces; p += 2 * step {
			k.runs.Add(piece(p), piece(p), piece(p+step), nil, n)
		}
	}
}

// layerNormGrad computes one row of dx, and adds to dw and db.
func (k *rowKernel[T]) layerNormGrad(x, w, dy, d, dw, db unsafe.Pointer) {
	mean := k.meanOf(x)
	var g, gc, cc float64 // sums of g = dy·w, of g·c and of c² with c = x−mean
	k.chunks(func(o, n int) {
		a, b, c := k.runs.NormGradSums(unsafe.Add(x, o), unsafe.Add(w, o), unsafe.Add(dy, o), mean, n)
		g, gc, cc = g+float64(a), gc+float64(b), cc+float64(c)
	})
	r, n := k.root(cc), float64(k.n)
	c1, c2 := T(g/n), T(gc*float64(r)/n)
	k.chunks(func(o, n int) {
		x, w, dy := unsafe.Add(x, o), unsafe.Add(w, o), unsafe.Add(dy, o)
		// Two loops, because stores past the caches and stores to them would hold each other up.
		k.last.NormGrad(unsafe.Add(d, o), x, w, dy, mean, r, c1, c2, n)
		k.runs.NormGradParams(unsafe.Add(dw, o), unsafe.Add(db, o), x, dy, mean, r, n)
	})
}

// rmsNormGrad computes one row of dx, and adds to dw.
func (k *rowKernel[T]) rmsNormGrad(x, w, dy, d, dw, _ unsafe.Pointer) {
	var gx, xx float64
	k.chunks(func(o, n int) {
		a, b := k.runs.ScaleGradSums(unsafe.Add(x, o), unsafe.Add(w, o), unsafe.Add(dy, o), n)
		gx, xx = gx+float64(a), xx+float64(b)
	})
	r := float64(k.root(xx))
	k.chunks(func(o, n int) {
		x, w, dy := unsafe.Add(x, o), unsafe.Add(w, o), unsafe.Add(dy, o)
		k.last.ScaleGrad(unsafe.Add(d, o), x, w, dy, T(r), T(r*r*r*gx/float64(k.n)), n)
		k.runs.ScaleGradParam(unsafe.Add(dw, o), x, dy, T(r), n)
	})
}

// target returns the class of a row, or -1 if the row is ignored. A class that does not exist fails the
// launch.
func (k *rowKernel[T]) target(l *launch, targets unsafe.Pointer, row int) int {
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
func (k *rowKernel[T]) runCrossEntropy(l *launch) {
	targets := k.column.Fetch(0, k.rows)[0]
	var dloss unsafe.Pointer
	if k.gradient != nil {
		dloss = k.gradient.column.Fetch(0, k.rows)[1]
	}
	lse, wanted := k.extra[1]
	loss := elements[T](l.scratch.bytes(k.size() * k.rows))
	l.pool.Range(k.rows, k.grain(), func(worker, lo, hi int) {
		for row := lo; row < hi && !l.pool.Stopped(); row++ {
			target := k.target(l, targets, row)
			value := k.lossOf(l, worker, row, target)
			loss[row] = T(value.loss)
			if wanted {
				unsafe.Slice((*T)(l.pointer(lse.Buf)), k.rows)[row] = T(value.lse)
			}
			if k.gradient != nil {
				k.gradient.gradientOf(l, worker, row, target, T(value.lse), elementAt[T](dloss, row))
			}
		}
		k.epilogue.at(worker).SetGiven(0, unsafe.Pointer(unsafe.SliceData(loss)), 0)
		k.epilogue.at(worker).Run(lo, hi-lo)
	})
}

type rowLoss struct{ loss, lse float64 }

func (k *rowKernel[T]) lossOf(l *launch, worker, row, target int) rowLoss {
	state := k.full.at(worker)
	top := T(math.Inf(-1))
	var sum, total float64 // Σ exp(x−top), Σ x
	smoothing := k.attr.Float
	for i := 0; i < k.n && !k.stopped(i); i += chunk {
		n := min(chunk, k.n-i)
		x := state.Fetch(row*k.n+i, n)[0]
		if smoothing != 0 {
			total += float64(k.runs.Sum(x, n))
		}
		high := k.runs.MaxOfNumbers(x, n)
		if !finite(high) { // nothing to add, unless there is NaN
			high = k.runs.MaxOf(x, n)
		}
		switch {
		case high <= top && math.IsInf(float64(high), -1):
		case high <= top:
			sum += float64(k.runs.SumExpSub(x, top, n))
		default: // larger, or NaN
			sum = sum*math.Exp(float64(top)-float64(high)) + float64(k.runs.SumExpSub(x, high, n))
			top = high
		}
		if top != top {
			break
		}
	}
	most, rest := float64(top), 0.0 // apart, so that a large maximum does not cost digits of the small loss
	if finite(top) {
		rest = math.Log(sum)
	}
	if target < 0 {
		return rowLoss{0, most + rest}
	}
	at := float64(*(*T)(state.Fetch(row*k.n+target, 1)[0]))
	loss := (1 - smoothing) * (most - at + rest)
	if smoothing != 0 {
		loss += smoothing * (most - total/float64(k.n) + rest)
	}
	return rowLoss{loss, most + rest}
}

// runCrossEntropyGrad gives dloss·(softmax(x) − (1−s)·onehot(target) − s/V), and 0 in rows that are ignored.
func (k *rowKernel[T]) runCrossEntropyGrad(l *launch) {
	column := k.column.Fetch(0, k.rows)
	targets, lses, dlosses := column[0], column[1], column[2]
	l.pool.Range(k.rows, k.grain(), func(worker, lo, hi int) {
		for row := lo; row < hi && !l.pool.Stopped(); row++ {
			k.gradientOf(l, worker, row, k.target(l, targets, row), elementAt[T](lses, row), elementAt[T](dlosses, row))
		}
	})
}

// gradientOf computes a row of the gradient of a cross entropy.
func (k *rowKernel[T]) gradientOf(l *launch, worker, row, target int, lse, scale T) {
	smooth := T(k.attr.Float / float64(k.n))
	for i := 0; i < k.n && !k.stopped(i); i += chunk {
		first, n := row*k.n+i, min(chunk, k.n-i)
		d := k.result(l, worker, first)
		if target < 0 {
			clear(unsafe.Slice((*T)(d), n))
		} else {
			x := k.full.at(worker).Fetch(first, n)[0]
			grad := k.last.CrossEntropyGrad
			if target >= i && target < i+n {
				grad = k.runs.To.CrossEntropyGrad // an element is read again
			}
			grad(d, x, lse, scale, smooth, n)
		}
		if target >= i && target < i+n {
			*(*T)(unsafe.Add(d, k.size()*(target-i))) -= scale * T(1-k.attr.Float)
		}
		k.store(worker, first, n, d)
	}
}

// elementAt is element i of a run.
func elementAt[T any](p unsafe.Pointer, i int) T { return unsafe.Slice((*T)(p), i+1)[i] }
