package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

var errShort = errors.New("the page has fewer values than it claims")

// A decoder gives the values of a page, one after the other: bool, int64, float64 or string.
type decoder interface {
	next() (any, error)
}

// levels reads numbers of few bits that are written as runs and packed in eights (RLE/bit-packing hybrid).
type levels struct {
	b      []byte
	width  int
	run    int // equal values that are left
	value  uint32
	packed []byte // of the eights that are left
	bit    int    // place in packed
}

func (l *levels) next() (uint32, error) {
	for l.run == 0 && l.bit+l.width > 8*len(l.packed) || l.run == 0 && len(l.packed) == 0 {
		if err := l.begin(); err != nil {
			return 0, err
		}
	}
	if l.run > 0 {
		l.run--
		return l.value, nil
	}
	v := uint32(bitsAt(l.packed, l.bit, l.width))
	l.bit += l.width
	return v, nil
}

// bitsAt reads so many bits, the lowest first.
func bitsAt(b []byte, bit, width int) (v uint64) {
	for got := 0; got < width; {
		at, off := (bit+got)/8, (bit+got)%8
		n := min(8-off, width-got)
		v |= uint64(b[at]>>off&(1<<n-1)) << got
		got += n
	}
	return v
}

// begin reads the head of the next run.
func (l *levels) begin() error {
	head, n := binary.Uvarint(l.b)
	if n <= 0 || head>>1 > math.MaxInt32 {
		return errShort
	}
	l.b, l.packed, l.bit = l.b[n:], nil, 0
	if head&1 == 0 {
		bytes := (l.width + 7) / 8
		if len(l.b) < bytes {
			return errShort
		}
		l.run, l.value = int(head>>1), 0
		for i := range bytes {
			l.value |= uint32(l.b[i]) << (8 * i)
		}
		l.b = l.b[bytes:]
		return nil
	}
	if l.width == 0 { // numbers without bits are zeros
		l.run, l.value = 8*int(head>>1), 0
		return nil
	}
	bytes := min(int(head>>1)*l.width, len(l.b)) // the last eights may be cut where the values end
	if bytes == 0 {
		return errShort
	}
	l.packed, l.b = l.b[:bytes], l.b[bytes:]
	return nil
}

// plain reads values as they are.
type plain struct {
	b        []byte
	physical int
	bit      int
}

// sizes are the bytes of a value by its physical type; of texts those of their length.
var sizes = [typeFixed + 1]int{typeInt32: 4, typeInt64: 8, typeFloat: 4, typeDouble: 8, typeBytes: 4}

func (p *plain) next() (any, error) {
	if p.physical == typeBool {
		if p.bit >= 8*len(p.b) {
			return nil, errShort
		}
		p.bit++
		return p.b[(p.bit-1)/8]>>((p.bit-1)%8)&1 == 1, nil
	}
	size := sizes[p.physical]
	if len(p.b) < size {
		return nil, errShort
	}
	head := p.b[:size]
	p.b = p.b[size:]
	switch p.physical {
	case typeInt32:
		return int64(int32(binary.LittleEndian.Uint32(head))), nil
	case typeInt64:
		return int64(binary.LittleEndian.Uint64(head)), nil
	case typeFloat:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(head))), nil
	case typeDouble:
		return math.Float64frombits(binary.LittleEndian.Uint64(head)), nil
	}
	n := int64(binary.LittleEndian.Uint32(head))
	if n > int64(len(p.b)) {
		return nil, fmt.Errorf("a text of %d bytes is longer than its page", n)
	}
	v, err := text(p.b[:n])
	p.b = p.b[n:]
	return v, err
}

func text(b []byte) (any, error) {
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("got the bytes %.20q, want text in UTF-8", b)
	}
	return string(b), nil
}

// indexed looks values up in the dictionary.
type indexed struct {
	dictionary []any
	index      levels
}

func (d *indexed) next() (any, error) {
	i, err := d.index.next()
	if err != nil {
		return nil, err
	}
	if int64(i) >= int64(len(d.dictionary)) {
		return nil, fmt.Errorf("got entry %d of a dictionary of %d", i, len(d.dictionary))
	}
	return d.dictionary[i], nil
}

