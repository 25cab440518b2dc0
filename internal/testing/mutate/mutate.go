// Package mutate damages files for tests. mcs must refuse a damaged file or read it correctly, and never
// end the process.
package mutate

import (
	"math/rand/v2"
	"slices"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// tokens are parts of the formats that mcs reads, and values that often break programs.
var tokens = []string{
	"0", "-1", "1e999", "9223372036854775807", "18446744073709551616", "null", "[]", "{}", `""`, `"`, ",", ":", "[", "]", "{", "}",
	"\x00", "\xff", "\x1b[2J", "\u2028", "\n", "\r\n", `\`, `\ud800`, "// %%\n", "// > ", "`", "%", "NaN", "\xff\xff\xff\xff\xff\xff\xff\xff",
}

// Each calls f with n mutants of whole, chosen by the seed; without -long with the first fifth of them. It
// returns how many these are.
func Each(seed uint64, n int, whole []byte, f func(i int, mutant []byte)) (made int) {
	if !long.Tests() {
		n = (n + 4) / 5
	}
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		mutant := slices.Clone(whole)
		for range 1 + r.IntN(3) {
			mutant = one(r, mutant)
		}
		f(i, mutant)
	}
	return n
}

// one changes b in one of the ways in which files go wrong.
func one(r *rand.Rand, b []byte) []byte {
	if len(b) == 0 {
		return []byte(tokens[r.IntN(len(tokens))])
	}
	at := r.IntN(len(b))
	end := min(len(b), at+1+r.IntN(16))
	switch r.IntN(7) {
	case 0: // a flipped bit
		b[at] ^= 1 << r.IntN(8)
		return b
	case 1: // the end is missing
		return b[:at]
	case 2: // a piece is missing
		return slices.Delete(b, at, end)
	case 3: // a piece is there twice
		return slices.Insert(b, at, slices.Clone(b[at:end])...)
	case 4: // something is in between
		return slices.Insert(b, at, []byte(tokens[r.IntN(len(tokens))])...)
	case 5: // something is in place of something
		return slices.Replace(b, at, end, []byte(tokens[r.IntN(len(tokens))])...)
	}
	return number(r, b, at) // another number
}

// number replaces the first number behind at.
func number(r *rand.Rand, b []byte, at int) []byte {
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	start := at
	for start < len(b) && !digit(b[start]) {
		start++
	}
	end := start
	for end < len(b) && digit(b[end]) {
		end++
	}
	return slices.Replace(b, start, end, []byte(tokens[r.IntN(6)])...)
}
