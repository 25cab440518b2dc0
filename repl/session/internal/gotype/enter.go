//go:build amd64 || arm64

package gotype

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"
)

// The code of a method of a compiled type has an address, and is called without the context of a closure.
// So there are entries in assembly; each calls the closure with its number.

// maxEntries is how many entries there are: two for each method of a type's values, one for each other of its
// pointers.
const maxEntries = 1 << 15

// entrySize is how many bytes of code lie between two entries.
const entrySize = 16

var closures [maxEntries]unsafe.Pointer

var entered struct {
	sync.Mutex
	n int
}

// firstEntry is where the code of the first entry is.
var firstEntry uintptr // set in assembly

// The code in assembly; its declarations are for go vet.
var _, _ = entries, enterClosure

func entries()
func enterClosure()

// enter returns the address of code that calls f.
func enter(f reflect.Value) (code unsafe.Pointer, err error) {
	entered.Lock()
	defer entered.Unlock()
	if entered.n == maxEntries {
		return nil, errors.New("too many methods: this process has made the types of programs with more than it has room for")
	}
	p := reflect.New(f.Type())
	p.Elem().Set(f)
	closures[entered.n] = *(*unsafe.Pointer)(p.UnsafePointer())
	code = unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&firstEntry)), entered.n*entrySize)
	entered.n++
	return code, nil
}
