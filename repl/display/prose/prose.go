// Package prose sets Markdown as text of a screen: CommonMark with GitHub's tables, task lists and links.
// HTML in it is left out, as it is on pages.
package prose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
)

// Set returns Markdown in lines of at most width columns, without a newline at the end. The style paints what
// is stressed, and source in Go; without one, the marks of Markdown in a line stay.
func Set(markdown string, width int, style display.Style) string {
	s := setter{source: []byte(visible.Text(markdown)), style: style}
	doc := converter().Parser().Parse(text.NewReader(s.source))
	return strings.Join(s.blocks(doc, max(width, 1), false), "\n")
}

// A setter sets one text.
type setter struct {
	source []byte
	style  display.Style
}

// blocks are the lines of the blocks below a node, with an empty one between two blocks that are not tight.
func (s *setter) blocks(parent ast.Node, width int, tight bool) (lines []string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		block := s.block(n, width)
		if len(lines) > 0 && len(block) > 0 && !tight {
			lines = append(lines, "")
		}
		lines = append(lines, block...)
	}
	return lines
}

const (
	codeIndent = 4  // columns before a block of code
	leastWidth = 12 // columns that what is indented has at least
)

func (s *setter) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return s.heading(n, width)
	case *ast.FencedCodeBlock:
		return s.code(n, string(n.Language(s.source)))
	case *ast.CodeBlock:
		return s.code(n, "go") // as documentation comments have it
	case *ast.List:
		return s.list(n, width)
	case *ast.Blockquote:
		return hung(s.blocks(n, max(width-2, leastWidth), false), s.style.Paint(display.Dim, "│ "), s.style.Paint(display.Dim, "│ "))
	case *ast.ThematicBreak:
		return []string{s.style.Paint(display.Dim, strings.Repeat("─", width))}
	case *ast.HTMLBlock:
		return nil
	case *east.Table:
		return s.table(n, width)
	}
	return s.fill(s.spans(n, nil), width)
}

// heading is a heading, the two largest with a line below them.
func (s *setter) heading(n *ast.Heading, width int) []string {
	lines := s.fill(s.spans(n, []display.Role{display.Strong}), width)
	if n.Level > 2 || len(lines) == 0 {
		return lines
	}
	wide := 0
	for _, line := range s.plain().fill(s.plain().spans(n, nil), width) {
		wide = max(wide, runewidth.StringWidth(line))
	}
	return append(lines, s.style.Paint(display.Dim, strings.Repeat([]string{"═", "─"}[n.Level-1], wide)))
}

// plain is a setter of the same text that paints nothing, and has no marks in its place.
func (s *setter) plain() *setter {
	return &setter{s.source, func(_ display.Role, text string) string { return text }}
}

func (s *setter) code(n ast.Node, language string) []string {
	var b strings.Builder
	for _, segment := range n.Lines().Sliced(0, n.Lines().Len()) {
		b.Write(segment.Value(s.source))
	}
	source := strings.ReplaceAll(strings.TrimRight(b.String(), "\n"), "\t", "    ")
	if slices.Contains([]string{"go", "mcs"}, language) {
		source = s.style.Paint(display.Code, source)
	}
	indent := strings.Repeat(" ", codeIndent)
	return hung(strings.Split(source, "\n"), indent, indent)
}

func (s *setter) list(n *ast.List, width int) (lines []string) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		indent := runewidth.StringWidth(mark)
		body := s.blocks(item, max(width-indent, leastWidth), n.IsTight)
		if len(lines) > 0 && !n.IsTight {
			lines = append(lines, "")
		}
		if len(body) == 0 {
			body = []string{""}
		}
		lines = append(lines, hung(body, s.style.Paint(display.Dim, mark), strings.Repeat(" ", indent))...)
	}
	return lines
}

// hung puts a text before the first of lines, and another before the rest. No line ends in blanks.
func hung(lines []string, first, rest string) []string {
	for i, line := range lines {
		if lines[i] = rest + line; i == 0 {
			lines[i] = first + line
		}
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func (s *setter) table(n *east.Table, width int) []string {
	t := display.NewTable()
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []any
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			whole := s.plain()
			parts := whole.fill(whole.spans(cell, nil), 1<<20)
			cells = append(cells, strings.Join(parts, " "))
		}
		if _, head := row.(*east.TableHeader); !head {
			t.Add(cells...)
			continue
		}
		for i, name := range cells {
			right := i < len(n.Alignments) && n.Alignments[i] == east.AlignRight
			t.Columns = append(t.Columns, display.Column{Name: name.(string), Right: right, Prose: !right})
		}
	}
	return strings.Split(t.StyledText(width, s.style), "\n")
}
