package data

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
)

const (
	shownRows = 10 // of more the first and the last ones are shown
	cellWidth = 24 // columns of the screen for a value, at most; on a narrow screen it is a quarter
	pageWidth = 20 // columns of a page
)

// Describe returns a row for each column: its type, how many values are missing, how many different ones
// there are of texts, times and bools, and of numbers the mean, the standard deviation of a sample, the least
// and the greatest, and the quartiles.
func (t *Table) Describe() *Table {
	names := []string{"mean", "std", "min", "25%", "median", "75%", "max"}
	numbers, distincts := make([][]float64, len(t.columns)), make([]float64, len(t.columns))
	spread(len(t.columns), func(i int) {
		c := &t.columns[i]
		distincts[i] = math.NaN()
		numbers[i] = slices.Repeat([]float64{math.NaN()}, len(names))
		if kind := c.values.kind(); kind == "bool" || kind == "text" || kind == "time" {
			distincts[i] = float64(c.values.distinct(t.all(), c.missing))
		}
		if c.values.number() {
			numbers[i] = summary(c)
		}
	})
	about := NewTable()
	kinds, missing := make([]string, len(t.columns)), make([]int, len(t.columns))
	for i := range t.columns {
		kinds[i], missing[i] = t.columns[i].typed(), t.columns[i].lacking()
	}
	about = about.Set("column", t.Names()).Set("type", kinds).Set("missing", missing)
	about = about.Set("distinct", func(r Row) any {
		if d := distincts[r.i]; !math.IsNaN(d) {
			return int(d)
		}
		return nil
	})
	for k, name := range names {
		about = about.Set(name, func(r Row) float64 { return numbers[r.i][k] })
	}
	return about
}

// summary is the mean, the deviation, and what quantiles say of numbers.
func summary(c *column) []float64 {
	v := make([]float64, 0, c.len())
	for i := range c.len() {
		if !c.lacks(i) {
			v = append(v, c.values.float(i))
		}
	}
	if len(v) == 0 {
		return slices.Repeat([]float64{math.NaN()}, 7)
	}
	list := []float64{sum(v) / float64(len(v)), std(v)}
	slices.Sort(v)
	for _, q := range []float64{0, 0.25, 0.5, 0.75, 1} {
		list = append(list, quantile(v, q))
	}
	return list
}

