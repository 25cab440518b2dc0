package data

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Table has columns with names: bool, integers, floats, text and time, of which some values may be missing.
// ReadTable and ReadCSV read one, NewTable and TableOf make one.
//
//	t := data.ReadCSV("titanic.csv")
//	old := t.Filter(func(r data.Row) bool { return r.Float("age") > 60 })
//	t.Group("class", "sex").Agg(data.Mean("fare"), data.Count()).Sort("-fare_mean")
//	x, y := t.DropMissing().Tensor("age", "fare"), t.DropMissing().Tensor("survived")
//
// A table does not change: each method returns another one, which has the columns that stay the same in
// common with it. The methods panic with a *tensor.Error for a column that the table lacks, and where a value
// is not what is asked for, with its row or its line in the file. NaN counts as missing.
type Table struct {
	rows    int
	columns []column
	origin  *origin // nil: the rows are not those of a file
}

// An origin says where the rows stand in a file.
type origin struct {
	file  string
	jumps []jump
}

// NewTable returns a table without columns: Set makes them, and the first one says how many rows there are.
func NewTable() *Table { return &Table{} }

// Len is the number of rows.
func (t *Table) Len() int { return t.rows }

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

// prefix names the file for an error.
func (t *Table) prefix() string {
	if t.origin == nil {
		return ""
	}
	return t.origin.file + ": "
}

// place names a row: by its line if there is a file.
func (t *Table) place(row int) string {
	if t.origin == nil {
		return fmt.Sprintf("row %d", row)
	}
	if line := t.origin.line(row); line > 0 {
		return fmt.Sprintf("%s:%d", t.origin.file, line)
	}
	return fmt.Sprintf("%s: row %d", t.origin.file, row)
}

// line is that of a row; 0 if the file has no lines.
func (o *origin) line(row int) int {
	if o == nil || len(o.jumps) == 0 {
		return 0
	}
	i := sort.Search(len(o.jumps), func(i int) bool { return o.jumps[i].row > row })
	return row + o.jumps[i-1].by
}

