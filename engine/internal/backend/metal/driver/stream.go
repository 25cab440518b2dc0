package driver

import (
	"cmp"
	"errors"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A stream is an MTLCommandQueue with the command buffers that are being encoded. What is freed on it stays
// until a commit is over: a command buffer keeps the buffers that are bound to it alive, but not those that
// kernels reach by address.
type stream struct {
	gpu.Queue
	device *device
	queue  objc.ID
	fence  objc.ID // that each encoder waits for and updates
	shared objc.ID // an MTLSharedEvent, which has the number of the last commit that is over
	value  uint64  // of the last commit

	order   objc.ID // an MTLEvent, see foreign; nil until it is needed
	ordered uint64  // its last value

	buffers   []objc.ID // command buffers of the next commit; the last takes what is encoded
	committed int       // how many of them the device has got already
	full      bool      // the last takes no more
	encoder   objc.ID
	kind      kind
	messages  []ccall.Call // to the encoder, not sent yet
	args      ccall.Arena
	pipeline  objc.ID // that the encoder has

	clock    *clock   // that encoders read; nil if no stamp was asked for since the last commit
	samples  *samples // of which the next encoder takes some
	starts   []*stamp // that wait for the beginning of the next encoder
	sampling *samples // of the encoder; nil if it reads no clock
	sampled  *samples // of the encoder before, if nothing was encoded since; its end is sample number ended
	ended    int

	broken atomic.Pointer[gpu.Error] // the first error of the device
	last   atomic.Pointer[event]     // of the last commit
}

// most is how many command buffers a queue holds. Metal waits for room when there are more, so a stream with
// many stamps hands over half of that before its commit.
const most = 1024

// concurrent, of MTLDispatchType, lets dispatches between two barriers run side by side.
const concurrent = 1

// A kind of encoder.
type kind uint8

const (
	none kind = iota
	compute
	blit
)

// Stream makes a queue.
func (d *device) Stream() (gpu.Stream, error) {
	s := &stream{Queue: gpu.Queue{Owner: &d.Owner}, device: d}
	d.Pool(func() {
		s.queue = d.Send(d.id, d.sel(selNewQueue), most)
		s.fence = d.Send(d.id, d.sel(selNewFence))
		s.shared = d.Send(d.id, d.sel(selNewSharedEvent))
	})
	if s.queue == 0 || s.fence == 0 || s.shared == 0 {
		s.releaseAll()
		return nil, d.failed(selNewQueue, 0, gpu.Failed)
	}
	if d.residency != 0 {
		d.Send(s.queue, d.sel("addResidencySet:"), uintptr(d.residency))
	}
	if !d.Add(s) {
		return nil, d.misused(selNewQueue, "the device was closed")
	}
	return s, nil
}

// send collects a message to the encoder.
func (s *stream) send(m selector, args ...uintptr) {
	s.messages = append(s.messages, s.device.Message(s.encoder, s.device.sel(m), args...))
}

// current returns the command buffer that takes what is encoded.
func (s *stream) current() (objc.ID, error) {
	if n := len(s.buffers); n > 0 && !s.full {
		return s.buffers[n-1], nil
	}
	if len(s.buffers)-s.committed >= most/2 {
		s.handOver()
	}
	var id objc.ID
	s.device.Pool(func() { id = s.device.Retain(s.device.Send(s.queue, s.device.sel(selCommandBuffer))) })
	if id == 0 {
		return 0, s.device.failed(selCommandBuffer, 0, gpu.Failed)
	}
	s.buffers, s.full = append(s.buffers, id), false
	return id, nil
}

// begin makes an encoder of a kind the current one. Each waits for the one before it.
func (s *stream) begin(k kind) error {
	if s.kind == k {
		return nil
	}
	s.end()
	id, err := s.current()
	if err != nil {
		return err
	}
	d := s.device
	op := selBlitEncoder
	s.sampled, s.sampling = nil, nil
	d.Pool(func() {
		switch {
		case s.clock != nil && s.room(s.clock):
			s.encoder = d.Retain(s.encoderWithClock(k, id))
		case k == compute:
			op = selComputeEncoder
			s.encoder = d.Retain(d.Send(id, d.sel(op), concurrent))
		default:
			s.encoder = d.Retain(d.Send(id, d.sel(op)))
		}
	})
	if s.encoder == 0 {
		return d.failed(op, 0, gpu.Failed)
	}
	s.kind, s.pipeline = k, 0
	s.send("waitForFence:", uintptr(s.fence))
	return nil
}

// end ends the current encoder, and sends it all that was collected.
func (s *stream) end() {
	if s.kind == none {
		return
	}
	s.send("updateFence:", uintptr(s.fence))
	s.send("endEncoding")
	s.device.Pool(func() { ccall.Run(s.messages) })
	s.device.Release(s.encoder)
	s.encoder, s.kind, s.messages = 0, none, s.messages[:0]
	s.sampled = s.sampling
	s.args.Reset()
}

// Dispatch encodes a dispatch.
func (s *stream) Dispatch(d *gpu.Dispatch) error {
	if err := s.device.CheckDispatch(d, s.device.info.Limits, func(p gpu.Pipeline) error {
		if mine, ok := p.(*pipeline); ok && mine.device == s.device && mine.id != 0 {
			return mine.check(d.Args)
		}
		return errors.New("got a pipeline of another device, or one that was closed")
	}); err != nil {
		return s.device.misused(selDispatch, "%v", err)
	}
	if err := s.begin(compute); err != nil {
		return err
	}
	p := d.Pipeline.(*pipeline)
	if s.pipeline != p.id {
		s.send("setComputePipelineState:", uintptr(p.id))
		s.pipeline = p.id
	}
	for i, a := range d.Args {
		switch {
		case a.Buffer != nil:
			s.send("setBuffer:offset:atIndex:", uintptr(a.Buffer.(*buffer).id), uintptr(a.Offset), uintptr(i))
		case len(a.Bytes) > 0:
			s.send("setBytes:length:atIndex:", s.args.Copy(a.Bytes), uintptr(len(a.Bytes)), uintptr(i))
		}
	}
	for i, n := range d.Threadgroup {
		s.send("setThreadgroupMemoryLength:atIndex:", uintptr(n+15)&^15, uintptr(i))
	}
	if s.device.residency == 0 {
		const read, write = 1, 2
		for _, b := range d.Uses {
			s.send("useResource:usage:", uintptr(b.(*buffer).id), read|write)
		}
	}
	s.send(selDispatch, s.size(d.Groups), s.size(d.Threads))
	return nil
}

// size is an MTLSize in memory: a struct of more than 16 bytes goes by its address.
func (s *stream) size(v gpu.Size) uintptr { return s.args.Words(uint64(v.X), uint64(v.Y), uint64(v.Z)) }

// Copy encodes a copy.
func (s *stream) Copy(dst gpu.Buffer, dstOffset int, src gpu.Buffer, srcOffset, bytes int) error {
	err := gpu.CheckCopy(dst, dstOffset, src, srcOffset, bytes)
	if err = cmp.Or(err, s.device.Owns(dst, src)); err != nil {
		return s.device.misused(selCopy, "%v", err)
	}
	if bytes == 0 {
		return nil
	}
	if !words(dstOffset, srcOffset, bytes) {
		return s.bytewise("copy_bytes", bytes, gpu.Arg{Buffer: dst, Offset: dstOffset}, gpu.Arg{Buffer: src, Offset: srcOffset})
	}
	if err := s.beginBlit(); err != nil {
		return err
	}
	s.send(selCopy, uintptr(src.(*buffer).id), uintptr(srcOffset), uintptr(dst.(*buffer).id), uintptr(dstOffset), uintptr(bytes))
	return nil
}

// Fill encodes a fill.
func (s *stream) Fill(b gpu.Buffer, offset, bytes int, value byte) error {
	err := gpu.CheckRange("fill", b, offset, bytes)
	if err = cmp.Or(err, s.device.Owns(b)); err != nil {
		return s.device.misused(selFill, "%v", err)
	}
	if bytes == 0 {
		return nil
	}
	if !words(offset, bytes) {
		return s.bytewise("fill_bytes", bytes, gpu.Arg{Buffer: b, Offset: offset}, gpu.Arg{Bytes: []byte{value}})
	}
	if err := s.beginBlit(); err != nil {
		return err
	}
	// An NSRange has 16 bytes, and goes in two registers.
	s.send(selFill, uintptr(b.(*buffer).id), uintptr(offset), uintptr(bytes), uintptr(value))
	return nil
}

// beginBlit begins an encoder for each copy: buffers are untracked, so two copies in one encoder would have
// no order.
func (s *stream) beginBlit() error {
	s.end()
	return s.begin(blit)
}

// Barrier orders dispatches. Between encoders the fence does.
func (s *stream) Barrier() error {
	const buffers = 1 // of MTLBarrierScope
	if s.kind == compute {
		s.send("memoryBarrierWithScope:", buffers)
	}
	return nil
}

// After encodes that the stream waits for another's event.
func (s *stream) After(e gpu.Event) error {
	other, ok := e.(*event)
	if !ok || other.stream.device != s.device {
		return s.device.misused(selWaitForEvent, "got an event of another device")
	}
	s.end()
	id, err := s.current()
	if err != nil {
		return err
	}
	s.device.Send(id, s.device.sel(selWaitForEvent), uintptr(other.stream.shared), uintptr(other.value))
	return nil
}

// Commit commits the command buffers.
func (s *stream) Commit() (gpu.Event, error) {
	s.Reap()
	if err := s.settleStarts(); err != nil {
		return nil, err
	}
	s.end()
	s.clock, s.sampled = nil, nil
	id, err := s.current()
	if err != nil {
		return nil, err
	}
	d := s.device
	s.value++
	d.Pool(func() {
		d.Send(id, d.sel(selSignalEvent), uintptr(s.shared), uintptr(s.value))
		s.handOver()
	})
	e := s.newEnd()
	s.buffers, s.committed, s.full = nil, 0, false
	s.last.Store(e)
	return e, nil
}

// handOver gives the device the command buffers that it does not have yet.
func (s *stream) handOver() {
	s.device.settle()
	for _, id := range s.buffers[s.committed:] {
		s.device.Send(id, s.device.sel(selCommit))
	}
	s.committed = len(s.buffers)
}

// Busy reports whether work is under way.
func (s *stream) Busy() bool {
	last := s.last.Load()
	return last != nil && !last.Over()
}

// Close releases the queue, after at most a second for what must be freed in its order.
func (s *stream) Close() error {
	if len(s.buffers) > 0 {
		return s.device.misused(selNewQueue, "a stream was closed with work that was encoded and not committed")
	}
	open, err := s.Queue.Close(string(selNewQueue), s)
	if open {
		s.releaseAll()
	}
	return err
}

func (s *stream) releaseAll() {
	for _, id := range append(s.buffers, s.encoder, s.queue, s.fence, s.shared, s.order) {
		s.device.Release(id)
	}
	s.device.drop(s.samples)
}
