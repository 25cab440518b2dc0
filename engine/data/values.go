package data

import (
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Tensor returns columns beside each other, [rows columns], or one column, [rows 1], in the type to which
// theirs promote, where f64 counts as f32: TensorAs keeps it. Without names it returns all. A missing value
// panics.
func (t *Table) Tensor(names ...string) tensor.Tensor {
	var list []tensor.Tensor
	for _, c := range t.chosen(names) {
		list = append(list, t.vector(c, shown(c.dtype)))
	}
	return tensor.Stack(list, 1)
}

// TensorAs is Tensor in a type: t.TensorAs(dtype.F64, "a", "b") has all digits.
func (t *Table) TensorAs(dt dtype.Type, names ...string) tensor.Tensor {
	var list []tensor.Tensor
	for _, c := range t.chosen(names) {
		list = append(list, t.vector(c, dt))
	}
	return tensor.Stack(list, 1)
}

// Column returns one column, [rows], in the type that Tensor gives it.
func (t *Table) Column(name string) tensor.Tensor {
	c := t.column(name)
	return t.vector(c, shown(c.dtype))
}

// shown is the type of a column's tensor: as tensor.From has it for Go's floats.
func shown(dt dtype.Type) dtype.Type {
	if dt == dtype.F64 {
		return dtype.F32
	}
	return dt
}

func (t *Table) vector(c *column, dt dtype.Type) tensor.Tensor {
	t.numbers(c)
	t.complete(c)
	return tensor.FromAs(dt, c.values.all(), c.len())
}

// numbers panics if a column has none.
func (t *Table) numbers(c *column) {
	if c.values.number() {
		return
	}
	if c.values.kind() == "time" {
		t.fail("%scolumn %q has times, want numbers: t.Times(%q) are they", t.prefix(), c.name, c.name)
	}
	if t.rows == 0 {
		t.fail("%scolumn %q is text, want numbers", t.prefix(), c.name)
	}
	at := 0
	for i := range t.rows {
		if _, ok := parseFloat([]byte(c.text(i))); !ok && !c.lacks(i) {
			at = i
			break
		}
	}
	t.fail("%s: column %q has the text %.40q, want numbers: t.Classes(%q) numbers its texts", t.place(at), c.name, c.text(at), c.name)
}

// complete panics if a value is missing.
func (t *Table) complete(c *column) {
	if i := slices.Index(c.missing, true); i >= 0 {
		t.fail("%s: column %q has no value, as %d of %s: t.DropMissing(%q) leaves them out, t.Fill(%q, 0) fills them",
			t.place(i), c.name, c.lacking(), units.Plural(int64(t.rows), "row"), c.name, c.name)
	}
}

// Floats are the numbers of a column, with all their digits; NaN where one is missing.
func (t *Table) Floats(name string) []float64 {
	c := t.column(name)
	t.numbers(c)
	if v, ok := c.values.(vector[float64]); ok && c.missing == nil {
		return slices.Clone(v.v)
	}
	list := make([]float64, t.rows)
	for i := range list {
		list[i] = c.float(i)
	}
	return list
}

// Texts are the values of a column as texts; "" where one is missing.
func (t *Table) Texts(name string) []string {
	c := t.column(name)
	list := make([]string, t.rows)
	for i := range list {
		list[i] = c.text(i)
	}
	return list
}

// Times are those of a column, in UTC; the zero time where one is missing.
func (t *Table) Times(name string) []time.Time {
	c := Row{t, 0}.want(name, "time")
	list := make([]time.Time, t.rows)
	for i, x := range c.values.(vector[int64]).v {
		if !c.lacks(i) {
			list[i] = time.Unix(0, x).UTC()
		}
	}
	return list
}

// Classes numbers the values of a column in their order: classes[codes[i]] is the text of row i. The codes
// are i64 [rows].
func (t *Table) Classes(name string) (codes tensor.Tensor, classes []string) {
	c := t.column(name)
	t.complete(c)
	ids, first := numbered([]*column{c}, t.rows)
	for _, row := range first {
		classes = append(classes, c.text(row))
	}
	return tensor.From(ids, len(ids)), classes
}

// firsts are the first rows with each of n codes.
func firsts(codes []int, n int) []int {
	list := slices.Repeat([]int{-1}, n)
	for i, code := range codes {
		if list[code] < 0 {
			list[code] = i
		}
	}
	return list
}

// DropMissing returns the table without the rows in which one of the columns has no value; without names one
// of all.
func (t *Table) DropMissing(names ...string) *Table {
	var keep []int
	chosen := t.chosen(names)
	for i := range t.rows {
		if !slices.ContainsFunc(chosen, func(c *column) bool { return c.lacks(i) }) {
			keep = append(keep, i)
		}
	}
	return t.pick(keep)
}

// Fill returns the table with a value in place of the missing ones of a column: one of its type.
func (t *Table) Fill(name string, value any) *Table {
	c := *t.column(name)
	x, err := plain(value)
	switch {
	case err != nil:
		t.fail("%scolumn %q: %v", t.prefix(), name, err)
	case x == nil:
		t.fail("%scolumn %q is %s: got %v to fill it with", t.prefix(), name, c.typed(), value)
	}
	if f, isFloat := x.(float64); isFloat && c.dtype.Int() && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		x = int64(f)
	}
	b := &builder{}
	b.add(x)
	one := b.column(name)
	if c.lacking() == t.rows {
		c.dtype, c.values = one.dtype, one.values.take(make([]int, t.rows))
	} else if a, ok := fillable(&c, &one); ok {
		rows := t.all()
		for i := range rows {
			if c.lacks(i) {
				rows[i] = t.rows
			}
		}
		c.values = c.values.join(a).take(rows)
	} else {
		t.fail("%scolumn %q is %s: got %v to fill it with", t.prefix(), name, c.typed(), value)
	}
	c.missing = nil
	filled := t.with(slices.Clone(t.columns))
	filled.columns[t.at(name)] = c
	return filled
}

