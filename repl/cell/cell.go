// Package cell reads the text of a cell: its tokens, its statements, declarations and command lines, whether
// it can be run, and if not what is missing where.
//
// A cell is Go with lines between its statements that are not: %name …, !command, name?. Such a line counts
// only where a statement may begin. In a raw string, a comment or brackets it is what Go makes of it. A cell
// that begins with %% is one command as a whole.
//
// Cells are unfinished most of the time, so nothing here parses, and no text is refused: [Scan] tiles any
// text with tokens, [Split] cuts it, [Check] says what is wrong. Code that has to know where in a cell
// something stands asks this package. Reading order: token.go, piece.go, check.go, update.go, within.go.
package cell

import (
	"slices"
	"strings"
)

// Whole says whether a text is one command as a whole: it begins with %%.
func Whole(src string) bool { return strings.HasPrefix(strings.TrimSpace(src), "%%") }

// ParseCommand takes a command apart: its name without the sign in front, what follows, and whether it takes
// a whole cell. The names of the others are those of the table of commands: "!" for a command of the shell,
// "?" and "??" behind a name. For %name? the name is "help".
func ParseCommand(text string) (name, args string, whole bool) {
	text = strings.TrimSpace(text)
	if args, ok := strings.CutPrefix(text, "!"); ok {
		return "!", args, false
	}
	if rest, ok := strings.CutPrefix(text, "%"); ok {
		rest, whole = strings.CutPrefix(rest, "%")
		end := strings.IndexAny(rest, " \t\r\n")
		if end < 0 {
			end = len(rest)
		}
		name, args = rest[:end], strings.TrimSpace(rest[end:])
		if topic, ok := strings.CutSuffix(name, "?"); ok {
			return "help", strings.TrimRight(topic, "?"), false
		}
		return name, args, whole
	}
	if name, ok := strings.CutSuffix(text, "??"); ok {
		return "??", name, false
	}
	return "?", strings.TrimSuffix(text, "?"), false
}

// LineCol is the position of a byte of src, both counted from 1; columns are bytes, as Go counts them.
func LineCol(src string, off int) (line, col int) {
	line = 1 + strings.Count(src[:off], "\n")
	return line, off - strings.LastIndexByte(src[:off], '\n')
}

// Line is the n-th line of src, counted from 1; empty if there is none.
func Line(src string, n int) string {
	lines := strings.Split(src, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// CommentAbove is the comment on the lines right above byte off of a cell, without its slashes.
func CommentAbove(src string, off int) string {
	var lines []string
	end := strings.LastIndexByte(src[:off], '\n')
	for end >= 0 {
		start := strings.LastIndexByte(src[:end], '\n') + 1
		text, ok := strings.CutPrefix(strings.TrimSpace(src[start:end]), "//")
		if !ok {
			break
		}
		if !strings.HasPrefix(text, " %%") { // the mark of a cell in a file
			lines = append(lines, strings.TrimPrefix(text, " "))
		}
		end = start - 1
	}
	slices.Reverse(lines)
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
