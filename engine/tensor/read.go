package tensor

import (
	"encoding/binary"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Bytes returns the elements in C order, little endian. It evaluates, as all reading does.
func (t Tensor) Bytes() []byte { return hostBytes(t.Eval().node("read")) }

// element reads element i of little-endian data as a float64; 64-bit integers beyond 2⁵³ are rounded.
func element(dt dtype.Type, b []byte, i int) float64 {
	v := ir.Load(dt, b[i*dt.Size():])
	if dt.Int() {
		return ir.FloatOf(dt, v.I)
	}
	return v.F
}

// Item returns the value of a tensor of one element.
func (t Tensor) Item() float64 {
	n := t.node("item")
	if ir.Size(n.Shape) != 1 {
		fail("item", "got %v, want one element", n)
	}
	return element(n.DType, t.Bytes(), 0)
}

// Float64s returns the elements in C order.
func (t Tensor) Float64s() []float64 {
	dt, b := t.DType(), t.Bytes()
	hostRoom("read", t.Size(), 8)
	out := make([]float64, t.Size())
	for i := range out {
		out[i] = element(dt, b, i)
	}
	return out
}

// Floats returns the elements in C order.
func (t Tensor) Floats() []float32 {
	dt, b := t.DType(), t.Bytes()
	hostRoom("read", t.Size(), 4)
	out := make([]float32, t.Size())
	if dt == dtype.F32 {
		for i := range out { // the scores of a vocabulary are read for each token
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		return out
	}
	for i := range out {
		out[i] = float32(element(dt, b, i))
	}
	return out
}

// Ints returns the elements of an integer or bool tensor in C order. A u64 beyond the greatest int fails;
// [Tensor.Uint64s] reads those.
func (t Tensor) Ints() []int {
	return integers("ints", t, func(n *ir.Node, i int64) int {
		if n.DType == dtype.U64 && i < 0 {
			fail("ints", "got %d in %v, want at most %d", uint64(i), n, math.MaxInt)
		}
		return int(i)
	})
}

// Uint64s returns the elements of an integer or bool tensor in C order; one below 0 fails.
func (t Tensor) Uint64s() []uint64 {
	return integers("uint64s", t, func(n *ir.Node, i int64) uint64 {
		if n.DType != dtype.U64 && i < 0 {
			fail("uint64s", "got %d in %v, want no number below 0", i, n)
		}
		return uint64(i)
	})
}

func integers[T any](op string, t Tensor, of func(n *ir.Node, i int64) T) []T {
	n := t.node(op)
	if n.DType.Float() {
		fail(op, "got %v, want integers or booleans", n)
	}
	b, size := t.Bytes(), n.DType.Size()
	hostRoom("read", t.Size(), 8)
	out := make([]T, t.Size())
	for i := range out {
		out[i] = of(n, ir.Load(n.DType, b[i*size:]).I)
	}
	return out
}

// Bools returns the elements of a bool tensor in C order.
func (t Tensor) Bools() []bool {
	n := t.node("bools")
	if n.DType != dtype.Bool {
		fail("bools", "got %v, want bool", n)
	}
	out := make([]bool, t.Size())
	for i, b := range t.Bytes() {
		out[i] = b != 0
	}
	return out
}

// MaxAbsDiff returns the largest |a − b|, NaN if there is one on either side only, 0 for empty tensors.
func MaxAbsDiff(a, b Tensor) float64 {
	x, y := a.node("max_abs_diff"), b.node("max_abs_diff")
	broadcast("max_abs_diff", x, y)
	u, v := a.Expand(broadcast("max_abs_diff", x, y)...), b.Expand(broadcast("max_abs_diff", x, y)...)
	Eval(u, v)
	p, q := u.Float64s(), v.Float64s()
	worst := 0.0
	for i := range p {
		if p[i] == q[i] || math.IsNaN(p[i]) && math.IsNaN(q[i]) {
			continue
		}
		worst = max(worst, math.Abs(p[i]-q[i]))
	}
	return worst
}

// AllClose says whether |a − b| ≤ absolute + relative·|b| everywhere.
func AllClose(a, b Tensor, relative, absolute float64) bool {
	shape := broadcast("all_close", a.node("all_close"), b.node("all_close"))
	u, v := a.Expand(shape...), b.Expand(shape...)
	Eval(u, v)
	p, q := u.Float64s(), v.Float64s()
	for i := range p {
		// An infinity is close to itself only.
		if d := math.Abs(p[i] - q[i]); p[i] != q[i] && !(d <= absolute+relative*math.Abs(q[i]) && !math.IsInf(d, 0)) {
			return false
		}
	}
	return true
}
