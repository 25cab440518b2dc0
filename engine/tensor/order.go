package tensor

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// along returns t and the axis that a function goes along, one at most: none means all elements, in C order.
func (t Tensor) along(op string, axis []int) (Tensor, int) {
	switch n := t.node(op); len(axis) {
	case 0:
		return t.Flatten(), 0
	case 1:
		return t, axisOf(op, n, axis[0])
	}
	fail(op, "got the axes %v, want one, or none for all elements", axis)
	return t, 0
}

// Sort returns the elements of an axis in rising order, NaN last; without an axis all elements, as one axis.
// [Tensor.TopK] has them in falling order.
func (t Tensor) Sort(axis ...int) Tensor {
	t.real("sort")
	t, a := t.along("sort", axis)
	values, _ := t.SwapAxes(a, -1).BottomK(t.Len(a))
	return values.SwapAxes(a, -1)
}

// ArgSort returns the places (i64) of the elements of an axis in rising order, NaN last, without an axis
// those of all elements, in C order; equal ones keep their order.
func (t Tensor) ArgSort(axis ...int) Tensor {
	t.real("arg_sort")
	t, a := t.along("arg_sort", axis)
	_, places := t.SwapAxes(a, -1).BottomK(t.Len(a))
	return places.SwapAxes(a, -1)
}

// SearchSorted returns for each value the place (i64) in t, one axis of elements in rising order, before
// which it would have to stand: before all that are equal to it, or, on the right, after them.
func (t Tensor) SearchSorted(values Tensor, right bool) Tensor {
	n := t.real("search_sorted")
	if len(n.Shape) != 1 {
		fail("search_sorted", "got %v, want one axis", n)
	}
	dt := dtype.Promote(n.DType, values.node("search_sorted").DType)
	sorted, v := t.Cast(dt), values.Cast(dt)
	place := ZerosLike(values).Cast(dtype.I64)
	step := 1
	for step <= n.Shape[0]/2 {
		step *= 2
	}
	for ; step > 0 && n.Shape[0] > 0; step /= 2 { // place elements of t stand before the value
		next := place.Add(step)
		last := sorted.Take(next.Minimum(n.Shape[0]).Sub(1), 0)
		place = Where(next.Le(n.Shape[0]).And(last.before(v, right)), next, place)
	}
	return place
}

// before says where x stands before y in rising order, NaN last, or beside it where that counts.
func (t Tensor) before(y Tensor, orEqual bool) Tensor {
	if !t.DType().Float() {
		if orEqual {
			return t.Le(y)
		}
		return t.Lt(y)
	}
	if orEqual {
		return t.Le(y).Or(y.IsNaN())
	}
	return t.Lt(y).Or(y.IsNaN().And(t.IsNaN().Not()))
}

// IsIn says which elements are among the values. A NaN is equal to nothing.
func (t Tensor) IsIn(values Tensor) Tensor {
	dt := dtype.Promote(t.DType(), values.DType())
	x, sorted := t.Cast(dt), values.Cast(dt).Flatten().Sort(0)
	if sorted.Len(0) == 0 {
		return ZerosLike(t).Cast(dtype.Bool)
	}
	place := sorted.SearchSorted(x, false).Minimum(sorted.Len(0) - 1)
	return sorted.Take(place, 0).Eq(x)
}

// Distinct are the distinct elements of a tensor, in rising order. A NaN equals nothing: each one counts.
type Distinct struct {
	Values  Tensor // [n]
	First   Tensor // i64 [n]: the place where each occurs first, in C order
	Inverse Tensor // i64, the tensor's shape: which value each element is
	Counts  Tensor // i64 [n]: how often each occurs
}

// Unique finds the distinct elements. It evaluates t, as their number depends on the values, which have no
// gradient; First and Inverse need the order of the places, which takes longer.
func (t Tensor) Unique() Distinct {
	x := t.Flatten()
	sorted := x.Sort(0).Eval()
	n := max(x.Len(0), 1)
	rises := sorted.Slice(0, 1, n).Ne(sorted.Slice(0, 0, n-1)) // from one element to the next
	values, order := sorted.compact(), x.ArgSort(0)
	group := Concat([]Tensor{rangeOn(x.node("unique"), x.Len(0)-n+1), rises.CumSum(0)}, 0)
	counts := rangeOn(values.node("unique"), values.Len(0)).Mul(0).ScatterAdd(0, group, OnesLike(group))
	return Distinct{
		Values:  values,
		First:   order.Take(counts.CumSum(0).Sub(counts), 0),
		Inverse: ZerosLike(order).Put(0, order, group, Replace).Reshape(t.Shape()...),
		Counts:  counts,
	}
}

