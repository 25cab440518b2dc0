package driver

import (
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

// An event is the end of a commit.
type event struct {
	gpu.End
	device *device
	end    uintptr
}

// newEnd is the end of what the stream has committed just now.
func (s *stream) newEnd(end uintptr) *event {
	d := s.device
	e := &event{End: gpu.End{Queue: &s.Queue, Op: cuEventQuery.String()}, device: d, end: end}
	e.Drop = func() { d.keepEvent(ends, end) }
	e.Poll = func() (over bool, err error) {
		switch code := d.code(cuEventQuery, end); code {
		case notReady:
			return false, nil
		case success:
			return true, nil
		default:
			return true, d.failed(d.Name, cuEventQuery, code)
		}
	}
	e.Begin()
	return e
}

// After encodes that the stream waits for the event.
func (s *stream) After(e gpu.Event) error {
	if err := s.refuse(cuStreamWaitEvent); err != nil {
		return err
	}
	other, ok := e.(*event)
	if !ok || other.device != s.device || other.Closed() {
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
	milliseconds := new(float32)
	err := t.device.do(cuEventElapsedTime, uintptr(unsafe.Pointer(milliseconds)), from.event, t.event)
	return time.Duration(float64(*milliseconds) * float64(time.Millisecond)), err
}

// Close gives the event back.
func (t *stamp) Close() {
	if t.event != 0 {
		t.device.keepEvent(clocks, t.event)
		t.event = 0
	}
}
