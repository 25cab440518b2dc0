package cpu

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A reduceKernel sees its space as [outer, length, inner]: for each outer and inner index, length elements
// become one. Axes are permuted so that this holds; inner is 1 when the last axis is reduced. Results are in
// C order either way.
type reduceKernel struct {
	outer, length, inner int

	reductions []reduction
	prologue   perWorker
	epilogue   perWorker
	columns    [][]columnSums // by worker and reduction
	partial    [][]columnSums // by piece and reduction, when rows are divided
	results    [][]resultTile // likewise
}

// A reduction is one reduction of the group.
type reduction struct {
	op     ir.Op
	from   dtype.Type // register type of the elements and of the result
	out    int        // which output of the prologue is reduced
	fold   fold
	length int
}

// A resultTile holds finished results until the epilogue reads them.
type resultTile [tile.Len]uint64

const (
	// splitLength is how many elements of one result are summed in a piece. How sums are cut never depends on
	// the number of threads, so neither do results.
	splitLength = 1 << 15
	// splitTasks is about how many pieces are made of all sums when there are few of them.
	splitTasks = 32
	// fetchLength is how many elements are evaluated before they are folded.
	fetchLength = 1 << 10
)

// compileReduce runs a reduction with the elementwise work around it.
func compileReduce(g *backend.Group, ls *listing) (func(*launch), error) {
	if len(g.Insts) == 1 && g.Insts[0].Op.Family() != ir.FamilyReduce {
		return compileSingle(g, ls) // argmax and its like
	}
	k := &reduceKernel{epilogue: perWorker{outs: g.Outputs}}
	var args, results []backend.Ref
	var axes, full []int
	for i, in := range g.Insts {
		if in.Op.Family() != ir.FamilyReduce {
			continue
		}
		axes = in.Attr.Axes
		if s := g.Type(in.Args[0]).Shape; full == nil || len(s) > len(full) {
			full = s
		}
		r := reduction{op: in.Op, from: tile.Register(g.Type(in.Args[0]).DType), out: -1}
		for j, a := range args {
			if a == in.Args[0] {
				r.out = j
			}
		}
		if r.out < 0 {
			r.out = len(args)
			args = append(args, in.Args[0])
		}
		k.reductions = append(k.reductions, r)
		results = append(results, backend.Ref{Index: i})
	}
	if args == nil {
		return nil, fmt.Errorf("reduce: got no reduction among %d instructions", len(g.Insts))
	}
	perm := k.view(full, axes)
	for i := range k.reductions {
		r := &k.reductions[i]
		r.length = k.length
		r.fold = foldOf(r.op, r.from)
	}
	if err := k.compile(g, full, perm, args, results); err != nil {
		return nil, err
	}
	ls.program("before the reduction", k.prologue.prog)
	for _, r := range k.reductions {
		ls.add(func(b *strings.Builder) { fmt.Fprintf(b, "\n%v over %d elements of %v", r.op, r.length, r.from) })
	}
	ls.program("after it", k.epilogue.prog)
	return k.run, nil
}

// view chooses the order of axes.
func (k *reduceKernel) view(full, axes []int) (perm []int) {
	reduced := make([]bool, len(full))
	for _, a := range axes {
		reduced[a] = true
	}
	last := -1 // the last axis that is really reduced
	for i, n := range full {
		if reduced[i] && n != 1 {
			last = i
		}
	}
	k.outer, k.length, k.inner = 1, 1, 1
	var middle, tail []int
	for i, n := range full {
		switch {
		case reduced[i]:
			middle = append(middle, i)
			k.length *= n
		case i > last:
			tail = append(tail, i)
			k.inner *= n
		default:
			perm = append(perm, i)
			k.outer *= n
		}
	}
	return append(append(perm, middle...), tail...)
}