func (t *Table) column(name string) *column {
	i := t.at(name)
	if i < 0 {
		t.fail("%sgot column %q, want one of %s", t.prefix(), name, t.names())
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

// with is the table with other columns in the same rows.
func (t *Table) with(columns []column) *Table {
	return &Table{rows: t.rows, columns: columns, origin: t.origin}
}

// Select returns the table with these columns only, in this order.
func (t *Table) Select(names ...string) *Table {
	part := t.with(nil)
	for _, name := range names {
		if part.at(name) >= 0 {
			t.fail("%sgot column %q twice", t.prefix(), name)
		}
		part.columns = append(part.columns, *t.column(name))
	}
	return part
}

// Drop returns the table without these columns. DropMissing leaves rows out.
func (t *Table) Drop(names ...string) *Table {
	if len(names) == 0 {
		t.fail("%sgot no column to drop: t.DropMissing() drops the rows that lack a value", t.prefix())
	}
	t.chosen(names)
	return t.with(slices.DeleteFunc(slices.Clone(t.columns), func(c column) bool { return slices.Contains(names, c.name) }))
}

// Rename returns the table with another name for a column.
func (t *Table) Rename(from, to string) *Table {
	t.column(from)
	if to != from && t.at(to) >= 0 {
		t.fail("%sgot the name %q, which another column has", t.prefix(), to)
	}
	named := t.with(slices.Clone(t.columns))
	named.columns[t.at(from)].name = to
	return named
}

// Set returns the table with a column: its values in place of those that there were, or a further one. Values
// are a slice of bools, numbers, texts or times, a tensor [rows], a function of a Row whose result is a bool,
// int, float64, string, time.Time or any, or one such value for all rows. A time.Duration is a number of
// nanoseconds, as for Go. NaN, nil and the zero time are missing; a time that is not from 1678 to 2261
// panics.
//
//	t = t.Set("ratio", func(r data.Row) float64 { return r.Float("price") / r.Float("area") })
func (t *Table) Set(name string, values any) *Table {
	c := t.made(name, values)
	set := t.with(slices.Clone(t.columns))
	if len(t.columns) == 0 {
		set.rows = c.len()
	}
	if c.len() != set.rows {
		t.fail("%scolumn %q: got %s, want one for each of %s", t.prefix(), name, units.Plural(int64(c.len()), "value"), units.Plural(int64(t.rows), "row"))
	}
	if i := t.at(name); i >= 0 {
		set.columns[i] = c
	} else {
		set.columns = append(set.columns, c)
	}
	return set
}

// made makes a column of what Set takes.
func (t *Table) made(name string, values any) column {
	if c, ok := newColumn(name, values); ok {
		return c
	}
	if x, ok := values.(tensor.Tensor); ok {
		return t.ofTensor(name, x)
	}
	if v := reflect.ValueOf(values); v.Kind() == reflect.Slice {
		b := builderOf(v.Type().Elem())
		for i := range v.Len() {
			x, err := plain(v.Index(i).Interface())
			if err != nil {
				t.fail("row %d: column %q: %v", i, name, err)
			}
			b.add(x)
		}
		return b.column(name)
	}
	b := &builder{}
	f := rowFunction(values)
	if f == nil {
		x, err := plain(values)
		if err != nil {
			t.fail("column %q: %v; or a slice of them, a tensor, or a func(data.Row) any", name, err)
		}
		f = func(Row) any { return x }
	}
	rows := t.rows
	if len(t.columns) == 0 {
		rows = 1
	}
	for i := range rows {
		got := f(Row{t, i})
		x, err := plain(got)
		if err != nil {
			t.fail("%s: column %q: %v", t.place(i), name, err)
		}
		b.add(x)
	}
	return b.column(name)
}

// rowFunction is a function of rows with any result; nil if it is none.
func rowFunction(values any) func(Row) any {
	switch f := values.(type) {
	case func(Row) any:
		return f
	case func(Row) float64:
		return func(r Row) any { return f(r) }
	case func(Row) int:
		return func(r Row) any { return f(r) }
	case func(Row) bool:
		return func(r Row) any { return f(r) }
	case func(Row) string:
		return func(r Row) any { return f(r) }
	case func(Row) time.Time:
		return func(r Row) any { return f(r) }
	}
	return nil
}

func (t *Table) ofTensor(name string, x tensor.Tensor) (c column) {
	if x.Rank() != 1 {
		t.fail("column %q: got %s, want a tensor of one axis", name, x.Brief())
	}
	ok := false
	switch dt := x.DType(); {
	case dt == dtype.Bool:
		c, ok = newColumn(name, x.Bools())
	case dt.Int() && !dt.Signed():
		c, ok = newColumn(name, x.Cast(dtype.U64).Uint64s())
	case dt.Int():
		c, ok = newColumn(name, x.Ints())
	default:
		c, ok = newColumn(name, x.Float64s())
	}
	if !ok {
		t.fail("column %q: got %s", name, x.Brief())
	}
	c.dtype = x.DType()
	return c
}

// Head returns the first n rows, Tail the last n; all, if there are fewer.
func (t *Table) Head(n int) *Table { return t.cut(0, n) }

// Tail returns the last n rows.
func (t *Table) Tail(n int) *Table { return t.cut(t.rows-n, n) }

// cut is n rows, of which those that there are not are left out.
func (t *Table) cut(from, n int) *Table {
	from, to := max(from, 0), min(max(from+n, 0), t.rows)
	part := &Table{rows: max(to-from, 0), columns: slices.Clone(t.columns)}
	for i := range part.columns {
		part.columns[i] = t.columns[i].cut(min(from, to), to)
	}
	return part
}

// pick is the table of these rows; −1 is a row without values.
func (t *Table) pick(list []int) *Table {
	part := &Table{rows: len(list), columns: make([]column, len(t.columns))}
	spread(len(t.columns), func(i int) { part.columns[i] = t.columns[i].take(list) })
	return part
}

// spread calls f with 0 to n−1, on all processors.
func spread(n int, f func(i int)) {
	var next atomic.Int64
	pool.Apart(min(n, runtime.GOMAXPROCS(0)), func(int) {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(i)
		}
	})
}

// Filter returns the rows for which keep says so. For many rows Where is faster.
func (t *Table) Filter(keep func(Row) bool) *Table {
	var list []int
	for i := range t.rows {
		if keep(Row{t, i}) {
			list = append(list, i)
		}
	}
	return t.pick(list)
}

// Where returns the rows at which a mask is true: bool [rows].
//
//	t.Where(t.Column("age").Gt(60))
func (t *Table) Where(mask tensor.Tensor) *Table {
	if mask.DType() != dtype.Bool || mask.Rank() != 1 || mask.Len(0) != t.rows {
		t.fail("%sgot a mask %s, want bool[%d]", t.prefix(), mask.Brief(), t.rows)
	}
	var list []int
	for i, keep := range mask.Bools() {
		if keep {
			list = append(list, i)
		}
	}
	return t.pick(list)
}

// Sort returns the rows in the order of these columns, of which the first one counts most; "-fare" is from
// high to low. Rows with equal values stay in their order, missing values are last.
func (t *Table) Sort(names ...string) *Table {
	var keys []sortKey
	for _, name := range names {
		k := sortKey{}
		if rest, down := strings.CutPrefix(name, "-"); down && t.at(name) < 0 {
			name, k.down = rest, true
		}
		k.column = t.column(name)
		keys = append(keys, k)
	}
	return t.pick(sorted(keys, t.rows))
}

// A sortKey is a column by which rows are sorted.
type sortKey struct {
	*column
	down bool
}

// compare is that of two rows; missing values are last in any case.
func (k sortKey) compare(i, j int) int {
	d := k.column.compare(i, j)
	if k.down && !k.lacks(i) && !k.lacks(j) {
		return -d
	}
	return d
}

// orders are numbers that tell most values apart: greater ones are further behind.
func (k sortKey) orders() []uint64 {
	list := make([]uint64, k.len())
	for i := range list {
		switch {
		case k.lacks(i):
			list[i] = math.MaxUint64
		case k.down:
			list[i] = ^k.values.order(i)
		default:
			list[i] = k.values.order(i)
		}
	}
	return list
}

// told says whether values of one order are equal.
func (k sortKey) told(order uint64) bool {
	if order == math.MaxUint64 {
		return false
	}
	if k.down {
		order = ^order
	}
	return k.values.kind() != "text" || order&0xff < 8
}

// sorted are the n rows of some columns in their order; equal ones stay as they are.
func sorted(keys []sortKey, n int) []int {
	orders := make([][]uint64, len(keys))
	for i, k := range keys {
		orders[i] = k.orders()
	}
	type entry struct {
		order uint64 // by the first key
		row   int
	}
	list := make([]entry, n)
	for i := range list {
		list[i].row = i
		if len(keys) > 0 {
			list[i].order = orders[0][i]
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if a.order != b.order {
			return cmp.Compare(a.order, b.order)
		}
		for i, k := range keys {
			x, y := orders[i][a.row], orders[i][b.row]
			if x != y {
				return cmp.Compare(x, y)
			}
			if !k.told(x) {
				if d := k.compare(a.row, b.row); d != 0 {
					return d
				}
			}
		}
		return a.row - b.row
	})
	rows := make([]int, n)
	for i, e := range list {
		rows[i] = e.row
	}
	return rows
}

func (t *Table) all() []int { return ir.Indices(t.rows) }

// Append returns the table with the rows of another one below its own, by the names of the columns. Where one
// lacks a column its values are missing. Integers beside floats become f64, other types beside each other
// text.
func (t *Table) Append(other *Table) *Table {
	both := &Table{rows: t.rows + other.rows}
	gap := func(c *column, n int) column { return c.take(slices.Repeat([]int{-1}, n)) }
	for i := range t.columns {
		c := &t.columns[i]
		below := gap(c, other.rows)
		if k := other.at(c.name); k >= 0 {
			below = other.columns[k]
		}
		both.columns = append(both.columns, c.joined(&below))
	}
	for i := range other.columns {
		if c := &other.columns[i]; t.at(c.name) < 0 {
			above := gap(c, t.rows)
			both.columns = append(both.columns, above.joined(c))
		}
	}
	return both
}

// A Row is one row of a table. Its methods panic with a *tensor.Error as those of the table do.
type Row struct {
	t *Table
	i int
}

// Row returns row i, counted from 0.
func (t *Table) Row(i int) Row {
	if i < 0 || i >= t.rows {
		t.fail("%sgot row %d of %d", t.prefix(), i, t.rows)
	}
	return Row{t, i}
}

// Number is that of the row, counted from 0.
func (r Row) Number() int { return r.i }

// Missing says whether a column has no value here.
func (r Row) Missing(name string) bool { return r.t.column(name).lacks(r.i) }

// Float is a number or a bool; NaN if it is missing.
func (r Row) Float(name string) float64 { return r.number(name).float(r.i) }

// Int is an integer or a bool, which has to be there.
func (r Row) Int(name string) int {
	c := r.number(name)
	x := c.float(r.i)
	switch v := c.value(r.i).(type) {
	case int64:
		return int(v)
	case uint64:
		if v > math.MaxInt64 {
			r.t.fail("%s: column %q: got %d, want an int: Value has it", r.t.place(r.i), name, v)
		}
		return int(v)
	}
	if x != math.Trunc(x) || math.IsNaN(x) {
		r.t.fail("%s: column %q: got %v, want an integer", r.t.place(r.i), name, c.cell(r.i))
	}
	return int(x)
}

// Bool is true where a bool is; a missing one is false.
func (r Row) Bool(name string) bool { x, _ := r.want(name, "bool").value(r.i).(bool); return x }

// Text is a value as text; "" if it is missing.
func (r Row) Text(name string) string { return r.t.column(name).text(r.i) }

// Time is a time; the zero time if it is missing.
func (r Row) Time(name string) time.Time {
	x, _ := r.want(name, "time").value(r.i).(time.Time)
	return x
}

// Value is a bool, int64, uint64, float64, string or time.Time; nil if it is missing.
func (r Row) Value(name string) any { return r.t.column(name).value(r.i) }

func (r Row) number(name string) *column {
	c := r.t.column(name)
	if !c.values.number() {
		r.t.fail("%scolumn %q is %s, want numbers", r.t.prefix(), name, c.typed())
	}
	return c
}

func (r Row) want(name, kind string) *column {
	c := r.t.column(name)
	if c.values.kind() != kind {
		r.t.fail("%scolumn %q is %s, want %s", r.t.prefix(), name, c.typed(), kind)
	}
	return c
}

// String is the values by the names of the columns.
func (r Row) String() string {
	var list []string
	for i := range r.t.columns {
		c := &r.t.columns[i]
		list = append(list, c.short()+": "+c.cell(r.i))
	}
	return strings.Join(list, ", ")
}
