package backend

import (
	"context"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// A Choice holds which device is the default. The zero Choice holds the process's, until [Use] makes another
// one.
type Choice struct {
	dev atomic.Pointer[Device]
}

// sharedChoice is the choice of all code that WithChoice gave none.
var sharedChoice Choice

var choice = &scope.Key{Name: "device"}

// WithChoice returns a context with a default device of its own: within it new tensors live on c's device,
// and [Use] changes c.
func WithChoice(ctx context.Context, c *Choice) context.Context {
	return context.WithValue(ctx, choice, c)
}

// chosen is the choice of the calling goroutine.
func chosen() *Choice {
	if c, ok := scope.Context().Value(choice).(*Choice); ok {
		return c
	}
	return &sharedChoice
}

// Default returns the device on which the calling goroutine's new tensors live: at first the fastest that
// opens, nil if none does. One that was lost is opened again; if that fails, its operations say so.
func Default() *Device {
	if d := chosen().open(); d != nil {
		return d
	}
	if d := sharedChoice.open(); d != nil {
		return d
	}
	for _, f := range List() {
		if f.Missing != "" {
			continue
		}
		if d, err := Open(f.Name); err == nil {
			sharedChoice.dev.CompareAndSwap(nil, d)
			break
		}
	}
	return sharedChoice.dev.Load()
}

// open returns the device of the choice, nil if none was made.
func (c *Choice) open() *Device {
	d := c.dev.Load()
	if d == nil || d.lost.Load() == nil {
		return d
	}
	again, err := Open(d.name)
	if err != nil {
		return d
	}
	c.dev.CompareAndSwap(d, again)
	return again
}

// Use makes d the default of the calling goroutine's choice.
func Use(d *Device) { chosen().Set(d) }

// Set makes d the device of the choice; nil lets it be the process's.
func (c *Choice) Set(d *Device) { c.dev.Store(d) }
