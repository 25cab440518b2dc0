// Package lines fits text to the width of a screen.
package lines

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// Columns is a width in columns, 80 where it is not known (0).
func Columns(width int) int {
	if width <= 0 {
		return 80
	}
	return width
}

// Fit is a report of lines, of which those that are too wide go on in indented ones: see [Wrap].
func Fit(text string, width int) string { return strings.Join(Wrap(text, width, 2), "\n") }

// Wrap breaks lines that are wider than width columns at blanks. The continuation of a line is indented by
// hang columns more than the line. A word that is wider than a line stays whole, and so do lines that
// begin with a tab, which are code. If width is 0, there is no screen, and no line is too wide.
func Wrap(text string, width, hang int) []string {
	if width == 0 {
		return strings.Split(text, "\n")
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "\t") {
			lines = append(lines, line)
			continue
		}
		words := strings.TrimLeft(line, " ")
		indent := len(line) - len(words)
		lines = append(lines, wrapLine(words, max(width, 1), min(indent, width/2), min(indent+hang, width/2))...)
	}
	return lines
}

// wrapLine wraps one line that has first columns of indentation; the lines behind it have rest.
func wrapLine(text string, width, first, rest int) (lines []string) {
	indent := first
	for {
		room := width - indent
		if runewidth.StringWidth(text) <= room {
			return append(lines, strings.Repeat(" ", indent)+text)
		}
		cut := strings.LastIndexByte(runewidth.Truncate(text, room+1, ""), ' ')
		if cut <= 0 {
			if cut = strings.IndexByte(text, ' '); cut < 0 {
				return append(lines, strings.Repeat(" ", indent)+text)
			}
		}
		lines = append(lines, strings.Repeat(" ", indent)+strings.TrimRight(text[:cut], " "))
		text = strings.TrimLeft(text[cut:], " ")
		indent = rest
	}
}
