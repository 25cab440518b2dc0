package tensor

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A number is converted before anything runs exactly as a tensor is converted when it runs.
func TestConvertNumbersLikeTensors(t *testing.T) {
	use(t, "ref")
	floats := []float64{0, -0.5, 1.9, -1.9, 0.1, 255, 256, 300.7, -1, 65519, 65520, 1e10, -1e10, 1e30, math.Inf(1), math.Inf(-1), math.NaN()}
	ints := []int{0, 1, -1, 255, 256, 1<<31 - 1, 1 << 31, -1 << 31, 1 << 40, math.MaxInt64, math.MinInt64}
	for _, to := range dtype.All() {
		checkConversions(t, From(floats), to)
		checkConversions(t, From(ints), to)
		checkConversions(t, From([]uint64{0, 1, 255, 1 << 40, 1<<63 - 1, 1 << 63, math.MaxUint64}), to)
		checkConversions(t, From([]bool{false, true}), to)
	}
}

func checkConversions(t *testing.T, x Tensor, to dtype.Type) {
	t.Helper()
	wide, want := x.Float64s(), x.Cast(to).Float64s()
	for i := range wide {
		v := ir.Load(x.DType(), x.Bytes()[i*x.DType().Size():])
		got := ir.Convert(ir.Convert(v, x.DType(), to), to, dtype.F64).F
		if got != want[i] && !(math.IsNaN(got) && math.IsNaN(want[i])) {
			t.Errorf("%v %v to %v: got %v, want %v", x.DType(), wide[i], to, got, want[i])
		}
	}
}

