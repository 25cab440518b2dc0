package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// The gradients of a norm's weights: sums over all rows, of dy·x̂ and of dy.
//
// Tile: a threadgroup, or a simdgroup of short rows, walks from row to row in equal steps, and each thread
// adds up the columns that it holds, 16 at most of either sum, in registers. At the end it leaves them in the
// workspace, and a reduction adds up what the walkers have left. There are as many walkers as two
// threadgroups for each processor have, but each has four rows at least, so that the workspace has no more
// than a quarter of the operands' size, and 256 at most, because the sums of a walker do not keep their
// rounding errors.
//
// Bytes and operations: x, dy and dx move once. Rows of which a thread holds more, or whose threadgroups have
// more than 256 threads, leave too few registers: they keep the mean and the scale of each row, and a
// reduction reads the operands a second time.

const (
	walkersEach   = 2   // threadgroups for each processor
	processors    = 32  // of a device that does not say how many it has
	leastWalked   = 4   // rows of a walker
	mostWalked    = 256 // the same
	mostColumns   = 16  // of a thread
	walkerThreads = 256 // of a threadgroup, at most
)

// walk chooses the number of walkers.
func (r *rowText) walk(limits Limits) {
	if r.held == 0 || r.held*r.width() > mostColumns || r.threads*r.perGroup > walkerThreads {
		return
	}
	groups := max(min(walkersEach*cmp.Or(limits.Processors, processors), r.rows/(leastWalked*r.perGroup)), r.rows/(mostWalked*r.perGroup), 1)
	r.walkers = groups * r.perGroup
}

// columnsAt is where the sums of the walkers lie in the workspace, by the number of the op's result.
func (r *rowText) columnsAt(result int) int { return (result - 1) * r.walkers * r.space.lens[0] }

// sums are the results that are sums over all rows.
func (r *rowText) sums() (list []int) {
	for _, o := range r.g.Outputs {
		if o.Value.Result > 0 {
			list = append(list, o.Value.Result)
		}
	}
	return list
}

func (r *rowText) declareColumns() {
	switch {
	case !r.weights:
	case r.walkers > 0:
		for _, n := range r.sums() {
			r.pointer("", fmt.Sprintf("columns%d", n), dtype.F32, workspace, r.columnsAt(n))
		}
		r.constant("walkers", r.walkers)
	default:
		r.pointer("", "mean", dtype.F32, workspace, 0)
		r.pointer("", "scale", dtype.F32, workspace, r.rows)
	}
}

// addUp is what an element adds to the sums: hat is the normalised element, an expression. Where all of a
// row's elements are to be read again it does nothing.
func (r *rowText) addUp(hat string) {
	if r.walkers == 0 {
		return
	}
	inside := ""
	if r.perGroup > 1 {
		inside = "if (inside) "
	}
	for _, n := range r.sums() {
		sum := fmt.Sprintf("sum%d[%s]", n, r.slot())
		if n == 1 {
			r.line("%s%s = fma(e2, %s, %s);", inside, sum, hat, sum)
		} else {
			r.line("%s%s += e2;", inside, sum)
		}
	}
}

// keep stores what reading again wants to know of the row.
func (r *rowText) keep(mean string) {
	if !r.weights || r.walkers > 0 {
		return
	}
	r.line("if (inside && at.x == 0) {")
	r.line("a.mean[row] = %s;", mean)
	r.line("a.scale[row] = scale;")
	r.line("}")
}

// endColumns ends the walk and stores the sums.
func (r *rowText) endColumns() {
	if r.walkers == 0 {
		return
	}
	r.line("}")
	r.line("const %[1]s walker = %[1]s(group.x) * %[2]d + %[1]s(at.y);", r.index, r.perGroup)
	r.openHeld(true)
	r.line("if (here) {")
	for _, n := range r.sums() {
		if r.vectors {
			r.line("float out%d[4];", n)
			r.line("UNROLL for (int k = 0; k < 4; k++) out%[1]d[k] = sum%[1]d[4 * e + k];", n)
			r.line("store4(a.columns%[1]d + (walker * a.n0 + i0), out%[1]d);", n)
			continue
		}
		r.line("a.columns%[1]d[walker * a.n0 + i0] = sum%[1]d[e];", n)
	}
	r.close(2)
}

