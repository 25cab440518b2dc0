package display

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Table is rows under named columns. It can be shown as text and HTML.
type Table struct {
	Columns []Column
	Rows    [][]Cell
	Foot    string // a line below the rows, or empty
}

// A Column of a table.
type Column struct {
	Name  string
	Right bool // numbers: aligned right, so that digits and units stand below each other
	Prose bool // sentences or code: broken at blanks where the screen is narrow, and not cut
	Whole bool // never cut: on a narrow screen the heading and other columns give way, then it is broken at blanks
}

// A Cell of a table.
type Cell struct {
	Text string
	Role Role
}

// NewTable makes a table. A column whose name starts with '>' is aligned right, one whose name starts with
// '~' has sentences or code, which may be broken at blanks, and one whose name starts with '=' is never cut.
func NewTable(columns ...string) *Table {
	t := new(Table)
	for _, name := range columns {
		right, prose, whole := strings.HasPrefix(name, ">"), strings.HasPrefix(name, "~"), strings.HasPrefix(name, "=")
		t.Columns = append(t.Columns, Column{Name: strings.TrimLeft(name, ">~="), Right: right, Prose: prose, Whole: whole})
	}
	return t
}

// Add appends a row. A cell is a Cell, a string, an integer, a float, a duration; anything else is written by
// fmt.
func (t *Table) Add(cells ...any) {
	row := make([]Cell, 0, len(cells))
	for _, c := range cells {
		switch c := c.(type) {
		case Cell:
			row = append(row, c)
		case nil:
			row = append(row, Cell{})
		case string:
			row = append(row, Cell{Text: c})
		case int:
			row = append(row, Cell{Text: units.Int(int64(c))})
		case int64:
			row = append(row, Cell{Text: units.Int(c)})
		case float64:
			row = append(row, Cell{Text: units.Float(c)})
		case time.Duration:
			row = append(row, Cell{Text: units.Duration(c)})
		default:
			row = append(row, Cell{Text: fmt.Sprint(c)})
		}
	}
	t.Rows = append(t.Rows, row)
}

// BytesCell is a cell with a size in bytes, SecondsCell a cell with a time in seconds.
func BytesCell(n int64) Cell     { return Cell{Text: units.Bytes(n)} }
func SecondsCell(s float64) Cell { return Cell{Text: units.Seconds(s)} }

// Text writes the table with two blanks between columns.
func (t *Table) Text(width int) string { return t.StyledText(width, nil) }

// StyledText is Text with headings and cells painted in their roles. If the table is wider than the
// screen, the widest left column becomes narrower; if that is not enough, each row is written on several
// lines.
func (t *Table) StyledText(width int, style Style) string {
	width = lines.Columns(width)
	widths, fits := t.widths(width)
	if !fits {
		return t.records(width, style)
	}
	var lines []string
	heading := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		heading[i] = Cell{Text: c.Name, Role: Heading}
	}
	for _, row := range append([][]Cell{heading}, t.Rows...) {
		for _, part := range t.broken(row, widths) {
			lines = append(lines, t.line(part, widths, style))
		}
	}
	if t.Foot != "" {
		lines = append(lines, Wrap(t.Foot, width, 0)...)
	}
	return strings.Join(lines, "\n")
}

// broken is a row as the rows that it takes with its prose broken to the widths of the columns.
func (t *Table) broken(row []Cell, widths []int) [][]Cell {
	rows := [][]Cell{slices.Clone(row)}
	for i := range row {
		if c := t.Columns[i]; !c.Prose && !c.Whole || row[i].Role == Heading || runewidth.StringWidth(row[i].Text) <= widths[i] {
			continue
		}
		for n, text := range row[i].broken(widths[i], 0) {
			if n == len(rows) {
				rows = append(rows, make([]Cell, len(row)))
			}
			rows[n][i] = Cell{Text: text, Role: row[i].Role}
		}
	}
	return rows
}

// broken is a cell's text in lines of so many columns: broken at blanks, and words that are wider anywhere.
// Prose goes on hang columns further in than it begins.
func (c Cell) broken(width, hang int) (parts []string) {
	if c.Role == Code {
		return wrapCode(c.Text, width)
	}
	for _, line := range Wrap(c.Text, width, hang) {
		for runewidth.StringWidth(line) > width {
			head := runewidth.Truncate(line, width, "")
			if head == "" {
				break
			}
			parts, line = append(parts, head), line[len(head):]
		}
		parts = append(parts, line)
	}
	return parts
}

