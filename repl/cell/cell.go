// Package cell reads the text of a cell: its tokens, its statements, declarations and command lines,
// whether it can run, and if not, what is missing and where.
//
// A cell is Go with command lines between its statements: %name …, !command, x := !command, name?. A command
// line begins only where a statement may begin. In a raw string, a comment or brackets the same text is Go. A
// cell that begins with %% is one command as a whole.
//
// Cells are unfinished most of the time, so this package does not parse, and it refuses no text: [Scan]
// tiles any text with tokens, [Split] cuts it into pieces, [Check] finds the first fault. All code that
// needs positions in a cell uses this package. Reading order: token.go, piece.go, list.go, check.go,
// update.go, within.go, shell.go.
package cell

import (
	"slices"
	"strings"
)

// Whole says whether a text is one command as a whole, which begins with %%.
func Whole(src string) bool { return strings.HasPrefix(strings.TrimSpace(src), "%%") }

// ParseCommand splits a command into its name without the sign in front, and the text behind the name. Whole
// says that the command takes a whole cell. Names without letters are "!" for a command of the shell, ":=!"
// for one whose output is assigned, and "?" and "??" behind a name. For %name? the name is "help".
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
	if _, _, ok := Capture(text); ok {
		return ":=!", text, false
	}
	if name, ok := strings.CutSuffix(text, "??"); ok {
		return "??", name, false
	}
	return "?", strings.TrimSuffix(text, "?"), false
}

// LineCol returns the position of a byte of src. Line and col count from 1, and col counts bytes, as Go
// does.
func LineCol(src string, off int) (line, col int) {
	line = 1 + strings.Count(src[:off], "\n")
	return line, off - strings.LastIndexByte(src[:off], '\n')
}

// Line returns the n-th line of src, counted from 1, or "" if there is none.
func Line(src string, n int) string {
	lines := strings.Split(src, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// CommentAbove returns the comment on the lines right above byte off of a cell, without its slashes.
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
