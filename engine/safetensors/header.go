package safetensors

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// encoding/json cannot read the header: of two equal keys it keeps the last, it matches field names whatever
// their case, and it repairs bad UTF-8. Each of these lets two programs see different tensors in one file. A
// header has a fixed depth, so this scanner needs no recursion.
//
// A header of 100 MB can list two million tensors without data. So an entry costs no more than an Info and
// its shape: names are parts of src, types are the table's own, shapes share one list.
type scanner struct {
	file   string
	src    string
	pos    int
	tensor string // for errors
	shapes []int
}

// Limits that no file of a model comes near. A file beyond them could take far more memory than it has bytes.
const (
	maxRank     = 64
	maxMetadata = 1 << 16
)

// shortestEntry is no longer than a tensor's entry can be.
const shortestEntry = len(`"":{"dtype":"U8","shape":[],"data_offsets":[0,1]}`)

// header is what stands in a file's header, tensors in the order in which they are listed.
type header struct {
	tensors  []Info
	metadata map[string]string
}

func parseHeader(file, src string) (h *header, err error) {
	s := &scanner{file: file, src: src}
	defer func() {
		if r := recover(); r != nil {
			refusal, ok := r.(*FormatError)
			if !ok {
				panic(r)
			}
			h, err = nil, refusal
		}
	}()
	return s.header(), nil
}

// refuse ends the parse. The offset is counted in the header.
func (s *scanner) refuse(at int, format string, args ...any) {
	panic(&FormatError{File: s.file, Tensor: s.tensor, Offset: int64(at) + 8, Msg: fmt.Sprintf(format, args...)})
}

func (s *scanner) header() *header {
	h := &header{tensors: make([]Info, 0, min(strings.Count(s.src, `"shape"`), len(s.src)/shortestEntry+1))}
	if len(s.src) == 0 || s.src[0] != '{' {
		s.refuse(0, "got %s, want the header to start with {", s.here())
	}
	s.object(func(key string, at int) {
		if key == "__metadata__" {
			if h.metadata != nil {
				s.refuseTwice(key, at)
			}
			h.metadata = s.metadata()
			return
		}
		s.tensor = key
		h.tensors = append(h.tensors, s.info(key, at))
		s.tensor = ""
	})
	for ; s.pos < len(s.src); s.pos++ {
		if s.src[s.pos] != ' ' {
			s.refuse(s.pos, "got %s after the header, want only spaces", s.here())
		}
	}
	slices.SortFunc(h.tensors, func(a, b Info) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.at, b.at))
	})
	for i := 1; i < len(h.tensors); i++ {
		if t := h.tensors[i]; t.Name == h.tensors[i-1].Name {
			s.refuseTwice(t.Name, t.at)
		}
	}
	return h
}

func (s *scanner) refuseTwice(name string, at int) {
	s.refuse(at, "the name %q stands in the header twice", name)
}

func (s *scanner) metadata() map[string]string {
	m := map[string]string{}
	s.skip()
	if strings.HasPrefix(s.src[s.pos:], "null") { // so MLX says that there is none
		s.pos += len("null")
		return m
	}
	s.object(func(key string, at int) {
		if _, twice := m[key]; twice {
			s.refuse(at, "the key %q stands in __metadata__ twice", key)
		}
		if s.peek() != '"' {
			s.refuse(s.pos, "__metadata__ %q: got %s, want a string", key, s.here())
		}
		if len(m) == maxMetadata {
			s.refuse(at, "__metadata__ has more than %d keys", maxMetadata)
		}
		m[key] = s.string()
	})
	return m
}

func (s *scanner) info(name string, at int) Info {
	t := Info{Name: name, at: at}
	var hasType, hasShape, hasOffsets bool
	s.object(func(key string, at int) {
		twice := false
		switch key {
		case "dtype":
			twice, hasType = hasType, true
			t.DType = s.dtype()
		case "shape":
			twice, hasShape = hasShape, true
			t.Shape = s.shape()
		case "data_offsets":
			twice, hasOffsets = hasOffsets, true
			t.begin, t.end = s.offsets(at)
		default:
			s.refuse(at, "got key %q, want dtype, shape and data_offsets", key)
		}
		if twice {
			s.refuse(at, "the key %q stands there twice", key)
		}
	})
	switch {
	case !hasType:
		s.refuse(at, "dtype is missing")
	case !hasShape:
		s.refuse(at, "shape is missing")
	case !hasOffsets:
		s.refuse(at, "data_offsets is missing")
	}
	return t
}

func (s *scanner) offsets(at int) (begin, end int64) {
	var list [2]int64
	n := 0
	s.numbers(func(_ int, x int64) {
		if n < len(list) {
			list[n] = x
		}
		n++
	})
	if n != len(list) {
		s.refuse(at, "data_offsets has %d numbers, want begin and end", n)
	}
	return list[0], list[1]
}

func (s *scanner) dtype() string {
	at := s.skip()
	if s.peek() != '"' {
		s.refuse(at, "dtype: got %s, want a string", s.here())
	}
	name := s.string()
	for known := range typeBits {
		if known == name {
			return known
		}
	}
	s.refuse(at, "got dtype %q, want one of the format's (F32, BF16, I64, …)", name)
	return ""
}

