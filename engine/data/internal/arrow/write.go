package arrow

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
)

// Write writes a file with a footer, which is Feather's second version, too. It is not compressed.
func Write(w io.Writer, list []columns.Written, rows int) error {
	f := &writer{w: w}
	f.bytes([]byte(magic))
	schema := schemaOf(list)
	f.message(isSchema, schema, nil)
	var blocks []byte
	for at := 0; at < rows && f.err == nil; {
		n := columns.Together(list, at, rows)
		from := f.at
		batch, body := batchOf(list, at, at+n)
		f.message(isBatch, batch, body)
		blocks = binary.LittleEndian.AppendUint64(blocks, uint64(from))
		blocks = binary.LittleEndian.AppendUint64(blocks, uint64(f.at-from-int64(len(body))))
		blocks = binary.LittleEndian.AppendUint64(blocks, uint64(len(body)))
		at += n
	}
	f.bytes([]byte{255, 255, 255, 255, 0, 0, 0, 0})
	foot := packed(fields{int16(4), schema, records{}, records{blocks, 24}})
	f.bytes(foot)
	f.bytes(binary.LittleEndian.AppendUint32(nil, uint32(len(foot))))
	f.bytes([]byte(magic[:6]))
	return f.err
}

type writer struct {
	w   io.Writer
	at  int64
	err error
}

func (f *writer) bytes(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
		f.at += int64(len(b))
	}
}

// message writes a description and the buffers behind it.
func (f *writer) message(kind int, header fields, body []byte) {
	about := padded(packed(fields{int16(4), int8(kind), header, int64(len(body))}))
	f.bytes(binary.LittleEndian.AppendUint32([]byte{255, 255, 255, 255}, uint32(len(about))))
	f.bytes(about)
	f.bytes(body)
}

