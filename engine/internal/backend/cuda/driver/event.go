package driver

import (
	"context"
	"sync"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// A kind of CUDA events, by the flags that they are made with: those that are an end alone cost less.
type kind uintptr

const (
	clocks kind = 0 // that have the time
	ends   kind = 2
)

// newEvent returns a CUDA event of a kind, perhaps one that was used before.
func (d *device) newEvent(k kind) (uintptr, error) {
	d.mu.Lock()
	if list := d.idle[k]; len(list) > 0 {
		e := list[len(list)-1]
		d.idle[k] = list[:len(list)-1]
		d.mu.Unlock()
		return e, nil
	}
	d.mu.Unlock()
	handle := new(uintptr)
	err := d.do(cuEventCreate, uintptr(unsafe.Pointer(handle)), uintptr(k))
	return *handle, err
}

// keepEvent keeps an event for the next newEvent.
func (d *device) keepEvent(k kind, e uintptr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle[k] = append(d.idle[k], e)
}

// between is the time from one event to another; both are over.
func (d *device) between(from, to uintptr) (time.Duration, error) {
	milliseconds := new(float32)
	err := d.do(cuEventElapsedTime, uintptr(unsafe.Pointer(milliseconds)), from, to)
	return time.Duration(float64(*milliseconds) * float64(time.Millisecond)), err
}

// An event is the end of a commit.
type event struct {
	stream *stream
	end    uintptr

	mu     sync.Mutex
	done   bool
	err    error     // found on the device
	frees  []*buffer // to be freed when it is done
	closed bool
}

// Done asks the driver, until the work is over.
func (e *event) Done() (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return true, e.err
	}
	d := e.stream.device
	if d.closed.Load() {
		return true, d.misused(cuEventQuery, "the device was closed")
	}
	code := d.code(cuEventQuery, e.end)
	if code == notReady {
		return false, nil
	}
	if code != success {
		e.err = d.failed(d.name(), cuEventQuery, code)
	}
	e.done = true
	for _, b := range e.frees {
		b.release()
	}
	e.frees = nil
	return true, e.err
}

// Wait asks again and again, so that a device that hangs hangs no goroutine.
func (e *event) Wait(ctx context.Context, limit time.Duration) error {
	return gpu.Poll(ctx, limit, e.Done, func() error {
		return &gpu.Error{Code: gpu.Timeout, Device: e.stream.device.name(), Op: "wait", Index: -1, Text: "waited " + limit.String()}
	})
}

// Close gives the CUDA event back. While there are buffers to free, the stream keeps this one.
func (e *event) Close() {
	e.mu.Lock()
	closed, left := e.closed, len(e.frees) > 0
	e.closed = true
	e.mu.Unlock()
	switch {
	case closed:
	case left:
		e.stream.mu.Lock()
		e.stream.waiting = append(e.stream.waiting, e)
		e.stream.mu.Unlock()
	default:
		e.giveBack()
	}
}

func (e *event) wasClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

func (e *event) giveBack() {
	e.stream.device.keepEvent(ends, e.end)
}

// After encodes that the stream waits for the event.
func (s *stream) After(e gpu.Event) error {
	if err := s.refuse(cuStreamWaitEvent); err != nil {
		return err
	}
	other, ok := e.(*event)
	if !ok || other.stream.device != s.device || other.wasClosed() {
		return s.device.misused(cuStreamWaitEvent, "got an event of another device, or one that was closed")
	}
	s.encode(cuStreamWaitEvent, s.handle, other.end, 0)
	return nil
}

// A stamp is an event for its time alone.
type stamp struct {
	device *device
	event  uintptr
}

// Stamp encodes an event.
func (s *stream) Stamp() (gpu.Stamp, error) {
	if err := s.refuse(cuEventRecord); err != nil {
		return nil, err
	}
	e, err := s.device.newEvent(clocks)
	if err != nil {
		return nil, err
	}
	s.encode(cuEventRecord, e, s.handle)
	return &stamp{s.device, e}, nil
}

// Since is exact to about half a microsecond.
func (t *stamp) Since(earlier gpu.Stamp) (time.Duration, error) {
	from, ok := earlier.(*stamp)
	if !ok || from.device != t.device || t.event == 0 || from.event == 0 {
		return 0, t.device.misused(cuEventElapsedTime, "got a stamp of another device, or one that was closed")
	}
	return t.device.between(from.event, t.event)
}

// Close gives the event back.
func (t *stamp) Close() {
	if t.event != 0 {
		t.device.keepEvent(clocks, t.event)
		t.event = 0
	}
}
