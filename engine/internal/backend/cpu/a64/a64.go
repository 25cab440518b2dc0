// Package a64 encodes instructions of arm64.
//
// Go's assembler lacks most vector instructions of arm64 on floating-point numbers, so the generators of
// the cpu backend write them as words. A generator gives an instruction in the notation of the
// architecture's manual, "fmla v0.4s, v1.4s, v2.s[3]". The generated file has this text as a comment beside
// the word, so that another assembler can check it. A test does so where the GNU assembler is installed.
//
// [Encode] knows only the instructions in table.go.
package a64

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A form is one line of the table: a pattern of operands, and the bits that are the same for all operands.
type form struct {
	pattern *regexp.Regexp
	fields  []field
	bits    uint32
}

// A field encodes the number of one operand.
type field struct {
	name   string
	encode func(n int) (uint32, bool)
}

// at encodes n as n/unit < limit in the bits from bit on; n is a multiple of unit.
func at(bit, limit, unit int) func(int) (uint32, bool) {
	return func(n int) (uint32, bool) {
		return uint32(n/unit) << bit, n >= 0 && n/unit < limit && n%unit == 0
	}
}

// signed encodes n as −limit ≤ n/unit < limit in two's complement, in the bits from bit on.
func signed(bit, limit, unit int) func(int) (uint32, bool) {
	return func(n int) (uint32, bool) {
		return uint32(n/unit) & uint32(2*limit-1) << bit, n/unit >= -limit && n/unit < limit && n%unit == 0
	}
}

// fields has the names in the table's patterns. A shift is stored together with the size of its lanes, in
// one number. A right shift is stored as twice that size less the count.
var fields = map[string]func(int) (uint32, bool){
	"d": at(0, 32, 1), "n": at(5, 32, 1), "x": at(5, 31, 1), "m": at(16, 32, 1), "d2": at(10, 32, 1),
	"nm": func(n int) (uint32, bool) { return uint32(n)<<5 | uint32(n)<<16, n < 32 },
	"i":  func(n int) (uint32, bool) { return uint32(n>>1)<<11 | uint32(n&1)<<21, n < 4 }, // H and L
	"q":  func(n int) (uint32, bool) { return uint32(n>>1)<<30 | uint32(n&1)<<12, n < 4 }, // Q and S
	"to": at(19, 4, 1), "from": at(13, 4, 1),
	"o1": at(10, 4096, 1), "o2": at(10, 4096, 2), "o4": at(10, 4096, 4), "o8": at(10, 4096, 8), "o16": at(10, 4096, 16),
	"pair": signed(15, 64, 16), "post": signed(12, 256, 1),
	"left32":  func(n int) (uint32, bool) { return uint32(32+n) << 16, n >= 0 && n < 32 },
	"right32": func(n int) (uint32, bool) { return uint32(64-n) << 16, n > 0 && n <= 32 },
	"right8":  func(n int) (uint32, bool) { return uint32(16-n) << 16, n > 0 && n <= 8 },
	"left64":  func(n int) (uint32, bool) { return uint32(64+n) << 16, n >= 0 && n < 64 },
	"right64": func(n int) (uint32, bool) { return uint32(128-n) << 16, n > 0 && n <= 64 },
	"byte":    func(n int) (uint32, bool) { return uint32(n>>5)<<16 | uint32(n&31)<<5, n >= 0 && n < 256 },
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// forms has the forms of each mnemonic.
var forms = func() map[string][]form {
	all := map[string][]form{}
	for _, t := range table {
		var f form
		f.bits = t.bits
		pattern := regexp.QuoteMeta(t.text)
		pattern = regexp.MustCompile(`\\\{(\w+)\\\}`).ReplaceAllString(pattern, `(-?\d+)`)
		f.pattern = regexp.MustCompile("^" + pattern + "$")
		for _, name := range placeholder.FindAllString(t.text, -1) {
			name = name[1 : len(name)-1]
			encode := fields[name]
			if encode == nil {
				panic("a64: " + t.text + ": no field " + name)
			}
			f.fields = append(f.fields, field{name, encode})
		}
		mnemonic, _, _ := strings.Cut(t.text, " ")
		all[mnemonic] = append(all[mnemonic], f)
	}
	return all
}()

// Encode returns the word of an instruction. Numbers are decimal; a comma and a space separate operands.
// The error says which part of the text is wrong.
func Encode(text string) (uint32, error) {
	mnemonic, _, _ := strings.Cut(text, " ")
	for _, f := range forms[mnemonic] {
		numbers := f.pattern.FindStringSubmatch(text)
		if numbers == nil {
			continue
		}
		word := f.bits
		for i, x := range f.fields {
			n, err := strconv.Atoi(numbers[i+1])
			if err != nil {
				return 0, fmt.Errorf("a64: %s: %w", text, err)
			}
			bits, ok := x.encode(n)
			if !ok {
				return 0, fmt.Errorf("a64: %s: %d does not fit the field %s", text, n, x.name)
			}
			word |= bits
		}
		return word, nil
	}
	return 0, fmt.Errorf("a64: %s: no such instruction in the table", text)
}

// Word returns a line for Go's assembler: the instruction as a word, with its text as a comment. It panics
// if Encode returns an error.
func Word(text string) string {
	w, err := Encode(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("WORD $0x%08x // %s", w, text)
}