func padded(b []byte) []byte {
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func schemaOf(list []columns.Written) fields {
	var columns tables
	for i := range list {
		c := &list[i]
		kind, of := typeInt, fields{int32(64), true}
		switch c.Values.(type) {
		case []bool:
			kind, of = typeBool, fields{}
		case []uint64:
			of = fields{int32(64), false}
		case []float64:
			kind, of = typeFloat, fields{int16(2)}
			if c.Single {
				of = fields{int16(1)}
			}
		case []string:
			kind, of = typeText, fields{}
		case []int64:
			if c.Time {
				kind, of = typeTimestamp, fields{int16(3)}
			}
		}
		columns = append(columns, fields{c.Name, c.Missing != nil, int8(kind), of, nil, tables{}})
	}
	return fields{int16(0), columns}
}

// batchOf are rows: a description, and the buffers to which it leads.
func batchOf(list []columns.Written, from, to int) (fields, []byte) {
	var nodes, places, body []byte
	put := func(b []byte) {
		places = binary.LittleEndian.AppendUint64(places, uint64(len(body)))
		places = binary.LittleEndian.AppendUint64(places, uint64(len(b)))
		body = padded(append(body, b...))
	}
	for i := range list {
		c, missing := &list[i], 0
		var valid []byte
		if c.Missing != nil {
			valid = bitsOf(to-from, func(i int) bool { return !c.Missing[from+i] })
			for _, m := range c.Missing[from:to] {
				if m {
					missing++
				}
			}
		}
		nodes = binary.LittleEndian.AppendUint64(nodes, uint64(to-from))
		nodes = binary.LittleEndian.AppendUint64(nodes, uint64(missing))
		put(valid)
		for _, b := range buffersOf(c, from, to) {
			put(b)
		}
	}
	return fields{int64(to - from), records{nodes, 16}, records{places, 16}}, body
}

func bitsOf(n int, set func(i int) bool) []byte {
	b := make([]byte, (n+7)/8)
	for i := range n {
		if set(i) {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

// buffersOf are the buffers with the values of a column.
func buffersOf(c *columns.Written, from, to int) [][]byte {
	var b []byte
	switch v := c.Values.(type) {
	case []bool:
		b = bitsOf(to-from, func(i int) bool { return v[from+i] })
	case []int64:
		for _, x := range v[from:to] {
			b = binary.LittleEndian.AppendUint64(b, uint64(x))
		}
	case []uint64:
		for _, x := range v[from:to] {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
	case []float64:
		for _, x := range v[from:to] {
			if c.Single {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
			} else {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
			}
		}
	case []string:
		ends := make([]byte, 4)
		for _, s := range v[from:to] {
			b = append(b, s...)
			ends = binary.LittleEndian.AppendUint32(ends, uint32(len(b)))
		}
		return [][]byte{ends, b}
	}
	return [][]byte{b}
}

// Fields are a table of a flatbuffer: bool, int8, int16, int32, int64, string, fields, tables, records, or
// nil for one that is left out.
type fields []any

// Tables are a list of tables, records one of values that stand side by side, of so many bytes each.
type (
	tables  []fields
	records struct {
		b    []byte
		size int
	}
)

// packed is a flatbuffer. What a table leads to stands behind it.
func packed(root fields) []byte {
	p := &packer{b: make([]byte, 4)}
	p.lead(0, root)
	return p.b
}

type packer struct{ b []byte }

// lead writes a value that is not inside of its table, and the offset at a place to it.
func (p *packer) lead(from int, value any) {
	switch v := value.(type) {
	case fields:
		at := p.table(v)
		binary.LittleEndian.PutUint32(p.b[from:], uint32(at-from))
	case string:
		p.length(from, len(v), 4)
		p.b = append(append(p.b, v...), 0)
	case tables:
		at := p.length(from, len(v), 4)
		p.b = append(p.b, make([]byte, 4*len(v))...)
		for i, t := range v {
			p.lead(at+4*i, t)
		}
	case records:
		p.length(from, len(v.b)/max(v.size, 1), 8)
		p.b = append(p.b, v.b...)
	}
}

// length begins a list, whose items stand at multiples of align.
func (p *packer) length(from, n, align int) (at int) {
	for (len(p.b)+4)%align != 0 || len(p.b)%4 != 0 {
		p.b = append(p.b, 0)
	}
	binary.LittleEndian.PutUint32(p.b[from:], uint32(len(p.b)-from))
	p.b = binary.LittleEndian.AppendUint32(p.b, uint32(n))
	return len(p.b)
}

// table writes a table behind the list of the places of its fields.
func (p *packer) table(list fields) (at int) {
	head := 4 + 2*len(list)
	for (len(p.b)+head)%8 != 0 {
		p.b = append(p.b, 0)
	}
	list0 := len(p.b)
	p.b = append(p.b, make([]byte, head)...)
	at = len(p.b)
	p.b = binary.LittleEndian.AppendUint32(p.b, uint32(head))
	var later []int
	for i, v := range list {
		if v == nil {
			continue
		}
		var b [8]byte
		size := 4
		switch v := v.(type) {
		case bool:
			if size = 1; v {
				b[0] = 1
			}
		case int8:
			size, b[0] = 1, byte(v)
		case int16:
			size = 2
			binary.LittleEndian.PutUint16(b[:], uint16(v))
		case int32:
			binary.LittleEndian.PutUint32(b[:], uint32(v))
		case int64:
			size = 8
			binary.LittleEndian.PutUint64(b[:], uint64(v))
		default:
			later = append(later, i)
		}
		for len(p.b)%size != 0 {
			p.b = append(p.b, 0)
		}
		binary.LittleEndian.PutUint16(p.b[list0+4+2*i:], uint16(len(p.b)-at))
		p.b = append(p.b, b[:size]...)
	}
	binary.LittleEndian.PutUint16(p.b[list0:], uint16(head))
	binary.LittleEndian.PutUint16(p.b[list0+2:], uint16(len(p.b)-at))
	for _, i := range later {
		p.lead(at+int(binary.LittleEndian.Uint16(p.b[list0+4+2*i:])), list[i])
	}
	return at
}
