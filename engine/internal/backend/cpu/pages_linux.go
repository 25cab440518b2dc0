package cpu

import "syscall"

// givesPages says that the system has memory in pages, or none at all.
const givesPages = true

// systemPages returns at least n bytes of zeroed memory in whole pages, huge ones where they can be had, or
// nil.
func systemPages(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	// Without huge pages the memory is as good, only slower to come by.
	_ = syscall.Madvise(b, adviseHugePages)
	return b
}

// adviseHugePages is MADV_HUGEPAGE of Linux's mman-common.h.
const adviseHugePages = 14

// givePages gives memory of systemPages back.
func givePages(b []byte) {
	if err := syscall.Munmap(b); err != nil {
		panic("cpu: munmap: " + err.Error())
	}
}
