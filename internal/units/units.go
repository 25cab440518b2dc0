// Package units writes times, sizes, counts and rates with their units, and tables of them, in one way for
// the engine and the session.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration writes d with three significant digits and a suitable unit: 12.3 µs, 1.00 s, 2 min 03 s.
func Duration(d time.Duration) string { return Seconds(d.Seconds()) }

// Seconds writes a time in seconds as [Duration] does, and knows fractions of a nanosecond.
func Seconds(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return Float(s) + " s"
	case s < 0:
		return "-" + Seconds(-s)
	case s == 0:
		return "0 s"
	case s >= 59.95:
		return longTime(s)
	}
	for _, u := range []struct {
		size float64
		name string
	}{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}} {
		// 999.5 and more would round to four digits: that is 1.00 of the next unit.
		if s/u.size < 999.5 {
			return Digits(s/u.size) + " " + u.name
		}
	}
	return Digits(s) + " s"
}

// longTime writes a minute and more in the two largest units: 5025 s is hard to read.
func longTime(s float64) string {
	n := int64(math.Round(s))
	switch {
	case n < 3600:
		return fmt.Sprintf("%d min %02d s", n/60, n%60)
	case n < 48*3600:
		n = (n + 30) / 60
		return fmt.Sprintf("%d h %02d min", n/60, n%60)
	}
	n = (n + 1800) / 3600
	return fmt.Sprintf("%d d %02d h", n/24, n%24)
}

// Digits writes three significant digits without an exponent; more if there are more before the point.
func Digits(x float64) string {
	decimals := 2
	switch a := math.Abs(x); {
	case a >= 99.95:
		decimals = 0
	case a >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Bytes writes a size in binary units: 512 B, 16.0 KiB, 4.3 MiB.
func Bytes(n int64) string {
	if n < 0 {
		return "-" + Bytes(-n)
	}
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	x := float64(n)
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if x /= 1024; x < 1023.95 {
			return strconv.FormatFloat(x, 'f', 1, 64) + " " + u
		}
	}
	return strconv.FormatFloat(x/1024, 'f', 1, 64) + " PiB"
}

// ParseBytes reads a size as Bytes writes it: 512MiB, 1.5 GiB, and 1024 without a unit.
func ParseBytes(text string) (int64, error) {
	number, unit := text, 1.0
	for i, u := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if rest, ok := strings.CutSuffix(text, u); ok {
			number, unit = strings.TrimSpace(rest), math.Pow(1024, float64(i))
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= unit; err != nil || !(n >= 0 && n < 1<<62) {
		return 0, fmt.Errorf("got size %q, want one such as 512MiB or 2GiB", text)
	}
	return int64(n), nil
}

// Int writes n with thousands separators: 1,064,960.
func Int(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Count writes a large number in decimal units, for figures whose last digits do not matter: 950, 8.5 M,
// 2.1 G.
func Count(x float64) string {
	switch {
	case x < 0:
		return "-" + Count(-x)
	case x < 1000 && x == math.Trunc(x):
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	scaled, prefix := decimal(x)
	return strings.TrimSpace(strconv.FormatFloat(scaled, 'f', 1, 64) + " " + prefix)
}

// Rate writes x in decimal units of unit, with three significant digits: Rate(3.21e10, "B/s") is 32.1 GB/s.
func Rate(x float64, unit string) string {
	switch {
	case x < 0:
		return "-" + Rate(-x, unit)
	case x == 0 || math.IsNaN(x) || math.IsInf(x, 0):
		return Float(x) + " " + unit
	}
	scaled, prefix := decimal(x)
	return Digits(scaled) + " " + prefix + unit
}

// decimal scales x to below 1000 and names the SI prefix.
func decimal(x float64) (float64, string) {
	for _, prefix := range []string{"", "k", "M", "G", "T"} {
		if x < 999.5 {
			return x, prefix
		}
		x /= 1000
	}
	return x, "P"
}

// Percent writes a share (1 is all): 1.5 %, 86 %.
func Percent(share float64) string {
	x := 100 * share
	if math.Abs(x) < 9.95 {
		return strconv.FormatFloat(x, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(x, 'f', 0, 64) + " %"
}

// Float writes x exactly (the shortest digits that read back as x), positionally where that is readable.
func Float(x float64) string { return FormatFloat(x, 64) }

// FormatFloat is Float for a number of the given bits: a float32 has shorter digits.
func FormatFloat(x float64, bits int) string {
	a := math.Abs(x)
	if a != 0 && (a < 1e-6 || a >= 1e15) || math.IsNaN(a) || math.IsInf(a, 0) {
		return strconv.FormatFloat(x, 'g', -1, bits)
	}
	return strconv.FormatFloat(x, 'f', -1, bits)
}
