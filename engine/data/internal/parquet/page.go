package parquet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
)

// A header says what a page is.
type header struct {
	kind             int64 // 0: values, 2: a dictionary, 3: values in the second version
	size, compressed int64
	crc              int64
	checked          bool
	values           int64
	encoding         int64
	levelEncodings   [2]int64 // of repetition and definition, first version
	levelBytes       [2]int64 // second version
	packed           bool     // second version: the values are compressed
}

func (t *thrift) header() (h header) {
	h.packed = true
	t.fields(func(id int, kind byte) bool {
		if numbers := map[int]*int64{1: &h.kind, 2: &h.size, 3: &h.compressed, 4: &h.crc}; numbers[id] != nil && kind == 5 {
			*numbers[id] = t.int()
			h.checked = h.checked || id == 4
			return true
		}
		inner := map[int]map[int]*int64{
			5: {1: &h.values, 2: &h.encoding, 3: &h.levelEncodings[1], 4: &h.levelEncodings[0]},
			7: {1: &h.values, 2: &h.encoding},
			8: {1: &h.values, 4: &h.encoding, 5: &h.levelBytes[1], 6: &h.levelBytes[0]},
		}[id]
		if inner == nil || kind != kindStruct {
			return false
		}
		t.fields(func(field int, kind byte) bool {
			if id == 8 && field == 7 && (kind == kindTrue || kind == kindFalse) {
				h.packed = kind == kindTrue
				return true
			}
			if inner[field] == nil || kind != 5 {
				return false
			}
			*inner[field] = t.int()
			return true
		})
		return true
	})
	return h
}

const (
	maxHeader = 64 << 10
	maxPage   = 1 << 30
)

// A column reads a chunk's values with their levels, page by page.
type column struct {
	node  *node
	codec int
	r     *bufio.Reader
	room  int64 // bytes of the chunk that are left
	left  int64 // values of the chunk that are left

	unpacker columns.Unpacker

	dictionary []any
	inPage     int64 // values of the page that are left
	reps, defs *levels
	values     decoder

	peeked   bool // rep and def are those of the next value
	rep, def int
}

func newColumn(n *node, c chunk, r io.ReaderAt) *column {
	section := io.NewSectionReader(r, c.from, c.to-c.from)
	return &column{node: n, codec: c.codec, r: bufio.NewReaderSize(section, int(min(maxHeader, c.to-c.from))), room: c.to - c.from, left: c.values}
}

// peek reads the levels of the next value. It returns io.EOF after the last one.
func (c *column) peek() error {
	if c.peeked {
		return nil
	}
	for c.inPage == 0 {
		if c.left == 0 {
			return io.EOF
		}
		if err := c.page(); err != nil {
			return err
		}
	}
	c.rep, c.def = 0, c.node.def
	for _, l := range []struct {
		from *levels
		to   *int
		most int
	}{{c.reps, &c.rep, c.node.rep}, {c.defs, &c.def, c.node.def}} {
		if l.from == nil {
			continue
		}
		v, err := l.from.next()
		if err != nil {
			return err
		}
		if int64(v) > int64(l.most) {
			return fmt.Errorf("got level %d, want at most %d", v, l.most)
		}
		*l.to = int(v)
	}
	c.peeked = true
	c.inPage--
	c.left--
	return nil
}

// take returns the value whose levels were read; nil if it is not there.
func (c *column) take() (any, error) {
	c.peeked = false
	if c.def < c.node.def {
		return nil, nil
	}
	return c.values.next()
}

// page reads the next page of values, and dictionaries before it.
func (c *column) page() error {
	head, _ := c.r.Peek(int(min(maxHeader, c.room)))
	t := &thrift{b: head}
	h := t.header()
	if t.err != nil {
		return fmt.Errorf("the header of a page: %w", t.err)
	}
	if _, err := c.r.Discard(t.at); err != nil {
		return err
	}
	c.room -= int64(t.at)
	switch {
	case h.compressed < 0 || h.compressed > c.room:
		return fmt.Errorf("a page of %d bytes is not inside of its column", h.compressed)
	case h.size > maxPage || columns.Check(h.size, h.compressed) != nil:
		return fmt.Errorf("a page claims %d bytes in %d", h.size, h.compressed)
	case h.values < 0 || h.kind != 2 && h.values > c.left:
		return fmt.Errorf("a page claims %d values, want at most %d", h.values, c.left)
	}
	raw := make([]byte, h.compressed)
	if _, err := io.ReadFull(c.r, raw); err != nil {
		return err
	}
	c.room -= h.compressed
	if h.checked && crc32.ChecksumIEEE(raw) != uint32(h.crc) {
		return errors.New("the checksum of a page is another one")
	}
	switch h.kind {
	case 0:
		return c.first(h, raw)
	case 1: // an index
		return nil
	case 2:
		return c.learn(h, raw)
	case 3:
		return c.second(h, raw)
	}
	return fmt.Errorf("got a page of type %d", h.kind)
}

