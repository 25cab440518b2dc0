package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// A batch is a message with values: its description, and buffers in the bytes behind it.
type batch struct {
	*Reader
	about           table
	body, size      int64 // of the buffers, in the file
	room            int64 // bytes of the body that buffers can still have
	codec           columns.Codec
	nodes, nodesN   int // place of the lengths, and how many are left
	buffer, bufferN int
	views, viewsN   int
}

func (r *Reader) newBatch(m message, about table) (*batch, error) {
	b := &batch{Reader: r, about: about, body: m.body, size: m.size, room: m.size}
	b.nodes, b.nodesN = about.vector(1, 16)
	b.buffer, b.bufferN = about.vector(2, 16)
	b.views, b.viewsN = about.vector(4, 8)
	if c := about.table(3); c.at != 0 {
		codec := c.int(0, 1)
		if codec != 0 && codec != 1 || c.int(1, 1) != 0 {
			return nil, fmt.Errorf("got compression %d, want LZ4 (0) or zstd (1)", codec)
		}
		b.codec = []columns.Codec{columns.LZ4Frame, columns.Zstd}[codec]
	}
	return b, about.f.err
}

// array reads the values of a field, or goes past them.
func (b *batch) array(f *field, read bool) (a *array, err error) {
	if b.nodesN == 0 {
		return nil, errors.New("the batch has fewer columns than the schema")
	}
	a = &array{f: f, length: b.about.f.number(b.nodes, 8)}
	missing := b.about.f.number(b.nodes+8, 8)
	b.nodes, b.nodesN = b.nodes+16, b.nodesN-1
	if a.length < 0 || a.length > columns.RowsOfByte*b.Reader.size {
		return nil, fmt.Errorf("a column claims %d values in a file of %d bytes", a.length, b.Reader.size)
	}
	if err := b.buffers(a, missing, read); err != nil {
		return nil, err
	}
	if f.coded {
		a.entries = b.dictionaries[f.dictionary]
	} else {
		for _, c := range f.children {
			child, err := b.array(c, read)
			if err != nil {
				return nil, err
			}
			a.children = append(a.children, child)
		}
	}
	if !read {
		return nil, nil
	}
	return a, a.check()
}

// buffers reads the buffers of an array itself.
func (b *batch) buffers(a *array, missing int64, read bool) (err error) {
	n := a.f.buffers()
	if a.f.views() {
		if b.viewsN == 0 {
			return errors.New("the batch does not say how many buffers a column has")
		}
		more := b.about.f.number(b.views, 8)
		if b.views, b.viewsN = b.views+8, b.viewsN-1; more < 0 || more > int64(b.bufferN) {
			return fmt.Errorf("a column claims %d buffers", more)
		}
		n += int(more)
	}
	list := make([][]byte, 0, min(n, b.bufferN))
	for range n {
		v, err := b.next(read)
		if err != nil {
			return err
		}
		list = append(list, v)
	}
	if !read || n == 0 {
		return nil
	}
	if a.valid = list[0]; len(a.valid) == 0 && missing <= 0 {
		a.valid = nil
	} else if int64(len(a.valid)) < (a.length+7)/8 {
		return fmt.Errorf("got %d bytes to say which of %d values are there", len(a.valid), a.length)
	}
	switch kind := a.f.kind; {
	case a.f.coded:
		a.data = list[1]
	case a.f.views():
		a.data, a.views = list[1], list[2:]
	case kind == typeText, kind == typeBinary:
		a.offsets, a.data = list[1], list[2]
	case kind == typeLargeText, kind == typeLargeBinary:
		a.offsets, a.data, a.wide = list[1], list[2], true
	case kind == typeList, kind == typeMap:
		a.offsets = list[1]
	case kind == typeLargeList:
		a.offsets, a.wide = list[1], true
	case n > 1:
		a.data = list[1]
	}
	return nil
}

// next reads the next buffer, or goes past it.
func (b *batch) next(read bool) ([]byte, error) {
	if b.bufferN == 0 {
		return nil, errors.New("the batch has fewer buffers than the schema")
	}
	from, n := b.about.f.number(b.buffer, 8), b.about.f.number(b.buffer+8, 8)
	b.buffer, b.bufferN = b.buffer+16, b.bufferN-1
	if !read {
		return nil, nil
	}
	if from < 0 || n < 0 || from > b.size || n > b.size-from {
		return nil, fmt.Errorf("a buffer of %d bytes at %d is not inside of its batch of %d", n, from, b.size)
	}
	if b.room -= n; b.room < 0 {
		return nil, errors.New("the buffers of the batch are in each other")
	}
	raw := make([]byte, n)
	if err := regular.ReadAt(b.r, raw, b.body+from); err != nil {
		return nil, err
	}
	if b.codec == columns.Plain || n == 0 {
		return raw, nil
	}
	if n < 8 {
		return nil, fmt.Errorf("a compressed buffer has %d bytes", n)
	}
	size := int64(binary.LittleEndian.Uint64(raw))
	if raw = raw[8:]; size == -1 { // it is not compressed
		return raw, nil
	}
	err := columns.Check(size, int64(len(raw)))
	if err == nil {
		b.items += itemsOfByte * size
		raw, err = b.unpacker.Unpack(b.codec, raw, size)
	}
	if err != nil {
		return nil, fmt.Errorf("a buffer does not unpack: %w", err)
	}
	return raw, nil
}
