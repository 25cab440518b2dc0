package display

import (
	"fmt"
	"go/types"
	"reflect"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/units"
)

// How much of a table of structs is shown.
const (
	maxRows     = 40 // of a table that is shown whole
	headRows    = 20 // of a longer one
	tailRows    = 5
	maxCell     = 32 // columns of a cell
	minTableLen = 2  // elements of a slice that is shown as a table
)

// table returns a slice or map of structs as a table, or nil for any other value. A row is an element, a
// column a field. Structs with a String or Error method stay elements.
func (w *writer) table(v reflect.Value, t types.Type, width int) *Table {
	rows := w.f.unwrap(v)
	if !rows.IsValid() || w.f.speaksFor(rows, t) {
		return nil
	}
	kind := rows.Kind()
	if kind != reflect.Slice && kind != reflect.Array && kind != reflect.Map || rows.Len() < minTableLen {
		return nil
	}
	st := w.f.structOf(rows.Type().Elem(), elemType(t))
	if st == nil || w.f.speaksFor(reflect.New(st.typ).Elem(), st.static) || w.f.speaksFor(reflect.New(st.typ), types.Type(nil)) {
		return nil
	}
	b := &tableBuilder{writer: w, columns: st, table: new(Table)}
	b.table.Columns = append(b.table.Columns, Column{Right: kind != reflect.Map}) // the index or key
	for i, name := range st.names {
		b.table.Columns = append(b.table.Columns, Column{Name: name, Right: st.numbers[i]})
	}
	if kind == reflect.Map {
		b.entries(rows, t)
	} else {
		b.elements(rows)
	}
	b.fit(width)
	b.foot(rows, t, width)
	return b.table
}

// A structType has the columns of structs that are rows.
type structType struct {
	typ     reflect.Type
	static  types.Type
	names   []string
	types   []types.Type
	fields  []int  // their indices
	numbers []bool // aligned right
}

// structOf returns the struct of a type, or of a pointer type's target, with its columns. It returns nil
// for other types and for structs without fields.
func (f *Formatter) structOf(rt reflect.Type, t types.Type) *structType {
	if rt.Kind() == reflect.Pointer {
		rt, t = rt.Elem(), elemType(t)
	}
	if rt.Kind() != reflect.Struct {
		return nil
	}
	s := &structType{typ: rt, static: t}
	var st *types.Struct
	if t != nil {
		st, _ = t.Underlying().(*types.Struct)
	}
	for i := range rt.NumField() {
		if internal(rt.Field(i)) {
			continue
		}
		name, ft := fieldName(rt, i), types.Type(nil)
		if st != nil && i < st.NumFields() {
			name, ft = st.Field(i).Name(), st.Field(i).Type()
		}
		s.fields = append(s.fields, i)
		s.names = append(s.names, name)
		s.types = append(s.types, ft)
		s.numbers = append(s.numbers, isNumber(rt.Field(i).Type.Kind()))
	}
	if len(s.fields) == 0 {
		return nil
	}
	return s
}

func isNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Complex128 }

// dynamic returns the type of a value: t, or for the value in an interface the type that a cell has
// declared. It returns nil if only reflection knows the type.
func (f *Formatter) dynamic(v reflect.Value, t types.Type) types.Type {
	if t != nil && !types.IsInterface(t) {
		return t
	}
	if f.Dynamic != nil && v.IsValid() {
		return f.Dynamic(v)
	}
	return nil
}

// speaksFor says whether a value has methods that describe it.
func (f *Formatter) speaksFor(v reflect.Value, t types.Type) bool {
	if v.CanInterface() {
		switch v.Interface().(type) {
		case error, fmt.Stringer, Value, Briefer, fmt.Formatter, Drawable:
			return true
		}
	}
	if t == nil {
		return false
	}
	for _, t := range []types.Type{t, types.NewPointer(t)} {
		for method := range types.NewMethodSet(t).Methods() {
			if name := method.Obj().Name(); name == "String" || name == "Error" || name == "Brief" || name == "Text" {
				return true
			}
		}
	}
	return false
}

// A tableBuilder fills a table.
type tableBuilder struct {
	*writer
	columns *structType
	table   *Table
	dropped []string
}