// first begins a page of the first version: levels and values are compressed together.
func (c *column) first(h header, raw []byte) error {
	b, err := c.unpack(raw, h.size)
	if err != nil {
		return err
	}
	var parts [2]*levels
	for i, most := range []int{c.node.rep, c.node.def} {
		if most == 0 {
			continue
		}
		if h.levelEncodings[i] != 3 {
			return fmt.Errorf("got levels in encoding %d, want 3 (RLE)", h.levelEncodings[i])
		}
		if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
			return errShort
		}
		n := int(binary.LittleEndian.Uint32(b))
		parts[i] = &levels{b: b[4 : 4+n], width: widthOf(most)}
		b = b[4+n:]
	}
	return c.begin(h, parts, b)
}

// second begins a page of the second version, whose levels are not compressed.
func (c *column) second(h header, raw []byte) error {
	var parts [2]*levels
	for i, most := range []int{c.node.rep, c.node.def} {
		n := h.levelBytes[i]
		if n < 0 || n > int64(len(raw)) || n > h.size {
			return errShort
		}
		if most > 0 {
			parts[i] = &levels{b: raw[:n], width: widthOf(most)}
		}
		raw, h.size = raw[n:], h.size-n
	}
	if !h.packed || h.size == 0 {
		return c.begin(h, parts, raw)
	}
	b, err := c.unpack(raw, h.size)
	if err != nil {
		return err
	}
	return c.begin(h, parts, b)
}

// begin begins a page of values, of which b are the bytes behind the levels.
func (c *column) begin(h header, parts [2]*levels, b []byte) (err error) {
	c.inPage, c.reps, c.defs = h.values, parts[0], parts[1]
	switch {
	case h.encoding == 0:
		c.values = &plain{b: b, physical: c.node.physical}
	case h.encoding == 2 || h.encoding == 8:
		if c.dictionary == nil {
			return errors.New("a page needs a dictionary, and there is none before it")
		}
		if len(b) == 0 { // no value of the page is there
			b = []byte{0}
		}
		if b[0] > 32 {
			return fmt.Errorf("got entries of a dictionary in %d bits", b[0])
		}
		c.values = &indexed{c.dictionary, levels{b: b[1:], width: int(b[0])}}
	case h.encoding == 3 && c.node.physical == typeBool:
		if len(b) < 4 {
			return errShort
		}
		c.values = &boolRuns{levels{b: b[4:], width: 1}}
	case h.encoding == 5 && (c.node.physical == typeInt32 || c.node.physical == typeInt64):
		c.values, err = newDeltas(b)
	case h.encoding == 6 && c.node.physical == typeBytes, h.encoding == 7 && c.node.physical == typeBytes:
		c.values, err = newDeltaTexts(b, h.encoding == 7)
	default:
		return fmt.Errorf("got values in encoding %d, want one of plain, dictionary, RLE or deltas", h.encoding)
	}
	return err
}

// learn reads a dictionary.
func (c *column) learn(h header, raw []byte) error {
	if h.encoding != 0 && h.encoding != 2 {
		return fmt.Errorf("got a dictionary in encoding %d, want plain", h.encoding)
	}
	b, err := c.unpack(raw, h.size)
	if err != nil {
		return err
	}
	p := &plain{b: b, physical: c.node.physical}
	c.dictionary = []any{}
	for range h.values {
		v, err := p.next()
		if err != nil {
			return err
		}
		c.dictionary = append(c.dictionary, v)
	}
	return nil
}

// codecs are the numbers of the footer.
var codecs = map[int]columns.Codec{0: columns.Plain, 1: columns.Snappy, 2: columns.Gzip, 4: columns.Brotli, 6: columns.Zstd, 7: columns.LZ4Block}

// unpack returns the size bytes that raw holds.
func (c *column) unpack(raw []byte, size int64) ([]byte, error) {
	codec, ok := codecs[c.codec]
	if !ok {
		names := map[int]string{3: " LZO", 5: " LZ4 as Hadoop frames it"}
		return nil, fmt.Errorf("got compression %d%s, want none, snappy, gzip, Brotli, zstd or LZ4 (7)", c.codec, names[c.codec])
	}
	b, err := c.unpacker.Unpack(codec, raw, size)
	if err != nil {
		return nil, fmt.Errorf("a page does not unpack: %w", err)
	}
	return b, nil
}
