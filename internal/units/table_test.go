package units

import "testing"

func TestUnits(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"zero seconds", Seconds(0), "0.00 ns"},
		{"nanoseconds", Seconds(1.234e-9), "1.23 ns"},
		{"microseconds", Seconds(12.34e-6), "12.3 µs"},
		{"rounded up into the next unit", Seconds(0.0009996), "1.00 ms"},
		{"three digits", Seconds(0.1234), "123 ms"},
		{"rounded up to three digits", Seconds(99.96e-6), "100 µs"},
		{"minutes stay seconds", Seconds(123.4), "123 s"},
		{"bytes", Bytes(1023), "1023 B"},
		{"kibibytes", Bytes(16 << 10), "16.0 KiB"},
		{"mebibytes", Bytes(4509715), "4.3 MiB"},
		{"rounded up to a mebibyte", Bytes(1<<20 - 1), "1.0 MiB"},
		{"tebibytes", Bytes(3 << 40), "3.0 TiB"},
		{"small count", Count(12), "12"},
		{"fraction", Count(0.5), "0.50"},
		{"thousands", Count(1234), "1.2 k"},
		{"millions", Count(8.52e6), "8.5 M"},
		{"billions", Count(-3e9), "-3.0 G"},
		{"commas", Int(1234567), "1,234,567"},
		{"negative with commas", Int(-1234), "-1,234"},
		{"three digits without comma", Int(-123), "-123"},
		{"one", Plural(1, "launch"), "1 launch"},
		{"many", Plural(1234, "launch"), "1,234 launches"},
		{"copies", Plural(0, "copy"), "0 copies"},
		{"runs", Plural(2, "run"), "2 runs"},
		{"table", Table([][]string{{"", "µs"}, {"long", "1"}, {"b"}}), "      µs\nlong   1\nb"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
