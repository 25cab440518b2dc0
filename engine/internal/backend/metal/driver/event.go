package driver

import (
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
)

// An event is the end of a commit: of its last command buffer.
type event struct {
	gpu.End
	stream  *stream
	value   uint64    // of the stream's shared event, when it is over
	buffers []objc.ID // command buffers; nil when they were released
	elapsed time.Duration
}

// newEnd is the end of what the stream has committed just now.
func (s *stream) newEnd() *event {
	e := &event{stream: s, value: s.value, buffers: s.buffers, End: gpu.End{Queue: &s.Queue, Op: string(selStatus), Keeps: true}}
	e.Poll, e.Drop = e.poll, func() {
		for _, id := range e.buffers {
			s.device.Release(id)
		}
		e.buffers = nil
	}
	e.Begin()
	return e
}

// poll asks the last command buffer whether it is over, and looks for errors then. The first error of a
// stream stays, because later commands have read the results of the one that failed.
func (e *event) poll() (over bool, err error) {
	s, d, last := e.stream, e.stream.device, e.buffers[len(e.buffers)-1]
	const completed = 4 // of MTLCommandBufferStatus; 5 is an error
	if d.Send(last, d.sel(selStatus)) < completed {
		return false, nil
	}
	d.Pool(func() {
		for _, id := range e.buffers {
			if failure := d.Send(id, d.sel("error")); failure != 0 {
				s.broken.CompareAndSwap(nil, d.failed(selCommit, failure, gpu.Failed))
			}
		}
	})
	if broken := s.broken.Load(); broken != nil {
		err = broken
	}
	e.elapsed = seconds(d.Double(last, d.sel(selGPUEnd)) - d.Double(e.buffers[0], d.sel("GPUStartTime")))
	return true, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Elapsed is the time from the start of the first command buffer to the end of the last.
func (e *event) Elapsed() (time.Duration, error) {
	done, err := e.Done()
	if err == nil && !done {
		err = e.stream.device.misused(selGPUEnd, "the commit is not over")
	}
	return e.elapsed, err
}