// boolRuns reads bools as runs.
type boolRuns struct{ levels levels }

func (d *boolRuns) next() (any, error) {
	v, err := d.levels.next()
	return v == 1, err
}

// deltas reads numbers as differences in blocks of packed bits (DELTA_BINARY_PACKED).
type deltas struct {
	b          []byte
	block      int // numbers of a block
	minis      int // parts of a block, each with its own number of bits
	left       int // numbers that are left
	value      int64
	first      bool
	least      int64
	widths     []byte
	mini       []byte // bits of the part that is read
	at, inMini int
}

func newDeltas(b []byte) (*deltas, error) {
	d := &deltas{b: b, first: true}
	var head [3]uint64
	for i := range head {
		v, n := binary.Uvarint(d.b)
		if n <= 0 || v > math.MaxInt32 {
			return nil, errShort
		}
		head[i], d.b = v, d.b[n:]
	}
	d.block, d.minis, d.left = int(head[0]), int(head[1]), int(head[2])
	v, n := binary.Varint(d.b)
	if n <= 0 || d.minis < 1 || d.minis > 512 || d.block%d.minis != 0 || d.block/d.minis%8 != 0 || d.block == 0 {
		return nil, fmt.Errorf("got blocks of %d numbers in %d parts", d.block, d.minis)
	}
	d.value, d.b = v, d.b[n:]
	d.inMini = d.block / d.minis
	d.at = d.inMini
	return d, nil
}

func (d *deltas) number() (int64, error) {
	if d.left == 0 {
		return 0, errShort
	}
	d.left--
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.at == d.inMini {
		if err := d.part(); err != nil {
			return 0, err
		}
	}
	width := 8 * len(d.mini) / d.inMini
	d.value += d.least + int64(bitsAt(d.mini, d.at*width, width))
	d.at++
	return d.value, nil
}

// part begins the next part of a block, and the next block if this was the last one.
func (d *deltas) part() error {
	if len(d.widths) == 0 {
		v, n := binary.Varint(d.b)
		if n <= 0 || len(d.b) < n+d.minis {
			return errShort
		}
		d.least, d.widths, d.b = v, d.b[n:n+d.minis], d.b[n+d.minis:]
	}
	width := int(d.widths[0])
	bytes := width * d.inMini / 8
	if width > 64 || bytes > len(d.b) {
		return errShort
	}
	d.mini, d.b, d.widths, d.at = d.b[:bytes], d.b[bytes:], d.widths[1:], 0
	return nil
}

func (d *deltas) next() (any, error) { return d.number() }

// rest is what follows the numbers.
func (d deltas) rest() ([]byte, error) {
	for d.left > 0 {
		if _, err := d.number(); err != nil {
			return nil, err
		}
	}
	return d.b, nil
}

// deltaTexts reads texts by their lengths and, if prefix is there, by how much each begins like the one
// before.
type deltaTexts struct {
	prefix, length *deltas
	b              []byte
	before         []byte
}

func newDeltaTexts(b []byte, prefixed bool) (d *deltaTexts, err error) {
	d = &deltaTexts{b: b}
	for _, numbers := range []**deltas{&d.prefix, &d.length} {
		if numbers == &d.prefix && !prefixed {
			continue
		}
		if *numbers, err = newDeltas(d.b); err != nil {
			return nil, err
		}
		if d.b, err = (**numbers).rest(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *deltaTexts) next() (any, error) {
	n, err := d.length.number()
	if err != nil {
		return nil, err
	}
	same := int64(0)
	if d.prefix != nil {
		if same, err = d.prefix.number(); err != nil {
			return nil, err
		}
	}
	if n < 0 || n > int64(len(d.b)) || same < 0 || same > int64(len(d.before)) {
		return nil, fmt.Errorf("a text of %d bytes is longer than its page", n)
	}
	v := d.b[:n]
	if d.prefix != nil {
		v = append(d.before[:same:same], v...)
		d.before = v
	}
	d.b = d.b[n:]
	return text(v)
}

// widthOf is the number of bits that hold numbers up to most.
func widthOf(most int) int { return bits.Len(uint(most)) }
