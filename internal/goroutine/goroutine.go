// Package goroutine tells goroutines apart.
//
// Go gives a goroutine no name on purpose, so that programs do not make state depend on one. Here it is for
// the opposite: what a function builds while it is traced must be told from what other goroutines build at
// the same time, and a cell's goroutines from those of other cells.
package goroutine

import (
	"bytes"
	"math/bits"
	"runtime"
	"strconv"
	"sync"
)

// Current returns a number that no other goroutine has as long as the calling one lives: the address of what
// the runtime knows of it, or where that cannot be had its number in the text of a stack.
func Current() uintptr { return current() }

// Number returns the number by which stacks name the calling goroutine, "goroutine 18 [running]:". No other
// goroutine of the process ever has it.
func Number() uint64 {
	if at := numberAt(); at > 0 {
		return word(current(), at)
	}
	return written()
}

// numberAt is how many bytes into what the runtime knows of a goroutine its number stands, 0 if that cannot
// be told. Nothing promises the place, so it is looked for: in three goroutines there has to be one place
// alone that has the number that each one's stack begins with.
var numberAt = sync.OnceValue(func() uintptr {
	const words = 32
	common := ^uint32(0)
	for range 3 {
		found := make(chan uint32)
		go func() {
			g, n, places := current(), written(), uint32(0)
			for i := range words {
				if word(g, uintptr(i)*8) == n {
					places |= 1 << i
				}
			}
			found <- places
		}()
		common &= <-found
	}
	if bits.OnesCount32(common) != 1 {
		return 0
	}
	return uintptr(bits.TrailingZeros32(common)) * 8
})

// written reads the number in the text of the stack, which takes some microseconds.
func written() uint64 {
	var b [64]byte
	text := bytes.TrimPrefix(b[:runtime.Stack(b[:], false)], []byte("goroutine "))
	n, err := strconv.ParseUint(string(text[:max(0, bytes.IndexByte(text, ' '))]), 10, 64)
	if err != nil {
		panic("goroutine: a stack does not begin with the goroutine's number: " + err.Error())
	}
	return n
}
