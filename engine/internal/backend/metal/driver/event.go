package driver

import (
	"context"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
)

// An event is the end of a commit: of its last command buffer.
type event struct {
	stream *stream
	value  uint64 // of the stream's shared event, when it is over

	mu      sync.Mutex
	buffers []objc.ID // command buffers; nil when they were released
	frees   []*buffer // to be freed when it is over
	done    bool
	err     error
	closed  bool
	elapsed time.Duration
}

// poll asks the last command buffer whether it is over.
func (e *event) poll() (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return true, e.err
	}
	d := e.stream.device
	const completed = 4 // of MTLCommandBufferStatus; 5 is an error
	if d.Send(e.buffers[len(e.buffers)-1], d.sel(selStatus)) < completed {
		return false, nil
	}
	e.finish()
	return true, e.err
}

// finish looks for errors, and frees the buffers that waited for the end. The first error of a stream stays,
// because later commands have read the results of the one that failed.
func (e *event) finish() {
	s, d := e.stream, e.stream.device
	d.Pool(func() {
		for _, id := range e.buffers {
			if failure := d.Send(id, d.sel(selError)); failure != 0 {
				s.broken.CompareAndSwap(nil, d.failed(selCommit, failure, gpu.Failed))
			}
		}
	})
	if broken := s.broken.Load(); broken != nil {
		e.err = broken
	}
	start := d.Double(e.buffers[0], d.sel(selGPUStart))
	e.elapsed = seconds(d.Double(e.buffers[len(e.buffers)-1], d.sel(selGPUEnd)) - start)
	e.done = true
	for _, b := range e.frees {
		b.release()
	}
	e.frees = nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Done asks the device, until the work is over.
func (e *event) Done() (bool, error) {
	if e.stream.device.closed.Load() {
		return true, e.stream.device.misused(selStatus, "the device was closed")
	}
	return e.poll()
}

// Wait asks again and again, so that a device that hangs hangs no goroutine.
func (e *event) Wait(ctx context.Context, limit time.Duration) error {
	return gpu.Poll(ctx, limit, e.Done, func() error {
		return &gpu.Error{Code: gpu.Timeout, Device: e.stream.device.name(), Op: "wait", Index: -1, Text: "waited " + limit.String()}
	})
}

// Elapsed is the time from the start of the first command buffer to the end of the last.
func (e *event) Elapsed() (time.Duration, error) {
	done, err := e.Done()
	if err == nil && !done {
		err = e.stream.device.misused(selGPUEnd, "the commit is not over")
	}
	return e.elapsed, err
}

// Close releases the command buffers, or leaves them to the stream while they are under way.
func (e *event) Close() {
	e.mu.Lock()
	closed, done := e.closed, e.done
	e.closed = true
	e.mu.Unlock()
	switch {
	case closed:
	case done:
		e.release()
	default:
		e.stream.mu.Lock()
		e.stream.waiting = append(e.stream.waiting, e)
		e.stream.mu.Unlock()
	}
}

func (e *event) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range e.buffers {
		e.stream.device.Release(id)
	}
	e.buffers = nil
}
