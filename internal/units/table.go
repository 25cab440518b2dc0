// Package units writes times, sizes and counts with their units, as all tables of the engine show them.
package units

import (
	"math"
	"strconv"
	"strings"
)

// Seconds writes a time: "12.3 µs".
func Seconds(s float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}} {
		// 999.6 µs is 1.00 ms.
		if math.Abs(s) >= 0.9995*u.size {
			return Digits(s/u.size) + u.name
		}
	}
	return Digits(s/1e-9) + " ns"
}

// Bytes writes a size in binary units: "16.0 KiB", "512 B".
func Bytes(n int64) string {
	if n > -1024 && n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	x := float64(n)
	for _, unit := range []string{" KiB", " MiB", " GiB", " TiB"} {
		x /= 1024
		if math.Abs(x) < 1023.95 {
			return strconv.FormatFloat(x, 'f', 1, 64) + unit
		}
	}
	return strconv.FormatFloat(x/1024, 'f', 1, 64) + " PiB"
}

// Count writes a number that nobody needs to the last digit, in decimal units: "8.5 M", "950".
func Count(x float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if math.Abs(x) >= 0.99995*u.size && math.Abs(x) >= 1000 {
			return strconv.FormatFloat(x/u.size, 'f', 1, 64) + u.name
		}
	}
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return Digits(x)
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

// Int writes a whole number with commas: "1,234".
func Int(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// Plural writes a number of things: "1 launch", "5 launches".
func Plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") || strings.HasSuffix(what, "s") {
		what += "e"
	} else if strings.HasSuffix(what, "y") {
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return Int(n) + " " + what + "s"
}

// Table aligns rows: the first column to the left, the others to the right, with two blanks between them.
func Table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(text)))
		}
	}
	lines := make([]string, len(rows))
	for k, row := range rows {
		var b strings.Builder
		for i, text := range row {
			pad := strings.Repeat(" ", widths[i]-len([]rune(text)))
			if i == 0 {
				b.WriteString(text + pad)
			} else {
				b.WriteString("  " + pad + text)
			}
		}
		lines[k] = strings.TrimRight(b.String(), " ")
	}
	return strings.Join(lines, "\n")
}
