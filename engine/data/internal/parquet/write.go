package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/snappy"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
)

// Write writes a file of plain values, compressed by snappy, which all readers have.
func Write(w io.Writer, list []columns.Written, rows int) error {
	f := &writer{w: w, columns: list}
	f.bytes([]byte(magic))
	for at := 0; at < rows && f.err == nil; {
		n := columns.Together(list, at, rows)
		f.group(at, at+n)
		at += n
	}
	foot := f.footer(rows)
	f.bytes(foot)
	f.bytes(binary.LittleEndian.AppendUint32(nil, uint32(len(foot))))
	f.bytes([]byte(magic))
	return f.err
}

// A writer knows what it has written.
type writer struct {
	w       io.Writer
	at      int64
	err     error
	columns []columns.Written
	groups  []writtenGroup
}

type writtenGroup struct {
	rows   int
	chunks []writtenChunk
}

type writtenChunk struct{ at, plain, packed int64 }

func (f *writer) bytes(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
		f.at += int64(len(b))
	}
}

// group writes rows, each column as one page.
func (f *writer) group(from, to int) {
	g := writtenGroup{rows: to - from}
	for i := range f.columns {
		page := f.columns[i]
		raw := values(&page, from, to)
		if len(raw) > math.MaxInt32 {
			f.err = fmt.Errorf("column %q: %d bytes of values are too many for a page", page.Name, len(raw))
			return
		}
		packed := snappy.Encode(nil, raw)
		t := &thriftWriter{}
		t.int(1, 5, 0)
		t.int(2, 5, int64(len(raw)))
		t.int(3, 5, int64(len(packed)))
		t.begin(5)
		t.int(1, 5, int64(to-from))
		t.int(2, 5, 0)
		t.int(3, 5, 3)
		t.int(4, 5, 3)
		t.end()
		t.end()
		c := writtenChunk{at: f.at, plain: int64(t.Len() + len(raw)), packed: int64(t.Len() + len(packed))}
		f.bytes(t.Bytes())
		f.bytes(packed)
		g.chunks = append(g.chunks, c)
	}
	f.groups = append(f.groups, g)
}

// values are the levels of a column that may lack values, as runs, and the values that are there.
func values(c *columns.Written, from, to int) (b []byte) {
	if c.Missing != nil {
		b = make([]byte, 4)
		for i := from; i < to; {
			end := i + 1
			for end < to && c.Missing[end] == c.Missing[i] {
				end++
			}
			b = binary.AppendUvarint(b, uint64(end-i)<<1)
			there := byte(1)
			if c.Missing[i] {
				there = 0
			}
			b, i = append(b, there), end
		}
		binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	}
	bit := 0
	for i := from; i < to; i++ {
		if c.Lacks(i) {
			continue
		}
		switch v := c.Values.(type) {
		case []bool:
			if bit%8 == 0 {
				b = append(b, 0)
			}
			if v[i] {
				b[len(b)-1] |= 1 << (bit % 8)
			}
			bit++
		case []int64:
			b = binary.LittleEndian.AppendUint64(b, uint64(v[i]))
		case []uint64:
			b = binary.LittleEndian.AppendUint64(b, v[i])
		case []float64:
			if c.Single {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v[i])))
			} else {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v[i]))
			}
		case []string:
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v[i]))), v[i]...)
		}
	}
	return b
}

func physical(c *columns.Written) int64 {
	switch c.Values.(type) {
	case []bool:
		return typeBool
	case []float64:
		if c.Single {
			return typeFloat
		}
		return typeDouble
	case []string:
		return typeBytes
	}
	return typeInt64
}

// footer is the schema, and where the groups of rows are.
func (f *writer) footer(rows int) []byte {
	t := &thriftWriter{}
	t.int(1, 5, 1)
	t.list(2, kindStruct, len(f.columns)+1)
	t.open()
	t.text(4, "schema")
	t.int(5, 5, int64(len(f.columns)))
	t.end()
	for i := range f.columns {
		t.field(&f.columns[i])
	}
	t.int(3, kindI64, int64(rows))
	t.list(4, kindStruct, len(f.groups))
	for _, g := range f.groups {
		t.open()
		t.list(1, kindStruct, len(g.chunks))
		size := int64(0)
		for i, c := range g.chunks {
			size += c.plain
			t.chunkOf(&f.columns[i], c, g.rows)
		}
		t.int(2, kindI64, size)
		t.int(3, kindI64, int64(g.rows))
		t.end()
	}
	t.text(6, "mcs")
	t.end()
	return t.Bytes()
}

// field writes a column's line of the schema.
func (t *thriftWriter) field(c *columns.Written) {
	t.open()
	t.int(1, 5, physical(c))
	often := int64(required)
	if c.Missing != nil {
		often = optional
	}
	t.int(3, 5, often)
	t.text(4, c.Name)
	switch c.Values.(type) {
	case []string:
		t.int(6, 5, 0)
		t.begin(10)
		t.begin(1)
		t.end()
		t.end()
	case []uint64:
		t.int(6, 5, 14)
	case []int64:
		if c.Time { // without a zone, in nanoseconds
			t.begin(10)
			t.begin(8)
			t.head(1, kindFalse)
			t.begin(2)
			t.begin(3)
			t.end()
			t.end()
			t.end()
			t.end()
		}
	}
	t.end()
}

func (t *thriftWriter) chunkOf(c *columns.Written, at writtenChunk, rows int) {
	t.open()
	t.int(2, kindI64, at.at)
	t.begin(3)
	t.int(1, 5, physical(c))
	t.list(2, 5, 2)
	t.number(0)
	t.number(3)
	t.list(3, kindBinary, 1)
	t.string(c.Name)
	t.int(4, 5, 1)
	t.int(5, kindI64, int64(rows))
	t.int(6, kindI64, at.plain)
	t.int(7, kindI64, at.packed)
	t.int(9, kindI64, at.at)
	t.end()
	t.end()
}

// A thriftWriter writes Thrift's compact protocol. Fields come in the order of their numbers.
type thriftWriter struct {
	bytes.Buffer
	last []int // the field before, of each struct that is open; the outermost is always
}

func (t *thriftWriter) head(id int, kind byte) {
	if t.last == nil {
		t.last = []int{0}
	}
	n := len(t.last) - 1
	t.WriteByte(byte(id-t.last[n])<<4 | kind)
	t.last[n] = id
}

func (t *thriftWriter) number(x int64) { t.Write(binary.AppendVarint(nil, x)) }

func (t *thriftWriter) string(s string) {
	t.Write(binary.AppendUvarint(nil, uint64(len(s))))
	t.WriteString(s)
}

func (t *thriftWriter) int(id int, kind byte, x int64) { t.head(id, kind); t.number(x) }

func (t *thriftWriter) text(id int, s string) { t.head(id, kindBinary); t.string(s) }

// begin begins a struct that is a field, open one that is an item of a list.
func (t *thriftWriter) begin(id int) { t.head(id, kindStruct); t.open() }

func (t *thriftWriter) open() { t.last = append(t.last, 0) }

func (t *thriftWriter) end() {
	t.WriteByte(0)
	t.last = t.last[:len(t.last)-1]
}

func (t *thriftWriter) list(id int, kind byte, n int) {
	t.head(id, kindList)
	if n < 15 {
		t.WriteByte(byte(n)<<4 | kind)
		return
	}
	t.WriteByte(15<<4 | kind)
	t.Write(binary.AppendUvarint(nil, uint64(n)))
}
