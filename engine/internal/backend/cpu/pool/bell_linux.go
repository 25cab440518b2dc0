package pool

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A bell wakes sleepers. They sleep in the system, not in Go's scheduler, where an idle thread takes some 70
// µs to find a goroutine that has become ready. Go's monitor notices a sleeper within 10 ms, and then gives
// its processor to other goroutines.
type bell struct {
	sleepers atomic.Int32
	due      atomic.Int32 // how many the first sleepers to wake have to wake
	rings    uint32       // the word by which the system knows the bell
}

func (b *bell) init() {}

func (b *bell) asleep() bool { return b.sleepers.Load() > 0 }

// enter counts the caller as a sleeper. Rings from now on end the wait with the ticket that it returns.
func (b *bell) enter() (ticket uint32) {
	ticket = atomic.LoadUint32(&b.rings)
	b.sleepers.Add(1)
	return ticket
}

const (
	futexWaitPrivate = 128
	futexWakePrivate = 129
)

// wait sleeps until the bell rings, or sometimes ends earlier.
func (b *bell) wait(ticket uint32) {
	syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&b.rings)), futexWaitPrivate, uintptr(ticket), 0, 0, 0)
}

// leave ends what enter began.
func (b *bell) leave() {
	b.sleepers.Add(-1)
	if n := b.due.Swap(0); n > 0 {
		b.wake(n)
	}
}

// ring wakes up to n sleepers.
func (b *bell) ring(n int) {
	if b.asleep() {
		atomic.AddUint32(&b.rings, 1)
		b.wake(int32(n))
	}
}

// wake wakes two sleepers. The first of them to run wakes the others, because each takes some 4 µs to wake.
func (b *bell) wake(n int32) {
	b.due.Store(max(0, n-2))
	syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&b.rings)), futexWakePrivate, uintptr(min(n, 2)), 0, 0, 0)
}