// fillable is a value as one of a column's kind, which has to have it.
func fillable(c, one *column) (values, bool) {
	kind := c.values.kind()
	if kind == "f64" && one.values.kind() == "i64" {
		one.toFloats()
	}
	if x, ok := one.values.(vector[int64]); ok && kind == "u64" && x.v[0] >= 0 {
		one.values = vector[uint64]{[]uint64{uint64(x.v[0])}, words}
	}
	if x := one.value(0); one.values.kind() != kind || !fits(x, c.dtype) {
		return nil, false
	}
	return one.values, true
}

// TableOf returns a slice of structs as a table, whose columns are the exported fields, or a tensor [rows
// columns] with a name for each column. A field is a bool, a number, a text or a time.Time, as Set takes
// them.
func TableOf(rows any, names ...string) *Table {
	t := NewTable()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.fail("got the name %q twice", name)
		}
	}
	if x, ok := rows.(tensor.Tensor); ok {
		if x.Rank() != 2 || x.Len(1) != len(names) {
			t.fail("got a tensor %s and %s, want [rows columns] and a name for each column", x.Brief(), units.Plural(int64(len(names)), "name"))
		}
		for i, name := range names {
			t = t.Set(name, x.Slice(1, i, i+1).Reshape(x.Len(0)))
		}
		return t
	}
	v := reflect.ValueOf(rows)
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct {
		t.fail("got rows of type %T, want a slice of structs or a tensor", rows)
	}
	t.rows = v.Len()
	fields := reflect.VisibleFields(v.Type().Elem())
	for _, f := range fields {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		b := builderOf(f.Type)
		for i := range v.Len() {
			field, err := v.Index(i).FieldByIndexErr(f.Index)
			if err != nil { // that of an embedded struct that is not there
				b.add(nil)
				continue
			}
			x, err := plain(field.Interface())
			if err != nil {
				t.fail("row %d: field %s: %v", i, f.Name, err)
			}
			b.add(x)
		}
		t.columns = append(t.columns, b.column(f.Name))
	}
	if len(names) > 0 && len(names) != len(t.columns) {
		t.fail("got %s for %s", units.Plural(int64(len(names)), "name"), units.Plural(int64(len(t.columns)), "column"))
	}
	for i, name := range names {
		t.columns[i].name = name
	}
	return t
}
