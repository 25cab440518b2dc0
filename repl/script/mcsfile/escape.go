package mcsfile

import (
	"go/token"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// A line of a cell can look like a mark or like expected output, and would be taken for it when the file is
// read. It is written another way that means the same in Go: a comment gets a third slash, a raw string
// becomes a sum of two. A line of Markdown gets a backslash.

// withoutMarks returns the text of a cell with no line that looks like a mark or like expected output.
func withoutMarks(source string) string {
	if !hasMark(source) {
		return source
	}
	head, body := "", source
	if cell.Whole(source) { // the command is in the first line, Go follows
		if i := strings.IndexByte(source, '\n'); i >= 0 {
			head, body = source[:i+1], source[i+1:]
		}
	}
	var b strings.Builder
	b.WriteString(head)
	at := 0
	for _, t := range cell.Scan(body) {
		text := t.Text(body)
		if t.Tok != token.COMMENT && !t.Raw(body) || !hasMark(before(body, t.From)+text) {
			continue
		}
		b.WriteString(body[at:t.From])
		b.WriteString(escaped(t, text, before(body, t.From)))
		at = t.To
	}
	b.WriteString(body[at:])
	return b.String()
}

// proseMark says whether a line of Markdown is one that looks like a mark, behind backslashes that say that
// it is none: it is written with one more.
func proseMark(line string) bool {
	_, mark := parseMark("// " + strings.TrimLeft(line, `\`))
	return mark && strings.HasPrefix(line, `\`)
}

// before returns the text of a line before a byte.
func before(text string, at int) string { return text[strings.LastIndexByte(text[:at], '\n')+1 : at] }

func isMarkLine(line string) bool {
	line = strings.TrimRight(line, "\r") // as Parse does
	_, mark := parseMark(line)
	return mark || isWant(line)
}

func hasMark(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if isMarkLine(line) {
			return true
		}
	}
	return false
}

// escaped is a comment or a raw string, with before on its first line, without such lines.
func escaped(t cell.Token, text, before string) string {
	const sum = "//` + `" // in place of the slashes: `…\n//` + ` %%\n`
	lines := strings.Split(text, "\n")
	changed := false
	for i, line := range lines {
		whole := line
		if i == 0 {
			whole = before + line
		}
		rest, slashes := strings.CutPrefix(line, "//")
		if !slashes || !isMarkLine(whole) {
			continue
		}
		if changed = true; t.Tok == token.COMMENT {
			lines[i] = "///" + rest
		} else {
			lines[i] = sum + rest
		}
	}
	text = strings.Join(lines, "\n")
	if changed && t.Tok != token.COMMENT {
		return "(" + text + ")"
	}
	return text
}
