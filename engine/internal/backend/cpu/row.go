package cpu

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A rowKernel runs an op along the last axis: an elementwise prologue evaluates some rows into the worker's
// memory (or finds them in an input as they are), the op runs on each, an elementwise epilogue stores them. A
// row that fits the cache is read from memory once.
type rowKernel[T vec.Float] struct {
	op       ir.Op
	runs     *vec.Runs[T]
	attr     ir.Attr
	rows, n  int         // n is the length of a row
	block    int         // rows that are evaluated together
	full     perWorker   // operands of the full shape
	vectors  *tile.State // operands of a row's length: weight, bias
	column   *tile.State // operands with one element a row: targets, logsumexp, dloss
	epilogue perWorker
	stored   []backend.Output       // what the epilogue stores
	extra    map[int]backend.Output // further results by number
	direct   bool                   // the result is stored as it is computed
	streams  bool                   // past the caches
	inPlace  bool                   // of this launch: results are computed where they stay
	last     *vec.Lasts[T]          // of this launch: what computes and stores them
	buffers  [][]byte               // results of a block, by worker
	pool     *pool.Pool             // of the launch
	work     func(l *launch)        // what a launch does
	gradient *rowKernel[T]          // of a cross entropy: that of its rows, in the same launch; or nil
}

// blockElements is about how many elements are evaluated together when rows are short.
const blockElements = 2048

// longRow is the length from which a softmax is no longer computed in the cache and then stored past it.
const longRow = 8 * blockElements

func isRowOp(op ir.Op) bool { return ir.RowOf(op).Family == ir.FamilyRow }

// compileRow runs a row op with the elementwise work around it.
func compileRow(g *backend.Group, ls *listing) (func(*launch), error) {
	at := slices.IndexFunc(g.Insts, func(in backend.Inst) bool { return isRowOp(in.Op) })
	if at >= 0 && g.Type(g.Insts[at].Args[0]).DType == dtype.F64 {
		return compileRowOf(g, ls, vec.Doubles())
	}
	return compileRowOf(g, ls, vec.Floats())
}

// compileRowOf computes in T.
func compileRowOf[T vec.Float](g *backend.Group, ls *listing, runs *vec.Runs[T]) (func(*launch), error) {
	var k *rowKernel[T]
	for at := range g.Insts {
		if !isRowOp(g.Insts[at].Op) {
			continue
		}
		one, err := newRowKernel(g, at, runs)
		switch {
		case err != nil:
			return nil, err
		case k == nil:
			k = one
		default:
			k.gradient = one
		}
	}
	if k == nil {
		return nil, fmt.Errorf("row: got no row op among %d instructions", len(g.Insts))
	}
	ls.program("for rows", k.full.prog)
	ls.add(func(b *strings.Builder) {
		fmt.Fprintf(b, "\n%v of %d rows of %d elements, %d at a time", k.op, k.rows, k.n, k.block)
	})
	ls.program("after it", k.epilogue.prog)
	return k.run, nil
}

// newRowKernel compiles the row op that is instruction at, with the results that come from it.
func newRowKernel[T vec.Float](g *backend.Group, at int, runs *vec.Runs[T]) (*rowKernel[T], error) {
	in := &g.Insts[at]
	shape := rowShape(g, in)
	k := &rowKernel[T]{op: in.Op, runs: runs, attr: in.Attr, n: shape[len(shape)-1], extra: map[int]backend.Output{}}
	k.rows = ir.Size(shape[:len(shape)-1])
	k.block = max(1, blockElements/max(1, k.n))
	if err := k.compileOperands(g, in, at, shape); err != nil {
		return nil, err
	}
	if k.work = k.workOf(); k.work == nil {
		return nil, fmt.Errorf("row: got %v, want an op that workOf has", k.op)
	}
	return k, k.compileEpilogue(g, in, at)
}

// rowShape is the shape that the op sees: that of its first operand, or of its result when that is a number.
func rowShape(g *backend.Group, in *backend.Inst) []int {
	if in.Outs == nil {
		return in.Shape
	}
	if in.Op == ir.CrossEntropy {
		return g.Type(in.Args[0]).Shape
	}
	return in.Outs[0].Shape
}

