package units

import (
	"math"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Duration(0), "0 s"},
		{Seconds(12.34e-9), "12.3 ns"},
		{Seconds(0.4e-9), "0.40 ns"},
		{Duration(12345 * time.Nanosecond), "12.3 µs"},
		{Duration(999_600 * time.Nanosecond), "1.00 ms"},
		{Duration(999_700 * time.Microsecond), "1.00 s"},
		{Duration(21 * time.Second), "21.0 s"},
		{Duration(59_960 * time.Millisecond), "1 min 00 s"},
		{Duration(123 * time.Second), "2 min 03 s"},
		{Duration(3725 * time.Second), "1 h 02 min"},
		{Duration(100 * time.Hour), "4 d 04 h"},
		{Duration(-time.Millisecond), "-1.00 ms"},
		{Seconds(math.Inf(1)), "+Inf s"},
		{Seconds(0.1234), "123 ms"},
		{Seconds(99.96e-6), "100 µs"},
		{Bytes(0), "0 B"},
		{Bytes(1023), "1023 B"},
		{Bytes(16 << 10), "16.0 KiB"},
		{Bytes(4508877), "4.3 MiB"},
		{Bytes(1<<20 - 1), "1.0 MiB"},
		{Bytes(-2048), "-2.0 KiB"},
		{Bytes(3 << 50), "3.0 PiB"},
		{Int(1064960), "1,064,960"},
		{Int(-1000), "-1,000"},
		{Int(999), "999"},
		{Int(math.MinInt64), "-9,223,372,036,854,775,808"},
		{Count(950), "950"},
		{Count(8.5e6), "8.5 M"},
		{Count(0.5), "0.5"},
		{Count(1234), "1.2 k"},
		{Count(-3e9), "-3.0 G"},
		{Digits(0.5), "0.50"},
		{Digits(-12.34), "-12.3"},
		{Digits(1234.5), "1234"},
		{Rate(3.21e10, "B/s"), "32.1 GB/s"},
		{Rate(999.9, "tok/s"), "1.00 ktok/s"},
		{Rate(0, "B/s"), "0 B/s"},
		{Percent(0.0154), "1.5 %"},
		{Percent(0.86), "86 %"},
		{Float(0.0000012), "0.0000012"},
		{Float(1e-9), "1e-09"},
		{Float(1e22), "1e+22"},
		{Float(123456789), "123456789"},
		{Float(math.NaN()), "NaN"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
