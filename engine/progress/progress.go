// Package progress carries news of long work from the engine to the front end that shows it. The engine
// reports into the context. A session puts a sink there; a program that puts none there hears nothing.
package progress

import (
	"context"
	"time"
)

// An Event says how far a task is.
type Event struct {
	Task        string // "step", "loading"
	Done, Total int64  // Total 0: unknown
	Unit        string // what Done counts, "tok", "B"; empty: steps
	Note        string // "loss 4.12 → 2.31 · 12,345 tokens/s"
	Elapsed     time.Duration
	Final       bool // the last event of the task, also when it was interrupted or failed
}

// A Sink receives events. It must be quick; it may be called by one goroutine at a time.
type Sink func(Event)

type key struct{}

// With returns a context that carries the sink.
func With(ctx context.Context, s Sink) context.Context { return context.WithValue(ctx, key{}, s) }

// Report gives e to the context's sink, if there is one.
func Report(ctx context.Context, e Event) {
	if s, _ := ctx.Value(key{}).(Sink); s != nil {
		s(e)
	}
}
