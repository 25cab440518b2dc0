package bench

import (
	"runtime"
	"sync"

	"github.com/mcs-notebook/mcs/internal/machine"
)

const (
	cacheLine    = 64
	mostEvicting = 128 << 20 // bytes that are written to empty the caches, at most
	fewCaches    = 64 << 20  // and where it is not known how large they are
)

// evicting is memory that is larger than the caches.
type evicting struct {
	sync.Once
	memory []byte
}

// Evict fills the caches of the processors with other data, as far as a program can: each thread writes its
// part of twice as much as the last cache holds.
func (c *deviceClock) Evict() {
	c.evicting.Do(func() {
		size := int64(fewCaches)
		if caches := machine.Caches(); len(caches) > 0 {
			size = min(mostEvicting, 2*caches[len(caches)-1].Size)
		}
		c.evicting.memory = make([]byte, size)
	})
	threads := runtime.GOMAXPROCS(0)
	part := len(c.evicting.memory) / threads
	var wait sync.WaitGroup
	for i := range threads {
		wait.Go(func() {
			mine := c.evicting.memory[i*part : (i+1)*part]
			for at := 0; at < len(mine); at += cacheLine {
				mine[at]++
			}
		})
	}
	wait.Wait()
}
