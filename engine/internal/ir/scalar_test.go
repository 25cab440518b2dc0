package ir

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Numbers become others as NumPy and Go convert them; where they differ, or leave it open, as op cast says.
func TestConvert(t *testing.T) {
	const above = 1 + 0x1p-11 + 0x1p-40 // above the middle of two numbers of 11 digits, by less than a float32 has
	for _, c := range []struct {
		v        Scalar
		from, to dtype.Type
		want     Scalar
	}{
		{Scalar{F: above}, dtype.F64, dtype.F16, Scalar{F: 1 + 0x1p-10}},
		{Scalar{F: -above}, dtype.F64, dtype.F16, Scalar{F: -1 - 0x1p-10}},
		{Scalar{F: 1 + 0x1p-11}, dtype.F64, dtype.F16, Scalar{F: 1}}, // a tie goes to even
		{Scalar{F: 1 + 0x1p-8 + 0x1p-40}, dtype.F64, dtype.BF16, Scalar{F: 1 + 0x1p-7}},
		{Scalar{F: 1e300}, dtype.F64, dtype.BF16, Scalar{F: math.Inf(1)}},
		{Scalar{F: 65519.999999}, dtype.F64, dtype.F16, Scalar{F: 65504}},
		{Scalar{F: 0.1}, dtype.F64, dtype.F32, Scalar{F: float64(float32(0.1))}},
		{Scalar{F: 0.1}, dtype.F64, dtype.F64, Scalar{F: 0.1}},
		{Scalar{F: 1e30}, dtype.F32, dtype.U64, Scalar{I: -1}}, // the 64 bits of the greatest
		{Scalar{F: 0x1p63}, dtype.F64, dtype.U64, Scalar{I: math.MinInt64}},
		{Scalar{F: 0x1p63}, dtype.F64, dtype.I64, Scalar{I: math.MaxInt64}},
		{Scalar{F: -1}, dtype.F64, dtype.U64, Scalar{}},
		{Scalar{F: math.NaN()}, dtype.F64, dtype.I8, Scalar{}},
		{Scalar{F: -128.9}, dtype.F64, dtype.I8, Scalar{I: -128}},
		{Scalar{F: 32767.9}, dtype.F64, dtype.I16, Scalar{I: 32767}},
		{Scalar{I: -1}, dtype.I64, dtype.U32, Scalar{I: math.MaxUint32}},
		{Scalar{I: 200}, dtype.U8, dtype.I8, Scalar{I: -56}},
		{Scalar{I: -1}, dtype.U64, dtype.F64, Scalar{F: 0x1p64}},
		{Scalar{I: math.MaxInt64}, dtype.I64, dtype.F32, Scalar{F: 0x1p63}},
		{Scalar{I: -7}, dtype.I16, dtype.Bool, Scalar{F: 1}},
		{Scalar{F: 1}, dtype.Bool, dtype.U16, Scalar{I: 1}},
	} {
		if got := Convert(c.v, c.from, c.to); got != c.want {
			t.Errorf("%+v of %v to %v: got %+v, want %+v", c.v, c.from, c.to, got, c.want)
		}
	}
}

// What Append writes Load reads, for the ends of every integer dtype and for floats.
func TestAppendThenLoad(t *testing.T) {
	for _, dt := range dtype.All() {
		list := []Scalar{{F: 1.5}, {F: -0.25}, {F: math.Inf(-1)}}
		switch {
		case dt.Int():
			low, high := IntRange(dt)
			list = []Scalar{{I: low}, {I: int64(high)}, {I: 1}}
		case dt == dtype.Bool:
			list = []Scalar{{}, {F: 1, I: 1}}
		}
		var b []byte
		for _, v := range list {
			b = Append(dt, b, v)
		}
		if len(b) != len(list)*dt.Size() {
			t.Errorf("%v: got %d bytes for %d elements", dt, len(b), len(list))
		}
		for i, want := range list {
			if got := Load(dt, b[i*dt.Size():]); got != want {
				t.Errorf("%v: got %+v, want %+v", dt, got, want)
			}
		}
	}
}