// compileOperands sorts the operands by shape and makes a program for each sort.
func (k *rowKernel[T]) compileOperands(g *backend.Group, in *backend.Inst, at int, shape []int) error {
	var full, vectors, column []tile.Out
	for i, a := range in.Args {
		if a.Index >= 0 && isRowOp(g.Insts[a.Index].Op) { // the logsumexp that the launch has just computed
			continue
		}
		o := tile.Out{Value: a, DType: tile.Register(g.Type(a).DType)}
		switch ir.RowOf(in.Op).Operands[i] {
		case 'w':
			vectors = append(vectors, o)
		case 'n':
			column = append(column, o)
		default:
			full = append(full, o)
		}
	}
	before := needed(g, in.Args, func(i int) bool { return i >= at || isRowOp(g.Insts[i].Op) })
	insts := instructions(g, func(i int) bool { return before[i] })
	var err error
	k.full.prog, err = tile.Compile(tile.Spec{Group: g, Shape: shape, Insts: insts, Outs: full})
	if err != nil {
		return err
	}
	k.full.reserve = k.block * k.n
	if column != nil {
		k.full.reserve = min(k.full.reserve, chunk)
	}
	if vectors != nil {
		p, err := tile.Compile(tile.Spec{Group: g, Shape: shape[len(shape)-1:], Outs: vectors})
		if err != nil {
			return err
		}
		k.vectors = p.NewState()
		k.vectors.Reserve(k.n)
	}
	if column != nil {
		p, err := tile.Compile(tile.Spec{Group: g, Shape: shape[:len(shape)-1], Outs: column})
		if err != nil {
			return err
		}
		k.column = p.NewState()
		k.column.Reserve(k.rows)
	}
	return nil
}

// compileEpilogue makes the program that stores the first result, and notes the further ones.
func (k *rowKernel[T]) compileEpilogue(g *backend.Group, in *backend.Inst, at int) error {
	result := backend.Ref{Index: at}
	var refs []backend.Ref
	for _, o := range g.Outputs {
		if o.Value.Index == at && o.Value.Result > 0 {
			k.extra[o.Value.Result] = o
			continue
		}
		if v := o.Value.Index; v >= 0 && v != at && isRowOp(g.Insts[v].Op) {
			continue
		}
		k.stored = append(k.stored, o)
		refs = append(refs, o.Value)
	}
	shape := in.Shape
	if in.Outs != nil {
		shape = in.Outs[0].Shape
	}
	after := needed(g, refs, func(i int) bool { return i == at })
	var err error
	k.epilogue.prog, err = tile.Compile(tile.Spec{
		Group: g, Shape: shape, Insts: instructions(g, func(i int) bool { return after[i] }),
		Given: []backend.Ref{result}, Outs: storedOuts(g, k.stored),
	})
	k.epilogue.outs = k.stored
	k.direct = len(k.stored) == 1 && k.stored[0].Value == result && tile.Register(k.stored[0].DType) == k.stored[0].DType && k.stored[0].DType.Size() == k.size()
	k.streams = k.direct && streams(g, &k.stored[0])
	return err
}

// choose decides how the results of a launch are stored.
func (k *rowKernel[T]) choose(l *launch) {
	k.inPlace, k.last = k.direct, &k.runs.To
	if !k.streams {
		return
	}
	switch between := k.op == ir.Softmax || k.op == ir.LogSoftmax; { // results that are read again
	case between && k.n > longRow:
	case k.n%vec.Line == 0 && uintptr(l.pointer(k.stored[0].Buf))%alignment == 0:
		k.last = &k.runs.Past
	default:
		k.inPlace = false // the epilogue takes care of where lines begin
	}
}

func (k *rowKernel[T]) run(l *launch) {
	// A loss has elements even if its rows have length 0.
	if k.n == 0 && k.op != ir.CrossEntropy || k.rows == 0 && len(k.extra) == 0 {
		return
	}
	k.bind(l)
	defer k.release()
	if k.gradient != nil {
		k.gradient.bind(l)
		defer k.gradient.release()
	}
	k.work(l)
}

// size is how many bytes an element has that is computed with.
func (k *rowKernel[T]) size() int { return int(unsafe.Sizeof(T(0))) }

// grain is how many rows are worth to be another worker's: math.Exp takes longer than a vector's share of it.
func (k *rowKernel[T]) grain() int { return max(1, 4*mapGrain/k.size()/max(1, k.n)) }

