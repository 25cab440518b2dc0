package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
)

const (
	magic     = "PAR1"
	maxFooter = 256 << 20
)

// Physical types.
const (
	typeBool = iota
	typeInt32
	typeInt64
	typeInt96
	typeFloat
	typeDouble
	typeBytes
	typeFixed
)

// How often a field stands in its parent.
const (
	required = iota
	optional
	repeated
)

// A node is a field of the schema. Its levels are how many of the fields from the root to it are optional or
// repeated (def), and repeated (rep).
type node struct {
	name     string
	often    int
	physical int // of a leaf
	list     bool
	table    bool  // a map
	json     bool  // its texts are JSON
	unit     int64 // of a time, in nanoseconds; 0: it is none
	unsigned bool  // integers have no sign
	decimal  bool  // has a scale
	children []*node
	def, rep int
	column   int // of a leaf, among all leaves
	leaves   []*node
}

// A chunk is where the values of a column in a group of rows are.
type chunk struct {
	codec    int
	values   int64
	from, to int64
}

type group struct {
	rows   int64
	chunks []chunk
}

// element is a line of the schema in the file.
type element struct {
	name              string
	physical, often   int
	children          int
	list, table, json bool
	unit              int64
	unsigned, decimal bool
	leaf              bool
}

// footer reads the schema and the groups of rows.
func footer(r io.ReaderAt, size int64) (root *node, groups []group, err error) {
	var end [8]byte
	if size < 12 {
		return nil, nil, fmt.Errorf("got %d bytes, want a Parquet file", size)
	}
	if _, err := r.ReadAt(end[:], size-8); err != nil {
		return nil, nil, err
	}
	if m := string(end[4:]); m != magic {
		if m == "PARE" {
			return nil, nil, fmt.Errorf("the file is encrypted")
		}
		return nil, nil, fmt.Errorf("byte %d: got %q at the file's end, want %s", size-4, m, magic)
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > size-12 || n > maxFooter {
		return nil, nil, fmt.Errorf("byte %d: got a footer of %d bytes in a file of %d", size-8, n, size)
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, size-8-n); err != nil {
		return nil, nil, err
	}
	t := &thrift{b: b}
	var schema []element
	t.fields(func(id int, kind byte) bool {
		switch {
		case id == 2 && kind == kindList:
			t.list(kindStruct, func() {
				if schema = append(schema, t.element()); len(schema) > columns.MaxFields {
					t.fail("the schema has more than %d fields", columns.MaxFields)
				}
			})
		case id == 4 && kind == kindList:
			t.list(kindStruct, func() { groups = append(groups, t.group(size-8-n)) })
		default:
			return false
		}
		return true
	})
	if t.err == nil {
		root, t.err = tree(schema)
	}
	if t.err == nil {
		t.err = checkGroups(root, groups, size)
	}
	if t.err != nil {
		return nil, nil, fmt.Errorf("byte %d: the footer: %w", size-8-n, t.err)
	}
	return root, groups, nil
}

func checkGroups(root *node, groups []group, size int64) error {
	leaves := root.leaves
	most, rows := columns.RowsOfByte*size, int64(0)
	for i, g := range groups {
		if len(g.chunks) != len(leaves) {
			return fmt.Errorf("row group %d has %d columns, want %d", i, len(g.chunks), len(leaves))
		}
		if rows += g.rows; g.rows < 0 || rows > most {
			return fmt.Errorf("row group %d claims %d rows in a file of %d bytes", i, g.rows, size)
		}
		for k, c := range g.chunks {
			if c.values < 0 || c.values > most {
				return fmt.Errorf("row group %d, column %d claims %d values in a file of %d bytes", i, k, c.values, size)
			}
		}
	}
	return nil
}

func (t *thrift) element() (e element) {
	e.leaf = true
	t.fields(func(id int, kind byte) bool {
		switch {
		case id == 1 && kind == 5:
			e.physical = int(t.int())
		case id == 3 && kind == 5:
			e.often = int(t.int())
		case id == 4 && kind == kindBinary:
			e.name = string(t.binary())
		case id == 5 && kind == 5:
			e.children, e.leaf = int(t.int()), false
		case id == 6 && kind == 5:
			converted := t.int()
			e.list, e.table = e.list || converted == 3, e.table || converted == 1 || converted == 2
			e.json = e.json || converted == 19
			e.unit = max(e.unit, units[converted])
			e.unsigned, e.decimal = e.unsigned || converted >= 11 && converted <= 14, e.decimal || converted == 5
		case id == 10 && kind == kindStruct:
			t.fields(func(id int, kind byte) bool {
				e.list, e.table = e.list || id == 3, e.table || id == 2
				e.json, e.decimal = e.json || id == 12, e.decimal || id == 5
				switch {
				case id == 6:
					e.unit = day
				case id == 8 && kind == kindStruct:
					e.unit = t.unit()
					return true
				case id == 10 && kind == kindStruct:
					t.fields(func(id int, kind byte) bool {
						e.unsigned = e.unsigned || id == 2 && kind == kindFalse
						return false
					})
					return true
				}
				return false
			})
		default:
			return false
		}
		return true
	})
	if e.name == "" { // so that a line of the schema takes some bytes, and a footer can't have more than it should
		t.fail("a field has no name")
	}
	return e
}

const day = 24 * 60 * 60 * 1e9

// units of times, by the number of the converted type, in nanoseconds.
var units = map[int64]int64{6: day, 9: 1e6, 10: 1e3}

// unit reads that of a type of times.
func (t *thrift) unit() (ns int64) {
	t.fields(func(id int, kind byte) bool {
		if id != 2 || kind != kindStruct {
			return false
		}
		t.fields(func(id int, _ byte) bool {
			ns = map[int]int64{1: 1e6, 2: 1e3, 3: 1}[id]
			return false
		})
		return true
	})
	return ns
}

func (t *thrift) group(end int64) (g group) {
	t.fields(func(id int, kind byte) bool {
		switch {
		case id == 1 && kind == kindList:
			t.list(kindStruct, func() {
				if g.chunks = append(g.chunks, t.chunk(end)); len(g.chunks) > columns.MaxFields {
					t.fail("a row group has more than %d columns", columns.MaxFields)
				}
			})
		case id == 3 && kind == kindI64:
			g.rows = t.int()
		default:
			return false
		}
		return true
	})
	if len(g.chunks) == 0 {
		t.fail("a row group has no columns")
	}
	return g
}

// chunk reads a column's place, which has to be before the footer.
func (t *thrift) chunk(end int64) (c chunk) {
	var data, dictionary, length int64
	t.fields(func(id int, kind byte) bool {
		if id == 1 {
			t.fail("a column is in another file")
		}
		if id != 3 || kind != kindStruct {
			return false
		}
		t.fields(func(id int, kind byte) bool {
			numbers := map[int]*int64{5: &c.values, 7: &length, 9: &data, 11: &dictionary}
			switch {
			case id == 4 && kind == 5:
				c.codec = int(t.int())
			case numbers[id] != nil && kind == kindI64:
				*numbers[id] = t.int()
			default:
				return false
			}
			return true
		})
		return true
	})
	if c.from = data; dictionary > 0 && dictionary < data {
		c.from = dictionary
	}
	if c.from < 4 || length < 0 || c.from > end || length > end-c.from {
		t.fail("a column of %d bytes at %d is not inside of the file", length, c.from)
	}
	c.to = c.from + length
	return c
}

// tree makes nodes of the schema's lines, each of which says how many of the next ones belong to it.
func tree(schema []element) (*node, error) {
	at, leaves := 0, 0
	var build func(depth, def, rep int) (*node, error)
	build = func(depth, def, rep int) (*node, error) {
		if at >= len(schema) || depth > columns.MaxNesting {
			return nil, fmt.Errorf("the schema has fields that are missing, or more than %d deep", columns.MaxNesting)
		}
		e := schema[at]
		at++
		n := &node{name: e.name, often: e.often, physical: e.physical, list: e.list, table: e.table, json: e.json, unit: e.unit, unsigned: e.unsigned, decimal: e.decimal, def: def, rep: rep}
		if depth > 0 && n.often != required {
			n.def++
			if n.often == repeated {
				n.rep++
			}
		}
		switch {
		case !utf8.ValidString(e.name), depth > 0 && (e.often < required || e.often > repeated), e.leaf && (e.physical < typeBool || e.physical > typeFixed):
			return nil, fmt.Errorf("field %q has repetition %d and type %d", e.name, e.often, e.physical)
		case e.leaf && depth > 0:
			n.column, n.leaves = leaves, []*node{n}
			leaves++
			return n, nil
		case e.children < 1 || e.children > len(schema)-at:
			return nil, fmt.Errorf("field %q has %d fields", e.name, e.children)
		}
		for range e.children {
			c, err := build(depth+1, n.def, n.rep)
			if err != nil {
				return nil, err
			}
			n.children, n.leaves = append(n.children, c), append(n.leaves, c.leaves...)
		}
		return n, nil
	}
	root, err := build(0, 0, 0)
	if err == nil && at < len(schema) {
		err = fmt.Errorf("the schema has %d fields that belong to nothing", len(schema)-at)
	}
	return root, err
}

// item is the node of a list's items, of the node of the list that repeats. Writers have written lists in
// several ways (see the format's "Backward-compatibility rules").
func (n *node) item() *node {
	if len(n.children) == 1 && n.name != "array" && !strings.HasSuffix(n.name, "_tuple") {
		return n.children[0]
	}
	return n
}
