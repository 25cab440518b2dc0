package progress

import "context"

// A Drawing is something that changes while work goes on, such as the curve of a loss. A front end may look
// at it from another goroutine.
type Drawing interface {
	// Snapshot is a value that shows the state of now, and does not change any more.
	Snapshot() any
}

// A Canvas receives a drawing each time it has changed. It must be quick; several goroutines may call it.
type Canvas func(Drawing)

type canvasKey struct{}

// WithCanvas returns a context whose drawings are shown by c.
func WithCanvas(ctx context.Context, c Canvas) context.Context {
	return context.WithValue(ctx, canvasKey{}, c)
}

// Draw tells the context's canvas, if there is one, that d has changed.
func Draw(ctx context.Context, d Drawing) {
	if c, _ := ctx.Value(canvasKey{}).(Canvas); c != nil {
		c(d)
	}
}
