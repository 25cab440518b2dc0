package tensor

import (
	"math"
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
		{big.Mul(2.0), 2},
		{From([]uint8{250}).Add(5), 255},
		{From([]int{3}).Pow(2), 9},
	} {
		if got := c.got.Ints()[0]; got != c.want {
			t.Errorf("got %d, want %d", got, c.want)
		}
	}
	for want, f := range map[string]func(){
		"add: got 300 beside u8[1], want a number from 0 to 255":                         func() { From([]uint8{1}).Add(300) },
		"mul: got -1 beside u8[1], want a number from 0 to 255":                          func() { From([]uint8{1}).Mul(-1) },
		"lt: got 3000000000 beside i32[1], want a number from -2147483648 to 2147483647": func() { From([]int32{1}).Lt(3_000_000_000) },
	} {
		if err := Try(f); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
