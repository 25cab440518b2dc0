package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A linear layer with a cross entropy is lowered to products and cross entropies of some rows, a piece, after
// the others. Where one plan has the loss and its gradients, and these do not depend on the losses of other
// rows, the gradient of a piece uses the logits that its loss was computed from: they are made once, and the
// order that needs the least memory has those of one piece at a time.

const (
	// leastPiece is the number of rows from which a product reads its right operand seldom enough.
	leastPiece = 256
	// tileRows is a multiple of the rows that products compute together: of 409 rows a library computes 512.
	tileRows = 128
)

// A linearLoss is such an op while it is lowered.
type linearLoss struct {
	*graph
	op            *value
	x, w, targets int
	classes       int
	bounds        []int // of the pieces, the number of rows at last
}

func (g *graph) newLinearLoss(v *value) *linearLoss {
	l := &linearLoss{graph: g, op: v, x: v.args[0], w: v.args[1], targets: v.args[2]}
	x, w := g.values[l.x].shape, g.values[l.w].shape
	l.classes = w[1]
	most := x[0]
	if g.fuse {
		most = int(g.hints.Logits) / max(1, l.classes*g.values[l.x].dtype.Size())
	}
	l.bounds = boundsOf(x[0], most)
	return l
}

// boundsOf cuts rows into as few pieces as there can be with at most so many rows each, or leastPiece if that
// is more. All but the last are whole tiles, and about as long as one another.
func boundsOf(rows, most int) []int {
	most = max(leastPiece, most)
	if rows <= most {
		return []int{0, rows}
	}
	most -= most % tileRows
	pieces := (rows + most - 1) / most
	tiles := (rows + pieces*tileRows - 1) / (pieces * tileRows) // of a piece
	var bounds []int
	for at := 0; at < rows; at += tiles * tileRows {
		bounds = append(bounds, at)
	}
	return append(bounds, rows)
}

func (l *linearLoss) pieces() int { return len(l.bounds) - 1 }

// rows are those of piece i of a value with a row, or a number, for each row of x.
func (l *linearLoss) rows(v, i int) int {
	if l.pieces() == 1 {
		return v
	}
	if pieces := l.graph.pieces[v]; len(pieces) == l.pieces() {
		return pieces[i]
	}
	shape := slices.Clone(l.values[v].shape)
	cut := []int{l.bounds[i], l.bounds[i+1], 1}
	for _, n := range shape[1:] {
		cut = append(cut, 0, n, 1)
	}
	shape[0] = l.bounds[i+1] - l.bounds[i]
	return l.view(v, step{op: ir.Slice, ints: cut, shape: shape})
}

// product multiplies matrices of one dtype.
func (l *linearLoss) product(a, b int) int {
	x, y := &l.values[a], &l.values[b]
	return l.matMul(value{op: ir.MatMul, dtype: x.dtype, shape: []int{x.shape[0], y.shape[1]}, args: []int{a, b}, apart: l.pieces() > 1})
}

// with computes an elementwise op of values of one dtype and shape.
func (l *linearLoss) with(op ir.Op, args ...int) int {
	x := &l.values[args[0]]
	return l.elementwise(value{op: op, dtype: x.dtype, shape: x.shape, args: args})
}

func (l *linearLoss) times(v int, f float64) int {
	x := &l.values[v]
	return l.with(ir.Mul, v, l.number(x.dtype, f, x.shape))
}

// logits are those of piece i.
func (l *linearLoss) logits(i int) int {
	y := l.product(l.rows(l.x, i), l.w)
	if c := ir.CapOf(&l.op.attr); c != 0 {
		y = l.times(l.with(ir.Tanh, l.times(y, 1/c)), c)
	}
	return y
}

// row applies a row op to the logits of piece i. Attr.Axis is the first row, so that an error names the right
// one.
func (l *linearLoss) row(op ir.Op, i int, outs []ir.Type, args ...int) int {
	v := value{kind: heavy, op: op, attr: ir.Attr{Float: l.op.attr.Float, Index: l.op.attr.Index, Axis: l.bounds[i]}, outs: outs, args: args}
	logits := &l.values[args[0]]
	if outs == nil {
		v.dtype, v.shape = logits.dtype, logits.shape
	}
	v.node = &ir.Node{Op: op, Attr: &v.attr, DType: v.dtype, Shape: v.shape, Outs: outs, Src: []*ir.Node{{DType: logits.dtype, Shape: logits.shape}}}
	for j, a := range args {
		v.args[j] = l.stored(a)
	}
	return l.add(v)
}

