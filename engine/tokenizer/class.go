package tokenizer

import (
	"sync/atomic"
	"unicode/utf8"
)

// A class is a set of runes. Its members among the first 65,536 are looked up in pages of bits, each made
// when a rune of it is met first.
type class struct {
	has   func(rune) bool
	ascii [2]uint64
	pages [256]atomic.Pointer[[4]uint64]
}

func newClass(has func(rune) bool) *class {
	c := &class{has: has}
	if has == nil {
		return c // of a pattern that was refused
	}
	for r := range rune(128) {
		if has(r) {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return c
}

// next returns the length of the rune at a place of s if it is of the class, else 0. A byte that is no UTF-8
// counts as U+FFFD.
func (c *class) next(s string, at int) int {
	if at >= len(s) {
		return 0
	}
	if b := s[at]; b < utf8.RuneSelf {
		return int(c.ascii[b>>6] >> (b & 63) & 1)
	}
	r, size := utf8.DecodeRuneInString(s[at:])
	if !c.contains(r) {
		return 0
	}
	return size
}

func (c *class) contains(r rune) bool {
	if r >= 1<<16 {
		return c.has(r)
	}
	slot := &c.pages[r>>8]
	page := slot.Load()
	if page == nil {
		page = new([4]uint64)
		for i := range rune(256) {
			if c.has(r&^255 + i) {
				page[i>>6] |= 1 << (i & 63)
			}
		}
		slot.Store(page)
	}
	return page[r>>6&3]>>(r&63)&1 != 0
}
