package pool

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A bell wakes sleepers. They sleep in the system and not in Go's scheduler, in which an idle thread that
// looks for a goroutine that became ready takes some 70 µs. A sleeper's processor is left to other goroutines
// when Go's monitor sees that, which takes it 10 ms at most.
type bell struct {
	sleepers atomic.Int32
	due      atomic.Int32 // how many are to be woken by those who are
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

// wait sleeps until the bell rings, or sometimes for less long.
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

// wake wakes two, of which the first to come wakes others: to wake one takes some 4 µs.
func (b *bell) wake(n int32) {
	b.due.Store(max(0, n-2))
	syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&b.rings)), futexWakePrivate, uintptr(min(n, 2)), 0, 0, 0)
}