// bind points the kernel to a launch's memory.
func (k *rowKernel[T]) bind(l *launch) {
	k.pool = l.pool
	k.choose(l)
	k.full.bind(l)
	k.epilogue.bind(l)
	for _, s := range [...]*tile.State{k.vectors, k.column} {
		if s != nil {
			s.Bind(l.bufs, l.scalars)
		}
	}
	for (!k.inPlace || k.last == &k.runs.Past) && len(k.buffers) < l.pool.Threads() {
		k.buffers = append(k.buffers, alignedBytes(8*k.block*k.n))
	}
}

// release lets go of what bind has bound.
func (k *rowKernel[T]) release() {
	k.full.release()
	k.epilogue.release()
	for _, s := range [...]*tile.State{k.vectors, k.column} {
		if s != nil {
			s.Release()
		}
	}
}

// vector returns the operands of a row's length.
func (k *rowKernel[T]) vector() []unsafe.Pointer {
	if k.vectors == nil {
		return nil
	}
	return k.vectors.Fetch(0, k.n)
}

// result returns where a block's results go: straight to the output, or to the worker's buffer.
func (k *rowKernel[T]) result(l *launch, worker, first int) unsafe.Pointer {
	if k.inPlace {
		return unsafe.Add(l.pointer(k.stored[0].Buf), k.size()*first)
	}
	return k.buffer(worker)
}

// buffer returns a worker's memory for the results of a block.
func (k *rowKernel[T]) buffer(worker int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(k.buffers[worker]))
}

// store runs the epilogue on n results from linear index first on, unless they are in place.
func (k *rowKernel[T]) store(worker, first, n int, y unsafe.Pointer) {
	if k.inPlace {
		return
	}
	e := k.epilogue.at(worker)
	e.SetGiven(0, y, first)
	e.Run(first, n)
}

// A rowFunc computes one row d from rows x, one for each operand of the full shape, and vectors w. What it
// writes and reads again goes to y, which may be d.
type rowFunc[T vec.Float] func(k *rowKernel[T], x, w []unsafe.Pointer, offset int, y, d unsafe.Pointer)

// runRows applies f to all rows.
func (k *rowKernel[T]) runRows(l *launch, f rowFunc[T]) {
	w := k.vector()
	l.pool.Range(k.rows, k.grain(), func(worker, lo, hi int) {
		for ; lo < hi && !l.pool.Stopped(); lo += k.block {
			rows := min(k.block, hi-lo)
			x := k.full.at(worker).Fetch(lo*k.n, rows*k.n)
			d := k.result(l, worker, lo*k.n)
			y := d
			if k.last == &k.runs.Past {
				y = k.buffer(worker)
			}
			for r := range rows {
				at := k.size() * r * k.n
				f(k, x, w, at, unsafe.Add(y, at), unsafe.Add(d, at))
			}
			k.store(worker, lo*k.n, rows*k.n, d)
		}
	})
}

// chunk is how many elements the functions of vec add up at once; sums of chunks are float64.
const chunk = 4096

// span is after how many elements of a row a worker asks whether to go on.
const span = 64 * chunk

// chunks calls f for the chunks of a row, given their byte offsets; rows of float64, whose sums are exact
// enough, have longer ones. It ends early when the launch is to stop.
func (k *rowKernel[T]) chunks(f func(offset, n int)) {
	step := chunk
	if k.size() == 8 {
		step = span
	}
	for i := 0; i < k.n && !k.stopped(i); i += step {
		f(k.size()*i, min(step, k.n-i))
	}
}

// stopped asks, at some elements of a long row, whether the launch is to stop.
func (k *rowKernel[T]) stopped(i int) bool { return i > 0 && i%span == 0 && k.pool.Stopped() }

// narrowTo stores n float32, or float64 for F64, as t.
func narrowTo(t dtype.Type, d, src unsafe.Pointer, n int) {
	switch t {
	case dtype.F16:
		vec.Of(vec.ToF16)(d, src, nil, nil, n)
	case dtype.BF16:
		vec.Of(vec.ToBF16)(d, src, nil, nil, n)
	default:
		copy(unsafe.Slice((*byte)(d), n*t.Size()), unsafe.Slice((*byte)(src), n*t.Size()))
	}
}
