// Package goroutine identifies goroutines.
//
// Go hides the identity of goroutines on purpose, so that programs do not make state depend on it. mcs
// needs it to keep state apart: the nodes of a traced function from nodes that other goroutines make at
// the same time, and the goroutines of a cell from those of other cells.
package goroutine

import (
	"bytes"
	"math/bits"
	"runtime"
	"strconv"
	"sync"
)

// Current returns a number that no other goroutine has as long as the calling one lives. It is the address
// of the runtime's description of the goroutine, or, where that is not available, the goroutine's number
// from the text of a stack.
func Current() uintptr { return current() }

// Depth returns how many bytes of its stack the calling goroutine uses, or 0 where that is not available.
func Depth() uintptr { return depth() }

// Number returns the number of the calling goroutine in stack traces, "goroutine 18 [running]:". No other
// goroutine of the process ever has it.
func Number() uint64 {
	if at := numberAt(); at > 0 {
		return word(current(), at)
	}
	return written()
}

// numberAt is the offset of a goroutine's number in the runtime's description of it, in bytes, or 0 if it
// cannot be found. The runtime does not promise the offset, so it is searched for: the numbers of three
// goroutines, known from their stacks, must be at one offset only.
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
