package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A result is what became of a step.
type result struct {
	step
	err  error
	out  string
	took time.Duration
}

// verdict is one or two words.
func (r *result) verdict() string {
	switch {
	case r.skip != "":
		return "skipped: " + r.skip
	case r.err != nil:
		return "FAILED"
	}
	return "ok"
}

// A report is a file with a table of all steps, and what they printed.
type report struct {
	path, title string
	results     []result
}

func (r *report) failed() bool {
	return slices.ContainsFunc(r.results, func(x result) bool { return x.err != nil })
}

// lacks reports whether that step failed or was left out; none is "".
func (r *report) lacks(name string) bool {
	return slices.ContainsFunc(r.results, func(x result) bool { return x.name == name && (x.err != nil || x.skip != "") })
}

// add writes the report anew, with one more result.
func (r *report) add(x result) error {
	r.results = append(r.results, x)
	return os.WriteFile(r.path, []byte(r.text()), 0o666)
}

// most is how many lines of a step's output are shown: those at the end.
const most = 2000

func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.title)
	for i := range r.results {
		x := &r.results[i]
		fmt.Fprintf(&b, "%-16s %-26s %-8v %s\n", x.name, x.verdict(), x.took.Round(time.Second), x.why)
		if x.err != nil {
			fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(x.err.Error(), "\n", "\n    "))
		}
	}
	for i := range r.results {
		x := &r.results[i]
		if x.skip != "" {
			continue
		}
		fmt.Fprintf(&b, "\n== %s\n", x.name)
		lines := strings.SplitAfter(x.out, "\n")
		if n := len(lines) - most; n > 0 {
			fmt.Fprintf(&b, "… %d lines\n", n)
			lines = lines[n:]
		}
		b.WriteString(strings.Join(lines, ""))
	}
	return b.String()
}
