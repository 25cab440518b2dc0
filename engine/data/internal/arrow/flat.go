package arrow

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// A flat is a flatbuffer, as which messages describe themselves. After an error all numbers are 0.
type flat struct {
	b    []byte
	text int // bytes of names that there can still be
	err  error
}

func (f *flat) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// number reads a number of so many bytes, with its sign.
func (f *flat) number(at, bytes int) int64 {
	if f.err != nil || at < 0 || at > len(f.b)-bytes {
		f.fail("it ends early")
		return 0
	}
	var raw [8]byte
	copy(raw[:], f.b[at:at+bytes])
	unused := 64 - 8*bytes
	return int64(binary.LittleEndian.Uint64(raw[:])) << unused >> unused
}

// follow returns the place to which the offset at a place leads.
func (f *flat) follow(at int) int {
	by := f.number(at, 4)
	if by <= 0 || by > int64(len(f.b)-at) {
		f.fail("an offset leads out of it")
		return 0
	}
	return at + int(by)
}

// A table has fields by their numbers.
type table struct {
	f      *flat
	at     int // 0: there is none
	fields int // place of the list of the fields' places
	n      int
}

func (f *flat) tableAt(at int) table {
	fields := int64(at) - f.number(at, 4)
	if f.err != nil || fields < 0 || fields > int64(len(f.b)-4) {
		f.fail("an offset leads out of it")
		return table{f: f}
	}
	return table{f, at, int(fields), int(uint16(f.number(int(fields), 2))-4) / 2}
}

// place is where a field is; 0 if it is not there.
func (t table) place(field int) int {
	if t.at == 0 || field >= t.n {
		return 0
	}
	if by := int(uint16(t.f.number(t.fields+4+2*field, 2))); by > 0 {
		return t.at + by
	}
	return 0
}

// int is a number of so many bytes, or 0.
func (t table) int(field, bytes int) int64 {
	if at := t.place(field); at > 0 {
		return t.f.number(at, bytes)
	}
	return 0
}

func (t table) bool(field int) bool { return t.int(field, 1) != 0 }

func (t table) table(field int) table {
	if at := t.place(field); at > 0 {
		return t.f.tableAt(t.f.follow(at))
	}
	return table{f: t.f}
}

// vector is where the items of a list are, each of so many bytes, and their number.
func (t table) vector(field, bytes int) (at, n int) {
	place := t.place(field)
	if place == 0 {
		return 0, 0
	}
	at = t.f.follow(place)
	length := t.f.number(at, 4)
	if length < 0 || length*int64(bytes) > int64(len(t.f.b)-at-4) {
		t.f.fail("a list of %d is longer than what follows", length)
		return 0, 0
	}
	return at + 4, int(length)
}

// tables calls each with the tables of a list.
func (t table) tables(field int, each func(table)) {
	at, n := t.vector(field, 4)
	for i := 0; i < n && t.f.err == nil; i++ {
		each(t.f.tableAt(t.f.follow(at + 4*i)))
	}
}

// name is a text in UTF-8.
func (t table) name(field int) string {
	at, n := t.vector(field, 1)
	if t.f.text -= n; t.f.text < 0 { // several offsets lead to one text
		t.f.fail("it has more text than bytes")
	}
	if t.f.err != nil {
		return ""
	}
	s := string(t.f.b[at : at+n])
	if !utf8.ValidString(s) {
		t.f.fail("got the name %.20q, want UTF-8", s)
	}
	return s
}
