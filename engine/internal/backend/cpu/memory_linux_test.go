package cpu

import (
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// The large memory of launches goes back to the system when the arena is gone.
func TestArenaGoesBack(t *testing.T) {
	a := &arena{most: largeBuffer}
	a.reset()
	if len(a.bytes(largeBuffer)) != largeBuffer || a.large == nil {
		t.Fatalf("got no pages for %d bytes", largeBuffer)
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(a.block)))
	mapped := func() bool {
		var in [1]byte
		_, _, err := syscall.Syscall(syscall.SYS_MINCORE, at, 1, uintptr(unsafe.Pointer(&in[0])))
		return err == 0
	}
	if !mapped() {
		t.Fatal("the pages are not there while the arena is")
	}
	runtime.KeepAlive(a)
	a = nil
	for range 100 {
		if runtime.GC(); !mapped() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the pages are still there")
}
