package tensor

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Bytes returns the elements in C order, little endian; of complex numbers the imaginary part stands behind
// the real one. It evaluates, as all reading does.
func (t Tensor) Bytes() []byte {
	t.Eval()
	if p := t.parts(); p != nil {
		return alternating(p[0].Bytes(), p[1].Bytes(), p[0].DType().Size())
	}
	return hostBytes(t.node("read"))
}

// element reads element i of little-endian data as a float64; 64-bit integers beyond 2⁵³ are rounded.
func element(dt dtype.Type, b []byte, i int) float64 {
	v := ir.Load(dt, b[i*dt.Size():])
	if dt.Int() {
		return ir.FloatOf(dt, v.I)
	}
	return v.F
}

// Item returns the value of a tensor of one element. An integer beyond 2⁵³ that no float64 is fails;
// [Tensor.Int] reads it.
func (t Tensor) Item() float64 {
	t.real("item")
	n := t.one("item")
	v := ir.Load(n.DType, t.Bytes())
	if n.DType.Int() {
		u := uint64(v.I)
		if n.DType.Signed() && v.I < 0 {
			u = -u
		}
		if bits.Len64(u)-bits.TrailingZeros64(u) > 53 {
			fail("item", "got an integer beyond 2⁵³ in %v, which a float64 would round: Int reads it", n)
		}
		v.F = ir.FloatOf(n.DType, v.I)
	}
	return v.F
}

// Int returns the value of a tensor of one integer or bool, as [Tensor.Ints] does.
func (t Tensor) Int() int {
	t.one("int")
	return t.Ints()[0]
}

// one is the node of a tensor of one element.
func (t Tensor) one(op string) *ir.Node {
	n := t.node(op)
	if ir.Size(n.Shape) != 1 {
		fail(op, "got %v, want one element", n)
	}
	return n
}

// Float64s returns the elements in C order.
func (t Tensor) Float64s() []float64 {
	dt, b := t.real("float64s").DType, t.Bytes()
	hostRoom("read", t.Size(), 8)
	out := make([]float64, t.Size())
	for i := range out {
		out[i] = element(dt, b, i)
	}
	return out
}

// Floats returns the elements in C order.
func (t Tensor) Floats() []float32 {
	dt, b := t.real("floats").DType, t.Bytes()
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
	n := t.real(op)
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
// Shapes are as for [AllClose].
func MaxAbsDiff(a, b Tensor) float64 {
	if len(reals(a, b)) > 2 {
		oneShape("max_abs_diff", a, b)
		far := a.Sub(b).Abs()
		return MaxAbsDiff(Where(a.Eq(b).Or(a.IsNaN().And(b.IsNaN())), 0, far), ZerosLike(far))
	}
	p, q := aligned("max_abs_diff", a, b)
	worst := 0.0
	for i := range p {
		if p[i] == q[i] || math.IsNaN(p[i]) && math.IsNaN(q[i]) {
			continue
		}
		worst = max(worst, math.Abs(p[i]-q[i]))
	}
	return worst
}

// AllClose says whether |a − b| ≤ absolute + relative·|b| everywhere. Both have one shape, or one is a number
// of shape [] that is compared with each element; other shapes panic, also such as would broadcast.
func AllClose(a, b Tensor, relative, absolute float64) bool {
	if len(reals(a, b)) > 2 {
		oneShape("all_close", a, b)
		far := a.Sub(b).Abs()
		close := far.Le(b.Abs().Mul(relative).Add(absolute)).And(far.IsFinite())
		return a.Eq(b).Or(close).All().Bools()[0]
	}
	p, q := aligned("all_close", a, b)
	for i := range p {
		// An infinity is close to itself only.
		if d := math.Abs(p[i] - q[i]); p[i] != q[i] && !(d <= absolute+relative*math.Abs(q[i]) && !math.IsInf(d, 0)) {
			return false
		}
	}
	return true
}

// oneShape refuses other tensors than two of one shape, or one and a number.
func oneShape(op string, a, b Tensor) (x, y *ir.Node) {
	x, y = a.node(op), b.node(op)
	if len(x.Shape) > 0 && len(y.Shape) > 0 && !slices.Equal(x.Shape, y.Shape) {
		fail(op, "got %v and %v, want one shape", x, y)
	}
	return x, y
}

// aligned returns the elements of two tensors of one shape, or of one and a number.
func aligned(op string, a, b Tensor) (p, q []float64) {
	x, y := oneShape(op, a, b)
	shape := broadcast(op, x, y)
	u, v := a.Expand(shape...), b.Expand(shape...)
	Eval(u, v)
	return u.Float64s(), v.Float64s()
}
