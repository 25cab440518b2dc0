package script

import (
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

var (
	timed    = lazy.Regexp(`(?:^|[^\w.])` + timeUnit)
	columns  = lazy.Regexp(`  +`)
	wrote    = lazy.Regexp(`(?m)^(wrote .*, ).* [KMG]?i?B$`)
	timeHead = lazy.Regexp(`^` + timePattern)
)

// loosened are the lines of values that have another text each time, with what stands for them in a file.
// What a value shows before its first time is the same each time: the result of the statement, the head of a
// table. A line that begins with a time keeps that as a matcher; all else, as many lines as it may be, is
// `...`.
func loosened(result session.Result) map[string]string {
	lines := map[string]string{}
	for _, i := range result.Varies {
		if i >= len(result.Shown) { // it was printed as it came
			continue
		}
		text, varies := display.Styled(result.Shown[i], 0, nil), false
		if !timed().MatchString(text) && !wrote().MatchString(text) {
			continue
		}
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			switch {
			case varies:
				lines[line] = anyLines
			case timeHead().MatchString(line):
				lines[line], varies = "[time][..]", true
			case timed().MatchString(line), strings.HasPrefix(line, "no time: "):
				lines[line], varies = anyLines, true
			case wrote().MatchString(line):
				lines[line] = wrote().ReplaceAllString(line, "$1[..]")
			case columns().MatchString(line): // as wide as what stands below
				lines[line] = columns().ReplaceAllString(line, "[..]")
			}
		}
	}
	return lines
}

// loosen puts matchers in the place of lines that are new in an updated expectation, and that are others the
// next time.
func loosen(lines, want []string, varying map[string]string) (out []string) {
	loose := func(line string) bool { return varying[line] != "" && !slices.Contains(want, line) }
	for i, line := range lines {
		if loose(line) {
			line = varying[line]
		}
		if line == anyLines && len(out) > 0 && out[len(out)-1] == anyLines && loose(lines[i]) {
			continue
		}
		out = append(out, line)
	}
	return out
}
