package cpu

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

const (
	adviseNoHugePages = 15     // MADV_NOHUGEPAGE of Linux's mman-common.h
	mapNoReserve      = 0x4000 // MAP_NORESERVE
)

// Reserve returns zeroed pages, which the system makes when they are written: see [backend.Reserver]. They
// are small ones, so that a short text takes little of a long room.
func (b *Backend) Reserve(n int) (ir.Buffer, error) {
	pages, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|mapNoReserve)
	if err != nil {
		return nil, &backend.OutOfMemory{Device: "cpu", Want: int64(n), Free: -1, Held: fmt.Sprintf("mmap says: %v", err)}
	}
	_ = syscall.Madvise(pages, adviseNoHugePages) // a kernel without huge pages does not know it
	return &buffer{bytes: pages, pages: pages, reserved: true}, nil
}

// Resident counts the pages that are there.
func (b *Backend) Resident(buf ir.Buffer) int {
	p, size := buf.(*buffer), os.Getpagesize()
	there := make([]byte, (len(p.pages)+size-1)/size)
	_, _, failed := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(p.pages))), uintptr(len(p.pages)), uintptr(unsafe.Pointer(unsafe.SliceData(there))))
	if failed != 0 {
		return len(p.pages)
	}
	count := 0
	for _, page := range there {
		count += int(page & 1)
	}
	return count * size
}
