package tensor

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Tril keeps of each matrix (the last two axes) what is on and below the diagonal that lies diagonal places
// above the main one; the rest is 0.
func (t Tensor) Tril(diagonal int) Tensor {
	i, j := t.places("tril")
	return Where(j.Sub(i).Le(diagonal), t, ZerosLike(t))
}

// Triu keeps of each matrix (the last two axes) what is on and above the diagonal that lies diagonal places
// above the main one; the rest is 0.
func (t Tensor) Triu(diagonal int) Tensor {
	i, j := t.places("triu")
	return Where(j.Sub(i).Ge(diagonal), t, ZerosLike(t))
}

// places numbers the rows [R 1] and columns [1 C] of t's matrices.
func (t Tensor) places(op string) (rows, columns Tensor) {
	n := t.node(op)
	if len(n.Shape) < 2 {
		fail(op, "got %v, want two axes or more", n)
	}
	return rangeOn(n, t.Len(-2)).Unsqueeze(1), rangeOn(n, t.Len(-1)).Unsqueeze(0)
}

// rangeOn is Range on the device of a node.
func rangeOn(like *ir.Node, n int) Tensor {
	node, err := ir.NewIota(like.Dev, dtype.I64, []int{n}, 0)
	check("range", err)
	return wrap(node)
}

// OneHot puts a new last axis of length classes behind integers: f32 1 at the place that the integer names
// and 0 elsewhere; an integer outside of 0 to classes−1 gives 0 everywhere.
func (t Tensor) OneHot(classes int) Tensor {
	n := t.node("one_hot")
	if !n.DType.Int() {
		fail("one_hot", "got %v, want integers", n)
	}
	wantShape("one_hot", []int{classes})
	return t.Unsqueeze(-1).Eq(rangeOn(n, classes)).Cast(dtype.F32)
}

// Tile repeats t so many times along each axis (NumPy's tile): counts are aligned at the end, and axes that t
// lacks are added in front.
func (t Tensor) Tile(counts ...int) Tensor {
	wantShape("tile", counts)
	shape := t.Shape()
	rank := max(len(shape), len(counts))
	shape = append(slices.Repeat([]int{1}, rank-len(shape)), shape...)
	counts = append(slices.Repeat([]int{1}, rank-len(counts)), counts...)
	var apart, repeated, joined []int
	for i, d := range shape {
		apart = append(apart, 1, d)
		repeated = append(repeated, counts[i], d)
		joined = append(joined, counts[i]*d)
	}
	return t.Reshape(apart...).Expand(repeated...).Reshape(joined...)
}

// PadEdge repeats the first and the last element of an axis before and after it.
func (t Tensor) PadEdge(axis, before, after int) Tensor {
	return t.padFrom(axis, before, after, func(i, n int) int { return min(max(i, 0), n-1) })
}

// PadReflect continues an axis on both sides as in a mirror that stands on its first and last element, which
// are not repeated.
func (t Tensor) PadReflect(axis, before, after int) Tensor {
	return t.padFrom(axis, before, after, func(i, n int) int {
		period := max(1, 2*(n-1))
		i = (i%period + period) % period
		return min(i, period-i) % n
	})
}

// PadWrap continues an axis on both sides by its other end.
func (t Tensor) PadWrap(axis, before, after int) Tensor {
	return t.padFrom(axis, before, after, func(i, n int) int { return (i%n + n) % n })
}

// padFrom lengthens an axis of n elements: place i, from −before to n+after−1, holds element from(i, n).
// Negative widths shorten it.
func (t Tensor) padFrom(axis, before, after int, from func(i, n int) int) Tensor {
	node := t.node("pad")
	n := t.Len(axis)
	if n == 0 && before+after > 0 {
		fail("pad", "got axis %d of %v, want elements to repeat", axis, node)
	}
	for _, width := range []int{before, after} {
		if width < -n {
			fail("pad", "got width %d for axis %d of %v, want %d at least", width, axis, node, -n)
		}
		hostRoom("pad", max(0, width), 8)
	}
	hostRoom("pad", max(0, before+n+after), 8)
	index := make([]int, max(0, before+n+after))
	for i := range index {
		index[i] = from(i-before, n)
	}
	return t.Take(fromBeside(t, index, len(index)), axis)
}