func (k *reduceKernel) compile(g *backend.Group, full, perm []int, args, results []backend.Ref) error {
	shape := make([]int, len(perm))
	for i, a := range perm {
		shape[i] = full[a]
	}
	before := needed(g, args, func(i int) bool { return g.Insts[i].Op.Family() == ir.FamilyReduce })
	spec := tile.Spec{Group: g, Shape: shape, Perm: perm, Insts: instructions(g, func(i int) bool { return before[i] })}
	for _, a := range args {
		spec.Outs = append(spec.Outs, tile.Out{Value: a, DType: tile.Register(g.Type(a).DType)})
	}
	var err error
	if k.prologue.prog, err = tile.Compile(spec); err != nil {
		return err
	}
	k.prologue.reserve = fetchLength

	var stored []backend.Ref
	for _, o := range g.Outputs {
		stored = append(stored, o.Value)
	}
	after := needed(g, stored, func(i int) bool { return g.Insts[i].Op.Family() == ir.FamilyReduce })
	k.epilogue.prog, err = tile.Compile(tile.Spec{
		Group: g, Shape: g.Outputs[0].Shape, Insts: instructions(g, func(i int) bool { return after[i] }),
		Given: results, Outs: storedOuts(g, g.Outputs),
	})
	return err
}

func (k *reduceKernel) run(l *launch) {
	if k.outer*k.inner == 0 {
		return
	}
	k.prologue.bind(l)
	k.epilogue.bind(l)
	defer k.prologue.release()
	defer k.epilogue.release()
	for len(k.columns) < l.pool.Threads() {
		k.columns = append(k.columns, make([]columnSums, len(k.reductions)))
		k.results = append(k.results, make([]resultTile, len(k.reductions)))
	}
	if k.inner == 1 {
		k.runTrailing(l)
		return
	}
	k.runMiddle(l)
}

// reduceStride is after how many elements a worker asks whether to go on.
const reduceStride = 1 << 20

// runTrailing reduces runs of adjacent elements.
func (k *reduceKernel) runTrailing(l *launch) {
	if k.length > splitLength {
		k.runSplit(l)
		return
	}
	grain := max(1, splitLength/max(1, k.length))
	step := min(tile.Len, max(1, reduceStride/max(1, k.length)))
	l.pool.Range(k.outer, grain, func(worker, lo, hi int) {
		for ; lo < hi && !l.pool.Stopped(); lo += step {
			k.rows(worker, lo, min(hi, lo+step))
		}
	})
}

// rows finishes results lo to hi, at most a tile.
func (k *reduceKernel) rows(worker, lo, hi int) {
	state := k.prologue.at(worker)
	if k.length <= fetchLength/2 && k.length > 0 {
		step := fetchLength / k.length
		for first := lo; first < hi; first += step {
			n := min(step, hi-first)
			runs := state.Fetch(first*k.length, n*k.length)
			for i := range k.reductions {
				r := &k.reductions[i]
				size := r.from.Size() * k.length
				for j := range n {
					k.results[worker][i].set(first-lo+j, r, r.fold.run(unsafe.Add(runs[r.out], j*size), k.length))
				}
			}
		}
	} else {
		for row := lo; row < hi; row++ {
			k.stretch(worker, row*k.length, k.length, func(i int, sum ir.Scalar) {
				k.results[worker][i].set(row-lo, &k.reductions[i], sum)
			})
		}
	}
	k.finish(worker, lo, hi-lo)
}

// stretch folds n elements from linear index start on, for each reduction.
func (k *reduceKernel) stretch(worker, start, n int, done func(i int, sum ir.Scalar)) {
	state := k.prologue.at(worker)
	var few [4]ir.Scalar
	sums := few[:0]
	for i := range k.reductions {
		sums = append(sums, k.reductions[i].fold.zero)
	}
	for n > 0 {
		m := min(n, fetchLength)
		runs := state.Fetch(start, m)
		for i := range k.reductions {
			r := &k.reductions[i]
			sums[i] = r.fold.join(sums[i], r.fold.run(runs[r.out], m))
		}
		start += m
		n -= m
	}
	for i, s := range sums {
		done(i, s)
	}
}

// finish runs the epilogue on results that lie in the worker's tiles.
func (k *reduceKernel) finish(worker, first, n int) {
	e := k.epilogue.at(worker)
	for i := range k.reductions {
		e.SetGiven(i, unsafe.Pointer(&k.results[worker][i]), first)
	}
	e.Run(first, n)
}

