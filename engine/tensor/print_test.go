package tensor

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

func TestText(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	ramp := make([]float32, 4*1024)
	for i := range ramp {
		ramp[i] = float32(i) / 4096
	}
	long := From(ramp, 4, 1024)
	cube := make([]int, 24)
	for i := range cube {
		cube[i] = i * i
	}
	for _, c := range []struct {
		name  string
		x     Tensor
		width int
		want  string
	}{
		{"a number", From(2.5), 80, "f32[] cpu 4 B\n2.5000"},
		{"an integer", From(-7), 80, "i64[] cpu 8 B\n-7"},
		{"a row", From([]float64{1.5, -2, 0.25}), 80, "f32[3] cpu 12 B\n[ 1.5000 -2.0000  0.2500]"},
		{"whole floats", From([]float64{1, -20, 300}), 80, "f32[3] cpu 12 B\n[  1. -20. 300.]"},
		{"special values", From([]float64{nan, inf, -inf, 0.5}), 80, "f32[4] cpu 16 B\n[   nan    inf   -inf 0.5000]"},
		{"only special values", From([]float64{nan, inf}), 80, "f32[2] cpu 8 B\n[nan inf]"},
		{"minus zero", From([]float64{math.Copysign(0, -1), 0}), 80, "f32[2] cpu 8 B\n[-0.  0.]"},
		{"small", From([]float64{1e-5, 1}), 80, "f32[2] cpu 8 B\n[1.0000e-05 1.0000e+00]"},
		{"large", From([]float64{1234567.5, 1}), 80, "f32[2] cpu 8 B\n[1.2346e+06 1.0000e+00]"},
		{"ten thousands", From([]float64{12345.678, 0.25}), 80, "f32[2] cpu 8 B\n[12345.68     0.25]"},
		{"small beside large", From([]float64{0.001, 12345}), 80, "f32[2] cpu 8 B\n[1.0000e-03 1.2345e+04]"},
		{"small and 0 beside large", From([]float64{0, 0.0012, -99999}), 80, "f32[3] cpu 12 B\n[ 0.0000e+00  1.2000e-03 -9.9999e+04]"},
		{"hundredths beside large", From([]float64{0.01, 0, 12345.5}), 80, "f32[3] cpu 12 B\n[    0.01     0.00 12345.50]"},
		{"booleans", From([]bool{true, false}), 80, "bool[2] cpu 2 B\n[ true false]"},
		{"bytes", From([]uint8{1, 255}), 80, "u8[2] cpu 2 B\n[  1 255]"},
		{"the greatest and the least", From([]uint64{math.MaxUint64, 0}), 80, "u64[2] cpu 16 B\n[18446744073709551615                    0]"},
		{"short", From([]int16{-300, 7}), 80, "i16[2] cpu 4 B\n[-300    7]"},
		{"double", FromAs(dtype.F64, 1/3.), 80, "f64[] cpu 8 B\n0.3333"},
		{"half", FromBytes(dtype.F16, []byte{0x00, 0x3e, 0xff, 0x7b}, 2), 80, "f16[2] cpu 4 B\n[    1.50 65504.00]"},
		{"brain", FromBytes(dtype.BF16, []byte{0xc0, 0x3f, 0xc0, 0x7f}, 2), 80, "bf16[2] cpu 4 B\n[1.5000    nan]"},
		{"matrix", From([][]int{{1, 2}, {30, 4}}), 80, "i64[2 2] cpu 32 B\n[[ 1  2]\n [30  4]]"},
		{"empty", From([]float64{}), 80, "f32[0] cpu 0 B\n[]"},
		{"empty matrix", From([]float64{}, 3, 0), 80, "f32[3 0] cpu 0 B\n[]"},
		{"cube", From(cube[:8], 2, 2, 2), 80, "i64[2 2 2] cpu 64 B\n[[[ 0  1]\n  [ 4  9]]\n\n [[16 25]\n  [36 49]]]"},
		{"lines", From(cube[:6]), 10, "i64[6] cpu 48 B\n[ 0  1  4\n  9 16 25]"},
		{"edges", long, 80, "f32[4 1024] cpu 16.0 KiB\n" +
			"[[0.0000 0.0002 0.0005 … 0.2493 0.2495 0.2498]\n" +
			" [0.2500 0.2502 0.2505 … 0.4993 0.4995 0.4998]\n" +
			" [0.5000 0.5002 0.5005 … 0.7493 0.7495 0.7498]\n" +
			" [0.7500 0.7502 0.7505 … 0.9993 0.9995 0.9998]]"},
		{"edges of a long matrix", From(ramp, 1024, 4).Named("w"), 80, "f32[1024 4] cpu 16.0 KiB · w\n" +
			"[[0.0000 0.0002 0.0005 0.0007]\n" +
			" [0.0010 0.0012 0.0015 0.0017]\n" +
			" [0.0020 0.0022 0.0024 0.0027]\n" +
			" …\n" +
			" [0.9971 0.9973 0.9976 0.9978]\n" +
			" [0.9980 0.9983 0.9985 0.9988]\n" +
			" [0.9990 0.9993 0.9995 0.9998]]"},
		{"transposed", From([][]int{{1, 2, 3}, {4, 5, 6}}).Transpose(), 80, "i64[3 2] cpu 48 B\n[[1 4]\n [2 5]\n [3 6]]"},
		{"flipped", From([]int{1, 2, 3}).Flip(), 80, "i64[3] cpu 24 B\n[3 2 1]"},
		{"far apart", From(ramp, 4, 1024).Transpose().Slice(0, 0, 2), 80,
			"f32[2 4] cpu 32 B\n[[0.0000 0.2500 0.5000 0.7500]\n [0.0002 0.2502 0.5002 0.7502]]"},
		{"repeated", From(7).Expand(1000000), 80, "i64[1000000] cpu 7.6 MiB\n[7 7 7 … 7 7 7]"},
		{"none", Tensor{}, 80, "no tensor"},
	} {
		if got := c.x.Text(c.width); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
