package display

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// Wrap breaks lines that are wider than width columns at blanks. The continuation of a line is indented by
// hang columns more than the line. A word that is wider than a line stays whole, and so do lines that
// begin with a tab, which are code.
func Wrap(text string, width, hang int) []string {
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

// Reflow joins the lines of paragraphs. Indented lines are code or lists and stay as they are.
func Reflow(text string) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		b.WriteString(line)
		if i == len(lines)-1 {
			break
		}
		next := lines[i+1]
		if line == "" || next == "" || strings.TrimLeft(line, " \t") != line || strings.TrimLeft(next, " \t") != next {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Prose is a Value of sentences, which are broken at blanks to fit the width.
type Prose string

// Text wraps the sentences.
func (p Prose) Text(width int) string {
	if width <= 0 {
		width = 80
	}
	return strings.Join(Wrap(string(p), width, 0), "\n")
}
