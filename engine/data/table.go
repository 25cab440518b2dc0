package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// A Table is the content of a file of rows: columns with names, which become tensors. ReadCSV makes one.
//
//	t, err := data.ReadCSV("houses.csv")
//	x, y := t.Tensor("area", "rooms"), t.Tensor("price")
//
// The methods that name columns panic with a *tensor.Error for a name that the table lacks, for a text where
// a number is needed, and for a missing value, with its line.
type Table struct {
	file    string
	columns []column
	lines   []int // of the rows in the file
}

// A column has the texts of its values.
type column struct {
	name    string
	dtype   dtype.Type // Invalid: text
	values  []string
	missing []bool // nil: none
}

func (c *column) lacks(i int) bool { return c.missing != nil && c.missing[i] }

// firstNot is the first value that is there and none of the type, or -1.
func (c *column) firstNot(dt dtype.Type) int {
	for i, v := range c.values {
		if _, ok := number(v, dt); !ok && !c.lacks(i) {
			return i
		}
	}
	return -1
}

// number reads a text as an element of the type: integers as they are, other numbers as a float64.
func number(text string, dt dtype.Type) (x any, ok bool) {
	text = strings.TrimSpace(text)
	switch {
	case dt == dtype.Bool:
		yes := strings.EqualFold(text, "true")
		return yes, yes || strings.EqualFold(text, "false")
	case dt.Int() && dt.Signed():
		n, err := strconv.ParseInt(text, 10, 8*dt.Size())
		return n, err == nil
	case dt.Int():
		n, err := strconv.ParseUint(text, 10, 8*dt.Size())
		return n, err == nil
	case dt.Float():
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil
	}
	return nil, false
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.lines) }

// Names are those of the columns.
func (t *Table) Names() []string {
	list := make([]string, len(t.columns))
	for i, c := range t.columns {
		list[i] = c.name
	}
	return list
}

func (t *Table) names() string { return fmt.Sprintf("%.300q", t.Names()) }

func (t *Table) at(name string) int {
	return slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
}

func (t *Table) fail(format string, args ...any) {
	panic(&tensor.Error{Op: "data.Table", Msg: fmt.Sprintf(format, args...)})
}

func (t *Table) column(name string) *column {
	i := t.at(name)
	if i < 0 {
		t.fail("%s: got column %q, want one of %s", t.file, name, t.names())
	}
	return &t.columns[i]
}

// chosen are the columns of these names, or all.
func (t *Table) chosen(names []string) (list []*column) {
	if len(names) == 0 {
		names = t.Names()
	}
	for _, name := range names {
		list = append(list, t.column(name))
	}
	return list
}

// Tensor returns columns beside each other, [rows columns], or one column, [rows 1], in the type to which
// theirs promote. Without names it returns all.
func (t *Table) Tensor(names ...string) tensor.Tensor {
	var list []tensor.Tensor
	for _, c := range t.chosen(names) {
		list = append(list, t.vector(c))
	}
	return tensor.Stack(list, 1)
}

// Column returns one column, [rows].
func (t *Table) Column(name string) tensor.Tensor { return t.vector(t.column(name)) }

func (t *Table) vector(c *column) tensor.Tensor {
	if c.dtype == dtype.Invalid {
		i := c.firstNot(dtype.F64)
		t.fail("%s:%d: column %q has the text %.40q, want numbers: t.Classes(%q) numbers its texts", t.file, t.lines[i], c.name, c.values[i], c.name)
	}
	t.complete(c)
	floats, ints, words := make([]float64, 0), make([]int64, 0), make([]uint64, 0)
	for _, v := range c.values {
		switch x, _ := number(v, c.dtype); x := x.(type) {
		case bool:
			if x {
				ints = append(ints, 1)
			} else {
				ints = append(ints, 0)
			}
		case int64:
			ints = append(ints, x)
		case uint64:
			words = append(words, x)
		case float64:
			floats = append(floats, x)
		}
	}
	switch {
	case c.dtype.Float():
		return tensor.FromAs(c.dtype, floats, len(floats))
	case c.dtype == dtype.Bool || c.dtype.Signed():
		return tensor.FromAs(c.dtype, ints, len(ints))
	}
	return tensor.FromAs(c.dtype, words, len(words))
}

// complete panics if a value is missing.
func (t *Table) complete(c *column) {
	if i := slices.Index(c.missing, true); i >= 0 {
		t.fail("%s:%d: column %q has no value, as %d of %s: t.Drop(%q) leaves them out, t.Fill(%q, 0) fills them",
			t.file, t.lines[i], c.name, c.lacking(), units.Plural(int64(t.Len()), "row"), c.name, c.name)
	}
}

func (c *column) lacking() (n int) {
	for _, m := range c.missing {
		if m {
			n++
		}
	}
	return n
}

