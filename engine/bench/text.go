package bench

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/internal/units"
)

// Text says the median, its spread and from how many runs it comes.
func (r *Result) Text(int) string {
	text := fmt.Sprintf("%s  median of %s (IQR %s – %s)", units.Seconds(r.Median), units.Plural(int64(r.Runs()), "run"), units.Seconds(r.P25), units.Seconds(r.P75))
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
		rows = append(rows, []string{l.Name, units.Seconds(l.Result.Median), versus})
	}
	lines := []string{units.Table(rows)}
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
