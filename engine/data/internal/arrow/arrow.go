// Package arrow reads columns of text out of Arrow's own files, row by row: streams of batches, as datasets
// of Hugging Face keep them, and files with a footer behind such a stream (Feather). Texts and numbers,
// lists, structs, maps and dictionaries of them are read, plain or compressed by LZ4 or zstd. Columns that
// nobody asks for are not read. The format is on arrow.apache.org/docs/format/Columnar.html.
//
// Nothing that a file claims is believed: one batch at a time takes memory, as much as its bytes, and what is
// claimed without taking bytes is bounded by the file's. An error names the row and the column, or the byte.
//
// Reading order: arrow.go, schema.go, batch.go, array.go, flat.go; write.go writes tables.
package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
)

const (
	magic = "ARROW1\x00\x00" // before the stream of a file with a footer
	mark  = 1<<32 - 1        // before the length of a message
	// maxAbout bounds the description of a batch.
	maxAbout = 256 << 20
	// itemsOfByte is how many items of lists a byte can hold: bits.
	itemsOfByte = 8
	// someItems may be in a file of any size: items of no type at all take no space.
	someItems = 1 << 10
)

// Kinds of messages.
const (
	isSchema     = 1
	isDictionary = 2
	isBatch      = 3
)

// A message is where a batch or a dictionary is in the file.
type message struct {
	at, length int64 // of the description
	body, size int64 // of the buffers
	kind       int
	rows       int64
}

// A Reader reads a file's rows.
type Reader struct {
	r        io.ReaderAt
	size     int64
	fields   []*field
	names    []string // of all columns
	chosen   []bool
	coded    map[int64]*field // values of the dictionaries that chosen columns need
	messages []message        // that are left
	unpacker columns.Unpacker

	rows, at     int64
	row          int64 // of the batch
	left         int64 // rows of the batch
	columns      []*array
	dictionaries map[int64][]*array
	text         int64 // bytes of text that there can still be
	items        int64 // items of lists that there can still be
	inRow        int64 // items of the row's lists
}

// Open begins to read a file of size bytes. Names are those of the columns to read, nil for all; some may be
// missing, but if all are, the error is a *columns.Missing.
func Open(r io.ReaderAt, size int64, names []string) (*Reader, error) {
	p := &Reader{r: r, size: size, coded: map[int64]*field{}, dictionaries: map[int64][]*array{}, text: columns.MostDeflated*size + columns.SomeText, items: itemsOfByte*size + someItems}
	if err := p.scan(); err != nil {
		return nil, err
	}
	for _, f := range p.fields {
		chosen := names == nil || slices.Contains(names, f.name)
		p.chosen = append(p.chosen, chosen)
		p.names = append(p.names, f.name)
		if !chosen {
			continue
		}
		if what := f.unread(); what != "" {
			return nil, fmt.Errorf("column %q has values of %s, want text or numbers", f.name, what)
		}
		if err := f.coding(p.coded); err != nil {
			return nil, fmt.Errorf("column %q: %w", f.name, err)
		}
	}
	if !slices.Contains(p.chosen, true) {
		return nil, &columns.Missing{Have: p.names, Want: names}
	}
	return p, nil
}

// Columns are the names of all columns.
func (p *Reader) Columns() []string { return p.names }

// Chosen are the names of the columns that are read.
func (p *Reader) Chosen() (list []string) {
	for i, name := range p.names {
		if p.chosen[i] {
			list = append(list, name)
		}
	}
	return list
}

// scan finds the messages and reads the first one, the schema.
func (p *Reader) scan() error {
	at, about := int64(0), []byte(nil)
	var head [8]byte
	if n, err := p.r.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return err
	} else if string(head[:n]) == magic {
		at = int64(len(magic))
	}
	for {
		m, err := p.message(at, &about)
		if err == io.EOF && p.fields != nil {
			return nil
		}
		if err == io.EOF {
			err = errors.New("got no schema, want Arrow's stream of batches")
		}
		if err != nil {
			return fmt.Errorf("byte %d: %w", at, err)
		}
		at = m.body + m.size
		if m.kind == isBatch {
			if p.rows += m.rows; m.rows < 0 || p.rows > columns.RowsOfByte*p.size {
				return fmt.Errorf("byte %d: a batch claims %d rows in a file of %d bytes", m.at, m.rows, p.size)
			}
		}
		if m.kind != isSchema {
			p.messages = append(p.messages, m)
		}
	}
}

