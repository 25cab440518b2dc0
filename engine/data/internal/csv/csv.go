// Package csv splits text into records of fields, as RFC 4180 describes it. Lines end in \n, \r\n or \r.
// Blanks belong to a field, but for those before a quote. It makes no strings: fields are spans of the text,
// so that a column of numbers is read where it stands.
//
// Reading order: csv.go, blocks.go.
package csv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// A Dialect says how records are written.
type Dialect struct {
	Comma   byte // between fields
	Comment byte // begins lines that are left out; 0: there are none
}

// Check says whether the signs can be told from the fields.
func (d Dialect) Check() error {
	for _, c := range []byte{d.Comma, d.Comment} {
		if c == '"' || c == '\r' || c == '\n' || c >= utf8.RuneSelf {
			return fmt.Errorf("got %q between or before values, want an ASCII character that is no quote and no line's end", c)
		}
	}
	if d.Comma == 0 || d.Comma == d.Comment {
		return fmt.Errorf("got %q between values and %q before comments", d.Comma, d.Comment)
	}
	return nil
}

// A Span is where a field is, without its quotes.
type Span struct {
	From uint32
	to   uint32 // the highest bit says that Bytes has to rewrite it
}

const rewritten = 1 << 31

// Bytes is the field in its text, or a copy where quotes are doubled, or a line's end has two bytes.
func (s Span) Bytes(text []byte) []byte {
	if s.to >= rewritten {
		return s.unquoted(text)
	}
	return text[s.From:s.to]
}

func (s Span) unquoted(text []byte) []byte {
	b := text[s.From : s.to&^rewritten]
	to := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if i+1 < len(b) && (b[i] == '"' || b[i] == '\r' && b[i+1] == '\n') {
			i++
		}
		to = append(to, b[i])
	}
	return to
}

// An Error is a place in a text that is no record.
type Error struct {
	Line, Column int // from 1; the column counts bytes
	Msg          string
	Open         bool // a quote has no end, so what follows may belong to the field
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg) }

// A Lexer splits a text.
type Lexer struct {
	Dialect
	Text  []byte
	At    int    // of the next record
	Line  int    // of the next record
	Start int    // the line in which the last record began
	Final bool   // nothing follows the text: its last record needs no line's end
	Spans []Span // of the fields; Next appends those of a record
}

// State is what Next has found.
type State int

const (
	Record State = iota
	End          // no record is left
	More         // the text ends within a record, whose rest is missing
)

// Next appends the fields of the next record. Empty lines and comments are none. After an error At and Line
// are those of the line behind the error.
func (l *Lexer) Next() (State, error) {
	for l.At < len(l.Text) {
		c, end := l.Text[l.At], l.At
		switch {
		case c == '\n' || c == '\r':
		case c == l.Comment && c != 0:
			if end = lineEnd(l.Text, l.At); end == len(l.Text) && !l.Final {
				return More, nil
			}
		default:
			return l.record()
		}
		if end = l.behind(end); end < 0 {
			return More, nil
		}
		l.At = end
		l.Line++
	}
	return End, nil
}

// lineEnd is the place of the next line's end from a place on, or the text's.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexAny(text[at:], "\r\n"); i >= 0 {
		return at + i
	}
	return len(text)
}

// behind is the place behind the line's end at a place. −1: after \r the text ends, and \n may follow.
func (l *Lexer) behind(at int) int {
	switch {
	case at == len(l.Text):
		return at
	case l.Text[at] == '\n':
		return at + 1
	case at+1 < len(l.Text) && l.Text[at+1] == '\n':
		return at + 2
	case at+1 == len(l.Text) && !l.Final:
		return -1
	}
	return at + 1
}

