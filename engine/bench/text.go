package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Text says the median, its spread and from how many runs it comes.
func (r *Result) Text(int) string {
	text := fmt.Sprintf("%s  median of %s (IQR %s – %s)", Seconds(r.Median), count(r.Runs(), "run"), Seconds(r.P25), Seconds(r.P75))
	return strings.Join(append([]string{text}, r.Notes...), "\n")
}

// String is Text.
func (r *Result) String() string { return r.Text(0) }

// JSON is the result with all its fields, times in seconds.
func (r *Result) JSON() ([]byte, error) { return json.Marshal(r) }

// Text is a table: a line for each case with its median and how it compares with the first.
func (c *Comparison) Text(int) string {
	rows := [][]string{{"", "median", "vs " + c.Lines[0].Name}}
	for i, l := range c.Lines {
		versus := ""
		if i > 0 {
			versus = l.Versus()
		}
		rows = append(rows, []string{l.Name, Seconds(l.Result.Median), versus})
	}
	widths := make([]int, 3)
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], len([]rune(text)))
		}
	}
	var lines []string
	for _, row := range rows {
		line := fmt.Sprintf("%-*s  %*s  %s", widths[0], row[0], widths[1], row[1], row[2])
		lines = append(lines, strings.TrimRight(line, " "))
	}
	for _, l := range c.Lines {
		for _, note := range l.Result.Notes {
			lines = append(lines, l.Name+": "+note)
		}
	}
	return strings.Join(append(lines, c.Notes...), "\n")
}

// String is Text.
func (c *Comparison) String() string { return c.Text(0) }

// JSON is the comparison with all its fields, times in seconds.
func (c *Comparison) JSON() ([]byte, error) { return json.Marshal(c) }

// Versus says how the case compares with the first: "1.84× slower [1.79, 1.90]".
func (l *Line) Versus() string {
	switch l.Verdict {
	case "slower":
		return fmt.Sprintf("%.2f× slower [%.2f, %.2f]", l.Ratio, l.Low, l.High)
	case "faster":
		return fmt.Sprintf("%.2f× faster [%.2f, %.2f]", 1/l.Ratio, 1/l.High, 1/l.Low)
	case "same":
		return fmt.Sprintf("no difference [%.2f, %.2f]", l.Low, l.High)
	}
	return fmt.Sprintf("too few samples for a verdict: %d, needs %d", l.Result.Samples, verdictAfter)
}

// Seconds writes a time with its unit and three significant digits: 12.3 µs.
func Seconds(s float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}} {
		// 999.6 µs is 1.00 ms.
		if math.Abs(s) >= 0.9995*u.size {
			return digits(s/u.size) + " " + u.name
		}
	}
	return digits(s/1e-9) + " ns"
}

func digits(x float64) string {
	decimals := 2
	switch a := math.Abs(x); {
	case a >= 99.95:
		decimals = 0
	case a >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text + " " + what + "s"
}
