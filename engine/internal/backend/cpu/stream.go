package cpu

import (
	"math"
	"sync"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// leastStreamed is how many bytes a group must store, which no kernel reads soon, for its stores to go past
// the caches on any machine: with fewer a kernel that reads the result loses more than the store gains.
const leastStreamed = 4 << 20

// streamBytes is leastStreamed for this machine. From there on such a store takes half the time where the
// last cache is slow (Sapphire Rapids), and three times as long where it is fast (Zen 4), up to half as many
// bytes as that cache has. It changes no result.
var streamBytes = sync.OnceValue(func() int {
	if caches := machine.Caches(); len(caches) > 0 && !pastIsFaster(leastStreamed) {
		return max(leastStreamed, int(caches[len(caches)-1].Size/2))
	}
	return leastStreamed
})

// pastIsFaster measures whether stores of so many bytes past the caches take less time than stores to them:
// a millisecond or two.
func pastIsFaster(bytes int) bool {
	const row = 1024
	from, to := make([]float32, bytes/4), make([]float32, bytes/4+16)
	to = to[-int(uintptr(unsafe.Pointer(&to[0]))/4)&15:]
	for i := range from { // memory that was never written is all in one page
		from[i] = 1
	}
	var least [2]time.Duration
	for i, scale := range []func(d, x unsafe.Pointer, s float32, n int){vec.ScaleTo, vec.ScalePast} {
		least[i] = math.MaxInt64
		for range 5 {
			start := machine.Now()
			for at := 0; at < len(from); at += row {
				scale(unsafe.Pointer(&to[at]), unsafe.Pointer(&from[at]), 1, row)
			}
			least[i] = min(least[i], machine.Now()-start)
		}
	}
	return least[1] < least[0]
}
