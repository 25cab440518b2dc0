package npy

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

const magic = "\x93NUMPY"

// maxHeader is far more than a header without records needs; NumPy refuses those above 10,000 bytes.
const maxHeader = 10_000

// maxRank is NumPy's.
const maxRank = 64

// descriptors are NumPy's names of element types, without the order of their bytes. NumPy has no bf16.
var descriptors = map[dtype.Type]string{
	dtype.Bool: "b1", dtype.U8: "u1", dtype.I8: "i1", dtype.U16: "u2", dtype.I16: "i2", dtype.U32: "u4", dtype.I32: "i4",
	dtype.U64: "u8", dtype.I64: "i8", dtype.F16: "f2", dtype.F32: "f4", dtype.F64: "f8", dtype.C64: "c8", dtype.C128: "c16",
}

// A header says what the elements are.
type header struct {
	dtype   dtype.Type
	swapped bool // big-endian
	fortran bool // the first axis is the one whose elements stand beside each other
	shape   []int
}

func (h header) String() string { return fmt.Sprintf("%v%v", h.dtype, h.shape) }

// bytes is the size of the elements, if it is below 2^62.
func (h header) bytes() (n int64, fits bool) {
	if slices.Contains(h.shape, 0) {
		return 0, true
	}
	total := uint64(h.dtype.Size())
	for _, d := range h.shape {
		hi, lo := bits.Mul64(total, uint64(d))
		if hi != 0 || lo > 1<<62 {
			return 0, false
		}
		total = lo
	}
	return int64(total), true
}

// tensor is the array of these bytes, little endian.
func (h header) tensor(data []byte) tensor.Tensor {
	if !h.fortran || len(h.shape) < 2 {
		return tensor.FromBytes(h.dtype, data, h.shape...)
	}
	shape, axes := slices.Clone(h.shape), make([]int, len(h.shape))
	slices.Reverse(shape)
	for i := range axes {
		axes[i] = len(axes) - 1 - i
	}
	return tensor.FromBytes(h.dtype, data, shape...).Permute(axes...)
}

// headerOf is what stands before the elements, in C's order. NumPy starts these at a multiple of 64.
func headerOf(dt dtype.Type, shape []int) []byte {
	order := "<"
	if dt.Size() == 1 {
		order = "|"
	}
	dims := ""
	for i, d := range shape {
		if dims += strconv.Itoa(d); i == 0 && len(shape) == 1 {
			dims += ","
		} else if i < len(shape)-1 {
			dims += ", "
		}
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, descriptors[dt], dims)
	const fixed = len(magic) + 4
	text += strings.Repeat(" ", 63-(fixed+len(text))%64) + "\n"
	b := append([]byte(magic), 1, 0)
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...)
}

// header reads up to the elements.
func (s *source) header() (header, error) {
	b, err := s.next(int64(len(magic)) + 2)
	if err != nil {
		return header{}, err
	}
	if string(b[:len(magic)]) != magic {
		s.at = 0
		return header{}, s.refuse("got %q, want a file of NumPy's to begin with %q", b[:len(magic)], magic)
	}
	major, minor, width := b[len(magic)], b[len(magic)+1], int64(4)
	switch {
	case major < 1 || major > 3 || minor != 0:
		s.at -= 2
		return header{}, s.refuse("got version %d.%d, want 1.0, 2.0 or 3.0", major, minor)
	case major == 1:
		width = 2
	}
	if b, err = s.next(width); err != nil {
		return header{}, err
	}
	length := int64(binary.LittleEndian.Uint32(append(slices.Clone(b), 0, 0)[:4]))
	if length > maxHeader {
		s.at -= width
		return header{}, s.refuse("the header has %d bytes, want at most %d", length, maxHeader)
	}
	start := s.at
	if b, err = s.next(length); err != nil {
		return header{}, err
	}
	p := &parser{source: s, start: start, text: string(b)}
	return p.header()
}

// A parser reads the header's dictionary. It knows texts, truth values and tuples of numbers.
type parser struct {
	*source
	start int64 // where the header begins
	text  string
	pos   int
}

// fail refuses what stands at pos.
func (p *parser) fail(pos int, format string, args ...any) {
	p.at = p.start + int64(pos)
	panic(p.refuse(format, args...))
}