// runSplit computes long results: pieces first, then their sums.
func (k *reduceKernel) runSplit(l *launch) {
	pieces := (k.length + splitLength - 1) / splitLength
	partial := make([]ir.Scalar, k.outer*pieces*len(k.reductions))
	l.pool.For(k.outer*pieces, func(worker, c int) {
		row, piece := c/pieces, c%pieces
		lo := piece * splitLength
		k.stretch(worker, row*k.length+lo, min(splitLength, k.length-lo), func(i int, sum ir.Scalar) {
			partial[i*k.outer*pieces+c] = sum
		})
	})
	if l.pool.Stopped() {
		return
	}
	for first := 0; first < k.outer; first += tile.Len {
		n := min(tile.Len, k.outer-first)
		for i := range k.reductions {
			r := &k.reductions[i]
			for row := range n {
				sum := r.fold.zero
				for _, p := range partial[(i*k.outer+first+row)*pieces:][:pieces] {
					sum = r.fold.join(sum, p)
				}
				k.results[0][i].set(row, r, sum)
			}
		}
		k.finish(0, first, n)
	}
}

// runMiddle adds up rows of inner elements, a block of columns at a time.
func (k *reduceKernel) runMiddle(l *launch) {
	blocks := (k.inner + columnBlock - 1) / columnBlock
	pieces := max(1, min(16, (splitTasks-1)/(k.outer*blocks)+1, k.length*min(k.inner, columnBlock)/splitLength))
	if pieces > 1 { // there are few blocks of columns, whose rows are divided
		k.runMiddleSplit(l, blocks, pieces)
		return
	}
	l.pool.For(k.outer*blocks, func(worker, c int) {
		o, first := c/blocks, c%blocks*columnBlock
		n := min(columnBlock, k.inner-first)
		sums := k.columns[worker]
		k.addRows(l, worker, sums, o, first, n, 0, k.length)
		k.finishColumns(worker, sums, o, first, n)
	})
}

// addRows folds rows lo to hi of a block of columns.
func (k *reduceKernel) addRows(l *launch, worker int, sums []columnSums, o, first, n, lo, hi int) {
	state := k.prologue.at(worker)
	for i := range sums {
		sums[i].start(&k.reductions[i], n)
	}
	step := 1
	if n == k.inner { // whole rows follow each other
		step = max(1, fetchLength/n)
	}
	for row := lo; row < hi && !l.pool.Stopped(); row += step {
		m := min(step, hi-row)
		runs := state.Fetch((o*k.length+row)*k.inner+first, m*n)
		for i := range sums {
			r := &k.reductions[i]
			for j := range m {
				sums[i].add(r, unsafe.Add(runs[r.out], j*n*r.from.Size()), n)
			}
		}
	}
	for i := range sums {
		sums[i].flush(&k.reductions[i], n)
	}
}

func (k *reduceKernel) finishColumns(worker int, sums []columnSums, o, first, n int) {
	for at := 0; at < n; at += tile.Len {
		m := min(tile.Len, n-at)
		for i := range k.reductions {
			for j := range m {
				k.results[worker][i].set(j, &k.reductions[i], sums[i].at(at+j))
			}
		}
		k.finish(worker, o*k.inner+first+at, m)
	}
}

func (k *reduceKernel) runMiddleSplit(l *launch, blocks, pieces int) {
	units := k.outer * blocks
	for len(k.partial) < units*pieces {
		k.partial = append(k.partial, make([]columnSums, len(k.reductions)))
	}
	l.pool.For(units*pieces, func(worker, c int) {
		unit, piece := c/pieces, c%pieces
		o, first := unit/blocks, unit%blocks*columnBlock
		n := min(columnBlock, k.inner-first)
		k.addRows(l, worker, k.partial[c], o, first, n, k.length*piece/pieces, k.length*(piece+1)/pieces)
	})
	if l.pool.Stopped() {
		return
	}
	l.pool.For(units, func(worker, unit int) {
		o, first := unit/blocks, unit%blocks*columnBlock
		n := min(columnBlock, k.inner-first)
		sums := k.partial[unit*pieces]
		for _, p := range k.partial[unit*pieces+1:][:pieces-1] {
			for i := range sums {
				sums[i].join(&k.reductions[i], &p[i], n)
			}
		}
		k.finishColumns(worker, sums, o, first, n)
	})
}
