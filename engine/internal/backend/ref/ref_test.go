package ref

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Known answers from the Random123 distribution, kat_vectors, philox4x32 with 10 rounds.
func TestPhilox(t *testing.T) {
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)}, [2]uint32{^uint32(0), ^uint32(0)},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := philox(c.counter, c.key); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

func floats(shape []int, x ...float64) value {
	v := newValue(dtype.F32, shape)
	copy(v.f, x)
	return v
}

func ints(dt dtype.Type, x ...int64) value {
	v := newValue(dt, []int{len(x)})
	copy(v.i, x)
	return v
}

func inst(op ir.Op, dt dtype.Type, shape ...int) *backend.Inst {
	return &backend.Inst{Op: op, DType: dt, Shape: shape}
}

// NumPy's answers for integers: floor division, remainder with the divisor's sign, wrap-around, 0 for
// division by 0.
func TestIntegers(t *testing.T) {
	const least = math.MinInt32
	x := ints(dtype.I32, 7, -7, 7, -7, 5, least, least)
	y := ints(dtype.I32, 2, 2, -2, -2, 0, -1, 1)
	for _, c := range []struct {
		op   ir.Op
		want []int64
	}{
		{ir.Div, []int64{3, -4, -4, 3, 0, least, least}},
		{ir.Mod, []int64{1, 1, -1, -1, 0, 0, 0}},
		{ir.Add, []int64{9, -5, 5, -9, 5, math.MaxInt32, least + 1}},
		{ir.Mul, []int64{14, -14, -14, 14, 0, least, least}},
		{ir.Max, []int64{7, 2, 7, -2, 5, -1, 1}},
	} {
		got := apply(nil, inst(c.op, dtype.I32, 7), []value{x, y})[0]
		for i, want := range c.want {
			if got.i[i] != want {
				t.Errorf("op %v of %d and %d = %d, want %d", c.op, x.i[i], y.i[i], got.i[i], want)
			}
		}
	}
}

func TestCast(t *testing.T) {
	x := floats([]int{6}, 1.9, -1.9, math.NaN(), 300, -1e30, math.Inf(1))
	for _, c := range []struct {
		to   dtype.Type
		want []int64
	}{
		{dtype.I32, []int64{1, -1, 0, 300, math.MinInt32, math.MaxInt32}},
		{dtype.I64, []int64{1, -1, 0, 300, math.MinInt64, math.MaxInt64}},
		{dtype.U8, []int64{1, 0, 0, 255, 0, 255}},
		{dtype.Bool, []int64{1, 1, 1, 1, 1, 1}},
	} {
		got := apply(nil, inst(ir.Cast, c.to, 6), []value{x})[0]
		for i, want := range c.want {
			if got.i[i] != want {
				t.Errorf("%v to %v = %d, want %d", x.f[i], c.to, got.i[i], want)
			}
		}
	}
	half := apply(nil, inst(ir.Cast, dtype.F16, 1), []value{floats([]int{1}, 0.1)})[0]
	if want := 0.0999755859375; half.f[0] != want {
		t.Errorf("0.1 to f16 = %v, want %v", half.f[0], want)
	}
}

func TestFloats(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name string
		op   ir.Op
		args []float64
		want float64
	}{
		{"maximum keeps NaN", ir.Max, []float64{1, nan}, nan},
		{"minimum keeps NaN", ir.Min, []float64{nan, 1}, nan},
		{"remainder has the divisor's sign", ir.Mod, []float64{-1, 3}, 2},
		{"remainder has the divisor's sign", ir.Mod, []float64{1, -3}, -2},
		{"remainder of infinity", ir.Mod, []float64{inf, 3}, nan},
		{"half to even", ir.Round, []float64{2.5}, 2},
		{"rsqrt of zero", ir.Rsqrt, []float64{0}, inf},
		{"sign of NaN", ir.Sign, []float64{nan}, nan},
		{"gelu", ir.Gelu, []float64{1}, 0.8413447460685429},
		{"f32 rounds", ir.Add, []float64{1 << 24, 1}, 1 << 24},
	} {
		var args []value
		for _, x := range c.args {
			args = append(args, floats(nil, x))
		}
		got := apply(nil, inst(c.op, dtype.F32), args)[0].f[0]
		if got != float64(float32(c.want)) && !(got != got && c.want != c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTopK(t *testing.T) {
	in := &backend.Inst{Op: ir.TopK, Outs: []ir.Type{{DType: dtype.F32, Shape: []int{3}}, {DType: dtype.I64, Shape: []int{3}}}}
	in.Attr.Index = 3
	out := apply(nil, in, []value{floats([]int{5}, 2, 5, math.NaN(), 5, 1)})
	for i, want := range []int64{2, 1, 3} {
		if out[1].i[i] != want {
			t.Errorf("place %d: index %d, want %d", i, out[1].i[i], want)
		}
	}
}

// Adding up pairs is what LoRA needs: x·w + h·b.
func TestMatMulPairs(t *testing.T) {
	x, w := floats([]int{1, 2}, 1, 2), floats([]int{2, 2}, 1, 2, 3, 4)
	h, b := floats([]int{1, 1}, 10), floats([]int{1, 2}, 5, 6)
	got := apply(nil, inst(ir.MatMul, dtype.F32, 1, 2), []value{x, w, h, b})[0]
	if got.f[0] != 57 || got.f[1] != 70 {
		t.Errorf("got %v, want [57 70]", got.f)
	}
}
