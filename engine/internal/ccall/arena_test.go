package ccall

import (
	"testing"
	"unsafe"
)

// What is taken is apart from all that was taken since the last Reset, whatever the sizes, and stays where it
// is.
func TestArena(t *testing.T) {
	var a Arena
	for round := range 3 {
		var taken [][]uint64
		for i := range 300 {
			words := a.Take(1 + i*i%6000)
			for j := range words {
				words[j] = uint64(i)
			}
			taken = append(taken, words)
		}
		for i, words := range taken {
			if words[0] != uint64(i) || words[len(words)-1] != uint64(i) {
				t.Fatalf("round %d: memory %d was taken twice", round, i)
			}
		}
		chunks := len(a.chunks)
		a.Reset()
		if round > 0 && len(a.chunks) != chunks {
			t.Errorf("round %d: memory is not used again", round)
		}
	}
	p := (*[16]byte)(pointer(a.Copy([]byte("twelve bytes"))))
	if string(p[:]) != "twelve bytes\x00\x00\x00\x00" {
		t.Errorf("got %q", p[:])
	}
	w := (*[3]uint64)(pointer(a.Words(1, 2, 3)))
	if *w != [3]uint64{1, 2, 3} || uintptr(unsafe.Pointer(w))%8 != 0 {
		t.Errorf("got %v", *w)
	}
	if a.Copy(nil) == 0 {
		t.Error("got no address for nothing")
	}
}