// compact is the elements of an evaluated t that differ from the one before.
func (t Tensor) compact() Tensor {
	var keep func(to, from []byte) int
	switch dt := t.DType(); dt {
	case dtype.F32:
		keep = distinct[float32]()
	case dtype.F64:
		keep = distinct[float64]()
	case dtype.F16, dtype.BF16:
		return t.Cast(dtype.F32).Eval().compact().Cast(dt)
	default:
		keep = map[int]func(to, from []byte) int{1: distinct[uint8](), 2: distinct[uint16](), 4: distinct[uint32](), 8: distinct[uint64]()}[dt.Size()]
	}
	from, size, kept := t.node("unique"), t.DType().Size(), 0
	v, d, bytes := from.Value(), from.Dev.(*backend.Device), t.Len(0)*size
	b, err := box.Leaf(d, t.DType(), t.Shape(), bytes, "", func(to *backend.Block) (err error) {
		kept, err = d.Sift(scope.Context(), to, v, v.Layout.Offset*size, bytes, keep)
		return err
	})
	check("unique", err)
	y := on(b).Slice(0, 0, kept/size)
	if kept < bytes/2 { // a few values keep no memory of many
		y = leafOn(d, t.DType(), y.Shape(), y.Bytes(), "")
	}
	return y
}

// distinct moves each element that differs from the one before. Pieces follow each other.
func distinct[T uint8 | uint16 | uint32 | uint64 | float32 | float64]() func(to, from []byte) int {
	var before T
	begun := false
	return func(to, from []byte) int {
		size := int(unsafe.Sizeof(before))
		x := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(from))), len(from)/size)
		y := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(to))), len(x))
		n, last := 0, before
		if !begun && len(x) > 0 { // the first of all has none before
			y[0], n, last, x, begun = x[0], 1, x[0], x[1:], true
		}
		for _, e := range x {
			y[n] = e
			move := 0
			if e != last {
				move = 1 // no branch: it takes as long whatever the elements are
			}
			n, last = n+move, e
		}
		before = last
		return n * size
	}
}

// BinCount counts how often each of 0 … n−1 occurs among integers: i64 [n]. Others are not counted.
func (t Tensor) BinCount(n int) Tensor {
	wantShape("bin_count", []int{n})
	node := t.node("bin_count")
	if !node.DType.Int() {
		fail("bin_count", "got %v, want integers", node)
	}
	x := t.Flatten().Cast(dtype.I64)
	bin := Where(x.Ge(0).And(x.Lt(n)), x, n) // the others fall into one bin more
	counts := rangeOn(node, n+1).Mul(0).ScatterAdd(0, bin, OnesLike(bin))
	return counts.Slice(0, 0, n)
}

// Quantile is the value below which the share q of an axis's elements lies, without an axis of all elements,
// interpolated linearly between neighbours; NaN if there is one.
func (t Tensor) Quantile(q float64, axes ...int) Tensor {
	t, axis := t.along("quantile", axes)
	x := wrap(floats(t.node("quantile")))
	n := x.Len(axis)
	if !(q >= 0 && q <= 1) || n == 0 {
		fail("quantile", "got %v of axis %d of %v, want a share from 0 to 1 of one element at least", q, axis, x.node("quantile"))
	}
	sorted := x.Sort(axis)
	place := q * float64(n-1)
	low := int(math.Floor(place))
	high := min(low+1, n-1)
	y := sorted.Select(axis, low).Lerp(sorted.Select(axis, high), place-float64(low))
	if low == high || place == float64(low) {
		y = sorted.Select(axis, low) // not an infinity times 0
	}
	last := sorted.Select(axis, n-1)
	return Where(last.IsNaN(), last, y)
}

// Median is the middle element of an axis, without an axis of all elements, or the mean of the two in the
// middle.
func (t Tensor) Median(axis ...int) Tensor { return t.Quantile(0.5, axis...) }

// CountNonZero counts the elements that are not 0 (i64) over axes; none means all.
func (t Tensor) CountNonZero(axes ...int) Tensor { return t.Cast(dtype.Bool).Sum(axes...) }

// CumMax is the largest element of an axis so far, without an axis of all elements; NaN from the first one
// on.
func (t Tensor) CumMax(axis ...int) Tensor { return t.soFar("cum_max", axis, Tensor.Maximum) }

// CumMin is the smallest element of an axis so far, without an axis of all elements; NaN from the first one
// on.
func (t Tensor) CumMin(axis ...int) Tensor { return t.soFar("cum_min", axis, Tensor.Minimum) }

func (t Tensor) soFar(op string, axes []int, better func(Tensor, Operand) Tensor) Tensor {
	t, axis := t.along(op, axes)
	y, n := wrap(numbers(t.node(op))), t.Len(axis)
	for step := 1; step < n; step *= 2 { // after each step an element is the best of 2·step elements
		y = better(y, Concat([]Tensor{y.Slice(axis, 0, step), y.Slice(axis, 0, n-step)}, axis))
	}
	return y
}
