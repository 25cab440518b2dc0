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
	switch dt {
	case dtype.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	case dtype.F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	case dtype.F16:
		return float64(dtype.F16ToFloat32(binary.LittleEndian.Uint16(b[2*i:])))
	case dtype.BF16:
		return float64(dtype.BF16ToFloat32(binary.LittleEndian.Uint16(b[2*i:])))
	}
	return float64(integer(dt, b, i))
}

// integer reads element i of an integer or bool.
func integer(dt dtype.Type, b []byte, i int) int64 {
	switch dt {
	case dtype.I32:
		return int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	case dtype.I64:
		return int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return int64(b[i])
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
	for i := range out {
		out[i] = float32(element(dt, b, i))
	}
	return out
}

// Ints returns the elements of an integer or bool tensor in C order.
func (t Tensor) Ints() []int {
	n := t.node("ints")
	if n.DType.Float() {
		fail("ints", "got %v, want integers or booleans", n)
	}
	b := t.Bytes()
	hostRoom("read", t.Size(), 8)
	out := make([]int, t.Size())
	for i := range out {
		out[i] = int(integer(n.DType, b, i))
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
