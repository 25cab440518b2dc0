package bench

import (
	"context"
	"runtime/metrics"
	"slices"
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

// on notes that work is on devices with these names.
func (c *deviceClock) on(names []string) {
	for _, name := range names {
		if !slices.Contains(c.devices, name) {
			c.devices = append(c.devices, name)
		}
	}
}

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
