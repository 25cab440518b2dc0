package bench

import (
	"context"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
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

// A deviceClock is the clock of this machine and the device that was the default when measuring began.
type deviceClock struct {
	start    time.Time
	device   device.Device
	evicting evicting
}

func newDeviceClock() *deviceClock { return &deviceClock{start: time.Now(), device: device.Default()} }

func (c *deviceClock) Now() time.Duration { return time.Since(c.start) }

func (c *deviceClock) Sync() error { return c.device.Sync() }

func (c *deviceClock) Machine() Machine { return thisMachine(c.device) }

func (c *deviceClock) Ceilings(ctx context.Context, again bool) (Ceilings, error) {
	if again {
		return kept.again(ctx, c.device)
	}
	return kept.get(ctx, c.device, tooNew)
}