// record reads a record, of which there is at least a byte.
func (l *Lexer) record() (State, error) {
	text, at, line, start, before := l.Text, l.At, l.Line, l.At, len(l.Spans)
	l.Start = line
	for {
		from := at
		if at < len(text) && (text[at] <= ' ' || text[at] >= utf8.RuneSelf) {
			at = l.blanks(at)
		}
		if at < len(text) && text[at] == '"' {
			end, lines, err := l.quoted(at+1, line, start)
			if end < 0 {
				l.Spans = l.Spans[:before]
				return More, err
			}
			line += lines
			if lines > 0 {
				start = bytes.LastIndexAny(text[:end], "\r\n") + 1
			}
			if at = end; err != nil {
				return l.bad(before, &Error{line, at - start + 1, err.Error(), true}, at)
			}
		} else {
			at = l.plain(at)
			l.Spans = append(l.Spans, Span{uint32(from), uint32(at)})
		}
		switch {
		case at < len(text) && text[at] == l.Comma:
			at++
		case at == len(text) || text[at] == '\n' || text[at] == '\r':
			end := l.behind(at)
			if end < 0 || at == len(text) && !l.Final {
				l.Spans = l.Spans[:before]
				return More, nil
			}
			l.At, l.Line = end, line+1
			return Record, nil
		default:
			return l.bad(before, &Error{Line: line, Column: at - start + 1, Msg: "a quote stands in a value without quotes"}, at)
		}
	}
}

// bad goes behind the line with an error.
func (l *Lexer) bad(before int, err *Error, at int) (State, error) {
	l.Spans = l.Spans[:before]
	end := lineEnd(l.Text, at)
	if next := l.behind(end); next >= 0 && (end < len(l.Text) || l.Final) {
		l.At, l.Line = next, err.Line+1
		return Record, err
	}
	return More, err
}

// blanks goes past blanks, but for the comma and the line's end.
func (l *Lexer) blanks(at int) int {
	for at < len(l.Text) {
		c, n := utf8.DecodeRune(l.Text[at:])
		if !unicode.IsSpace(c) || c == '\n' || c == '\r' || c == rune(l.Comma) {
			break
		}
		at += n
	}
	return at
}

const ones = 0x0101010101010101

// zeros has the highest bit of the lowest byte of w that is 0.
func zeros(w uint64) uint64 { return (w - ones) &^ w & (0x80 * ones) }

// plain is the place of the next comma, line's end or quote.
func (l *Lexer) plain(at int) int {
	text, comma := l.Text, uint64(l.Comma)*ones
	for ; at+8 <= len(text); at += 8 {
		w := binary.LittleEndian.Uint64(text[at : at+8])
		if m := zeros(w^comma) | zeros(w^('\n'*ones)) | zeros(w^('\r'*ones)) | zeros(w^('"'*ones)); m != 0 {
			return at + bits.TrailingZeros64(m)/8
		}
	}
	for ; at < len(text); at++ {
		if c := text[at]; c == l.Comma || c == '\n' || c == '\r' || c == '"' {
			break
		}
	}
	return at
}

// quoted reads a field from behind its first quote, and returns the place behind its last one, and the lines
// that end within it. Place −1: the text ends before the quote does. Start is where the line began.
func (l *Lexer) quoted(from, line, start int) (end, lines int, err error) {
	text, flag, at := l.Text, uint32(0), from
	for ; ; at++ {
		for at < len(text) && text[at] != '"' {
			switch text[at] {
			case '\n':
				if lines++; text[at-1] == '\r' {
					lines--
					flag = rewritten
				}
			case '\r':
				lines++
			}
			at++
		}
		if at == len(text) {
			if l.Final {
				err = &Error{Line: line, Column: from - start, Msg: "a quote is opened here and never closed", Open: true}
			}
			return -1, 0, err
		}
		if at+1 < len(text) && text[at+1] == '"' {
			at, flag = at+1, rewritten
			continue
		}
		if at+1 == len(text) && !l.Final { // another quote may follow
			return -1, 0, nil
		}
		l.Spans = append(l.Spans, Span{uint32(from), uint32(at) | flag})
		at++
		if at < len(text) && text[at] != l.Comma && text[at] != '\n' && text[at] != '\r' {
			err = fmt.Errorf("%q stands behind the quote that ends a value", text[at])
		}
		return at, lines, err
	}
}