// records writes each row as lines: its first cell, and below it the others, each behind the name of its
// column.
func (t *Table) records(width int, style Style) string {
	var lines []string
	add := func(role Role, text string, hang int) {
		for _, line := range (Cell{Text: text, Role: role}).broken(width, hang) {
			lines = append(lines, style.Paint(role, line))
		}
	}
	for _, row := range t.Rows {
		for i, c := range row {
			switch name := t.Columns[i].Name; {
			case i == 0:
				add(c.Role, c.Text, 4)
			case c.Text == "":
			case t.Columns[i].Prose || name == "":
				add(c.Role, "  "+c.Text, 0)
			default:
				add(c.Role, "  "+name+" "+c.Text, 2)
			}
		}
	}
	if t.Foot != "" {
		lines = append(lines, Wrap(t.Foot, width, 0)...)
	}
	return strings.Join(lines, "\n")
}

func (t *Table) line(row []Cell, widths []int, style Style) string {
	var b strings.Builder
	blanks := 0 // before the next text: blanks at the end of a line are never written
	for i, w := range widths {
		var c Cell
		if i < len(row) {
			c = row[i]
		}
		text := runewidth.Truncate(c.Text, w, "…")
		pad := w - runewidth.StringWidth(text)
		if i > 0 {
			blanks += 2
		}
		if t.Columns[i].Right {
			blanks += pad
			pad = 0
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", blanks) + style.Paint(c.Role, text))
			blanks = 0
		}
		blanks += pad
	}
	return b.String()
}

// natural are the widths that columns would have on a wide screen.
func (t *Table) natural() []int {
	widths := t.filled()
	for i, c := range t.Columns {
		widths[i] = max(widths[i], runewidth.StringWidth(c.Name))
	}
	return widths
}

// filled are the widths of columns without their headings.
func (t *Table) filled() []int {
	widths := make([]int, len(t.Columns))
	for _, row := range t.Rows {
		for i := range min(len(row), len(widths)) {
			widths[i] = max(widths[i], runewidth.StringWidth(row[i].Text))
		}
	}
	return widths
}

// minProse is the narrowest column of sentences that can be read, and easyProse one that is read easily, for
// which columns that are never cut are broken.
const (
	minProse  = 24
	easyProse = 40
)

// minWhole is the narrowest column that is never cut: the words in it are longer than 12 columns seldom.
const minWhole = 12

// widths are those of the columns, and whether the table fits the limit with them.
func (t *Table) widths(limit int) (widths []int, fits bool) {
	widths = t.natural()
	total := 2 * (len(widths) - 1)
	widest := -1
	for i, w := range widths {
		total += w
		if !t.Columns[i].Right && !t.Columns[i].Whole && (widest < 0 || w > widths[widest] || t.Columns[i].Prose) {
			widest = i
		}
	}
	for i, w := range t.filled() {
		if cut := min(widths[i]-max(w, 4), total-limit); t.Columns[i].Whole && cut > 0 {
			widths[i], total = widths[i]-cut, total-cut
		}
	}
	if total <= limit {
		return widths, true
	}
	if widest < 0 {
		return widths, false
	}
	easy, least := 8, 8
	if t.Columns[widest].Prose {
		easy, least = easyProse, minProse
	}
	total -= shrink(widths, widest, total-limit, easy)
	for i, c := range t.Columns {
		if c.Whole && total > limit {
			total -= shrink(widths, i, total-limit, minWhole)
		}
	}
	total -= shrink(widths, widest, total-limit, least)
	return widths, total <= limit
}

// shrink makes a column narrower by so much, or down to least, and returns by how much it did.
func shrink(widths []int, i, by, least int) int {
	full := widths[i]
	widths[i] = max(full-max(by, 0), min(least, full))
	return full - widths[i]
}

// HTML writes the table as an HTML table.
func (t *Table) HTML() string {
	var b strings.Builder
	b.WriteString("<table>\n<thead><tr>")
	align := func(i int) string {
		if t.Columns[i].Right {
			return ` style="text-align:right"`
		}
		return ""
	}
	for i, c := range t.Columns {
		fmt.Fprintf(&b, "<th%s>%s</th>", align(i), html.EscapeString(c.Name))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		for i := range min(len(row), len(t.Columns)) {
			fmt.Fprintf(&b, "<td%s>%s</td>", align(i), html.EscapeString(row[i].Text))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>")
	if t.Foot != "" {
		fmt.Fprintf(&b, "\n<p>%s</p>", html.EscapeString(t.Foot))
	}
	return b.String()
}