func (p *parser) header() (h header, err error) {
	end := p.at
	defer func() {
		if r := recover(); r != nil {
			refusal, ok := r.(*FormatError)
			if !ok {
				panic(r)
			}
			err = refusal
		}
	}()
	seen := map[string]bool{}
	for p.expect("{"); !p.take("}"); {
		at := p.skip()
		key := p.string()
		if seen[key] {
			p.fail(at, "the key %q stands there twice", key)
		}
		seen[key] = true
		p.expect(":")
		switch key {
		case "descr":
			h.dtype, h.swapped = p.descr()
		case "fortran_order":
			h.fortran = p.truth()
		case "shape":
			h.shape = p.shape()
		default:
			p.fail(at, "got key %q, want descr, fortran_order and shape", key)
		}
		if !p.take(",") {
			p.expect("}")
			break
		}
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			p.fail(0, "%s is missing", key)
		}
	}
	if p.skip() != len(p.text) {
		p.fail(p.pos, "got %s after the header, want only blanks", p.here())
	}
	p.at = end
	return h, nil
}

func (p *parser) skip() int {
	for p.pos < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.pos]) >= 0 {
		p.pos++
	}
	return p.pos
}

// here describes what stands at pos.
func (p *parser) here() string {
	if p.pos >= len(p.text) {
		return "the end of the header"
	}
	return fmt.Sprintf("%.20q", p.text[p.pos:])
}

// take goes past a word, if it stands here.
func (p *parser) take(word string) bool {
	p.skip()
	if !strings.HasPrefix(p.text[p.pos:], word) {
		return false
	}
	p.pos += len(word)
	return true
}

func (p *parser) expect(word string) {
	if !p.take(word) {
		p.fail(p.pos, "got %s, want %s", p.here(), word)
	}
}

// string reads a text in quotes of either kind, without escapes: no key and no type has one.
func (p *parser) string() string {
	at := p.skip()
	if at == len(p.text) || p.text[at] != '\'' && p.text[at] != '"' {
		p.fail(at, "got %s, want a text in quotes", p.here())
	}
	end := strings.IndexByte(p.text[at+1:], p.text[at])
	if end < 0 {
		p.fail(at, "the text does not end")
	}
	p.pos = at + end + 2
	return p.text[at+1 : at+1+end]
}

func (p *parser) truth() bool {
	switch {
	case p.take("True"):
		return true
	case p.take("False"):
		return false
	}
	p.fail(p.pos, "fortran_order: got %s, want True or False", p.here())
	return false
}

// shape reads (), (3,), (2, 3) or (2, 3,).
func (p *parser) shape() []int {
	shape := []int{}
	for p.expect("("); !p.take(")"); {
		at := p.skip()
		for p.pos < len(p.text) && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
			p.pos++
		}
		n, err := strconv.ParseInt(p.text[at:p.pos], 10, strconv.IntSize)
		switch {
		case err != nil:
			p.pos = at
			p.fail(at, "shape: got %s, want a number below 2^63", p.here())
		case len(shape) == maxRank:
			p.fail(at, "shape has more than %d axes", maxRank)
		}
		if shape = append(shape, int(n)); !p.take(",") {
			p.expect(")")
			if len(shape) == 1 {
				p.fail(at, "shape: got a number, want a tuple: (%d,)", n)
			}
			break
		}
	}
	return shape
}

// descr reads an element type: '<f4'.
func (p *parser) descr() (dt dtype.Type, swapped bool) {
	at := p.skip()
	if strings.HasPrefix(p.text[at:], "[") {
		p.fail(at, "got records with fields, want one number in each element: save the fields as arrays of their own")
	}
	name := p.string()
	order, kind := "", name
	if len(name) > 0 && strings.ContainsRune("<>|=", rune(name[0])) {
		order, kind = name[:1], name[1:]
	}
	for dt, descriptor := range descriptors {
		if kind == descriptor && (order == "<" || order == ">" || order == "|" && dt.Size() == 1) {
			return dt, order == ">" && dt.Size() > 1
		}
	}
	p.fail(at, "got elements of type %.40q%s, want bool, integers of 8 to 64 bits, floats of 16 to 64 or complex numbers of them", name, advice[kind[:min(1, len(kind))]])
	return dt, false
}

// advice names a type that tensors do not have, by the first letter of its kind.
var advice = map[string]string{
	"O": " (Python objects; give the array a dtype of numbers)", "U": " (texts)", "S": " (texts)",
	"V": " (bytes without a type, as NumPy saves bfloat16; save x.astype(numpy.float32))",
	"M": " (times; save x.astype(numpy.int64))", "m": " (times; save x.astype(numpy.int64))",
}