// Numbers beside tensors: any Go number type, exact integers, none that the dtype cannot hold.
func TestNumbers(t *testing.T) {
	type count int
	big := From([]int{1})
	for _, c := range []struct {
		got  Tensor
		want int
	}{
		{big.Mul(1<<62 + 1), 1<<62 + 1},
		{big.Add(int64(math.MaxInt64 - 1)), math.MaxInt64},
		{big.Mul(uint16(7)), 7},
		{big.Mul(count(3)), 3},
		{From([]int{1<<24 + 1}).Gt(float64(1 << 24)), 1}, // f32 has no such odd number
		{From([]int{5}).SetIndex(1<<53+1, At(0)), 1<<53 + 1},
		{From([]int{5}).SetIndex(2.9, At(0)), 2},
		{From([]int{3}).Pow(From([]int{-1})), 0},
		{From([]int{3}).Mod(From([]int{0})), 0},
		{From([]uint8{250}).Add(5), 255},
		{From([]int{3}).Pow(2), 9},
		{From([]int8{-100}).Sub(28), -128},
		{From([]uint32{7}).Maximum(uint32(math.MaxUint32)), math.MaxUint32},
	} {
		if got := c.got.Ints()[0]; got != c.want {
			t.Errorf("got %d, want %d", got, c.want)
		}
	}
	for want, x := range map[float64]Tensor{
		-1 << 63: From(math.MinInt64), 1 << 60: From(1 << 60), math.Inf(1): From(math.Inf(1)), 0.5: From([]int{2}).Pow(-1.0).Flatten(),
		math.MaxFloat32: From(math.MaxFloat32 + 1),
	} {
		if got := x.Item(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if got := From([]int{1 << 53, 1}).Sum().Int(); got != 1<<53+1 {
		t.Errorf("got %d, want 2⁵³+1", got)
	}
	if got := From([]uint64{1}).Maximum(uint64(math.MaxUint64)).Uint64s()[0]; got != math.MaxUint64 {
		t.Errorf("got %d, want the greatest u64", got)
	}
	for want, f := range map[string]func(){
		"add: got -129 beside i8[1], want a number from -128 to 127": func() { From([]int8{1}).Add(-129) },
		"add: got 9223372036854775808 beside i64[1], want a number from -9223372036854775808 to 9223372036854775807": func() {
			From([]int{1}).Add(uint64(1 << 63))
		},
		"set_index: got 1.8446744073709552e+19 beside u64[1], want a number from 0 to 18446744073709551615": func() { From([]uint64{1}).SetIndex(0x1p64, At(0)) },
		"set_index: got NaN beside i8[1], want a number from -128 to 127":                                   func() { From([]int8{1}).SetIndex(math.NaN(), At(0)) },
		"set_index: got 70000 beside f16[1], want a number that f16 has room for":                           func() { Ones(1).Cast(dtype.F16).SetIndex(70000, At(0)) },
		"full: got 1e+300 beside f32, want a number that f32 has room for":                                  func() { Full(1e300, 2) },
		"full: got 300 beside u8[1], want a number from 0 to 255":                                           func() { FullLike(From([]uint8{1}), 300) },
		"from: got 1e+300, which f32 has no room for; FromAs(dtype.F64, …) keeps it":                        func() { From([][]float64{{1, 2}, {3, 1e300}}) },
		"item: got an integer beyond 2⁵³ in i64[], which a float64 would round: Int reads it":               func() { From([]int{1 << 53, 1}).Sum().Item() },
		"floor_div: got 0 beside i64[1], want another divisor of integers; 0.0 divides floats":              func() { From([]int{1}).FloorDiv(0) },
		"mod: got 0 beside u8[1], want another divisor of integers; 0.0 divides floats":                     func() { From([]uint8{1}).Mod(0) },
		"pow: got -1 beside i64[1], want an exponent of integers that is 0 or more; -1.0 gives floats":      func() { From([]int{2}).Pow(-1) },
		"ints: got 18446744073709551615 in u64[1], want at most 9223372036854775807":                        func() { From([]uint64{math.MaxUint64}).Ints() },
		"uint64s: got -1 in i8[1], want no number below 0":                                                  func() { From([]int8{-1}).Uint64s() },
		"add: got 300 beside u8[1], want a number from 0 to 255":                                            func() { From([]uint8{1}).Add(300) },
		"mul: got -1 beside u8[1], want a number from 0 to 255":                                             func() { From([]uint8{1}).Mul(-1) },
		"lt: got 3000000000 beside i32[1], want a number from -2147483648 to 2147483647":                    func() { From([]int32{1}).Lt(3_000_000_000) },
	} {
		if err := Try(f); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// Go data becomes the dtype of its size, or the one that is chosen, and comes back as it was.
func TestFromGo(t *testing.T) {
	for want, x := range map[string]Tensor{
		"i8[2] cpu [-128 127]":                  From([]int8{math.MinInt8, math.MaxInt8}),
		"i16[2] cpu [-32768 32767]":             From([]int16{math.MinInt16, math.MaxInt16}),
		"i32[1 2] cpu [-2147483648 2147483647]": From([][]int32{{math.MinInt32, math.MaxInt32}}),
		"u16[2] cpu [0 65535]":                  From([]uint16{0, math.MaxUint16}),
		"u32[2] cpu [0 4294967295]":             From([]uint32{0, math.MaxUint32}),
		"u64[2] cpu [1 9223372036854775807]":    From([]uint{1, math.MaxInt64}),
		"i64[2] cpu [9007199254740993 -1]":      FromAs(dtype.I64, []int{1<<53 + 1, -1}),
		"u8[3] cpu [0 255 2]":                   FromAs(dtype.U8, []float64{-3, 300, 2.9}),
		"u8[2] cpu [1 0]":                       FromAs(dtype.U8, []bool{true, false}),
		"u64[2 1] cpu [9223372036854775807 7]":  FromAs(dtype.U64, [][]int{{math.MaxInt64}, {7}}),
		"bool[3] cpu [1 0 1]":                   FromAs(dtype.Bool, []float64{0.5, 0, -1}),
		"i16[] cpu [-5]":                        FromAs(dtype.I16, -5),
	} {
		if got := fmt.Sprintf("%s %v", x.Brief(), x.Ints()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	list := []float64{0.1, 1 << 53, math.Pi, math.SmallestNonzeroFloat64}
	if got := FromAs(dtype.F64, list).Float64s(); !slices.Equal(got, list) {
		t.Errorf("got %v, want %v", got, list)
	}
	if err := Try(func() { FromAs(dtype.Invalid, 1) }); err == nil {
		t.Error("a dtype that is none was taken")
	}
}
