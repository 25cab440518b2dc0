// Package goroutine tells goroutines apart.
//
// Go gives a goroutine no name on purpose, so that programs do not make state depend on one. Here it is for
// the opposite: what a function builds while it is traced must be told from what other goroutines build at
// the same time, and a cell's goroutines from those of other cells.
package goroutine

import (
	"bytes"
	"runtime"
	"strconv"
)

// Current returns a number that no other goroutine has as long as the calling one lives: the address of what
// the runtime knows of it, or where that cannot be had its number in the text of a stack.
func Current() uintptr { return current() }

// Number returns the number by which stacks name the calling goroutine, "goroutine 18 [running]:". No other
// goroutine of the process ever has it. Reading it takes some microseconds: use it where something has to be
// stopped, started or unwound.
func Number() uint64 {
	var b [64]byte
	text := bytes.TrimPrefix(b[:runtime.Stack(b[:], false)], []byte("goroutine "))
	n, err := strconv.ParseUint(string(text[:max(0, bytes.IndexByte(text, ' '))]), 10, 64)
	if err != nil {
		panic("goroutine: a stack does not begin with the goroutine's number: " + err.Error())
	}
	return n
}
