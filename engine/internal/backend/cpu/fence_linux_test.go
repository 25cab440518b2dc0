package cpu

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
)

// TestFence runs some cases of all ops on buffers that end where the next page cannot be read or written, to
// the byte. So a kernel that touches a byte behind its operand ends the process, with the place in its trace.
func TestFence(t *testing.T) {
	backendtest.Few(t, func() (backend.Backend, error) {
		b := New(0)
		b.memory.place = fenced
		return b, nil
	})
}

// fenced returns zeroed memory in front of a page without access.
func fenced(n int) *buffer {
	size := syscall.Getpagesize()
	end := (n + size - 1) / size * size
	pages, err := syscall.Mmap(-1, 0, end+size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	if err := syscall.Mprotect(pages[end:], syscall.PROT_NONE); err != nil {
		panic(err)
	}
	b := &buffer{bytes: pages[end-n : end : end], pages: pages}
	runtime.SetFinalizer(b, func(b *buffer) { // of collected memory, which nothing frees
		if b.pages != nil {
			givePages(b.pages)
		}
	})
	return b
}