func (s *scanner) shape() []int {
	from := len(s.shapes)
	s.numbers(func(at int, n int64) {
		if int64(int(n)) != n {
			s.refuse(at, "shape: %d does not fit this machine's int", n)
		}
		if len(s.shapes)-from == maxRank {
			s.refuse(at, "shape has more than %d dimensions", maxRank)
		}
		s.shapes = append(s.shapes, int(n))
	})
	return s.shapes[from:len(s.shapes):len(s.shapes)]
}

// object reads { "key": value, … } and calls member at each value; at is where the key stands.
func (s *scanner) object(member func(key string, at int)) {
	s.list('{', '}', func(at int) {
		if s.peek() != '"' {
			s.refuse(at, "got %s, want a key in quotes", s.here())
		}
		key := s.string()
		s.expect(':')
		s.skip()
		member(key, at)
	})
}

// numbers reads [ n, … ] of non-negative integers and calls each with every one of them; at is where it
// stands.
func (s *scanner) numbers(each func(at int, n int64)) {
	s.list('[', ']', func(at int) { each(at, s.number()) })
}

// list reads values between two brackets, each of which starts at at.
func (s *scanner) list(open, shut byte, value func(at int)) {
	s.expect(open)
	if s.peek() == shut {
		s.pos++
		return
	}
	for {
		value(s.skip())
		if s.peek() != ',' {
			s.expect(shut)
			return
		}
		s.pos++
	}
}

func (s *scanner) number() int64 {
	start := s.skip()
	for s.pos < len(s.src) && strings.IndexByte("0123456789-+.eE", s.src[s.pos]) >= 0 {
		s.pos++
	}
	text := s.src[start:min(s.pos, start+40)]
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text[0] < '0' || text[0] > '9' || len(text) > 1 && text[0] == '0' {
		if text == "" {
			text = s.here()
		}
		s.refuse(start, "got %s, want a non-negative integer below 2^63", text)
	}
	return n
}

// string reads a string of JSON, with its escapes. Bad UTF-8, control characters and half surrogate pairs are
// refused.
func (s *scanner) string() string {
	s.expect('"')
	start := s.pos
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '"':
			text := s.src[start:s.pos]
			s.pos++
			return text
		case c == '\\':
			return s.escaped(start)
		default:
			s.plainRune()
		}
	}
	s.refuse(start-1, "the string does not end")
	return ""
}

// escaped goes on with a string that has an escape.
func (s *scanner) escaped(start int) string {
	text := append([]byte(nil), s.src[start:s.pos]...)
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case '"':
			s.pos++
			return string(text)
		case '\\':
			text = utf8.AppendRune(text, s.escape())
		default:
			from := s.pos
			s.plainRune()
			text = append(text, s.src[from:s.pos]...)
		}
	}
	s.refuse(start-1, "the string does not end")
	return ""
}

func (s *scanner) plainRune() {
	c := s.src[s.pos]
	if c < 0x20 {
		s.refuse(s.pos, "got control character %#02x in a string", c)
	}
	r, n := utf8.DecodeRuneInString(s.src[s.pos:])
	if r == utf8.RuneError && n == 1 {
		s.refuse(s.pos, "got byte %#02x in a string, want UTF-8", c)
	}
	s.pos += n
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *scanner) escape() rune {
	at := s.pos
	s.pos++
	c := s.next()
	if r, ok := escapes[c]; ok {
		return r
	}
	if c != 'u' {
		s.refuse(at, "got an unknown escape in a string")
	}
	r := s.hex4(at)
	switch {
	case 0xdc00 <= r && r < 0xe000:
		s.refuse(at, "got the second half of a surrogate pair alone")
	case 0xd800 <= r && r < 0xdc00:
		if s.next() != '\\' || s.next() != 'u' {
			s.refuse(at, "got the first half of a surrogate pair alone")
		}
		low := s.hex4(at)
		if low < 0xdc00 || low >= 0xe000 {
			s.refuse(at, "got the first half of a surrogate pair alone")
		}
		return (r-0xd800)<<10 | (low - 0xdc00) + 0x10000
	}
	return r
}

func (s *scanner) hex4(at int) rune {
	var r rune
	for range 4 {
		d, err := strconv.ParseUint(string(rune(s.next())), 16, 8)
		if err != nil {
			s.refuse(at, "want four hexadecimal digits after \\u")
		}
		r = r<<4 | rune(d)
	}
	return r
}

// next returns the byte here and goes past it. At the end it returns 0, which no caller accepts.
func (s *scanner) next() byte {
	if s.pos >= len(s.src) {
		return 0
	}
	s.pos++
	return s.src[s.pos-1]
}

func (s *scanner) skip() int {
	for s.pos < len(s.src) && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t' || s.src[s.pos] == '\n' || s.src[s.pos] == '\r') {
		s.pos++
	}
	return s.pos
}

// peek skips blanks and returns the byte after them, or 0 at the end.
func (s *scanner) peek() byte {
	if s.skip() == len(s.src) {
		return 0
	}
	return s.src[s.pos]
}

func (s *scanner) expect(c byte) {
	if s.peek() != c {
		s.refuse(s.pos, "got %s, want %c", s.here(), c)
	}
	s.pos++
}

// here describes the next byte for an error.
func (s *scanner) here() string {
	if s.pos >= len(s.src) {
		return "the end of the header"
	}
	return strconv.QuoteRuneToASCII(rune(s.src[s.pos]))
}