// whole puts pieces together, one below the other.
func (l *linearLoss) whole(pieces []int) int {
	if len(pieces) == 1 {
		return pieces[0]
	}
	first := &l.values[pieces[0]]
	shape := slices.Clone(first.shape)
	shape[0] = l.bounds[l.pieces()]
	node := &ir.Node{Op: ir.Concat, Attr: &ir.Attr{}, DType: first.dtype, Shape: shape}
	v := l.add(value{kind: heavy, op: ir.Concat, dtype: first.dtype, shape: shape, args: slices.Clone(pieces), node: node})
	l.graph.pieces[v] = pieces
	return v
}

// linearLoss lowers a LinearCrossEntropy, and returns the value that stands for its tuple.
func (g *graph) linearLoss(v value) int {
	l := g.newLinearLoss(&v)
	var losses, sums []int
	for i := range l.pieces() {
		rows := ir.Type{DType: v.outs[0].DType, Shape: []int{l.bounds[i+1] - l.bounds[i]}}
		tuple := l.row(ir.CrossEntropy, i, []ir.Type{rows, rows}, l.logits(i), l.rows(l.targets, i))
		for index, list := range []*[]int{&losses, &sums} {
			*list = append(*list, g.add(value{kind: result, dtype: rows.DType, shape: rows.Shape, args: []int{tuple}, index: index}))
		}
	}
	return g.tuple(l.whole(losses), l.whole(sums))
}

// tuple notes what the values of a lowered tuple are; the first stands for it.
func (g *graph) tuple(parts ...int) int {
	g.parts[parts[0]] = parts
	return parts[0]
}

// linearLossGrad lowers a LinearCrossEntropyGrad.
func (g *graph) linearLossGrad(v value) int {
	l := g.newLinearLoss(&v)
	sums, dloss := v.args[3], v.args[4]
	var makers []int // the tuples of which the pieces of sums are values
	for _, p := range g.pieces[sums] {
		makers = append(makers, g.values[p].args[0])
	}
	if l.pieces() > 1 && !g.independent(dloss, makers) {
		l.x = g.again(l.x, dloss)
	}
	var list []int
	dw := -1
	for i := range l.pieces() {
		y := l.logits(i)
		d := l.row(ir.CrossEntropyGrad, i, nil, y, l.rows(l.targets, i), l.rows(sums, i), l.rows(dloss, i))
		if c := ir.CapOf(&v.attr); c != 0 {
			share := l.times(y, 1/c)
			square := l.with(ir.Mul, share, share)
			d = l.with(ir.Mul, d, l.with(ir.Sub, l.number(g.values[d].dtype, 1, g.values[d].shape), square))
		}
		list = append(list, l.product(d, l.transposed(l.w)))
		dw = l.sum(dw, l.product(l.transposed(l.rows(l.x, i)), d))
	}
	return g.tuple(l.whole(list), l.narrowed(dw))
}

// transposed is the transpose of a matrix.
func (l *linearLoss) transposed(v int) int {
	s := l.values[v].shape
	return l.view(v, step{op: ir.Permute, ints: []int{1, 0}, shape: []int{s[1], s[0]}})
}

// sum adds a piece's part of the gradient of w to those before, in f32 at least; before is -1 for none.
func (l *linearLoss) sum(before, part int) int {
	if x := &l.values[part]; l.pieces() > 1 && x.dtype.Size() == 2 {
		part = l.elementwise(value{op: ir.Cast, attr: ir.Attr{DType: dtype.F32}, dtype: dtype.F32, shape: x.shape, args: []int{part}})
	}
	if before < 0 {
		return part
	}
	return l.with(ir.Add, before, part)
}

// narrowed is the sum in the dtype of w.
func (l *linearLoss) narrowed(dw int) int {
	to, x := l.values[l.w].dtype, &l.values[dw]
	if x.dtype == to {
		return dw
	}
	return l.elementwise(value{op: ir.Cast, attr: ir.Attr{DType: to}, dtype: to, shape: x.shape, args: []int{dw}})
}

// again copies v when after is there.
func (g *graph) again(v, after int) int {
	x := &g.values[v]
	return g.add(value{kind: heavy, op: ir.Again, dtype: x.dtype, shape: x.shape, args: []int{v, after}, node: &ir.Node{Op: ir.Again, Attr: &ir.Attr{}, DType: x.dtype, Shape: x.shape}})
}

// independent says that v is computed from none of a list. Then it need not wait for what is: the reductions
// that it is computed from, the number of targets that count, do not join those of the losses.
func (g *graph) independent(v int, list []int) bool {
	seen := map[int]bool{}
	var reductions []int
	stack := []int{v}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		g.step(1)
		if slices.Contains(list, v) {
			return false
		}
		if x := &g.values[v]; x.kind == heavy && x.op.Family() == ir.FamilyReduce {
			reductions = append(reductions, v)
		}
		stack = append(stack, g.values[v].args...)
	}
	for _, v := range reductions {
		g.values[v].apart = true
	}
	return true
}