// message finds the message at a place, and reads the schema if it is one. It returns io.EOF at the end.
func (p *Reader) message(at int64, about *[]byte) (m message, err error) {
	var head [8]byte
	n, err := p.r.ReadAt(head[:min(8, max(0, p.size-at))], at)
	if err != nil && err != io.EOF {
		return m, err
	}
	m.at, m.length = at+8, int64(int32(binary.LittleEndian.Uint32(head[4:])))
	switch {
	case n == 0, n >= 4 && binary.LittleEndian.Uint32(head[:]) == mark && m.length == 0:
		return m, io.EOF
	case n < 8 || binary.LittleEndian.Uint32(head[:]) != mark:
		return m, fmt.Errorf("got the bytes %x, want those of a batch, ffffffff and a length", head[:n])
	case m.length < 0 || m.length > min(maxAbout, p.size-m.at):
		return m, fmt.Errorf("a message of %d bytes is not inside of the file", m.length)
	}
	t, err := p.describe(m, about)
	if err != nil {
		return m, err
	}
	m.kind, m.body, m.size = int(t.int(1, 1)), m.at+m.length, t.int(3, 8)
	switch version, inner := t.int(0, 2), t.table(2); {
	case t.f.err != nil:
	case version < 3 || version > 4:
		t.f.fail("got version %d of the format, want 4 or 5", version+1)
	case m.size < 0 || m.size > p.size-m.body:
		t.f.fail("buffers of %d bytes are not inside of the file", m.size)
	case (m.kind == isSchema) != (p.fields == nil):
		t.f.fail("got a message of kind %d, want one schema, then batches", m.kind)
	case m.kind == isSchema:
		if p.fields, err = schema(inner); err != nil {
			return m, err
		}
		if p.fields == nil {
			t.f.fail("the schema has no columns")
		}
	case m.kind == isBatch:
		m.rows = inner.int(0, 8)
	case m.kind != isDictionary:
		t.f.fail("got a message of kind %d, want a batch", m.kind)
	}
	return m, t.f.err
}

// describe reads the description of a message. The memory of about is used again.
func (p *Reader) describe(m message, about *[]byte) (table, error) {
	*about = slices.Grow((*about)[:0], int(m.length))[:m.length]
	if _, err := p.r.ReadAt(*about, m.at); err != nil {
		return table{}, err
	}
	f := &flat{b: *about, text: len(*about)}
	t := f.tableAt(f.follow(0))
	return t, f.err
}

// Rows is the number of rows of the file.
func (p *Reader) Rows() int64 { return p.rows }

// Row is the number of rows that were read.
func (p *Reader) Row() int64 { return p.at }

// Next puts the values of the next row into row, in the order of the columns that are read: nil, bool, int64,
// uint64, float64, string, columns.Time, columns.JSON, []any for a list, or a columns.Object. After the last
// one it returns io.EOF.
func (p *Reader) Next(row []any) (err error) {
	for p.row == p.left {
		if len(p.messages) == 0 {
			return io.EOF
		}
		m := p.messages[0]
		p.messages = p.messages[1:]
		if err := p.read(m); err != nil {
			return fmt.Errorf("%d: byte %d: %w", p.at+1, m.at, err)
		}
	}
	p.at++
	p.inRow = 0
	at := 0
	for i, f := range p.fields {
		if !p.chosen[i] {
			continue
		}
		if row[at], err = p.value(p.columns[i], p.row); err != nil {
			return fmt.Errorf("%d: column %q: %w", p.at, f.name, err)
		}
		at++
	}
	p.row++
	return nil
}

// read reads a batch or a dictionary.
func (p *Reader) read(m message) error {
	var about []byte
	t, err := p.describe(m, &about)
	if err != nil {
		return err
	}
	if t = t.table(2); m.kind == isDictionary {
		return p.learn(m, t)
	}
	b, err := p.newBatch(m, t)
	if err != nil {
		return err
	}
	p.columns, p.row, p.left = make([]*array, len(p.fields)), 0, m.rows
	for i, f := range p.fields {
		a, err := b.array(f, p.chosen[i])
		if err == nil && p.chosen[i] && a.length != m.rows {
			err = fmt.Errorf("got %d values for %d rows", a.length, m.rows)
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", f.name, err)
		}
		p.columns[i] = a
	}
	return t.f.err
}

// learn reads a dictionary, or more entries of one.
func (p *Reader) learn(m message, t table) error {
	id, more := t.int(0, 8), t.bool(2)
	f := p.coded[id]
	if f == nil { // of a column that nobody asks for
		return t.f.err
	}
	b, err := p.newBatch(m, t.table(1))
	if err != nil {
		return err
	}
	a, err := b.array(f, true)
	if err != nil {
		return fmt.Errorf("dictionary %d: %w", id, err)
	}
	if more {
		p.dictionaries[id] = append(slices.Clip(p.dictionaries[id]), a)
	} else {
		p.dictionaries[id] = []*array{a}
	}
	return nil
}