// Classes numbers the texts of a column in their order: classes[codes[i]] is the text of row i. The codes are
// i64 [rows].
func (t *Table) Classes(name string) (codes tensor.Tensor, classes []string) {
	c := t.column(name)
	t.complete(c)
	classes = slices.Clone(c.values)
	slices.Sort(classes)
	classes = slices.Compact(classes)
	list := make([]int, len(c.values))
	for i, v := range c.values {
		list[i], _ = slices.BinarySearch(classes, v)
	}
	return tensor.From(list, len(list)), classes
}

// Drop returns the table without the rows in which one of the columns has no value; without names one of all.
func (t *Table) Drop(names ...string) *Table {
	var keep []int
	chosen := t.chosen(names)
	for i := range t.lines {
		if !slices.ContainsFunc(chosen, func(c *column) bool { return c.lacks(i) }) {
			keep = append(keep, i)
		}
	}
	return t.rows(keep)
}

// rows is the table of these rows.
func (t *Table) rows(list []int) *Table {
	part := &Table{file: t.file, columns: slices.Clone(t.columns)}
	for k := range part.columns {
		c := &part.columns[k]
		all, missing := c.values, c.missing
		c.values, c.missing = nil, nil
		for at, i := range list {
			c.values = append(c.values, all[i])
			if missing != nil && missing[i] {
				if c.missing == nil {
					c.missing = make([]bool, len(list))
				}
				c.missing[at] = true
			}
		}
	}
	for _, i := range list {
		part.lines = append(part.lines, t.lines[i])
	}
	return part
}

// Fill returns the table with a number in place of the missing values of a column.
func (t *Table) Fill(name string, value float64) *Table {
	c := *t.column(name)
	text := strconv.FormatFloat(value, 'g', -1, 64)
	if c.dtype.Int() && value == math.Trunc(value) {
		text = strconv.FormatFloat(value, 'f', 0, 64)
	}
	if _, ok := number(text, c.dtype); !ok {
		kind := "text"
		if c.dtype != dtype.Invalid {
			kind = c.dtype.String()
		}
		t.fail("%s: column %q is %s: got %s to fill it with", t.file, name, kind, text)
	}
	c.values = slices.Clone(c.values)
	for i := range c.values {
		if c.lacks(i) {
			c.values[i] = text
		}
	}
	c.missing = nil
	filled := &Table{file: t.file, columns: slices.Clone(t.columns), lines: t.lines}
	filled.columns[t.at(name)] = c
	return filled
}

// shownRows is how many rows Text shows.
const shownRows = 8

// Text shows names, types and the first rows, and says what is missing. Columns that are too many for the
// width are only counted.
func (t *Table) Text(width int) string {
	width = lines.Columns(width)
	head := fmt.Sprintf("%s of %s · %s", units.Plural(int64(t.Len()), "row"), units.Plural(int64(len(t.columns)), "column"), t.file)
	shown := min(t.Len(), shownRows)
	rows := make([][]string, shown+2)
	for i := range shown {
		rows[i+2] = []string{strconv.Itoa(i)}
	}
	rows[0], rows[1] = []string{""}, []string{""}
	used, left := len(strconv.Itoa(max(0, shown-1))), 0
	for k := range t.columns {
		cells := t.columns[k].cells(shown)
		widest := 0
		for _, cell := range cells {
			widest = max(widest, len([]rune(cell)))
		}
		if used += 2 + widest; used > width && k > 0 {
			left = len(t.columns) - k
			break
		}
		for i, cell := range cells {
			rows[i] = append(rows[i], cell)
		}
	}
	lines := []string{head, units.Table(rows, 0)}
	if more := t.Len() - shown; more > 0 {
		lines = append(lines, "… "+units.Plural(int64(more), "more row"))
	}
	if left > 0 {
		var names []string
		for _, c := range t.columns[len(t.columns)-left:] {
			names = append(names, c.short())
		}
		lines = append(lines, cut("and "+units.Plural(int64(left), "column")+": "+strings.Join(names, ", "), width))
	}
	for _, c := range t.columns {
		if n := c.lacking(); n > 0 {
			lines = append(lines, cut(fmt.Sprintf("%s: %s missing, first in line %d", c.short(), units.Plural(int64(n), "value"), t.lines[slices.Index(c.missing, true)]), width))
		}
	}
	return strings.Join(lines, "\n")
}

// String is Text.
func (t *Table) String() string { return t.Text(0) }

func (c *column) short() string { return cut(visible.Line(c.name), 24) }

// cells are the name, the type and the first values of a column.
func (c *column) cells(rows int) []string {
	kind := "text"
	if c.dtype != dtype.Invalid {
		kind = c.dtype.String()
	}
	list := []string{c.short(), kind}
	for i, v := range c.values[:rows] {
		if c.lacks(i) {
			v = "–"
		}
		if c.dtype != dtype.Invalid {
			v = strings.TrimSpace(v)
		}
		list = append(list, cut(visible.Line(v), 24))
	}
	return list
}

// cut shortens a text to so many runes.
func cut(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:max(0, width-1)]) + "…"
	}
	return s
}
