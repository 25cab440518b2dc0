package driver

import (
	"context"
	"encoding/binary"
	"math"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A stamp is a time of the device. Apple's GPUs read their clock only where an encoder begins or ends, into a
// counter sample buffer. So a stamp is the end of the encoder before it; or, if that one reads no clock, the
// beginning of the next. Where the system has no such counters, a stamp ends a command buffer, and is its
// GPUEndTime.
type stamp struct {
	device  *device
	buffer  objc.ID // a command buffer
	samples *samples
	index   int // of the sample, once an encoder has it
	closed  bool
}

// samples is an MTLCounterSampleBuffer.
type samples struct {
	id    objc.ID
	next  int          // the first sample that is not given away
	users atomic.Int32 // stamps, and the stream that gives samples away
}

// samplesOf is how many samples such a buffer may have.
const samplesOf = 4096

// A clock makes sample buffers for time stamps.
type clock struct {
	device *device
	set    objc.ID // an MTLCounterSet, which the device keeps
}

// clock returns what samples the device's clock, or nil where command buffers serve. The first call tries it
// out.
func (d *device) clock() *clock {
	d.timing.Do(func() {
		if c := d.findClock(); c != nil && c.right() {
			d.sampled = c
		}
	})
	return d.sampled
}

func (d *device) findClock() (c *clock) {
	const stageBoundary = 0 // of MTLCounterSamplingPoint: where encoders begin and end
	if !d.Responds(d.id, d.sel(selCounterSets)) || !d.Bool(d.id, d.sel("supportsCounterSampling:"), stageBoundary) {
		return nil
	}
	d.Pool(func() {
		sets := d.Send(d.id, d.sel(selCounterSets))
		for i := range int(d.Send(sets, d.sel(selCount))) {
			if set := d.Send(sets, d.sel(selObjectAtIndex), uintptr(i)); d.Text(d.Send(set, d.sel(selName))) == "timestamp" {
				c = &clock{d, set}
			}
		}
	})
	return c
}

// right holds the time of a fill by the clock against that of its command buffer: a virtual machine's clock
// may stand still, and another unit than nanoseconds would show here.
func (c *clock) right() bool {
	d := c.device
	made, err := d.Stream()
	if err != nil {
		return false
	}
	s := made.(*stream)
	b, err := d.Alloc(int(min(8<<20, d.info.Memory/8)), gpu.DeviceMemory)
	if err != nil {
		return false
	}
	defer s.Free(b)
	var stamps []*stamp
	for range 2 {
		if s.Fill(b, 0, b.Len()&^3, 1) != nil {
			continue
		}
		if t := s.sample(c); t != nil {
			defer t.Close()
			stamps = append(stamps, t)
		}
	}
	e, err := s.Commit()
	if err != nil {
		return false // Close of the device gives the stream back
	}
	defer s.Close()
	defer e.Close()
	if e.Wait(context.Background(), time.Second) != nil || len(stamps) < 2 {
		return false
	}
	took, err := stamps[1].Since(stamps[0])
	whole, failed := e.(*event).Elapsed()
	return err == nil && failed == nil && took > whole/16 && took <= whole+whole/16
}

// samples makes a buffer for a stream, nil if the system gives none: it has few.
func (c *clock) samples() *samples {
	d := c.device
	descriptor := d.Send(d.Class("MTLCounterSampleBufferDescriptor"), d.sel(selNew))
	defer d.Release(descriptor)
	d.Send(descriptor, d.sel("setCounterSet:"), uintptr(c.set))
	d.Send(descriptor, d.sel(selSetStorageMode), shared)
	d.Send(descriptor, d.sel("setSampleCount:"), samplesOf)
	id := d.Send(d.id, d.sel(selNewSampleBuffer), uintptr(descriptor), 0)
	if id == 0 {
		return nil
	}
	s := &samples{id: id}
	s.users.Add(1)
	return s
}

func (d *device) drop(s *samples) {
	if s != nil && s.users.Add(-1) == 0 {
		d.Release(s.id)
	}
}

// Stamp asks for a time.
func (s *stream) Stamp() (gpu.Stamp, error) {
	if c := s.device.clock(); c != nil {
		if t := s.sample(c); t != nil {
			return t, nil
		}
	}
	s.end()
	id, err := s.current()
	if err != nil {
		return nil, err
	}
	s.full = true
	return &stamp{device: s.device, buffer: s.device.Retain(id)}, nil
}

// sample is a stamp by the clock. From now on encoders read it, until the next commit. Without room for
// samples it is nil.
func (s *stream) sample(c *clock) *stamp {
	s.end()
	t := &stamp{device: s.device}
	switch {
	case s.sampled != nil:
		t.take(s.sampled, s.ended)
	case s.room(c):
		s.starts = append(s.starts, t)
	default:
		return nil
	}
	s.clock = c
	return t
}

// take gives a stamp its sample, unless it was closed before the encoder began.
func (t *stamp) take(from *samples, index int) {
	if t.closed {
		return
	}
	from.users.Add(1)
	t.samples, t.index = from, index
}

// room makes sure that an encoder finds two samples.
func (s *stream) room(c *clock) bool {
	if s.samples == nil || s.samples.next+2 > samplesOf {
		s.device.drop(s.samples)
		s.samples = c.samples()
	}
	return s.samples != nil
}

// encoderWithClock makes an encoder that reads the clock at its end and, for the stamps that wait for it, at
// its beginning.
func (s *stream) encoderWithClock(k kind, buffer objc.ID) objc.ID {
	d := s.device
	class, pass, op := "MTLComputePassDescriptor", selComputePass, selComputeEncoderWith
	if k == blit {
		class, pass, op = "MTLBlitPassDescriptor", selBlitPass, selBlitEncoderWith
	}
	descriptor := d.Send(d.Class(class), d.sel(pass))
	if descriptor == 0 {
		return 0
	}
	if k == compute {
		d.Send(descriptor, d.sel("setDispatchType:"), concurrent)
	}
	attachment := d.Send(d.Send(descriptor, d.sel(selSampleAttachments)), d.sel(selSubscript), 0)
	from := s.samples
	start := uintptr(math.MaxUint64) // MTLCounterDontSample
	if len(s.starts) > 0 {
		start = uintptr(from.next)
		from.next++
	}
	d.Send(attachment, d.sel("setSampleBuffer:"), uintptr(from.id))
	d.Send(attachment, d.sel("setStartOfEncoderSampleIndex:"), start)
	d.Send(attachment, d.sel("setEndOfEncoderSampleIndex:"), uintptr(from.next))
	encoder := d.Send(buffer, d.sel(op), uintptr(descriptor))
	if encoder == 0 {
		return 0
	}
	for _, t := range s.starts {
		t.take(from, int(start))
	}
	s.starts = s.starts[:0]
	s.sampling, s.ended = from, from.next
	from.next++
	return encoder
}

// settleStarts gives stamps that wait for an encoder one to begin with, where no other follows. One without
// work would be left out by the system.
func (s *stream) settleStarts() error {
	if len(s.starts) == 0 {
		return nil
	}
	defer func() { s.starts = nil }()
	b, err := s.device.Alloc(4, gpu.DeviceMemory)
	if err != nil {
		return err
	}
	defer s.Free(b)
	return s.Fill(b, 0, 4, 0)
}

// Since is the time between two stamps, in one of the two ways.
func (t *stamp) Since(earlier gpu.Stamp) (time.Duration, error) {
	from, ok := earlier.(*stamp)
	if !ok || from.device != t.device || t.closed || from.closed {
		return 0, t.device.misused(selGPUEnd, "got a stamp of another device, or one that was closed")
	}
	d := t.device
	if t.buffer != 0 && from.buffer != 0 {
		return seconds(d.Double(t.buffer, d.sel(selGPUEnd)) - d.Double(from.buffer, d.sel(selGPUEnd))), nil
	}
	start, end := from.nanoseconds(), t.nanoseconds()
	if start == 0 || end < start {
		e := d.failed(selResolve, 0, gpu.Failed)
		e.Text = "the device's clock was not read"
		return 0, e
	}
	return time.Duration(end - start), nil
}

// nanoseconds is the time of a sample, or 0 if there is none.
func (t *stamp) nanoseconds() (ns uint64) {
	if t.samples == nil {
		return 0
	}
	d := t.device
	d.Pool(func() {
		data := d.Send(t.samples.id, d.sel(selResolve), uintptr(t.index), 1) // an NSRange, in two registers
		if at := uintptr(d.Send(data, d.sel(selBytes))); at != 0 && d.Send(data, d.sel("length")) >= 8 {
			ns = binary.LittleEndian.Uint64(ccall.Bytes(at, 8))
		}
	})
	if ns == math.MaxUint64 { // MTLCounterErrorValue
		return 0
	}
	return ns
}

// Close gives back what the time is read from.
func (t *stamp) Close() {
	if t.closed {
		return
	}
	t.closed = true
	t.device.Release(t.buffer)
	t.device.drop(t.samples)
}
