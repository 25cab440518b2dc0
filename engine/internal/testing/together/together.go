// Package together stands in for processes: its ranks are goroutines of one.
package together

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/ranks"
)

// A room is where ranks meet.
type room struct {
	mu     sync.Mutex
	all    *sync.Cond
	size   int
	here   int      // of those that wait
	turn   int      // how often all have met
	calls  []string // what each rank is at
	src    [][]byte
	failed error
}

// A place is a rank's link. It comes late, now and then.
type place struct {
	*room
	rank   int
	random *rand.Rand
}

// Run calls f for so many ranks at once, each in a goroutine with a link to the others, and returns their
// errors.
func Run(size int, f func(g *ranks.Group) error) []error {
	r := &room{size: size, calls: make([]string, size), src: make([][]byte, size)}
	r.all = sync.NewCond(&r.mu)
	errs := make([]error, size)
	var wait sync.WaitGroup
	for rank := range size {
		wait.Go(func() {
			errs[rank] = f(ranks.New(&place{r, rank, rand.New(rand.NewPCG(1, uint64(rank)))}))
		})
	}
	wait.Wait()
	return errs
}

func (p *place) Rank() int { return p.rank }
func (p *place) Size() int { return p.size }

// Exchange is that of ranks.Link.
func (p *place) Exchange(dst, src []byte) error {
	n := len(src) / p.size
	if len(src)%p.size != 0 || len(dst) != len(src) {
		panic(fmt.Sprintf("exchange: got %d and %d bytes for %d ranks", len(dst), len(src), p.size))
	}
	return p.meet("exchange", src, func(rank int, b []byte) { copy(dst[n*rank:], b[n*p.rank:][:n]) })
}

// Gather is that of ranks.Link.
func (p *place) Gather(dst, src []byte) error {
	if len(dst) != len(src)*p.size {
		panic(fmt.Sprintf("gather: got %d and %d bytes for %d ranks", len(dst), len(src), p.size))
	}
	return p.meet("gather", src, func(rank int, b []byte) { copy(dst[len(src)*rank:], b) })
}

// meet waits until all ranks are at the same call, gives take the bytes of each, and waits until all have
// taken them.
func (p *place) meet(call string, src []byte, take func(rank int, b []byte)) error {
	time.Sleep(time.Duration(p.random.IntN(50)) * time.Microsecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[p.rank], p.src[p.rank] = fmt.Sprintf("%s of %d bytes", call, len(src)), src
	if err := p.wait(); err != nil {
		return err
	}
	for rank, b := range p.src {
		if p.calls[rank] != p.calls[0] {
			p.fail(fmt.Errorf("rank %d is at %s, rank 0 at %s", rank, p.calls[rank], p.calls[0]))
			return p.failed
		}
		take(rank, b)
	}
	return p.wait()
}

// wait waits for all ranks. It is called with the room locked.
func (p *place) wait() error {
	turn := p.turn
	if p.here++; p.here == p.size {
		p.here = 0
		p.turn++
		p.all.Broadcast()
	}
	for p.turn == turn && p.failed == nil {
		p.all.Wait()
	}
	return p.failed
}

// Fail is that of ranks.Link.
func (p *place) Fail(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail(fmt.Errorf("rank %d: %s", p.rank, text))
}

func (p *place) fail(err error) {
	if p.failed == nil {
		p.failed = err
		p.all.Broadcast()
	}
}

// Close is that of ranks.Link.
func (p *place) Close() error { return nil }
