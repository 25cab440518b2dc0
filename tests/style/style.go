// Package style holds the comments of the repository's Go files to their width: lines of comments are at most
// [Width] columns wide, so that they can be read beside code.
//
// Its test fails for lines that are wider; `go test ./tests/style -fix` breaks them anew. Another test counts
// the lines of the product by room: go test ./tests/style -run Lines -v.
package style

import (
	"go/scanner"
	"go/token"
	"strings"
	"unicode/utf8"
)

// Width is how many columns a line may have that is only a comment; a tab counts four.
const Width = 110

// A Line is a line of a file that is only a comment.
type Line struct {
	Number int    // counted from 1
	Indent string // before the comment
	Text   string // from the slashes on
}

// Columns is the width of the line.
func (l Line) Columns() int { return 4*len(l.Indent) + utf8.RuneCountInString(l.Text) }

// comments returns the lines of a Go file that are only a comment, without directives for tools.
func comments(src string) (list []Line) {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), func(token.Position, string) {}, scanner.ScanComments)
	lines := strings.Split(src, "\n")
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return list
		}
		if tok != token.COMMENT || !strings.HasPrefix(lit, "// ") && lit != "//" {
			continue
		}
		n := file.Line(pos)
		text := strings.TrimRight(lines[n-1], " \t\r")
		indent := text[:len(text)-len(strings.TrimLeft(text, "\t"))]
		if text = strings.TrimLeft(text, "\t"); strings.HasPrefix(text, "//") {
			list = append(list, Line{Number: n, Indent: indent, Text: text})
		}
	}
}

// Wide are the lines of a Go file that are only a comment and wider than Width, though they have a blank to
// be broken at.
func Wide(src string) (wide []Line) {
	if generated(src) {
		return nil
	}
	for _, l := range comments(src) {
		if l.Columns() > Width && strings.Contains(strings.TrimPrefix(l.Text, "// "), " ") {
			wide = append(wide, l)
		}
	}
	return wide
}

func generated(src string) bool {
	return strings.HasPrefix(src, "// Code generated ") || strings.Contains(src, "\n// Code generated ")
}

// Fix breaks paragraphs of comments with a line that is too wide anew. Lists, headings and code stay as they
// are.
func Fix(src string) string {
	if len(Wide(src)) == 0 {
		return src
	}
	lines := strings.Split(src, "\n")
	var out []string
	last := 0 // lines of src that are in out
	list := comments(src)
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && list[end].Number == list[end-1].Number+1 && joins(list[end-1], list[end]) {
			end++
		}
		paragraph := list[i:end]
		i = end
		if !prose(paragraph[0]) || !tooWide(paragraph) {
			continue
		}
		out = append(out, lines[last:paragraph[0].Number-1]...)
		out = append(out, broken(paragraph)...)
		last = paragraph[len(paragraph)-1].Number
	}
	return strings.Join(append(out, lines[last:]...), "\n")
}

func tooWide(list []Line) bool {
	for _, l := range list {
		if l.Columns() > Width {
			return true
		}
	}
	return false
}

// prose says whether a line belongs to sentences.
func prose(l Line) bool {
	body := strings.TrimPrefix(l.Text, "//")
	return strings.HasPrefix(body, " ") && !strings.HasPrefix(body, "  ") && !strings.HasPrefix(body, " \t") && !marked(body)
}

// marked says whether a line begins an item of a list, or is a mark of a file of cells.
func marked(body string) bool {
	body = strings.TrimSpace(body)
	for _, mark := range []string{"- ", "* ", "# ", "> ", "%%", "Output:", "Unordered output:", "why:"} {
		if strings.HasPrefix(body, mark) {
			return true
		}
	}
	if name, _, ok := strings.Cut(body, "]: "); ok && strings.HasPrefix(name, "[") && !strings.Contains(name, " ") {
		return true // a link's address
	}
	digits := strings.TrimLeft(body, "0123456789")
	return digits != body && strings.HasPrefix(digits, ". ")
}

// joins says whether two lines are of one paragraph.
func joins(a, b Line) bool { return a.Indent == b.Indent && prose(a) && prose(b) }

// broken is a paragraph in lines that fit.
func broken(paragraph []Line) (lines []string) {
	var words []string
	for _, l := range paragraph {
		words = append(words, strings.Fields(strings.TrimPrefix(l.Text, "//"))...)
	}
	line := Line{Indent: paragraph[0].Indent, Text: "//"}
	for _, w := range words {
		longer := line
		longer.Text += " " + w
		if longer.Columns() > Width && line.Text != "//" {
			lines = append(lines, line.Indent+line.Text)
			longer.Text = "// " + w
		}
		line = longer
	}
	return append(lines, line.Indent+line.Text)
}