func (b *tableBuilder) elements(rows reflect.Value) {
	n := rows.Len()
	for i := 0; i < n; i++ {
		if i == headRows && n > maxRows && !b.f.Whole {
			b.table.Rows = append(b.table.Rows, b.gap())
			i = n - tailRows
		}
		b.row(Cell{Text: fmt.Sprint(i), Role: Dim}, rows.Index(i))
	}
}

func (b *tableBuilder) entries(rows reflect.Value, t types.Type) {
	var key types.Type
	if t != nil {
		if m, ok := t.Underlying().(*types.Map); ok {
			key = m.Key()
		}
	}
	entries := b.firstEntries(rows)
	if isNumber(rows.Type().Key().Kind()) {
		b.table.Columns[0].Right = true
	}
	for i, e := range entries {
		if i == headRows && rows.Len() > maxRows && !b.f.Whole {
			break
		}
		c := b.cell(e.key, key)
		c.Role = Name
		b.row(c, e.value)
	}
	if len(b.table.Rows) < rows.Len() {
		b.table.Rows = append(b.table.Rows, b.gap())
	}
}

func (b *tableBuilder) gap() []Cell {
	cells := make([]Cell, len(b.table.Columns))
	for i := range cells {
		cells[i] = Cell{Text: elision, Role: Dim}
	}
	return cells
}

func (b *tableBuilder) row(first Cell, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			b.table.Rows = append(b.table.Rows, []Cell{first, {Text: "nil", Role: Dim}})
			return
		}
		v = v.Elem()
	}
	cells := []Cell{first}
	for k, i := range b.columns.fields {
		cells = append(cells, b.cell(v.Field(i), b.columns.types[k]))
	}
	b.table.Rows = append(b.table.Rows, cells)
}

// cell writes a value on one line. Strings that need no quotes have none.
func (b *tableBuilder) cell(v reflect.Value, t types.Type) Cell {
	inner := b.f.unwrap(v)
	d := b.value(v, t, 2)
	if i := strings.IndexByte(d.open, '{'); i > 0 { // the type of a struct is too long for a cell
		d.open = strings.Repeat("&", strings.Count(d.open, "&")) + d.open[i:]
	}
	c := Cell{Text: d.flat()}
	if inner.IsValid() && inner.Kind() == reflect.String {
		s := inner.String()
		if d.text == fmt.Sprintf("%q", s) && s != "" && s == strings.TrimSpace(s) && s != "nil" && isText(s, "") { // it looks like itself
			c.Text = s
		}
	}
	if !b.f.Whole {
		c.Text = runewidth.Truncate(c.Text, maxCell, elision)
	}
	return c
}

// fit drops columns from the right until the table fits; the index and one field always stay.
func (b *tableBuilder) fit(width int) {
	t := b.table
	total := -2
	keep := 0
	for i, w := range t.natural() {
		if total += 2 + w; total > width && i > 1 {
			break
		}
		keep = i + 1
	}
	for _, c := range t.Columns[keep:] {
		b.dropped = append(b.dropped, c.Name)
	}
	t.Columns = t.Columns[:keep]
	for i, row := range t.Rows {
		t.Rows[i] = row[:min(len(row), keep)]
	}
}

// foot writes the number and the type of the rows, and what the table leaves out.
func (b *tableBuilder) foot(rows reflect.Value, t types.Type, width int) {
	parts := []string{units.Int(int64(rows.Len())) + " rows", b.f.typeName(rows, t)}
	if len(b.dropped) > 0 {
		list := strings.Join(b.dropped, ", ")
		parts = append(parts, fmt.Sprintf("%s: %s", units.Plural(int64(len(b.dropped)), "more column"), runewidth.Truncate(list, 48, elision)))
	}
	if len(b.dropped) > 0 || len(b.table.Rows) < rows.Len() || b.note != "" {
		parts = append(parts, seeAll)
	}
	for i, p := range parts {
		switch line := b.table.Foot[strings.LastIndexByte(b.table.Foot, '\n')+1:]; {
		case i == 0:
		case runewidth.StringWidth(line+" · "+p) > width:
			b.table.Foot += "\n"
		default:
			b.table.Foot += " · "
		}
		b.table.Foot += p
	}
}
