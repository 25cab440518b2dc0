package cpu

import "syscall"

// givesPages says that the system has memory in pages, or none at all.
const givesPages = true

// systemPages returns n bytes of zeroed memory in whole pages, or nil. Where huge pages can be had all that
// fill one are huge: Linux lets memory begin with a huge page if it asks for whole ones. The rest of the last
// one is never written, so it costs nothing.
func systemPages(n int) []byte {
	const huge = 2 << 20
	b, err := syscall.Mmap(-1, 0, (n+huge-1)&^(huge-1), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	// Without huge pages the memory is as good, only slower to come by.
	_ = syscall.Madvise(b[:n&^(huge-1)], adviseHugePages)
	return b[:n]
}

// adviseHugePages is MADV_HUGEPAGE of Linux's mman-common.h.
const adviseHugePages = 14

// givePages gives memory of systemPages back.
func givePages(b []byte) {
	if err := syscall.Munmap(b[:cap(b)]); err != nil {
		panic("cpu: munmap: " + err.Error())
	}
}
