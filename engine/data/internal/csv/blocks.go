package csv

import (
	"bytes"
	"io"
)

// MaxRecord bounds a record: a quote that is never closed would make one of all that follows.
const MaxRecord = 64 << 20

// Blocks cut a text where a record ends, so that its parts can be read side by side.
type Blocks struct {
	Dialect
	R    io.Reader
	Size int // of a block, about
	Most int // bytes of a record, about: MaxRecord

	rest []byte // of what was read, behind the last cut
	done bool
}

// Next reads a block into the memory of b, if there is enough. Final says that it is the last one. A block
// may end within a record if that is longer than Most, or if quotes are not as they should be: its Lexer
// finds the place.
func (s *Blocks) Next(b []byte) (block []byte, final bool, err error) {
	b = append(b[:0], s.rest...)
	for want := s.Size; ; want *= 2 {
		for len(b) < want && !s.done {
			if cap(b) < want {
				b = append(make([]byte, 0, want), b...)
			}
			n, err := s.R.Read(b[len(b):want])
			b = b[:len(b)+n]
			if err == io.EOF {
				s.done = true
			} else if err != nil {
				return nil, false, err
			}
		}
		cut := len(b)
		if !s.done {
			cut = s.cut(b)
		}
		if cut > 0 || s.done || len(b) > s.Most {
			if cut == 0 {
				cut = len(b)
			}
			s.rest = append(s.rest[:0], b[cut:]...)
			return b[:cut], s.done && cut == len(b), nil
		}
	}
}

// cut is the place behind a record that ends in b, about the last one; 0 if none does. A line's end with an
// even number of quotes before it is not in quotes; only the lines of comments may have quotes of their own.
func (s *Blocks) cut(b []byte) int {
	if s.Comment != 0 {
		l := Lexer{Dialect: s.Dialect, Text: b}
		for {
			l.Spans = l.Spans[:0]
			if state, _ := l.Next(); state != Record {
				return l.At
			}
		}
	}
	if at := cutAt(b, '\n'); at > 0 {
		return at
	}
	return cutAt(b[:max(len(b)-1, 0)], '\r') // behind which stands no \n
}

func cutAt(b []byte, sign byte) int {
	quotes := bytes.Count(b, []byte{'"'})
	for end := len(b); ; {
		at := bytes.LastIndexByte(b[:end], sign)
		if at < 0 {
			return 0
		}
		if quotes -= bytes.Count(b[at:end], []byte{'"'}); quotes%2 == 0 {
			return at + 1
		}
		end = at
	}
}
