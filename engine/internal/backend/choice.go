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

// shared is the choice of all code that WithChoice gave none.
var shared Choice

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
	return &shared
}

// Default returns the device on which the calling goroutine's new tensors live: at first the fastest that
// opens, nil if none does.
func Default() *Device {
	if d := chosen().dev.Load(); d != nil {
		return d
	}
	if d := shared.dev.Load(); d != nil {
		return d
	}
	for _, name := range Names() {
		if d, err := Open(name); err == nil {
			shared.dev.CompareAndSwap(nil, d)
			break
		}
	}
	return shared.dev.Load()
}

// Use makes d the default of the calling goroutine's choice.
func Use(d *Device) { chosen().dev.Store(d) }
