package ccall

import "unsafe"

// An Arena is memory for what Call.Args point to: it is on the heap, so it does not move, and the arena keeps
// it alive. The zero value is ready. Reset makes all of it free for use again.
type Arena struct {
	chunks [][]uint64
	chunk  int // that memory is taken from
	used   int // words of it
}

// Reset ends the use of all that was taken.
func (a *Arena) Reset() { a.chunk, a.used = 0, 0 }

// Take returns memory of so many words of 8 bytes, at least one, with whatever is in it.
func (a *Arena) Take(words int) []uint64 {
	const usual = 4096
	for ; a.chunk < len(a.chunks); a.chunk, a.used = a.chunk+1, 0 {
		if c := a.chunks[a.chunk]; words <= len(c)-a.used {
			a.used += words
			return c[a.used-words : a.used : a.used]
		}
	}
	a.chunks = append(a.chunks, make([]uint64, max(words, usual)))
	a.used = words
	return a.chunks[a.chunk][:words:words]
}

// Copy takes memory for b, copies it there and returns its address. The last word is filled up with zeros.
func (a *Arena) Copy(b []byte) uintptr {
	words := a.Take(max((len(b)+7)/8, 1))
	words[len(words)-1] = 0
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words)), b)
	return Address(words)
}

// Words takes memory for some numbers and returns its address.
func (a *Arena) Words(numbers ...uint64) uintptr {
	words := a.Take(len(numbers))
	copy(words, numbers)
	return Address(words)
}

// Address is where memory that was taken lies.
func Address(words []uint64) uintptr { return uintptr(unsafe.Pointer(&words[0])) }
