package cpu

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Spreads says how large a page is.
func (b *Backend) Spreads() (grain int, err error) { return os.Getpagesize(), nil }

// Part returns a file without a name, in memory.
func (b *Backend) Part(bytes int) (*os.File, error) {
	fd, err := unix.MemfdCreate("mcs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cpu: memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "part")
	if err := f.Truncate(int64(bytes)); err != nil {
		f.Close()
		return nil, fmt.Errorf("cpu: part: %w", err)
	}
	return f, nil
}

// Spread maps the files in a row.
func (b *Backend) Spread(bytes int, parts []*os.File, lengths []int, own int) (ir.Buffer, error) {
	all := 0
	for _, n := range lengths {
		all += n
	}
	pages, err := syscall.Mmap(-1, 0, all, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE|mapNoReserve)
	if err != nil {
		return nil, fmt.Errorf("cpu: mmap: %w", err)
	}
	at := 0
	for i, n := range lengths {
		if n == 0 {
			continue
		}
		may := unix.PROT_READ
		if i == own {
			may |= unix.PROT_WRITE
		}
		if _, err := unix.MmapPtr(int(parts[i].Fd()), 0, unsafe.Pointer(&pages[at]), uintptr(n), may, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
			givePages(pages)
			return nil, fmt.Errorf("cpu: mmap of part %d: %w", i, err)
		}
		at += n
	}
	return &buffer{bytes: pages[:bytes], pages: pages, reserved: true}, nil
}