// CumProd multiplies along an axis, without one all elements as one axis; integers in 64 bits.
func (t Tensor) CumProd(axes ...int) Tensor {
	t, axis := t.along("cumprod", axes)
	y := wrap(wide(t.node("cumprod")))
	n := y.Len(axis)
	for step := 1; step < n; step *= 2 { // after each step an element is the product of 2·step elements
		y = y.Mul(y.Slice(axis, 0, n-step).Pad(axis, step, 0, 1))
	}
	return y
}

// LogSumExp is ln Σ eˣ over axes, without overflow; none means all.
func (t Tensor) LogSumExp(axes ...int) Tensor {
	x := wrap(floats(t.node("log_sum_exp")))
	top := x.MaxKeep(axes...).Detach()
	top = Where(top.IsInf(), ZerosLike(top), top)
	sum := x.Sub(top).Exp().SumKeep(axes...).Log().Add(top)
	return sum.Reshape(x.Sum(axes...).Shape()...)
}

// Fmod returns the remainder with the sign of x, as C and Go do; [Tensor.Mod] has that of y.
func (t Tensor) Fmod(y Operand) Tensor {
	if m := t.Mod(y); m.DType().Int() {
		wrong := m.Ne(0).And(t.Lt(0).Xor(ZerosLike(m).Gt(y)))
		return Where(wrong, m.Sub(y), m)
	}
	x, z := floatPair("fmod", t, y)
	m := x.Abs().Mod(z.Abs())
	return Where(x.Lt(0), m.Neg(), m)
}

// TruncDiv returns x/y rounded towards zero, as Go's integer division does. Of integers by 0 it is as in
// [Tensor.FloorDiv].
func (t Tensor) TruncDiv(y Operand) Tensor {
	q := t.FloorDiv(y)
	if q.DType().Float() {
		x := t.Div(y)
		return Where(x.Lt(0), x.Ceil(), x.Floor())
	}
	inexact := t.Mod(y).Ne(0).And(t.Lt(0).Xor(ZerosLike(q).Gt(y)))
	return Where(inexact, q.Add(1), q)
}

// NonZero lists the places of the elements that are not 0 in C order: i64 [rank n], a row for each axis. It
// evaluates t, as its shape depends on the values.
func (t Tensor) NonZero() Tensor {
	places, shape := t.nonZero(), t.Shape()
	rows := make([]Tensor, len(shape))
	if len(rows) == 0 {
		return places.Slice(0, 0, 0).Reshape(0, 1).Expand(0, places.Len(0))
	}
	for a := len(shape) - 1; a > 0; a-- {
		length := max(1, shape[a])
		rows[a], places = places.Mod(length), places.FloorDiv(length)
	}
	rows[0] = places
	return Stack(rows, 0)
}

// nonZero is NonZero of t as one axis: i64 [n].
func (t Tensor) nonZero() Tensor {
	hit := t.Cast(dtype.Bool).Bytes()
	found := make([]byte, 8*(len(hit)-bytes.Count(hit, []byte{0})+1)) // one more is written
	n := 0
	for i, b := range hit {
		binary.LittleEndian.PutUint64(found[n:], uint64(i))
		if b != 0 {
			n += 8
		}
	}
	return leafOn(t.node("non_zero").Dev.(*backend.Device), dtype.I64, []int{n / 8}, found[:n], "")
}

// Diff is the difference of neighbours along an axis, which is one shorter.
func (t Tensor) Diff(axis int) Tensor {
	n := t.Len(axis)
	if n == 0 {
		fail("diff", "got axis %d of %v, want one element at least", axis, t.node("diff"))
	}
	return t.Slice(axis, 1, n).Sub(t.Slice(axis, 0, n-1))
}

// Roll moves the elements of an axis forward by so many places; elements that leave the axis at its end come
// in at its start.
func (t Tensor) Roll(axis, places int) Tensor {
	n := t.Len(axis)
	if n == 0 {
		return t
	}
	cut := ((-places)%n + n) % n
	return Concat([]Tensor{t.Slice(axis, cut, n), t.Slice(axis, 0, cut)}, axis)
}

// Repeat repeats each element of an axis so many times (NumPy's repeat); [Tensor.Tile] repeats the whole.
func (t Tensor) Repeat(axis, times int) Tensor {
	wantShape("repeat", []int{times})
	a := axisOf("repeat", t.node("repeat"), axis)
	shape := t.Shape()
	repeated := slices.Insert(slices.Clone(shape), a+1, times)
	shape[a] *= times
	wantShape("repeat", shape)
	return t.Unsqueeze(a + 1).Expand(repeated...).Reshape(shape...)
}

