//go:build !linux

package pool

import (
	"sync"
	"sync/atomic"
)

// A bell wakes sleepers.
type bell struct {
	sleepers atomic.Int32
	mu       sync.Mutex
	rang     sync.Cond
	rings    atomic.Uint32
}

func (b *bell) init() { b.rang.L = &b.mu }

func (b *bell) asleep() bool { return b.sleepers.Load() > 0 }

// enter counts the caller as a sleeper. Rings from now on end the wait with the ticket that it returns.
func (b *bell) enter() (ticket uint32) {
	ticket = b.rings.Load()
	b.sleepers.Add(1)
	return ticket
}

// leave ends what enter began.
func (b *bell) leave() { b.sleepers.Add(-1) }

// wait sleeps until the bell rings.
func (b *bell) wait(ticket uint32) {
	b.mu.Lock()
	for b.rings.Load() == ticket {
		b.rang.Wait()
	}
	b.mu.Unlock()
}

// ring wakes all sleepers; n is how many the caller has work for.
func (b *bell) ring(n int) {
	if n > 0 && b.asleep() {
		b.mu.Lock()
		b.rings.Add(1)
		b.mu.Unlock()
		b.rang.Broadcast()
	}
}
