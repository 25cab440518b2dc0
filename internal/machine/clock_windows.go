package machine

import (
	"syscall"
	"time"
	"unsafe"
)

var (
	kernel32  = syscall.NewLazyDLL("kernel32.dll")
	counter   = kernel32.NewProc("QueryPerformanceCounter")
	frequency = kernel32.NewProc("QueryPerformanceFrequency")
)

// ticks reads a counter of Windows.
func ticks(p *syscall.LazyProc) (n int64) {
	p.Call(uintptr(unsafe.Pointer(&n))) // it fails on nothing that Go runs on
	return n
}

var epoch, persecond = ticks(counter), max(ticks(frequency), 1)

// Now is the time since the process began, by the machine's finest clock. Package time reads one that ticks
// every half millisecond, or every fifteen.
func Now() time.Duration {
	n := ticks(counter) - epoch
	return time.Duration(n/persecond)*time.Second + time.Duration(n%persecond*int64(time.Second)/persecond)
}