// MoveAxis puts an axis at another place among the others, which keep their order.
func (t Tensor) MoveAxis(from, to int) Tensor {
	n := t.node("move_axis")
	i, j := axisOf("move_axis", n, from), axisOf("move_axis", n, to)
	order := make([]int, 0, len(n.Shape))
	for a := range n.Shape {
		if a != i {
			order = append(order, a)
		}
	}
	return t.Permute(slices.Insert(order, j, i)...)
}

// Unstack cuts t into the slices of an axis, which goes away.
func (t Tensor) Unstack(axis int) []Tensor {
	n := t.Len(axis)
	hostRoom("unstack", n, 512) // about what the graph of a slice takes
	parts := make([]Tensor, n)
	for i := range parts {
		parts[i] = t.Select(axis, i)
	}
	return parts
}

// Diagonal takes the diagonal of each matrix (the last two axes) that lies offset places above the main one:
// [… n].
func (t Tensor) Diagonal(offset int) Tensor {
	n := t.node("diagonal")
	if len(n.Shape) < 2 {
		fail("diagonal", "got %v, want two axes or more", n)
	}
	rows, columns := t.Len(-2), t.Len(-1)
	top, left := min(max(0, -offset), rows), min(max(0, offset), columns)
	x := t.Slice(-2, top, rows).Slice(-1, left, columns)
	size := min(rows-top, columns-left)
	lead := slices.Clone(n.Shape[:len(n.Shape)-2])
	if size == 0 {
		return x.Reshape(append(lead, 0)...)
	}
	x = x.Slice(-2, 0, size).Slice(-1, 0, size)
	return x.Reshape(append(lead, size*size)...).SliceStep(-1, 0, size*size, size+1)
}

// Trace is the sum of the main diagonal of each matrix (the last two axes).
func (t Tensor) Trace() Tensor { return t.Diagonal(0).Sum(-1) }

// Diag returns the matrix [n n] with v [n] on its diagonal and 0 elsewhere.
func Diag(v Tensor) Tensor {
	n := v.node("diag")
	if len(n.Shape) != 1 {
		fail("diag", "got %v, want one axis (Diagonal takes that of a matrix)", n)
	}
	i := rangeOn(n, n.Shape[0])
	return Where(i.Unsqueeze(1).Eq(i), v, ZerosLike(v))
}

// Meshgrid spreads vectors over a grid of all their elements: grid i has the lengths of all vectors, and
// changes along axis i only (indexing="ij" in NumPy and PyTorch).
func Meshgrid(vectors ...Tensor) []Tensor {
	shape := make([]int, len(vectors))
	for i, v := range vectors {
		if v.Rank() != 1 {
			fail("meshgrid", "got %v, want one axis", v.node("meshgrid"))
		}
		shape[i] = v.Len(0)
	}
	grids := make([]Tensor, len(vectors))
	for i, v := range vectors {
		line := slices.Repeat([]int{1}, len(vectors))
		line[i] = shape[i]
		grids[i] = v.Reshape(line...).Expand(shape...)
	}
	return grids
}

// Masked lists the elements of t where the mask, which has its shape, is true, in C order (x[mask] in NumPy).
// It evaluates the mask, as their number depends on it.
func (t Tensor) Masked(mask Tensor) Tensor {
	n, m := t.node("masked"), mask.node("masked")
	if m.DType != dtype.Bool || !slices.Equal(n.Shape, m.Shape) {
		fail("masked", "got mask %v for %v, want bool%v", m, n, n.Shape)
	}
	return t.Flatten().Take(mask.nonZero(), 0)
}

// Kron is the Kronecker product of two matrices: [a b] and [c d] give [a·c b·d], y times each element of t.
func (t Tensor) Kron(y Tensor) Tensor {
	n, m := t.node("kron"), y.node("kron")
	if len(n.Shape) != 2 || len(m.Shape) != 2 {
		fail("kron", "got %v and %v, want matrices", n, m)
	}
	blocks := t.Unsqueeze(1).Unsqueeze(3).Mul(y.Unsqueeze(1).Unsqueeze(0))
	return blocks.Reshape(n.Shape[0]*m.Shape[0], n.Shape[1]*m.Shape[1])
}