// cell is value i for people: at most six digits of a float that has more than eight signs.
func (c *column) cell(i int) string {
	if c.lacks(i) {
		return "–"
	}
	text := visible.Line(c.text(i))
	if c.values.kind() != "f64" {
		return text
	}
	x := c.values.float(i)
	if size := math.Abs(x); len(text) > 8 && size >= 1e-4 && size < 1e15 {
		text = strconv.FormatFloat(x, 'f', max(0, 5-int(math.Floor(math.Log10(size)))), 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
	} else if len(text) > 8 && size != 0 {
		text = strconv.FormatFloat(x, 'g', 6, 64)
	}
	return text
}

func (c *column) short() string { return cut(visible.Line(c.name), cellWidth) }

// cut shortens a text to so many columns of the screen.
func cut(s string, width int) string { return runewidth.Truncate(s, max(width, 1), "…") }

// window are the rows that are shown; −1 stands for those between.
func (t *Table) window() (list []int) {
	if t.rows <= shownRows {
		return t.all()
	}
	for i := range shownRows / 2 {
		list = append(list, i)
	}
	list = append(list, -1)
	for i := t.rows - shownRows/2; i < t.rows; i++ {
		list = append(list, i)
	}
	return list
}

// cells are the name, the type and the values of a column in the rows of a window. Column −1 is that of the
// rows' numbers, column −2 stands for those between.
func (t *Table) cells(k, width int, window []int) (list []string) {
	switch k {
	case -1:
		list = []string{"", ""}
	case -2:
		list = []string{"…", "…"}
	default:
		list = []string{cut(t.columns[k].short(), width), t.columns[k].typed()}
	}
	for _, i := range window {
		switch {
		case i < 0 || k == -2:
			list = append(list, "…")
		case k == -1:
			list = append(list, strconv.Itoa(i))
		default:
			list = append(list, cut(t.columns[k].cell(i), width))
		}
	}
	return list
}

func widest(list []string) (width int) {
	for _, s := range list {
		width = max(width, runewidth.StringWidth(s))
	}
	return width
}

// grid is what is shown, column by column: as many of the first and the last ones as fit, in turn.
func (t *Table) grid(width, most int) (grid [][]string, left int) {
	window, cell := t.window(), min(max(width/4, 8), cellWidth)
	numbers := t.cells(-1, cell, window)
	room := width - widest(numbers)
	var front, back [][]string
	from, to := 0, len(t.columns)
	for n := 0; from < to; n++ {
		k := from
		if n%2 == 1 {
			k = to - 1
		}
		list := t.cells(k, cell, window)
		need := 2 + widest(list)
		if from+1 < to && need+3 > room || need > room || n >= most {
			if n > 0 {
				break
			}
		}
		room -= need
		if n%2 == 1 {
			back, to = append(back, list), to-1
		} else {
			front, from = append(front, list), from+1
		}
	}
	grid = append([][]string{numbers}, front...)
	if from < to {
		grid = append(grid, t.cells(-2, cell, window))
	}
	slices.Reverse(back)
	return append(grid, back...), to - from
}

// head says how much there is, and how many columns are not shown.
func (t *Table) head(left int) string {
	head := fmt.Sprintf("%s of %s", units.Plural(int64(t.rows), "row"), units.Plural(int64(len(t.columns)), "column"))
	if left > 0 {
		head += fmt.Sprintf(", %d not shown", left)
	}
	if t.origin != nil {
		head += " · " + t.origin.file
	}
	return head
}

// lacks says what is missing in a file, of the first columns that lack something.
func (t *Table) lacks(width int) (list []string) {
	if t.origin == nil {
		return nil
	}
	more := 0
	for i := range t.columns {
		c := &t.columns[i]
		n := c.lacking()
		if n == 0 {
			continue
		}
		if len(list) == 5 {
			more++
			continue
		}
		text := fmt.Sprintf("%s: %s missing", c.short(), units.Plural(int64(n), "value"))
		if line := t.origin.line(slices.Index(c.missing, true)); line > 0 {
			text += fmt.Sprintf(", first in line %d", line)
		}
		list = append(list, cut(text, width))
	}
	if more > 0 {
		list = append(list, "and "+units.Plural(int64(more), "more column")+" that lack values")
	}
	return list
}

// Text shows names, types and rows, and of a file what is missing. Of many rows those in the middle are left
// out, and columns if the width is too small.
func (t *Table) Text(width int) string {
	width = lines.Columns(width)
	grid, left := t.grid(width, len(t.columns))
	rows := make([][]string, len(grid[0]))
	for _, list := range grid {
		for i, text := range list {
			rows[i] = append(rows[i], text)
		}
	}
	list := []string{cut(t.head(left), width), units.Table(rows, 0)}
	return strings.Join(append(list, t.lacks(width)...), "\n")
}

// String is Text.
func (t *Table) String() string { return t.Text(0) }

// HTML is the same as a table of HTML, with up to 20 columns.
func (t *Table) HTML() string {
	grid, left := t.grid(math.MaxInt32, pageWidth)
	var b strings.Builder
	b.WriteString("<table>\n<thead>")
	for i := range grid[0] {
		tag := "td"
		if i < 2 {
			tag = "th"
		}
		if i == 2 {
			b.WriteString("</thead>\n<tbody>")
		}
		b.WriteString("<tr>")
		for _, list := range grid {
			fmt.Fprintf(&b, `<%s style="text-align:right">%s</%s>`, tag, html.EscapeString(list[i]), tag)
		}
		b.WriteString("</tr>\n")
	}
	if len(grid[0]) > 2 {
		b.WriteString("</tbody>")
	} else {
		b.WriteString("</thead>")
	}
	b.WriteString("\n</table>\n<p>" + html.EscapeString(t.head(left)))
	for _, line := range t.lacks(math.MaxInt32) {
		b.WriteString("<br>" + html.EscapeString(line))
	}
	return b.String() + "</p>"
}