// weightGradients adds what the second step does: the sums over all rows of dy·x̂ and of dy.
func (r *rowText) weightGradients(k *Kernel, limits Limits) *Kernel {
	switch {
	case !r.weights:
	case r.walkers > 0:
		r.joinColumns(k, limits)
	default:
		r.readAgain(k, limits)
	}
	return k
}

// joinColumns adds up what the walkers have left in the workspace.
func (r *rowText) joinColumns(k *Kernel, limits Limits) {
	n := r.space.lens[0]
	g := &backend.Group{Name: r.g.Name, Kind: backend.Reduce}
	for _, o := range r.g.Outputs {
		if o.Value.Result == 0 {
			continue
		}
		l := ir.Contiguous([]int{r.walkers, n})
		l.Offset = r.columnsAt(o.Value.Result)
		addRows(g, workspace, l, o)
	}
	k.reduce(g, 8*r.walkers*n, limits)
}

// readAgain reads the operands a second time, with the mean and the scale of each row.
func (r *rowText) readAgain(k *Kernel, limits Limits) {
	const f32 = dtype.F32
	shape := r.shape
	g := &backend.Group{Name: r.g.Name, Kind: backend.Reduce, Inputs: slices.Clone(r.g.Inputs)}
	if len(shape) == 1 {
		shape = []int{1, shape[0]}
	}
	for i := range g.Inputs {
		g.Inputs[i].Layout = g.Inputs[i].Layout.Expand(shape)
	}
	statistic := func(at int) backend.Ref {
		l := ir.Contiguous(append(slices.Clone(shape[:len(shape)-1]), 1)).Expand(shape)
		l.Offset = at
		g.Inputs = append(g.Inputs, backend.Input{DType: f32, Layout: l, Buf: workspace})
		return backend.In(len(g.Inputs) - 1)
	}
	mean, scale := statistic(0), statistic(r.rows)
	emit := func(in backend.Inst) backend.Ref {
		g.Insts = append(g.Insts, in)
		return backend.Ref{Index: len(g.Insts) - 1}
	}
	moved := map[int]backend.Ref{}
	copied := func(v backend.Ref) backend.Ref {
		if _, input := v.Input(); input {
			return v
		}
		return moved[v.Index]
	}
	for i, in := range r.g.Insts {
		if !r.before[i] {
			continue
		}
		in.Shape, in.Args = shape, slices.Clone(in.Args)
		for n, a := range in.Args {
			in.Args[n] = copied(a)
		}
		moved[i] = emit(in)
	}
	x, dy := copied(r.op.Args[0]), copied(r.op.Args[2])
	elementwise := func(op ir.Op, args ...backend.Ref) backend.Ref {
		return emit(backend.Inst{Op: op, DType: f32, Shape: shape, Args: args})
	}
	axes := make([]int, len(shape)-1)
	summed := slices.Clone(shape)
	for i := range axes {
		axes[i], summed[i] = i, 1
	}
	dy = elementwise(ir.Cast, dy)
	hat := elementwise(ir.Mul, elementwise(ir.Sub, elementwise(ir.Cast, x), mean), scale)
	for _, o := range r.g.Outputs {
		if o.Value.Result == 0 {
			continue
		}
		v := dy
		if o.Value.Result == 1 {
			v = elementwise(ir.Mul, dy, hat)
		}
		sum := emit(backend.Inst{Op: ir.Sum, DType: f32, Shape: summed, Args: []backend.Ref{v}, Attr: ir.Attr{Axes: axes}})
		g.Outputs = append(g.Outputs, backend.Output{Value: sum, Buf: o.Buf, DType: o.DType, Shape: summed})
	}
	k.reduce(g, 8*r.rows, limits)
}
