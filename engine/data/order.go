package data

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// An order is the order of the examples in the epoch that was asked for last.
type order struct {
	mu    sync.Mutex
	epoch int
	list  []int // nil before the first
}

// take returns the examples of batch n. An epoch has length of them; draw makes its order. At the end of an
// epoch a batch takes the examples that are left and the first ones of the next epoch.
func (o *order) take(n, batch, length int, draw func(epoch int) []int) []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]int, batch)
	for i := range list {
		at := n*batch + i
		if epoch := at / length; o.list == nil || epoch != o.epoch {
			o.epoch, o.list = epoch, draw(epoch)
		}
		list[i] = o.list[at%length]
	}
	return list
}

// aBatch says how many rows of an epoch a batch has, and that there are not so many.
func aBatch(batch, length int) string {
	text := fmt.Sprintf("%d a batch", batch)
	if batch > length {
		text += ", some more than once"
	}
	return text
}

// mix is a seed for batch n.
func mix(seed uint64, n int) uint64 { return rand.NewPCG(seed, uint64(n)).Uint64() }
