package bench

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// A Clock is the time of the machine that is measured. Tests give a simulated one.
type Clock interface {
	Now() time.Duration // since a fixed moment, never backwards
	Sync() error        // waits until the device has finished
	Machine() Machine   // what the machine is, and what it does at the moment

	// Ceilings are the best rates of the device, with which results are compared. Again says that something
	// seems to beat those that were returned before.
	Ceilings(ctx context.Context, again bool) (Ceilings, error)
}

// An Evictor is a [Clock] of a machine whose caches can be emptied, which Options.Cold asks for.
type Evictor interface {
	Evict()
}

// A Listener is a [Clock] that can tell what else the process does while the work pauses.
type Listener interface {
	// Listen lets a time pass. It returns how long processors worked for the process meanwhile, without the
	// collector's work, and how long that was; 0 for both if that is not known.
	Listen(long time.Duration) (busy, passed time.Duration)
}

// A deviceClock is the clock of this machine. It waits for all devices that are open: what is measured may
// work on any of them.
type deviceClock struct {
	start    time.Duration
	devices  []string // on which the work is, as far as that is known; none: the default one
	evicting evicting
}

func newDeviceClock() *deviceClock { return &deviceClock{start: machine.Now()} }

func (c *deviceClock) Now() time.Duration { return machine.Now() - c.start }

func (c *deviceClock) Sync() error { return device.Sync() }

func (c *deviceClock) Machine() Machine { return thisMachine(c.devices...) }

// quietAfter is longer than the pool's workers look for work before they sleep.
const quietAfter = 2 * time.Millisecond

func (c *deviceClock) Listen(long time.Duration) (busy, passed time.Duration) {
	time.Sleep(quietAfter)
	start := time.Now()
	before, ok := machine.Spent()
	if !ok {
		return 0, 0
	}
	collected := collecting()
	time.Sleep(long)
	after, _ := machine.Spent()
	return max(0, after-before-(collecting()-collected)), time.Since(start)
}

// collecting is how long processors have worked for the collector, up to the end of its last cycle. A cycle
// that ends in a pause was mostly made necessary by what was measured.
func collecting() time.Duration {
	list := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	if metrics.Read(list); list[0].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return time.Duration(list[0].Value.Float64() * float64(time.Second))
}

func (c *deviceClock) Ceilings(ctx context.Context, again bool) (Ceilings, error) {
	return c.ceilingsOf(ctx, c.devices, again)
}

func (c *deviceClock) ceilingsOf(ctx context.Context, devices []string, again bool) (Ceilings, error) {
	age := time.Duration(tooNew)
	if again {
		age = recent
	}
	return kept.together(ctx, devices, age)
}

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
