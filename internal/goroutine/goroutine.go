// Package goroutine tells goroutines apart.
//
// Go gives a goroutine no name on purpose, so that nobody makes state depend on one. Here it is for the
// opposite: what a function builds while it is traced must be told from what other goroutines build at the
// same time.
package goroutine

// Current returns a number that no other goroutine has as long as the calling one lives: the address of what
// the runtime knows of it, or where that cannot be had its number in the text of a stack.
func Current() uintptr { return current() }
