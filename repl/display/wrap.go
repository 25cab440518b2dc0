package display

import (
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/lines"
)

// Wrap breaks lines that are wider than width columns at blanks: see [lines.Wrap].
func Wrap(text string, width, hang int) []string { return lines.Wrap(text, max(width, 1), hang) }

// codeHang is how much further in a line of code goes on than it begins.
const codeHang = 4

// wrapCode breaks a line of code that is wider than width columns: at a blank, or where none is near, before
// a point or behind a bracket or comma, or anywhere. It goes on further in than it begins.
func wrapCode(text string, width int) (lines []string) {
	code := strings.TrimLeft(text, " ")
	indent := min(len(text)-len(code), width/2)
	hang := min(indent+codeHang, width/2)
	for runewidth.StringWidth(code) > width-indent {
		head := runewidth.Truncate(code, width-indent, "")
		if head == "" {
			break
		}
		near := len(head) / 2
		if cut := strings.LastIndexByte(code[:len(head)+1], ' '); cut > near {
			head = code[:cut]
		} else if cut := max(strings.LastIndexByte(head, '.'), strings.LastIndexAny(head, "({,")+1); cut > near {
			head = code[:cut]
		}
		lines = append(lines, strings.Repeat(" ", indent)+head)
		code, indent = strings.TrimLeft(code[len(head):], " "), hang
	}
	return append(lines, strings.Repeat(" ", indent)+code)
}

// Lines is a Value of lines, each a fact. Those that are wider than the screen are broken at blanks; without
// a screen (width 0) none is.
type Lines string

// Text breaks the lines.
func (l Lines) Text(width int) string { return lines.Fit(string(l), width) }

// Reflow joins the lines of paragraphs. Indented lines are code or lists and stay as they are.
func Reflow(text string) string {
	var b strings.Builder
	all := strings.Split(text, "\n")
	for i, line := range all {
		b.WriteString(line)
		if i == len(all)-1 {
			break
		}
		next := all[i+1]
		if line == "" || next == "" || strings.TrimLeft(line, " \t") != line || strings.TrimLeft(next, " \t") != next {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
