package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Text says the median, how well it is known and what it is the median of; below that the spread, and notes.
func (r *Result) Text(width int) string {
	text := []string{units.Seconds(r.Median) + "  " + r.Sampled() + ", " + r.Certainty(), r.Spread()}
	if r.Refused != "" {
		text = []string{"no time: " + r.Refused}
	}
	return lines.Fit(strings.Join(append(text, r.Notes...), "\n"), width)
}

// Sampled says what the median is one of: "median of 120 runs", "median of 300 blocks of 80 runs".
func (r *Result) Sampled() string {
	if r.PerSample > 1 {
		return fmt.Sprintf("median of %s of %s", units.Plural(int64(r.Samples), "block"), units.Plural(int64(r.PerSample), "run"))
	}
	return "median of " + units.Plural(int64(r.Samples), "run")
}

// Certainty says how well the median is known, and why it is less well than was asked for: "known to 0.8 %",
// "time ran out: known to 8.1 %, not to 2 %", "not known: the machine was not quiet".
func (r *Result) Certainty() string {
	share, ok := r.Known()
	switch {
	case ok:
		return "known to " + units.Percent(max(share, 0.001))
	case r.Samples < minKnown:
		return fmt.Sprintf("not known: less than %d samples", minKnown)
	case share > r.Precision && r.Samples >= maxSamples:
		return units.Plural(maxSamples, "sample") + " is the limit: " + r.instead(share)
	case share > r.Precision && r.Stopped:
		return "interrupted: " + r.instead(share)
	case share > r.Precision:
		return "time ran out: " + r.instead(share)
	}
	return "not known: the machine was not quiet"
}

// instead says how well the median is known that is not known as well as was asked for. Where nobody knows
// its half, a share means nothing.
func (r *Result) instead(share float64) string {
	if share >= 0.5 {
		return "not known to " + percent(r.Precision) + ", the runs differ too much"
	}
	return fmt.Sprintf("known to %s, not to %s", units.Percent(share), percent(r.Precision))
}

// percent writes a share that a person chose: 2 %, 0.5 %.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// Spread says where the samples lie.
func (r *Result) Spread() string {
	// Nothing takes no time: what is 0 is shorter than what is not known about the clock.
	within := func(low, high float64, form string) string {
		if low <= 0 {
			return "below " + units.Seconds(high)
		}
		return fmt.Sprintf(form, units.Seconds(low), units.Seconds(high))
	}
	least := ""
	if r.Min > 0 {
		least = " · min " + units.Seconds(r.Min)
	}
	return "95 % " + within(r.Low, r.High, "[%s, %s]") + least + " · middle half " + within(r.P25, r.P75, "%s – %s")
}

// String is Text.
func (r *Result) String() string { return r.Text(0) }

// JSON is the result with all its fields, times in seconds.
func (r *Result) JSON() ([]byte, error) { return json.Marshal(r) }

// Text is a table: a line for each case with its median and how it compares with the first.
func (c *Comparison) Text(width int) string {
	rows := [][]string{{"", "median", c.heading()}}
	for i, l := range c.Lines {
		versus := ""
		if i > 0 || c.Baseline != "" {
			versus = l.Versus()
		}
		rows = append(rows, []string{l.Name, l.median(), versus})
	}
	return lines.Fit(strings.Join(append([]string{units.Table(rows, width)}, c.Remarks()...), "\n"), width)
}

// heading says what the cases are compared with.
func (c *Comparison) heading() string {
	if c.Baseline != "" {
		return "vs " + c.Baseline
	}
	return "vs " + c.Lines[0].Name
}

// Remarks are what has to be said beside the figures: what was refused, what differs, and notes.
func (c *Comparison) Remarks() (list []string) {
	var moved []string // what drifted
	for _, l := range c.Lines {
		if l.Result.Refused != "" {
			list = append(list, l.Name+": no time: "+l.Result.Refused)
		}
		for _, note := range slices.Concat(l.Differs, l.Result.Notes) {
			if by, ok := strings.CutPrefix(note, drifted); ok {
				moved = append(moved, l.Name+" by "+strings.TrimSuffix(by, whyDrifted))
				continue
			}
			list = append(list, l.Name+": "+note)
		}
	}
	if n := len(moved); n > 0 {
		const most = 3
		text := strings.Join(moved[:min(most, n)], ", ")
		if n > most {
			text += fmt.Sprintf(" and %d more", n-most)
		}
		list = append(list, "drifted: "+text+strings.Replace(whyDrifted, "it was", "they were", 1))
	}
	if len(c.Lines) > 1 && c.Baseline == "" && c.Same.Ratio > 0 {
		list = append(list, c.Lines[0].Name+" against itself: "+c.Same.String())
	}
	return append(list, c.Notes...)
}

func (l *Line) median() string {
	if l.Result.Refused != "" {
		return "—"
	}
	return units.Seconds(l.Result.Median)
}

// String is the ratio with its interval: "1.01× [0.99, 1.03]".
func (r Ratio) String() string {
	if r.Low <= 0 {
		return fmt.Sprintf("%.3g×, too few rounds to be sure", r.Ratio)
	}
	return fmt.Sprintf("%.3g× [%.3g, %.3g]", r.Ratio, r.Low, r.High)
}

// String is Text.
func (c *Comparison) String() string { return c.Text(0) }

// JSON is the comparison with all its fields, times in seconds.
func (c *Comparison) JSON() ([]byte, error) { return json.Marshal(c) }

// Versus says how the case compares with the first: "1.84× slower [1.79, 1.90]", "~ no difference larger than
// 1.4 %", "not known [0.91, 1.20], 12 s more would tell".
func (l *Line) Versus() string {
	switch l.Verdict {
	case "slower":
		return fmt.Sprintf("%.2f× slower [%.2f, %.2f]", l.Ratio, l.Low, l.High)
	case "faster":
		return fmt.Sprintf("%.2f× faster [%.2f, %.2f]", 1/l.Ratio, 1/l.High, 1/l.Low)
	case "same":
		return "~ no difference larger than " + units.Percent(max(l.High, 1/l.Low)-1)
	case "refused":
		return "not compared"
	}
	text := "not known"
	if l.Ratio == 0 {
		return "not compared"
	}
	if l.Low <= 0 {
		return text + ": too few rounds"
	}
	text += fmt.Sprintf(" [%.2f, %.2f]", l.Low, l.High)
	if l.More > 0 {
		more := fmt.Sprintf("%.0f s", math.Ceil(l.More))
		if l.More > 59 {
			more = units.Seconds(l.More)
		}
		text += ", " + more + " more would tell"
	}
	return text
}
