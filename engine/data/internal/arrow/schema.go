package arrow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
)

// Types of a field, as the schema numbers them (format/Schema.fbs).
const (
	typeNull = 1 + iota
	typeInt
	typeFloat
	typeBinary
	typeText
	typeBool
	typeDecimal
	typeDate
	typeTime
	typeTimestamp
	typeInterval
	typeList
	typeStruct
	typeUnion
	typeFixedBinary
	typeFixedList
	typeMap
	typeDuration
	typeLargeBinary
	typeLargeText
	typeLargeList
	typeRunEnds
	typeBinaryView
	typeTextView
	typeListView
	typeLargeListView
)

// refused are the types whose values are neither texts nor numbers nor made of these.
var refused = map[int]string{
	typeDecimal: "decimal numbers", typeInterval: "intervals", typeUnion: "a union", typeFixedBinary: "a fixed length", typeRunEnds: "runs",
	typeListView: "list views", typeLargeListView: "list views",
}

// A field is a column, or a part of one.
type field struct {
	name     string
	kind     int
	width    int   // of a number, in bytes
	unsigned bool  // a whole number
	json     bool  // its texts are JSON
	unit     int64 // of a time, in nanoseconds; 0: it is none
	sparse   bool  // a union
	size     int   // of a fixed list
	children []*field

	coded      bool // values are numbers of a dictionary's entries
	dictionary int64
	index      *field // of these numbers
}

// schema reads the fields of the schema's message.
func schema(t table) (list []*field, err error) {
	if t.int(0, 2) != 0 {
		t.f.fail("its numbers begin with the highest byte, want the lowest")
	}
	fields := 0
	t.tables(1, func(t table) { list = append(list, newField(t, 0, &fields)) })
	return list, t.f.err
}

func newField(t table, depth int, fields *int) *field {
	f := &field{name: t.name(0), kind: int(uint8(t.int(2, 1)))}
	if *fields++; depth > columns.MaxNesting || *fields > columns.MaxFields {
		t.f.fail("the schema has more than %d fields, or more than %d in each other", columns.MaxFields, columns.MaxNesting)
	}
	if t.f.err != nil {
		return f
	}
	f.kindOf(t.table(3))
	t.tables(5, func(t table) { f.children = append(f.children, newField(t, depth+1, fields)) })
	t.tables(6, func(t table) {
		f.json = f.json || t.name(0) == "ARROW:extension:name" && t.name(1) == "arrow.json"
	})
	if d := t.table(4); d.at != 0 {
		f.coded, f.dictionary, f.index = true, d.int(0, 8), &field{kind: typeInt, width: 4}
		if kind := d.table(1); kind.at != 0 {
			f.index.kindOf(kind)
		}
	}
	if want := map[int]int{typeList: 1, typeLargeList: 1, typeFixedList: 1, typeMap: 1, typeListView: 1, typeLargeListView: 1, typeRunEnds: 2}[f.kind]; want > 0 && len(f.children) != want {
		t.f.fail("field %.40q has %d fields, want %d", f.name, len(f.children), want)
	}
	if f.kind == typeMap && (t.f.err != nil || f.children[0].kind != typeStruct || len(f.children[0].children) != 2) {
		t.f.fail("field %.40q is a map without keys and values", f.name)
	}
	return f
}

// kindOf reads what a type says beside its number.
func (f *field) kindOf(t table) {
	switch f.kind {
	case typeInt:
		f.width, f.unsigned = int(t.int(0, 4)/8), !t.bool(1)
	case typeFloat:
		f.width = 2 << min(uint16(t.int(0, 2)), 4)
	case typeDate:
		f.width, f.unit = 8, 1e6
		if at := t.place(0); at > 0 && t.int(0, 2) == 0 {
			f.width, f.unit = 4, 24*60*60*1e9
		}
	case typeTime:
		f.width = 4
		if at := t.place(1); at > 0 {
			f.width = int(t.int(1, 4) / 8)
		}
	case typeTimestamp:
		f.width, f.unit = 8, []int64{1e9, 1e6, 1e3, 1}[t.int(0, 2)&3]
	case typeDuration:
		f.width = 8
	case typeFixedList:
		f.size = int(t.int(0, 4))
	case typeUnion:
		f.sparse = t.int(0, 2) == 0
	}
	numbers := f.kind == typeInt || f.kind == typeFloat || f.kind == typeTime
	if numbers && f.width != 1 && f.width != 2 && f.width != 4 && f.width != 8 || f.size < 0 || f.kind < typeNull || f.kind > typeLargeListView {
		t.f.fail("field %.40q has type %d of %d bits", f.name, f.kind, 8*f.width)
	}
}

// buffers is how many buffers a batch has of the field itself, but for those to which views lead.
func (f *field) buffers() int {
	switch {
	case f.coded:
		return 2
	case f.kind == typeNull, f.kind == typeRunEnds:
		return 0
	case f.kind == typeStruct, f.kind == typeFixedList, f.kind == typeUnion && f.sparse:
		return 1
	case f.kind == typeBinary, f.kind == typeText, f.kind == typeLargeBinary, f.kind == typeLargeText, f.kind == typeListView, f.kind == typeLargeListView:
		return 3
	}
	return 2
}

func (f *field) views() bool { return !f.coded && (f.kind == typeTextView || f.kind == typeBinaryView) }

// unread says which part of a column is not read; "" if all of it is.
func (f *field) unread() string {
	if what := refused[f.kind]; what != "" {
		return what
	}
	for _, c := range f.children {
		if what := c.unread(); what != "" {
			return what
		}
	}
	return ""
}

// codes says whether a field, or a part of it, has a dictionary.
func (f *field) codes() bool { return f.coded || slices.ContainsFunc(f.children, (*field).codes) }

// coding adds the numbers of the dictionaries that a column needs, with the fields of their values.
func (f *field) coding(all map[int64]*field) error {
	if f.coded {
		if slices.ContainsFunc(f.children, (*field).codes) {
			return errors.New("got a dictionary whose entries name those of another one")
		}
		values := *f
		values.coded = false
		if before := all[f.dictionary]; before != nil && before.kind != f.kind {
			return fmt.Errorf("dictionary %d is of two types", f.dictionary)
		}
		all[f.dictionary] = &values
	}
	for _, c := range f.children {
		if err := c.coding(all); err != nil {
			return err
		}
	}
	return nil
}
